//! D2TCP (Vamanan et al., SIGCOMM 2012): DCTCP whose flows yield to marks by how far their deadlines are.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

mod control;

pub use control::{D2tcpControl, D2tcpRules};
pub use pullnet_dctcp::Reaction;
use pullnet_dctcp::dctcp_settings;
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_window::Endpoint;
pub use pullnet_window::Segment;

dctcp_settings! {
    pullnet_window::window_settings:
    /// Settings of D2TCP hosts.
    pub struct D2tcpConfig {
        /// Least urgency of a flow with a deadline: it yields more than DCTCP. Source: D2TCP as we know it, 0.5.
        least_urgency: f64 = 0.5 in 0.01 => 1.0,
        /// Largest urgency of a flow with a deadline: it yields less than DCTCP. Source: D2TCP as we know it, 2.
        most_urgency: f64 = 2.0 in 1.0 => 100.0,
    }
}

/// D2TCP on one host.
pub type D2tcpEndpoint = Endpoint<D2tcpControl>;

/// The protocol as the registry knows it.
pub struct D2tcp;

impl Protocol for D2tcp {
    const NAME: &'static str = "d2tcp";
    const SUMMARY: &'static str =
        "D2TCP (SIGCOMM 2012): DCTCP whose flows yield by how far their deadlines are";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Marks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("initial_rto");
    type Config = D2tcpConfig;
    type Endpoint = D2tcpEndpoint;

    fn framing(config: &D2tcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(config: &D2tcpConfig) -> bool {
        config.nack
    }

    fn endpoint(config: &D2tcpConfig, host: HostInfo, chance: RandomStream) -> D2tcpEndpoint {
        let rules =
            D2tcpRules { dctcp: config.dctcp(), least: config.least_urgency, most: config.most_urgency };
        Endpoint::new(config.marked_rules(), rules, host, chance)
    }
}
