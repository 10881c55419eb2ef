//! pFabric's hosts: minimal rate control over switches that schedule flows (Alizadeh et al., SIGCOMM 2013).
//!
//! `README.md` beside this crate lists the rules with their sources, and where this implementation deviates from them.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod sender;

pub use config::{PfabricConfig, RankBy};
pub use endpoint::{PfabricEndpoint, PfabricRules};
pub use header::PfabricHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};

/// The protocol as the registry knows it.
pub struct Pfabric;

impl Protocol for Pfabric {
    const NAME: &'static str = "pfabric";
    const SUMMARY: &'static str =
        "pFabric (SIGCOMM 2013): packets state what their flow has left; small windows, fixed timeout";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Ranks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    type Config = PfabricConfig;
    type Endpoint = PfabricEndpoint;

    fn framing(config: &PfabricConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &PfabricConfig, _: HostInfo, chance: RandomStream) -> PfabricEndpoint {
        PfabricRules::endpoint(config, chance)
    }
}
