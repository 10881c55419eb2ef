//! Unresponsive senders: each flow is sent at a constant rate and ignores marks, trims and losses. Packets missing at
//! the end are retransmitted at the same rate.
//!
//! `README.md` beside this crate lists the rules.
#![no_std]

extern crate alloc;

mod config;
mod endpoint;
mod header;
mod sender;

pub use config::{Paths, UnresponsiveConfig};
pub use endpoint::{UnresponsiveEndpoint, UnresponsiveRules};
pub use header::UnresponsiveHeader;

use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};

/// The protocol as the registry knows it.
pub struct Unresponsive;

impl Protocol for Unresponsive {
    const NAME: &'static str = "unresponsive";
    const SUMMARY: &'static str = "Senders of a constant rate that ignore congestion: a load for switches";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    type Config = UnresponsiveConfig;
    type Endpoint = UnresponsiveEndpoint;

    fn framing(config: &UnresponsiveConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &UnresponsiveConfig, _host: HostInfo, chance: RandomStream) -> UnresponsiveEndpoint {
        UnresponsiveRules::endpoint(config, chance)
    }
}
