//! DCTCP on RDMA: RoCE flows whose rate, and with it a window, shrinks by the share of marked packets, as the HPCC simulator
//! compares it with DCQCN.
//!
//! `README.md` beside this crate lists the rules; those of all RoCE hosts are in `crates/core/rdma`.
#![no_std]

mod control;

pub use control::{RdmaDctcpRules, ShareOfMarks};
use pullnet_rdma::{Endpoint, Parameters, RdmaRules, rdma_settings};
pub use pullnet_rdma::{Paths, RdmaHeader, Recovery};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_units::BitsPerSec;

rdma_settings! {
    /// Settings of hosts with DCTCP on RDMA.
    pub struct RdmaDctcpConfig {
        /// Weight of the latest round trip in alpha (g). Source: HPCC simulator and RFC 8257, 1/16.
        gain: f64 = 0.0625 in 0.0001 => 1.0,
        /// Increase of the rate in each round trip. Source: HPCC simulator, 1000 Mb/s.
        additive: BitsPerSec = "1 Gbps" in "1 kbps" => "1 Tbps",
        /// No cut goes below this rate. Source: HPCC simulator, 100 Mb/s.
        min_rate: BitsPerSec = "100 Mbps" in "1 kbps" => "1 Tbps",
    }
}

impl RdmaDctcpConfig {
    /// The settings of rate control in the form in which flows use them.
    pub fn control(&self) -> RdmaDctcpRules {
        RdmaDctcpRules {
            gain: self.gain,
            additive: self.additive.get() as f64,
            min_rate: self.min_rate.get() as f64,
        }
    }
}

/// The protocol as the registry knows it.
pub struct RdmaDctcp;

impl Protocol for RdmaDctcp {
    const NAME: &'static str = "rdma-dctcp";
    const SUMMARY: &'static str =
        "DCTCP on RDMA: rate and window of RoCE shrink by the share of marked packets";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Marks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    type Config = RdmaDctcpConfig;
    type Endpoint = Endpoint<ShareOfMarks>;

    fn framing(config: &RdmaDctcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &RdmaDctcpConfig, host: HostInfo, chance: RandomStream) -> Self::Endpoint {
        let parameters = Parameters { ecn: true, ..config.parameters() };
        RdmaRules::endpoint(parameters, config.control(), host, chance)
    }
}
