//! TIMELY (Mittal et al., SIGCOMM 2015): RoCE flows whose rate follows the gradient of round-trip times.
//!
//! `README.md` beside this crate lists sources, rules and deviations; the rules of all RoCE hosts are in
//! `crates/core/rdma`.
#![no_std]

mod control;

pub use control::{Gradient, TimelyRules, Update};
use pullnet_rdma::{Endpoint, RdmaRules, rdma_settings};
pub use pullnet_rdma::{Paths, RdmaHeader, Recovery};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Picos};

rdma_settings! {
    /// Settings of TIMELY hosts. Data packets carry a time stamp of 8 B: `header = "56 B"` counts it.
    pub struct TimelyConfig {
        /// When the rate is updated. Source: segment, TIMELY section 4.2; round-trip, HPCC simulator.
        update: Update = "segment",
        /// Acknowledged payload for each update. Source: TIMELY section 5, 16 KB.
        segment: Bytes = "16 kB" in "1 B" => "1 GB" unused if update == "round-trip",
        /// Rate of a new flow; the rate of the host's link unless stated. Source: HPCC simulator; TIMELY section 4.2: the
        /// link's rate shared among the flows of the host.
        initial_rate: Option<BitsPerSec> = "" in "1 kbps" => "10 Tbps",
        /// Additive increase (delta). Source: TIMELY section 5, 10 Mb/s; HPCC simulator: 100 Mb/s.
        additive: BitsPerSec = "10 Mbps" in "1 kbps" => "1 Tbps",
        /// Weight of the latest difference of round-trip times (alpha). Source: TIMELY section 5, 0.875.
        weight: f64 = 0.875 in 0.0001 => 1.0,
        /// Factor of multiplicative decreases (beta). Source: TIMELY section 5, 0.8.
        decrease: f64 = 0.8 in 0.0 => 1.0,
        /// Below this round-trip time the rate only grows. Source: TIMELY section 5, 50 us.
        low: Picos = "50 us" in "0 ps" => "100 s",
        /// Above this round-trip time the rate only shrinks. Source: TIMELY section 5, 500 us.
        high: Picos = "500 us" in "1 ns" => "100 s",
        /// Round-trip time by which gradients are divided. Source: TIMELY section 4.3, 20 us.
        min_rtt: Picos = "20 us" in "1 ns" => "100 s",
        /// Increases in a row after which the additive increase is `hyper` times as large. Source: TIMELY section 4.3, 5.
        hyper_after: u32 = 5 in 1 => 1000000,
        /// That factor (N). Source: TIMELY section 4.3, 5.
        hyper: f64 = 5.0 in 1.0 => 1000.0,
        /// Least rate. Source: ours, that of one additive increase.
        min_rate: BitsPerSec = "10 Mbps" in "1 kbps" => "1 Tbps",
    }
}

impl TimelyConfig {
    /// The settings of rate control in the form in which flows use them.
    pub fn control(&self) -> TimelyRules {
        TimelyRules {
            update: self.update,
            segment: self.segment.0,
            initial_rate: self.initial_rate.map(|rate| rate.get() as f64),
            additive: self.additive.get() as f64,
            weight: self.weight,
            decrease: self.decrease,
            low: self.low,
            high: self.high,
            min_rtt: self.min_rtt,
            hyper_after: self.hyper_after,
            hyper: self.hyper,
            min_rate: self.min_rate.get() as f64,
        }
    }
}

/// The protocol as the registry knows it.
pub struct Timely;

impl Protocol for Timely {
    const NAME: &'static str = "timely";
    const SUMMARY: &'static str =
        "TIMELY (SIGCOMM 2015): RoCE whose rate follows the gradient of round-trip times";
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    const IGNORES_MARKS: bool = true;
    type Config = TimelyConfig;
    type Endpoint = Endpoint<Gradient>;

    fn framing(config: &TimelyConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &TimelyConfig, host: HostInfo, chance: RandomStream) -> Self::Endpoint {
        RdmaRules::endpoint(config.parameters(), config.control(), host, chance)
    }
}
