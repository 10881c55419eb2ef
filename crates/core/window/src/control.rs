use core::fmt::Debug;

use pullnet_units::{Instant, Picos};

/// An ACK as congestion control sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// Arrival time.
    pub now: Instant,
    /// Packets newly acknowledged, cumulatively or by SACK.
    pub packets: u32,
    /// Whether congestion experienced is echoed (ECE).
    pub echo: bool,
    /// The oldest unacknowledged packet after this ACK.
    pub first: u32,
    /// Number of the next new packet.
    pub next: u32,
    /// Most packets that were outstanding at once in the latest window of data.
    pub peak: u32,
    /// Whether the window may grow: the ACK advances the cumulative point outside of fast recovery.
    pub grows: bool,
}

/// How a flow with a deadline stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The time.
    pub now: Instant,
    /// When the last byte should have arrived.
    pub deadline: Instant,
    /// Packets that are not acknowledged.
    pub left: u32,
    /// Smoothed round-trip time.
    pub round_trip: Picos,
}

/// Congestion control of one connection: growth and reduction of its window. Windows count packets, with a fraction.
///
/// Loss detection, retransmission and timers are not part of it. Fast recovery adds its own inflation to the window.
pub trait Control: Clone + Debug {
    /// Settings, common to all connections of a host.
    type Rules: Clone + Debug;

    /// The state of a new connection that may send `window` packets at once.
    fn open(rules: &Self::Rules, window: u32) -> Self;
    /// The congestion window in whole packets, at least 1.
    fn window(&self) -> u32;
    /// Handles an ACK that acknowledges new packets.
    fn on_ack(&mut self, rules: &Self::Rules, ack: &Acked);
    /// A mark is going to be told of, to a flow with a deadline.
    fn plan(&mut self, _rules: &Self::Rules, _plan: &Plan) {}
    /// Handles an ACK that echoes a mark; called before `on_ack` if it also acknowledges new packets.
    fn on_mark(&mut self, _rules: &Self::Rules, _ack: &Acked) {}
    /// Handles a fast retransmit: `flight` packets were outstanding, without those of limited transmit.
    fn on_loss(&mut self, rules: &Self::Rules, flight: u32);
    /// Handles a timeout; `repeated` if the same packet had timed out before.
    fn on_timeout(&mut self, rules: &Self::Rules, flight: u32, repeated: bool);
    /// The congestion window with its fraction, packets.
    fn cwnd(&self) -> f64 {
        self.window().into()
    }
    /// Limits the growth in congestion avoidance to `step` packets per step. This couples the subflows of a multipath
    /// connection; a control that ignores the limit cannot be coupled.
    fn limit_growth(&mut self, _step: f64) {}
}

/// Growth rules of [`NewReno`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Growth {
    /// Growth counts acknowledged packets (RFC 3465) instead of ACKs (RFC 5681, equations 2 and 3).
    pub per_packet: bool,
    /// Slow-start threshold of a new connection, packets; infinite by default (RFC 5681, section 3.1: "arbitrarily high").
    pub initial_threshold: f64,
    /// Upper bound of the window, packets: the receive window.
    pub largest: f64,
}

/// Least slow-start threshold after a loss, packets (RFC 5681, equation 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// Slow start, congestion avoidance and their reaction to loss (RFC 5681).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NewReno {
    /// cwnd, packets.
    pub window: f64,
    /// ssthresh, packets.
    pub threshold: f64,
    /// Largest growth in one step of congestion avoidance, packets; infinite unless subflows are coupled.
    pub step_limit: f64,
}

impl NewReno {
    /// Whether the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether at most `peak` outstanding packets have used the window up, or half of it in slow start. A window that
    /// is limited by the host's link or the receiver does not grow (RFC 7661, section 4.3, in the form of Linux).
    fn is_used(&self, peak: u32) -> bool {
        if self.in_slow_start() { self.window < 2.0 * f64::from(peak) } else { peak >= self.window() }
    }

    /// Grows the window for `packets` acknowledged packets: RFC 5681, equations 2 and 3. One ACK may acknowledge many
    /// packets: the part up to the threshold counts as slow start, the rest as congestion avoidance.
    fn grow(&mut self, rules: &Growth, packets: u32) {
        let mut steps = if rules.per_packet { f64::from(packets) } else { 1.0 };
        if self.in_slow_start() {
            let slow = steps.min((self.threshold - self.window).max(1.0));
            self.window += slow;
            steps -= slow;
        }
        if steps > 0.0 {
            self.window += steps * (1.0 / self.window).min(self.step_limit);
        }
        self.window = self.window.min(rules.largest.max(1.0));
    }
}

impl Control for NewReno {
    type Rules = Growth;

    fn open(rules: &Growth, window: u32) -> Self {
        Self { window: window.into(), threshold: rules.initial_threshold, step_limit: f64::INFINITY }
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.window as u32).max(1)
    }

    #[inline]
    fn on_ack(&mut self, rules: &Growth, ack: &Acked) {
        if ack.grows && self.is_used(ack.peak) {
            self.grow(rules, ack.packets);
        }
    }

    /// RFC 5681, section 3.2, step 2. Recovery adds the packets that have left the network.
    fn on_loss(&mut self, _: &Growth, flight: u32) {
        self.threshold = (f64::from(flight) / 2.0).max(LEAST_THRESHOLD);
        self.window = self.threshold;
    }

    /// RFC 5681, section 3.1: the loss window is one packet. The threshold stays if the same packet times out again.
    ///
    /// Where a retransmission is lost, nothing is acknowledged for a while, and far more packets than the window are
    /// outstanding. That loss is a second indication of congestion (section 4.3): the threshold is half of the window then,
    /// which the first one has halved already.
    fn on_timeout(&mut self, _: &Growth, flight: u32, repeated: bool) {
        if !repeated {
            self.threshold = (f64::from(flight).min(self.window) / 2.0).max(LEAST_THRESHOLD);
        }
        self.window = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.window
    }

    fn limit_growth(&mut self, step: f64) {
        self.step_limit = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Growth = Growth { per_packet: false, initial_threshold: f64::INFINITY, largest: 1e9 };

    fn ack(packets: u32) -> Acked {
        Acked { now: Instant::ZERO, packets, echo: false, first: 0, next: 0, peak: 100, grows: true }
    }

    #[test]
    fn slow_start_adds_a_packet_per_ack_and_avoidance_one_per_window() {
        let mut reno = NewReno::open(&RULES, 2);
        (0..2).for_each(|_| reno.on_ack(&RULES, &ack(2)));
        assert_eq!(reno.window(), 4);
        reno.on_loss(&RULES, 10);
        assert_eq!((reno.window(), reno.in_slow_start()), (5, false));
        (0..6).for_each(|_| reno.on_ack(&RULES, &ack(1)));
        assert_eq!(reno.window(), 6);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = NewReno::open(&RULES, 8);
        reno.on_ack(&RULES, &Acked { peak: 4, ..ack(1) });
        assert_eq!(reno.window(), 8);
        reno.on_ack(&RULES, &Acked { peak: 5, ..ack(1) });
        assert_eq!(reno.window(), 9);
        reno.threshold = 9.0;
        reno.on_ack(&RULES, &Acked { peak: 8, ..ack(1) });
        assert_eq!(reno.window, 9.0);
        reno.on_ack(&RULES, &Acked { peak: 9, ..ack(1) });
        assert!(reno.window > 9.0);
    }

    #[test]
    fn a_limit_of_growth_holds_in_congestion_avoidance_only() {
        let mut reno = NewReno::open(&RULES, 4);
        reno.limit_growth(0.1);
        reno.on_ack(&RULES, &ack(1));
        assert_eq!(reno.window, 5.0);
        reno.threshold = 5.0;
        reno.on_ack(&RULES, &ack(1));
        assert_eq!(reno.window, 5.0 + 0.1);
        reno.limit_growth(0.5);
        reno.on_ack(&RULES, &ack(1));
        assert_eq!(reno.window, 5.1 + 1.0 / 5.1);
    }

    #[test]
    fn counting_packets_splits_a_large_ack_at_the_threshold() {
        let rules = Growth { per_packet: true, initial_threshold: 6.0, ..RULES };
        let mut reno = NewReno::open(&rules, 4);
        reno.on_ack(&rules, &ack(8));
        assert_eq!(reno.window, 6.0 + 6.0 / 6.0);
    }

    #[test]
    fn a_second_timeout_of_the_same_packet_keeps_the_threshold() {
        let mut reno = NewReno::open(&RULES, 10);
        reno.on_timeout(&RULES, 10, false);
        reno.on_timeout(&RULES, 1, true);
        assert_eq!((reno.window, reno.threshold), (1.0, 5.0));
        reno.on_timeout(&RULES, 1, false);
        assert_eq!(reno.threshold, 2.0);
    }

    #[test]
    fn a_timeout_in_recovery_halves_the_window_again_whatever_is_outstanding() {
        let mut reno = NewReno::open(&RULES, 50);
        reno.on_loss(&RULES, 50);
        reno.on_timeout(&RULES, 103, false);
        assert_eq!((reno.window, reno.threshold), (1.0, 12.5));
    }
}
