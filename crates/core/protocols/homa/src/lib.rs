//! Homa: receiver-driven message transport with network priorities (Montazeri et al., SIGCOMM 2018).
//!
//! `README.md` beside this crate lists the rules with their sources, and where this implementation deviates from them.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod receiver;
mod sender;

pub use config::{Cutoffs, HomaConfig};
pub use endpoint::{HomaEndpoint, HomaRules};
pub use header::HomaHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};

/// The protocol as the registry knows it.
pub struct Homa;

impl Protocol for Homa {
    const NAME: &'static str = "homa";
    const SUMMARY: &'static str =
        "Homa (SIGCOMM 2018): grants to the shortest messages, overcommitment, network priorities";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Priorities);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    type Config = HomaConfig;
    type Endpoint = HomaEndpoint;

    fn framing(config: &HomaConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &HomaConfig, _: HostInfo, chance: RandomStream) -> HomaEndpoint {
        HomaRules::endpoint(config, chance)
    }
}
