//! pHost: receiver-driven transport over commodity switches (Gao et al., CoNEXT 2015).
//!
//! `README.md` beside this crate lists the rules with their sources, and where this implementation deviates from them. The
//! source's rules are in `sender`, the destination's in `receiver`.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod receiver;
mod sender;

pub use config::{PhostConfig, Variant};
pub use endpoint::{PhostEndpoint, PhostRules};
pub use header::{About, PhostHeader};

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

/// The protocol as the registry knows it.
pub struct Phost;

impl Protocol for Phost {
    const NAME: &'static str = "phost";
    const SUMMARY: &'static str = "pHost (CoNEXT 2015): the destination hands out one token per packet time";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    type Config = PhostConfig;
    type Endpoint = PhostEndpoint;

    fn framing(config: &PhostConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &PhostConfig, host: HostInfo, chance: RandomStream) -> PhostEndpoint {
        PhostRules::endpoint(config, host, chance)
    }
}
