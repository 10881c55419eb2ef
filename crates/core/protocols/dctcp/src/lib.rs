//! DCTCP (RFC 8257): TCP whose window shrinks by the share of packets that switches mark.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

mod config;
mod control;
mod wire;

pub use control::{Dctcp as DctcpControl, DctcpRules, Reaction};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_window::Endpoint;
pub use pullnet_window::Segment;

dctcp_settings! {
    pullnet_window::window_settings:
    /// Settings of DCTCP hosts.
    pub struct DctcpConfig {}
}

/// DCTCP on one host.
pub type DctcpEndpoint = Endpoint<DctcpControl>;

/// The protocol as the registry knows it.
pub struct Dctcp;

impl Protocol for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "DCTCP (RFC 8257): the window shrinks by the share of marked packets";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Marks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("initial_rto");
    type Config = DctcpConfig;
    type Endpoint = DctcpEndpoint;

    fn framing(config: &DctcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(config: &DctcpConfig) -> bool {
        config.nack
    }

    fn endpoint(config: &DctcpConfig, host: HostInfo, chance: RandomStream) -> DctcpEndpoint {
        Endpoint::new(config.marked_rules(), config.dctcp(), host, chance)
    }
}
