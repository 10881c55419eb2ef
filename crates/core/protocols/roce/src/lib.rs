//! RoCE hosts without rate control: each flow is sent at the rate of the link, or at a stated one, and switches pause who
//! sends too much. With a window, what hosts did before DCQCN.
//!
//! `README.md` beside this crate lists the rules; those of all RoCE hosts are in `crates/core/rdma`.
#![no_std]

use pullnet_rdma::{Endpoint, LineRate, RdmaRules, rdma_settings};
pub use pullnet_rdma::{Paths, RdmaHeader, Recovery};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};
use pullnet_units::BitsPerSec;

rdma_settings! {
    /// Settings of RoCE hosts without rate control.
    pub struct RoceConfig {
        /// Rate of each flow, on the wire; the rate of the host's link unless stated.
        rate: Option<BitsPerSec> = "" in "1 kbps" => "10 Tbps",
    }
}

/// The protocol as the registry knows it.
pub struct Roce;

impl Protocol for Roce {
    const NAME: &'static str = "roce";
    const SUMMARY: &'static str =
        "RDMA over Converged Ethernet without rate control: switches pause the senders";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = RoceConfig;
    type Endpoint = Endpoint<LineRate>;

    fn framing(config: &RoceConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &RoceConfig, host: HostInfo, chance: RandomStream) -> Self::Endpoint {
        let rate = config.rate.map(|rate| rate.get() as f64);
        RdmaRules::endpoint(config.parameters(), rate, host, chance)
    }
}
