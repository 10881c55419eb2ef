use core::fmt::Debug;

use pullnet_transport::FailureReason;
use pullnet_units::{Instant, Picos};

use crate::header::{Carrier, RdmaHeader};

/// Content of an ACK or a NACK for rate control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// Time of its arrival.
    pub now: Instant,
    /// Payload bytes newly acknowledged.
    pub bytes: u64,
    /// Whether the packet that it answers was marked.
    pub marked: bool,
    /// Time since that packet was sent; `None` if the packet was sent more than once.
    pub rtt: Option<Picos>,
    /// Number of the oldest packet that is still without an ACK.
    pub first: u32,
    /// Number of the next new packet.
    pub next: u32,
}

/// Rate control of one flow. Rates are in bits per second on the wire.
///
/// A control has no timers of its own: updates that are due run when the rate is next read, which is at every departure of
/// a packet. Timers of a microsecond therefore cost nothing while nothing is sent.
pub trait Control: Clone + Debug {
    /// The form in which its hosts send headers: [`RdmaHeader`] if packets collect nothing at switches.
    type Header: Carrier;
    /// Settings, common to all flows of a host.
    type Rules: Clone + Debug;

    /// The state of a new flow on a link of rate `line`.
    fn open(rules: &Self::Rules, line: f64) -> Self;
    /// Runs the updates due by `now` and returns the rate, which is never above the rate of the link.
    fn rate(&mut self, rules: &Self::Rules, now: Instant) -> f64;
    /// Handles the departure of a packet of `bytes` bytes on the wire.
    fn on_sent(&mut self, _rules: &Self::Rules, _now: Instant, _bytes: u32) {}
    /// Handles an ACK or a NACK.
    fn on_ack(&mut self, _rules: &Self::Rules, _ack: &Acked) {}
    /// Handles what the packet that `ack` answers has collected at switches, before [`Control::on_ack`].
    fn on_collected(&mut self, _rules: &Self::Rules, _ack: &Acked, _collected: &CollectedOf<Self>) {}
    /// Why the flow cannot be controlled and has to fail; `None`: it can.
    fn failure(&self) -> Option<FailureReason> {
        None
    }
    /// Handles a congestion notification (CNP).
    fn on_cnp(&mut self, _rules: &Self::Rules, _now: Instant) {}
}

/// Data that packets under rate control `C` collect at switches.
pub type CollectedOf<C> = <<C as Control>::Header as Carrier>::Collected;

/// No rate control: every flow is sent at the rate of the link or at a fixed rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LineRate(f64);

impl Control for LineRate {
    type Header = RdmaHeader;
    /// Rate of each flow; `None`: the rate of the link.
    type Rules = Option<f64>;

    fn open(rules: &Option<f64>, line: f64) -> Self {
        Self(rules.unwrap_or(line).min(line))
    }

    #[inline]
    fn rate(&mut self, _: &Option<f64>, _: Instant) -> f64 {
        self.0
    }
}
