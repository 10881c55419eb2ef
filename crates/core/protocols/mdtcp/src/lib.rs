//! MDTCP: MPTCP whose subflows react to marks as DCTCP does.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

use pullnet_dctcp::{DctcpControl, DctcpRules, Reaction};
use pullnet_mptcp::{MultipathEndpoint, multipath_settings};
use pullnet_rng::Stream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_window::Rules;

multipath_settings! {
    /// Settings of MDTCP hosts.
    pub struct MdtcpConfig {
        /// Weight of the latest window in alpha (g). Source: RFC 8257, section 4.2, 1/16.
        gain: f64 = 0.0625 in 0.0001 => 1.0,
        /// Alpha of a new subflow. Source: RFC 8257, section 4.2, 1.
        initial_alpha: f64 = 1.0 in 0.0 => 1.0,
        /// When the window is reduced. Source: RFC 8257, section 3.3, mark.
        reaction: Reaction = "mark",
        /// Whether the first mark ends slow start where `reaction` waits for the end of the window. Source: public NDP code.
        leave_slow_start: bool = true,
        /// Whether SYN and SYN-ACK are ECN-capable: otherwise marking switches drop them. Source: RFC 8257, section 3.6.
        ecn_handshake: bool = true,
    }
}

/// MDTCP on one host.
pub type MdtcpEndpoint = MultipathEndpoint<DctcpControl>;

/// The protocol as the registry knows it.
pub struct Mdtcp;

impl Protocol for Mdtcp {
    const NAME: &'static str = "mdtcp";
    const SUMMARY: &'static str = "MDTCP: MPTCP whose subflows are DCTCP, coupled by LIA";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Marks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths", "subflow_paths"];
    type Config = MdtcpConfig;
    type Endpoint = MdtcpEndpoint;

    fn framing(config: &MdtcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &MdtcpConfig, host: HostInfo, chance: Stream) -> MdtcpEndpoint {
        let rules = Rules { ecn: true, ecn_handshake: config.ecn_handshake, ..config.rules() };
        let control = DctcpRules {
            growth: config.growth(),
            gain: config.gain,
            initial_alpha: config.initial_alpha,
            reaction: config.reaction,
            leave_slow_start: config.leave_slow_start,
        };
        MultipathEndpoint::new(rules, config.multipath(), control, host, chance)
    }
}
