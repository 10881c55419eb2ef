//! NDP: receiver-driven transport over trimming switches (Handley et al., SIGCOMM 2017).
//!
//! `README.md` beside this crate lists the sources and the deviations from them. The rules of the sender are in
//! `sender`, in the order of the specification, and those of the receiver in `receiver`.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod peers;
mod receiver;
mod sender;
mod window;
pub mod wire;

pub use config::{NdpConfig, Nic, Timer};
pub use endpoint::NdpEndpoint;
pub use header::NdpHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

/// The protocol as the registry knows it.
pub struct Ndp;

impl Protocol for Ndp {
    const NAME: &'static str = "ndp";
    const SUMMARY: &'static str = "NDP (SIGCOMM 2017): first window at line rate, then the receiver pulls";
    const PATH_SETTINGS: &'static [&'static str] = &["paths", "scoreboard"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = NdpConfig;
    type Endpoint = NdpEndpoint;

    fn framing(config: &NdpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(_: &NdpConfig) -> bool {
        true
    }

    fn endpoint(config: &NdpConfig, host: HostInfo, chance: RandomStream) -> NdpEndpoint {
        NdpEndpoint::new(config, host, chance)
    }
}
