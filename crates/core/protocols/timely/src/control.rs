use pullnet_rdma::{Acked, Control, RdmaHeader};
use pullnet_settings::choice;
use pullnet_units::{Instant, Picos};

choice! {
    /// When the rate is updated.
    pub enum Update {
        /// Once for each segment that was acknowledged.
        Segment = "segment",
        /// Once for each round trip.
        RoundTrip = "round-trip",
    }
}

/// Rules of TIMELY's rate control. Rates in bits per second.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelyRules {
    /// When the rate is updated.
    pub update: Update,
    /// Payload bytes of a segment.
    pub segment: u64,
    /// Rate of a new flow; `None`: that of the link.
    pub initial_rate: Option<f64>,
    /// Additive increase (delta).
    pub additive: f64,
    /// Weight of the latest difference (alpha).
    pub weight: f64,
    /// Factor of decreases (beta).
    pub decrease: f64,
    /// Below it the rate only grows (T_low).
    pub low: Picos,
    /// Above it the rate only shrinks (T_high).
    pub high: Picos,
    /// Divisor of gradients.
    pub min_rtt: Picos,
    /// Increases in a row after which they are larger.
    pub hyper_after: u32,
    /// By this factor.
    pub hyper: f64,
    /// Least rate.
    pub min_rate: f64,
}

/// TIMELY's rate control of one flow: Algorithm 1 of the paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gradient {
    line: f64,
    rate: f64,
    /// The latest sample that the rate was updated by, picoseconds.
    previous: Option<f64>,
    /// Smoothed difference of samples, picoseconds.
    difference: f64,
    /// Updates in a row in which the gradient was not positive.
    falling: u32,
    /// Payload bytes acknowledged since the latest update.
    acknowledged: u64,
    /// The round trip ends when this packet is acknowledged.
    round_ends: u32,
}

impl Gradient {
    /// Whether an update is due with this ACK.
    fn is_due(&mut self, rules: &TimelyRules, ack: &Acked) -> bool {
        self.acknowledged += ack.bytes;
        match rules.update {
            Update::Segment => self.acknowledged >= rules.segment,
            Update::RoundTrip => ack.first > self.round_ends,
        }
    }

    /// Algorithm 1.
    fn update(&mut self, rules: &TimelyRules, rtt: f64) {
        let Some(previous) = self.previous.replace(rtt) else { return };
        self.difference += rules.weight * (rtt - previous - self.difference);
        let gradient = self.difference / rules.min_rtt.0 as f64;
        let (low, high) = (rules.low.0 as f64, rules.high.0 as f64);
        if rtt < low {
            // The paper's algorithm returns before it counts.
            self.rate += rules.additive;
        } else if rtt > high {
            self.falling = 0;
            self.rate *= 1.0 - rules.decrease * (1.0 - high / rtt);
        } else if gradient <= 0.0 {
            self.falling = self.falling.saturating_add(1);
            let factor = if self.falling >= rules.hyper_after { rules.hyper } else { 1.0 };
            self.rate += factor * rules.additive;
        } else {
            self.falling = 0;
            self.rate *= (1.0 - rules.decrease * gradient).max(0.0);
        }
        self.rate = self.rate.clamp(rules.min_rate.min(self.line), self.line);
    }
}

impl Control for Gradient {
    type Header = RdmaHeader;
    type Rules = TimelyRules;

    fn open(rules: &TimelyRules, line: f64) -> Self {
        let rate = rules.initial_rate.unwrap_or(line).min(line);
        Self { line, rate, previous: None, difference: 0.0, falling: 0, acknowledged: 0, round_ends: 0 }
    }

    #[inline]
    fn rate(&mut self, _: &TimelyRules, _: Instant) -> f64 {
        self.rate
    }

    #[inline]
    fn on_ack(&mut self, rules: &TimelyRules, ack: &Acked) {
        if !self.is_due(rules, ack) {
            return;
        }
        // A packet that was sent twice says nothing about the round trip: the next one will.
        let Some(rtt) = ack.rtt else { return };
        self.update(rules, rtt.0 as f64);
        (self.acknowledged, self.round_ends) = (0, ack.next);
    }
}
