//! D2TCP (Vamanan et al., SIGCOMM 2012): DCTCP whose flows yield to marks by how far their deadlines are.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

mod control;

pub use control::{D2tcpControl, D2tcpRules};
use pullnet_dctcp::DctcpRules;
pub use pullnet_dctcp::Reaction;
use pullnet_rng::Stream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
pub use pullnet_window::Segment;
use pullnet_window::{Endpoint, Rules, window_settings};

window_settings! {
    /// Settings of D2TCP hosts.
    pub struct D2tcpConfig {
        /// Weight of the latest window in alpha (g). Source: as DCTCP, RFC 8257, section 4.2, 1/16.
        gain: f64 = 0.0625 in 0.0001 => 1.0,
        /// Alpha of a new connection. Source: as DCTCP, RFC 8257, section 4.2, 1.
        initial_alpha: f64 = 1.0 in 0.0 => 1.0,
        /// When the window is reduced. Source: as DCTCP, RFC 8257, section 3.3, mark.
        reaction: Reaction = "mark",
        /// Whether the first mark ends slow start where `reaction` waits for the end of the window. Source: public NDP code.
        leave_slow_start: bool = true,
        /// Whether SYN and SYN-ACK are ECN-capable: otherwise marking switches drop them. Source: RFC 8257, section 3.6.
        ecn_handshake: bool = true,
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

    fn endpoint(config: &D2tcpConfig, host: HostInfo, chance: Stream) -> D2tcpEndpoint {
        let rules = Rules { ecn: true, ecn_handshake: config.ecn_handshake, ..config.rules() };
        let dctcp = DctcpRules {
            growth: config.growth(),
            gain: config.gain,
            initial_alpha: config.initial_alpha,
            reaction: config.reaction,
            leave_slow_start: config.leave_slow_start,
        };
        let (least, most) = (config.least_urgency, config.most_urgency);
        Endpoint::new(rules, D2tcpRules { dctcp, least, most }, host, chance)
    }
}
