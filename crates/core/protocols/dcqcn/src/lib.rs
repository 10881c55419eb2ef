//! DCQCN (Zhu et al., SIGCOMM 2015): RoCE flows whose rate is cut when switches mark their packets.
//!
//! `README.md` beside this crate lists sources, rules and deviations; the rules of all RoCE hosts are in
//! `crates/core/rdma`.
#![no_std]

mod control;

pub use control::{DcqcnRules, Reaction, ReactionPoint};
use pullnet_rdma::{Endpoint, Notification, Parameters, RdmaRules, rdma_settings};
pub use pullnet_rdma::{Paths, RdmaHeader, Recovery};
use pullnet_rng::RandomStream;
use pullnet_transport::{Framing, HostInfo, Protocol, Reliance};
use pullnet_units::{BitsPerSec, Bytes, Picos};

rdma_settings! {
    /// Settings of DCQCN hosts.
    pub struct DcqcnConfig {
        /// How a receiver tells of marked packets. Source: cnp, DCQCN section 3.1 (NP); ack, HPCC simulator.
        notification: Notification = "cnp",
        /// Least time between two CNPs of one flow. Source: DCQCN section 3.1, 50 us.
        cnp_interval: Picos = "50 us" in "1 ns" => "1 s" unused if notification == "ack",
        /// When the rate is cut. Source: notification, DCQCN section 3.1 (RP); timer, HPCC simulator ("Mellanox version").
        reaction: Reaction = "notification",
        /// Interval of rate cuts. Source: HPCC simulator, 4 us.
        cut_interval: Picos = "4 us" in "1 ns" => "1 s" unused if reaction == "notification",
        /// Interval of alpha updates: alpha shrinks once in such a time without a notification. Source: DCQCN section 5,
        /// 55 us; HPCC simulator: 1 us.
        alpha_interval: Picos = "55 us" in "1 ns" => "1 s",
        /// Interval of the timer that increases the rate. Source: DCQCN section 5, 55 us; HPCC simulator: 300 us.
        increase_interval: Picos = "55 us" in "1 ns" => "1 s",
        /// Bytes on the wire after which the rate is increased, too; 0: no byte counter. Source: DCQCN section 5, 10 MB; HPCC
        /// simulator: none.
        byte_counter: Bytes = "10 MB" in "0 B" => "1 TB",
        /// Weight of a notification in alpha (g). Source: DCQCN section 5, 1/256.
        gain: f64 = 0.00390625 in 0.000001 => 1.0,
        /// Increases of fast recovery, by the timer and by the byte counter (F). Source: DCQCN section 5, 5; HPCC
        /// simulator: 1.
        fast_recovery: u32 = 5 in 0 => 1000,
        /// Additive increase (R_AI). Source: DCQCN section 5, 40 Mb/s.
        additive: BitsPerSec = "40 Mbps" in "1 kbps" => "1 Tbps",
        /// Hyper increase (R_HAI). Source: ten times the additive one, as in QCN.
        hyper: BitsPerSec = "400 Mbps" in "1 kbps" => "1 Tbps",
        /// No cut goes below this rate. Source: ours, that of one additive increase.
        min_rate: BitsPerSec = "40 Mbps" in "1 kbps" => "1 Tbps",
    }
}

impl DcqcnConfig {
    /// The settings of rate control in the form in which flows use them.
    pub fn control(&self) -> DcqcnRules {
        DcqcnRules {
            reaction: self.reaction,
            cut_interval: self.cut_interval,
            alpha_interval: self.alpha_interval,
            increase_interval: self.increase_interval,
            byte_counter: self.byte_counter.0,
            gain: self.gain,
            fast_recovery: self.fast_recovery,
            additive: self.additive.get() as f64,
            hyper: self.hyper.get() as f64,
            min_rate: self.min_rate.get() as f64,
        }
    }
}

/// The protocol as the registry knows it.
pub struct Dcqcn;

impl Protocol for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str = "DCQCN (SIGCOMM 2015): RoCE whose rate is cut by marks";
    const RELIES_ON: Option<Reliance> = Some(Reliance::Marks);
    const PATH_SETTINGS: &'static [&'static str] = &["paths"];
    const TIMEOUT_SETTING: Option<&'static str> = Some("timeout");
    type Config = DcqcnConfig;
    type Endpoint = Endpoint<ReactionPoint>;

    fn framing(config: &DcqcnConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &DcqcnConfig, host: HostInfo, chance: RandomStream) -> Self::Endpoint {
        let cnp_interval = (config.notification == Notification::Cnp).then_some(config.cnp_interval);
        let parameters = Parameters { ecn: true, cnp_interval, ..config.parameters() };
        RdmaRules::endpoint(parameters, config.control(), host, chance)
    }
}
