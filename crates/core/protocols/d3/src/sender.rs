//! The sending half of a connection: the rules of the README, in the same order.

use pullnet_connections::{Departure, FlowPackets, SentPackets};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, MOST_RATE, RATE_UNIT, RateUnits};
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::config::{Late, Parameters};
use crate::header::{Ask, D3Header, Grants, NUMBERS};

/// Picoseconds that a byte takes at one unit of rate.
const PER_BYTE: u64 = 8 * 1_000_000_000_000 / RATE_UNIT;
/// The latest sample has a weight of 1 / `SMOOTHING` in the smoothed round-trip time (RFC 6298, section 2).
const SMOOTHING: u64 = 8;
/// Round trips without an answer after which a packet counts as lost.
const PATIENCE: u64 = 3;
/// A rate request waits for a data packet for 1 / `LEASE_PART` of the lease, or for a round trip if that is longer.
const LEASE_PART: u64 = 4;

/// Content of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    pub cumulative: u32,
    pub answers: Option<u32>,
    pub finished: bool,
    pub reply: Option<(u8, Grants)>,
}

/// Result of a timer check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// There is nothing to report.
    Nothing,
    /// This packet was not acknowledged in time.
    Timeout(u32),
    /// The flow fails.
    Failed(&'static str),
}

/// A packet to send: header, payload bytes, and whether it is a retransmission.
pub type Outgoing = (D3Header, u32, bool);

/// A rate request that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Asking {
    number: u8,
    desired: RateUnits,
    at: Instant,
}

/// The sending half of a connection.
///
/// Long: a rule reads and writes fields of several others, and one connection is one piece of memory; what a single
/// rule keeps is a type of its own.
#[derive(Clone, Debug)]
pub struct Sender {
    pub to: HostAddr,
    pub conn: ConnId,
    pub sent: SentPackets,
    pub priority: u8,
    pub path: u16,
    /// Rate of the host's link.
    uplink: RateUnits,
    /// When the last byte should have arrived, and the time from the opening of the flow until then. `None`: no deadline.
    deadline: Option<(Instant, Picos)>,
    /// The rate at which data may leave, and when that permission ends.
    rate: RateUnits,
    lease: Instant,
    /// Grants to hand back with the next rate request, and the desired rate in the request that obtained them.
    held: Option<(Grants, RateUnits)>,
    asking: Option<Asking>,
    number: u8,
    /// Earliest times of the next rate request: on a data packet, and as a separate packet.
    ask_at: Instant,
    bare_at: Instant,
    /// Departure time of the latest data packet, and its length in bytes on the wire.
    left: Instant,
    left_bytes: u32,
    rtt: Option<Picos>,
    /// Reason for which the flow fails, as soon as its rate request is answered or lost.
    failure: Option<&'static str>,
    /// Whether the host's transmit queue contains this sender.
    pub in_line: bool,
}

impl Sender {
    /// A flow over `path`, from a host whose link has the rate `link`.
    pub fn open(
        now: Instant,
        rules: &Parameters,
        flow: &FlowSpec,
        packets: FlowPackets,
        (link, path): (BitsPerSec, u16),
    ) -> Self {
        let deadline = flow.deadline.filter(|_| rules.late.is_some() && flow.size.is_some());
        Self {
            to: flow.to,
            conn: flow.conn,
            sent: SentPackets::new(now, packets),
            priority: flow.priority,
            path,
            uplink: (link.get() / RATE_UNIT).clamp(1, MOST_RATE.into()) as RateUnits,
            deadline: deadline.map(|at| (at, at.since(now.min(at)))),
            rate: 0,
            lease: Instant::NEVER,
            held: None,
            asking: None,
            number: 0,
            ask_at: now,
            bare_at: now,
            left: now,
            left_bytes: 0,
            rtt: None,
            failure: None,
            in_line: false,
        }
    }

    fn rtt(&self, rules: &Parameters) -> Picos {
        self.rtt.unwrap_or(rules.initial_rtt)
    }

    fn patience(&self, rules: &Parameters) -> Picos {
        rules.timeout.max(self.rtt(rules).saturating_mul(PATIENCE))
    }

    fn has_data(&self) -> bool {
        self.failure.is_none() && self.sent.has_data()
    }

    /// Bytes on the wire not sent yet, including retransmissions.
    fn bytes_left(&self, rules: &Parameters) -> u64 {
        self.sent.left() * u64::from(rules.mtu + rules.header)
    }

    /// Transmission time of `bytes` at `rate`.
    fn time(bytes: u64, rate: RateUnits) -> Picos {
        let time = u128::from(bytes) * u128::from(PER_BYTE) / u128::from(rate.max(1));
        Picos(time.min(u64::MAX.into()) as u64)
    }

    /// Rule 3: rate that the flow needs; 0: a fair share.
    fn desired(&self, now: Instant, rules: &Parameters) -> RateUnits {
        let Some((deadline, _)) = self.deadline else { return 0 };
        if deadline <= now {
            return 0;
        }
        let left = deadline.since(now).0;
        let reserve = self.rtt(rules).saturating_mul(rules.allowance.into()).0;
        let time = left.saturating_sub(reserve).max(1);
        let needed = u128::from(self.bytes_left(rules)) * u128::from(PER_BYTE);
        needed.div_ceil(time.into()).min(self.uplink.into()) as RateUnits
    }

    /// Rule 8: the latest time at which the full link rate of the host would still meet the deadline.
    fn must_end(&self, rules: &Parameters) -> Instant {
        let Some((deadline, _)) = self.deadline.filter(|_| self.has_data()) else { return Instant::NEVER };
        let needed = Self::time(self.bytes_left(rules), self.uplink);
        Instant(deadline.0.saturating_sub(needed.0))
    }

    /// Rule 8: treats a late flow as `late` prescribes. Returns whether the flow is quenched.
    fn is_quenched(&mut self, now: Instant, rules: &Parameters) -> bool {
        if self.must_end(rules) >= now {
            return false;
        }
        match (rules.late, self.deadline) {
            (Some(Late::Quench), _) => return true,
            (Some(Late::Extend), Some((_, span))) if span.0 > 0 => {
                let needed = Self::time(self.bytes_left(rules), self.uplink);
                self.deadline = Some((now.after(span).after(needed), span));
            }
            _ => self.deadline = None,
        }
        false
    }

    /// Returns whether the remaining data leaves before a rate request could be answered.
    fn ends_soon(&self, rules: &Parameters) -> bool {
        self.rate > 0 && Self::time(self.bytes_left(rules), self.rate) <= self.rtt(rules)
    }

    /// Earliest departure of the next data packet.
    fn data_at(&self) -> Instant {
        if self.rate == 0 || !self.has_data() {
            return Instant::NEVER;
        }
        self.left.after(Self::time(self.left_bytes.into(), self.rate))
    }

    fn may_ask(&self, rules: &Parameters) -> bool {
        self.asking.is_none() && self.has_data() && !self.ends_soon(rules)
    }

    /// Rule 4: when to send a rate request as a separate packet, because no data packet will carry it soon.
    fn request_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if !self.may_ask(rules) {
            return Instant::NEVER;
        }
        let at = self.ask_at.max(self.bare_at);
        let soon = self.rtt(rules).max(Picos(rules.lease.0 / LEASE_PART));
        let carried = self.data_at() <= now.max(at).after(soon);
        if carried { Instant::NEVER } else { at }
    }

    /// Rule 7: everything is sent, so no later data packet can hand the grants back.
    fn may_end(&self) -> bool {
        !self.has_data() && self.sent.all_sent() && self.asking.is_none() && self.held.is_some()
    }

    /// Earliest departure of the next packet. A flow that is about to be quenched sends nothing more.
    pub fn ready_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.may_end() {
            return now;
        }
        if rules.late == Some(Late::Quench) && self.must_end(rules) < now {
            return Instant::NEVER;
        }
        self.data_at().min(self.request_at(now, rules))
    }

    /// When the timer of the flow is due.
    pub fn due(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.failure.is_some() && self.asking.is_none() {
            return now;
        }
        let patience = self.patience(rules);
        let asked = self.asking.map_or(Instant::NEVER, |asking| asking.at.after(patience));
        let flight = self.sent.overdue_at(patience);
        let lease = if self.rate > 0 && self.has_data() { self.lease } else { Instant::NEVER };
        let ready = if self.in_line { Instant::NEVER } else { self.ready_at(now, rules) };
        let silence = self.sent.last_heard.after(rules.give_up);
        let late = Instant(self.must_end(rules).0.saturating_add(1));
        asked.min(flight).min(lease).min(ready).min(silence).min(late)
    }

    /// Builds a rate request that hands back the grants held.
    fn ask(&mut self, now: Instant, rules: &Parameters, ends: bool) -> Ask {
        self.number = (self.number + 1) % NUMBERS;
        let desired = if ends { 0 } else { self.desired(now, rules) };
        let (grants, before) = self.held.take().unwrap_or_default();
        if ends {
            self.rate = 0;
        } else {
            self.asking = Some(Asking { number: self.number, desired, at: now });
            self.bare_at = now.after(rules.ask_interval);
        }
        Ask { number: self.number, desired, before, ends, grants: Grants { hops: 0, ..grants } }
    }

    /// Rule 7: the final request, which hands all grants back.
    pub fn farewell(&mut self, now: Instant, rules: &Parameters, quenched: bool) -> Option<D3Header> {
        (quenched || self.held.is_some()).then(|| {
            let ask = self.ask(now, rules, true);
            D3Header::Request { conn: self.conn, quenched, ask }
        })
    }

    /// The next packet, if one may leave now.
    pub fn transmit(&mut self, now: Instant, rules: &Parameters) -> Option<Outgoing> {
        if self.data_at() <= now {
            return self.data(now, rules);
        }
        if self.may_end() {
            return self.farewell(now, rules, false).map(|header| (header, 0, false));
        }
        (self.request_at(now, rules) <= now).then(|| {
            let ask = self.ask(now, rules, false);
            (D3Header::Request { conn: self.conn, quenched: false, ask }, 0, false)
        })
    }

    /// Rules 2 and 7: a data packet, with a rate request if one is due, or with the FIN if the packet is the last one.
    fn data(&mut self, now: Instant, rules: &Parameters) -> Option<Outgoing> {
        let asks = self.may_ask(rules) && self.ask_at <= now;
        let Departure { seq, last, payload, again } = self.sent.send(now);
        (self.left, self.left_bytes) = (now, payload + rules.header);
        let conn = self.conn;
        let ask = if asks && self.has_data() {
            Some(self.ask(now, rules, false))
        } else {
            self.may_end().then(|| self.ask(now, rules, true))
        };
        Some((D3Header::Data { conn, seq, last, ask }, payload, again))
    }

    /// Rule 5: applies the grants that answer the latest rate request.
    fn on_reply(&mut self, now: Instant, rules: &Parameters, number: u8, grants: Grants) {
        let Some(asked) = self.asking.filter(|asking| asking.number == number) else { return };
        self.asking = None;
        let measured = now.since(asked.at);
        let smooth = |rtt: Picos| Picos((rtt.0 * (SMOOTHING - 1) + measured.0) / SMOOTHING);
        self.rtt = Some(self.rtt.map_or(measured, smooth));
        if grants.overflows() {
            self.failure = Some("the path has more than 7 switches that allocate rates");
        }
        self.rate = grants.rate().unwrap_or(self.uplink).min(self.uplink);
        self.lease = asked.at.after(rules.lease);
        self.held = Some((grants, asked.desired));
        self.ask_at = now;
    }

    /// Processes an ACK. Calls `acknowledged` with the departure time of each newly acknowledged packet.
    pub fn on_ack(&mut self, now: Instant, rules: &Parameters, ack: Ack, acknowledged: impl FnMut(Instant)) {
        self.sent.on_ack(now, (ack.cumulative, ack.answers, ack.finished), acknowledged);
        if let Some((number, grants)) = ack.reply {
            self.on_reply(now, rules, number, grants);
        }
    }

    /// Handles the expiry of the flow's timer.
    pub fn on_timer(&mut self, now: Instant, rules: &Parameters) -> Expiry {
        if now.since(self.sent.last_heard.min(now)) >= rules.give_up {
            return Expiry::Failed("the receiver is silent");
        }
        if self.is_quenched(now, rules) {
            self.failure = Some("quenched: its deadline cannot be met");
        }
        let patience = self.patience(rules);
        if self.asking.is_some_and(|asking| asking.at.after(patience) <= now) {
            // Rule 7: the new grants of the switches are unknown, so nothing is handed back.
            (self.asking, self.rate, self.ask_at) = (None, 0, now);
        }
        if let Some(reason) = self.failure.filter(|_| self.asking.is_none()) {
            return Expiry::Failed(reason);
        }
        if self.rate > 0 && self.lease <= now {
            (self.rate, self.held, self.ask_at) = (0, None, now);
        }
        self.sent.expire(now, patience).map_or(Expiry::Nothing, Expiry::Timeout)
    }

    /// The flow's current wait, as text for its status.
    pub fn waiting_for(&self) -> &'static str {
        match (self.asking.is_some(), self.has_data(), self.rate) {
            (true, true, 0) => "the answer to its ask",
            (_, true, 0) => "its next ask",
            (_, true, _) => "its rate",
            _ => "ACKs",
        }
    }
}
