//! MDTCP: MPTCP whose subflows react to marks as DCTCP does.
//!
//! `README.md` beside this crate lists sources, rules and deviations.
#![no_std]

use pullnet_dctcp::{DctcpControl, dctcp_settings};
use pullnet_mptcp::MultipathEndpoint;
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};

dctcp_settings! {
    pullnet_mptcp::multipath_settings:
    /// Settings of MDTCP hosts.
    pub struct MdtcpConfig {}
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
    const TIMEOUT_SETTING: Option<&'static str> = Some("initial_rto");
    type Config = MdtcpConfig;
    type Endpoint = MdtcpEndpoint;

    fn framing(config: &MdtcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn hears_headers(config: &MdtcpConfig) -> bool {
        config.nack
    }

    fn endpoint(config: &MdtcpConfig, host: HostInfo, chance: RandomStream) -> MdtcpEndpoint {
        MultipathEndpoint::new(config.marked_rules(), config.multipath(), config.dctcp(), host, chance)
    }
}
