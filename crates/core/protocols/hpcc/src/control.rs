use pullnet_rdma::{Acked, Control};
use pullnet_transport::FailureReason;
use pullnet_units::{Instant, Picos};

use crate::header::{HpccHeader, Record, Records};

/// Rules of HPCC's rate control. Rates in bits per second.
#[derive(Clone, PartialEq, Debug)]
pub struct HpccRules {
    /// Utilisation that links are kept at (eta).
    pub utilization: f64,
    /// Additive increases in a row before the rate is adjusted by utilisation again (maxStage).
    pub max_stage: u32,
    /// Additive increase.
    pub additive: f64,
    /// Round trip without queues (T).
    pub base_rtt: Picos,
    /// Whether every ACK changes the rate, and not only the first of each round trip.
    pub every_ack: bool,
    /// Least rate.
    pub min_rate: f64,
}

/// Rate control of one flow: Algorithm 1 of the paper, in rates. The window is this share of the largest window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inflight {
    line: f64,
    rate: f64,
    /// Reference rate, changed once per round trip (W_c).
    reference: f64,
    /// Smoothed utilisation of the busiest link (U).
    utilization: f64,
    /// Additive increases since the last adjustment by utilisation (incStage).
    stage: u32,
    /// The round trip ends when more than this is acknowledged; `None` before the first ACK.
    round_ends: Option<u32>,
    /// Latest records of the path.
    records: Records,
}

impl Inflight {
    /// Smoothed utilisation of the busiest link; 1 is a full link without a queue.
    pub fn utilization(&self) -> f64 {
        self.utilization
    }

    /// Utilisation of the busiest link between two records of the path, 1 for a full one, and the time between those of that
    /// link.
    fn busiest(&self, rules: &HpccRules, before: &[Record], after: &[Record]) -> Option<(f64, Picos)> {
        let utilization = |(before, after): (&Record, &Record)| {
            let time = after.time_since(before);
            // Bits in flight on a full link are its rate times the base round trip.
            let full = after.rate() * rules.base_rtt.as_secs_f64();
            let waiting = before.waiting().min(after.waiting()) as f64 * 8.0;
            let sent = after.sent_since(before) as f64 * 8.0 / time.as_secs_f64();
            (waiting / full + sent / after.rate(), time)
        };
        // Two packets that leave a port within a nanosecond say nothing of its rate, nor does a packet that was overtaken.
        let known = before.iter().zip(after).filter(|(before, after)| after.time_since(before) > Picos::ZERO);
        known.map(utilization).max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// Averages the utilisation of the busiest link over the base round trip.
    fn measure(&mut self, rules: &HpccRules, (utilization, time): (f64, Picos)) {
        let share = (time.0 as f64 / rules.base_rtt.0 as f64).min(1.0);
        self.utilization += share * (utilization - self.utilization);
    }

    /// The rate by the present utilisation, and the stage that follows.
    fn adjusted(&self, rules: &HpccRules) -> (f64, u32) {
        let load = self.utilization / rules.utilization;
        let (rate, stage) = if load >= 1.0 || self.stage >= rules.max_stage {
            (self.reference / load + rules.additive, 0)
        } else {
            (self.reference + rules.additive, self.stage + 1)
        };
        (rate.clamp(rules.min_rate.min(self.line), self.line), stage)
    }
}

impl Control for Inflight {
    type Header = HpccHeader;
    type Rules = HpccRules;

    fn open(_: &HpccRules, line: f64) -> Self {
        Self {
            line,
            rate: line,
            reference: line,
            utilization: 1.0,
            stage: 0,
            round_ends: None,
            records: Records::default(),
        }
    }

    #[inline]
    fn rate(&mut self, _: &HpccRules, _: Instant) -> f64 {
        self.rate
    }

    fn failure(&self) -> Option<FailureReason> {
        self.records
            .get()
            .is_none()
            .then_some(FailureReason::of_protocol(&"the path has more switches than a header can record"))
    }

    fn on_collected(&mut self, rules: &HpccRules, ack: &Acked, collected: &Records) {
        let ends = self.round_ends.is_none_or(|until| ack.first > until);
        if !ends && !rules.every_ack {
            return;
        }
        let before = core::mem::replace(&mut self.records, *collected);
        if ends {
            let first = self.round_ends.is_none();
            self.round_ends = Some(ack.next);
            if first {
                return;
            }
        }
        let (Some(before), Some(after)) = (before.get(), collected.get()) else { return };
        let Some(busiest) = self.busiest(rules, before, after) else { return };
        self.measure(rules, busiest);
        let (rate, stage) = self.adjusted(rules);
        self.rate = rate;
        if ends {
            (self.reference, self.stage) = (rate, stage);
        }
    }
}
