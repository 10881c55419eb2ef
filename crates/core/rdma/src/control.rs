use core::fmt::Debug;

use pullnet_units::{Instant, Picos};

/// What an ACK or a NACK says to rate control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// When it arrived.
    pub now: Instant,
    /// Payload bytes newly acknowledged.
    pub bytes: u64,
    /// The packet that is answered was marked.
    pub marked: bool,
    /// Time since the packet that is answered was sent; `None` if it was sent more than once.
    pub rtt: Option<Picos>,
    /// The oldest packet without an ACK, after this one.
    pub first: u32,
    /// Number of the next new packet.
    pub next: u32,
}

/// Rate control of one flow. Rates are in bits per second on the wire.
///
/// A control has no timers of its own: whatever its rules say happens at a certain time is made up for when the rate is
/// next asked for, which is whenever a packet leaves. So timers of a microsecond cost nothing while nothing is sent.
pub trait Control: Clone + Debug {
    /// Settings, common to all flows of a host.
    type Rules: Clone + Debug;

    /// The state of a new flow on a link of rate `line`.
    fn open(rules: &Self::Rules, line: f64) -> Self;
    /// The rate after everything that has happened by `now`. Never above the rate of the link.
    fn rate(&mut self, rules: &Self::Rules, now: Instant) -> f64;
    /// A packet of `bytes` bytes on the wire leaves.
    fn on_sent(&mut self, _rules: &Self::Rules, _now: Instant, _bytes: u32) {}
    /// An ACK or a NACK arrives.
    fn on_ack(&mut self, _rules: &Self::Rules, _ack: &Acked) {}
    /// A congestion notification (CNP) arrives.
    fn on_cnp(&mut self, _rules: &Self::Rules, _now: Instant) {}
}

/// No rate control: every flow is sent at the rate of the link, or at a rate that is stated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LineRate(f64);

impl Control for LineRate {
    /// Rate of each flow; `None`: that of the link.
    type Rules = Option<f64>;

    fn open(rules: &Option<f64>, line: f64) -> Self {
        Self(rules.unwrap_or(line).min(line))
    }

    #[inline]
    fn rate(&mut self, _: &Option<f64>, _: Instant) -> f64 {
        self.0
    }
}
