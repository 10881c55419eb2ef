use pullnet_rdma::{Acked, Control, RdmaHeader};
use pullnet_units::Instant;

/// Rules of rate control. Rates in bits per second.
#[derive(Clone, PartialEq, Debug)]
pub struct RdmaDctcpRules {
    /// Weight of the latest round trip in alpha (g).
    pub gain: f64,
    /// Increase in each round trip.
    pub additive: f64,
    /// Least rate.
    pub min_rate: f64,
}

/// Rate control of one flow, as the HPCC simulator has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareOfMarks {
    line: f64,
    rate: f64,
    /// Estimate of the share of marked packets, 0 to 1.
    alpha: f64,
    /// Marked packets of this round trip, and packets that were outstanding when it began.
    marked: u32,
    of: u32,
    /// The round trip ends when more than this is acknowledged; 0 before the first ACK.
    round_ends: u32,
    /// The rate was cut and is neither cut nor increased until more than this is acknowledged.
    reduced_until: Option<u32>,
}

impl ShareOfMarks {
    /// Alpha as it was last updated.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The end of a round trip.
    fn end_round(&mut self, rules: &RdmaDctcpRules, ack: &Acked) {
        if self.round_ends == 0 {
            // The first round trip has only begun: its marks count for the next update.
            self.of = ack.next.saturating_add(1);
        } else {
            let share = (f64::from(self.marked) / f64::from(self.of)).min(1.0);
            self.alpha = (1.0 - rules.gain) * self.alpha + rules.gain * share;
            (self.marked, self.of) = (0, ack.next.saturating_sub(ack.first).saturating_add(1));
        }
        self.round_ends = ack.next;
    }
}

impl Control for ShareOfMarks {
    type Header = RdmaHeader;
    type Rules = RdmaDctcpRules;

    fn open(_: &RdmaDctcpRules, line: f64) -> Self {
        Self { line, rate: line, alpha: 1.0, marked: 0, of: 1, round_ends: 0, reduced_until: None }
    }

    #[inline]
    fn rate(&mut self, _: &RdmaDctcpRules, _: Instant) -> f64 {
        self.rate
    }

    fn on_ack(&mut self, rules: &RdmaDctcpRules, ack: &Acked) {
        self.marked = self.marked.saturating_add(u32::from(ack.marked));
        let ends = ack.first > self.round_ends;
        if ends {
            self.end_round(rules, ack);
        }
        self.reduced_until = self.reduced_until.filter(|until| ack.first <= *until);
        if ack.marked && self.reduced_until.is_none() {
            let cut = self.rate * (1.0 - self.alpha / 2.0);
            self.rate = cut.max(rules.min_rate.min(self.rate));
            self.reduced_until = Some(ack.next);
        }
        if ends && self.reduced_until.is_none() {
            self.rate = (self.rate + rules.additive).min(self.line);
        }
    }
}
