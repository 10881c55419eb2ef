//! MPTCP: a connection sends its data over several subflows, each a TCP of its own on a path of its own, coupled by LIA
//! (RFC 6356).
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

extern crate alloc;

mod config;
mod coupling;
mod endpoint;
mod header;
mod receiver;
mod sender;

pub use config::{Coupling, Multipath, SubflowPaths};
pub use endpoint::{MultipathEndpoint, SubflowInsight};
pub use header::{MultipathHeader, SubflowAck, SubflowData};

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};
use pullnet_window::NewReno;

multipath_settings! {
    /// Settings of MPTCP hosts.
    pub struct MptcpConfig {}
}

/// MPTCP on one host.
pub type MptcpEndpoint = MultipathEndpoint<NewReno>;

/// The protocol as the registry knows it.
pub struct Mptcp;

impl Protocol for Mptcp {
    const NAME: &'static str = "mptcp";
    const SUMMARY: &'static str =
        "MPTCP (RFC 8684): TCP subflows on several paths, coupled by LIA (RFC 6356)";
    const PATH_SETTINGS: &'static [&'static str] = &["paths", "subflow_paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("initial_rto");
    type Config = MptcpConfig;
    type Endpoint = MptcpEndpoint;

    fn framing(config: &MptcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(config: &MptcpConfig) -> bool {
        config.nack
    }

    fn endpoint(config: &MptcpConfig, host: HostInfo, chance: RandomStream) -> MptcpEndpoint {
        MultipathEndpoint::new(config.rules(), config.multipath(), config.growth(), host, chance)
    }
}
