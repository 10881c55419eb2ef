//! DCTCP (RFC 8257): TCP whose window shrinks by the share of packets that switches mark.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

mod control;
mod wire;

pub use control::{Dctcp as DctcpControl, DctcpRules, Reaction};
use pullnet_rng::Stream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
pub use pullnet_window::Segment;
use pullnet_window::{Endpoint, Rules, window_settings};

window_settings! {
    /// Settings of DCTCP hosts.
    pub struct DctcpConfig {
        /// Weight of the latest window in alpha (g). Source: RFC 8257, section 4.2, 1/16.
        gain: f64 = 0.0625 in 0.0001 => 1.0,
        /// Alpha of a new connection. Source: RFC 8257, section 4.2, 1; public NDP code: 0.
        initial_alpha: f64 = 1.0 in 0.0 => 1.0,
        /// When the window is reduced. Source: RFC 8257, section 3.3, mark; public NDP code: always.
        reaction: Reaction = "mark",
        /// Whether the first mark ends slow start where `reaction` waits for the end of the window. Source: public NDP code.
        leave_slow_start: bool = true,
        /// Whether SYN and SYN-ACK are ECN-capable: otherwise marking switches drop them. Source: RFC 8257, section 3.6;
        /// off: RFC 3168, section 6.1.1, and the SIGCOMM paper.
        ecn_handshake: bool = true,
    }
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

    fn endpoint(config: &DctcpConfig, host: HostInfo, chance: Stream) -> DctcpEndpoint {
        let rules = Rules { ecn: true, ecn_handshake: config.ecn_handshake, ..config.rules() };
        let control = DctcpRules {
            growth: config.growth(),
            gain: config.gain,
            initial_alpha: config.initial_alpha,
            reaction: config.reaction,
            leave_slow_start: config.leave_slow_start,
        };
        Endpoint::new(rules, control, host, chance)
    }
}
