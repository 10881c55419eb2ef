//! HPCC (Li et al., SIGCOMM 2019): RoCE flows whose windows follow what packets collect at switches.
//!
//! `README.md` beside this crate lists sources, rules and deviations; the rules of all RoCE hosts are in
//! `crates/core/rdma`.
#![no_std]

mod control;
mod header;

pub use control::{HpccRules, Inflight};
pub use header::{HpccHeader, MOST_HOPS, Rate, Record, Records, WAITING_UNIT};
use pullnet_rdma::{Endpoint, Parameters, RdmaRules, rdma_settings};
pub use pullnet_rdma::{Paths, RdmaHeader, Recovery};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_units::{BitsPerSec, Picos};

rdma_settings! {
    /// Settings of HPCC hosts. Headers and ACKs are longer than those of other RoCE hosts by what packets collect.
    pub struct HpccConfig with (header = "90 B", ack = "88 B", window_scales = true) {
        /// Utilisation that links are kept at (eta). Source: HPCC section 5.1, 0.95.
        utilization: f64 = 0.95 in 0.01 => 1.0,
        /// Additive increases in a row before the rate is adjusted by the utilisation again (maxStage). Source: HPCC section
        /// 5.1, 5; HPCC simulator: 0.
        max_stage: u32 = 5 in 0 => 1000,
        /// Additive increase of the rate in each adjustment. Source: HPCC simulator, 40 Mb/s at 100 Gb/s.
        additive: BitsPerSec = "40 Mbps" in "1 kbps" => "1 Tbps",
        /// Round trip between the hosts that are furthest apart, without queues (T). `window`, if it is absent, is the rate
        /// of the host's link times this. Source: HPCC section 5.1, 13 us.
        base_rtt: Picos = "13 us" in "1 ns" => "1 s",
        /// Whether every ACK changes the rate, from a reference that changes once per round trip; otherwise only the first
        /// ACK of each round trip does. Source: HPCC section 3.2.
        every_ack: bool = true,
        /// Least rate. Source: HPCC simulator, 1000 Mb/s; ours, for slower links.
        min_rate: BitsPerSec = "100 Mbps" in "1 kbps" => "1 Tbps",
    }
}

impl HpccConfig {
    /// The settings of rate control in the form in which flows use them.
    pub fn control(&self) -> HpccRules {
        HpccRules {
            utilization: self.utilization,
            max_stage: self.max_stage,
            additive: self.additive.get() as f64,
            base_rtt: self.base_rtt,
            every_ack: self.every_ack,
            min_rate: self.min_rate.get() as f64,
        }
    }
}

/// The protocol as the registry knows it.
pub struct Hpcc;

impl Protocol for Hpcc {
    const NAME: &'static str = "hpcc";
    const SUMMARY: &'static str =
        "HPCC (SIGCOMM 2019): RoCE whose window follows the load of links that packets collect at switches";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Telemetry);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = HpccConfig;
    type Endpoint = Endpoint<Inflight>;

    fn framing(config: &HpccConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &HpccConfig, host: HostInfo, chance: RandomStream) -> Self::Endpoint {
        let in_flight = host.rate.get() as f64 / 8.0 * config.base_rtt.as_secs_f64();
        let window = Some(config.window.map_or(in_flight as u64, |window| window.0));
        let parameters = Parameters { window, ..config.parameters() };
        RdmaRules::endpoint(parameters, config.control(), host, chance)
    }
}
