//! The sending half of a connection: the rules of the README in its order.

use alloc::collections::VecDeque;

use pullnet_connections::{FlowPackets, ReceivedSet};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, MOST_RATE, RATE_UNIT, RateUnits, SendCounts};
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::config::{Late, Parameters};
use crate::header::{Ask, D3Header, Grants, NUMBERS};

/// Picoseconds that a byte takes at one unit of rate.
const PER_BYTE: u64 = 8 * 1_000_000_000_000 / RATE_UNIT;
/// Packets that overtake one on a path that keeps their order, before it counts as lost (RFC 5681, section 3.2).
const REORDERING: usize = 3;
/// Weight of the measured round trip before the latest one (RFC 6298, section 2).
const SMOOTHING: u64 = 8;
/// Round trips without an answer after which a packet counts as lost.
const PATIENCE: u64 = 3;
/// An ask waits for data for such a part of the lease, if that is more than a round trip.
const LEASE_PART: u64 = 4;

/// What an ACK says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    pub cumulative: u32,
    pub answers: Option<u32>,
    pub finished: bool,
    pub reply: Option<(u8, Grants)>,
}

/// What a timer found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Nothing is to be reported.
    Nothing,
    /// This packet was not acknowledged in time.
    Timeout(u32),
    /// The flow fails.
    Failed(&'static str),
}

/// A packet to be sent: its header, its payload, and whether that was sent before.
pub type Outgoing = (D3Header, u32, bool);

/// An ask that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Asking {
    number: u8,
    desired: RateUnits,
    at: Instant,
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub to: HostAddr,
    pub conn: ConnId,
    packets: FlowPackets,
    pub priority: u8,
    pub path: u16,
    /// Rate of the host's link.
    uplink: RateUnits,
    /// When the last byte should have arrived, and the time that there was for it. `None`: whenever.
    deadline: Option<(Instant, Picos)>,
    acked: ReceivedSet,
    /// The next packet that was never sent.
    next: u32,
    /// Packets that are to be sent again.
    lost: VecDeque<u32>,
    /// Packets that are on their way, in the order in which they left.
    flight: VecDeque<(u32, Instant)>,
    /// The rate at which data may leave, and until when.
    rate: RateUnits,
    lease: Instant,
    /// Grants to be handed back with the next ask, and what was desired for them.
    held: Option<(Grants, RateUnits)>,
    asking: Option<Asking>,
    number: u8,
    /// When it may ask again, and when by a packet of its own.
    ask_at: Instant,
    bare_at: Instant,
    /// When data left last, and how long it was.
    left: Instant,
    left_bytes: u32,
    rtt: Option<Picos>,
    /// Why it fails, as soon as no ask is without an answer.
    failure: Option<&'static str>,
    pub counts: SendCounts,
    pub last_progress: Instant,
    last_heard: Instant,
    /// Whether the host has it in line.
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
            packets,
            priority: flow.priority,
            path,
            uplink: (link.get() / RATE_UNIT).clamp(1, MOST_RATE.into()) as RateUnits,
            deadline: deadline.map(|at| (at, at.since(now.min(at)))),
            acked: ReceivedSet::default(),
            next: 0,
            lost: VecDeque::new(),
            flight: VecDeque::new(),
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
            counts: SendCounts::default(),
            last_progress: now,
            last_heard: now,
            in_line: false,
        }
    }

    fn rtt(&self, rules: &Parameters) -> Picos {
        self.rtt.unwrap_or(rules.initial_rtt)
    }

    fn patience(&self, rules: &Parameters) -> Picos {
        rules.timeout.max(self.rtt(rules).saturating_mul(PATIENCE))
    }

    /// Whether every packet was acknowledged.
    pub fn is_complete(&self) -> bool {
        self.acked.count() == self.packets.number
    }

    /// Payload bytes that are acknowledged.
    pub fn acknowledged(&self, rules: &Parameters) -> u64 {
        u64::from(self.acked.count()) * u64::from(rules.mtu)
    }

    fn has_data(&self) -> bool {
        let new = self.next < self.packets.number && self.acked.reaches(self.next);
        self.failure.is_none() && (new || !self.lost.is_empty())
    }

    /// Bytes on the wire that are to be sent yet.
    fn bytes_left(&self, rules: &Parameters) -> u64 {
        let packets = u64::from(self.packets.number - self.next) + self.lost.len() as u64;
        packets * u64::from(rules.mtu + rules.header)
    }

    /// How long `bytes` take at `rate`.
    fn time(bytes: u64, rate: RateUnits) -> Picos {
        let time = u128::from(bytes) * u128::from(PER_BYTE) / u128::from(rate.max(1));
        Picos(time.min(u64::MAX.into()) as u64)
    }

    /// Rule 3: the rate that the flow needs; 0: a fair share.
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

    /// Rule 8: the last moment at which the host's whole link would be enough for the deadline.
    fn must_end(&self, rules: &Parameters) -> Instant {
        let Some((deadline, _)) = self.deadline.filter(|_| self.has_data()) else { return Instant::NEVER };
        let needed = Self::time(self.bytes_left(rules), self.uplink);
        Instant(deadline.0.saturating_sub(needed.0))
    }

    /// Rule 8: what becomes of the flow if it is late. Whether it is quenched.
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

    /// What is left leaves before the answer to an ask could come.
    fn ends_soon(&self, rules: &Parameters) -> bool {
        self.rate > 0 && Self::time(self.bytes_left(rules), self.rate) <= self.rtt(rules)
    }

    /// When data may leave.
    fn data_at(&self) -> Instant {
        if self.rate == 0 || !self.has_data() {
            return Instant::NEVER;
        }
        self.left.after(Self::time(self.left_bytes.into(), self.rate))
    }

    fn may_ask(&self, rules: &Parameters) -> bool {
        self.asking.is_none() && self.has_data() && !self.ends_soon(rules)
    }

    /// Rule 4: when an ask leaves by itself, since no data will carry it soon.
    fn request_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if !self.may_ask(rules) {
            return Instant::NEVER;
        }
        let at = self.ask_at.max(self.bare_at);
        let soon = self.rtt(rules).max(Picos(rules.lease.0 / LEASE_PART));
        let carried = self.data_at() <= now.max(at).after(soon);
        if carried { Instant::NEVER } else { at }
    }

    /// Rule 7: everything is sent, and no later packet can hand the grants back.
    fn may_end(&self) -> bool {
        !self.has_data() && self.next == self.packets.number && self.asking.is_none() && self.held.is_some()
    }

    /// When the next packet may leave. A flow that is to be quenched sends nothing more.
    pub fn ready_at(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.may_end() {
            return now;
        }
        if rules.late == Some(Late::Quench) && self.must_end(rules) < now {
            return Instant::NEVER;
        }
        self.data_at().min(self.request_at(now, rules))
    }

    /// When something happens without a packet from outside.
    pub fn due(&self, now: Instant, rules: &Parameters) -> Instant {
        if self.failure.is_some() && self.asking.is_none() {
            return now;
        }
        let patience = self.patience(rules);
        let asked = self.asking.map_or(Instant::NEVER, |asking| asking.at.after(patience));
        let flight = self.flight.front().map_or(Instant::NEVER, |(_, at)| at.after(patience));
        let lease = if self.rate > 0 && self.has_data() { self.lease } else { Instant::NEVER };
        let ready = if self.in_line { Instant::NEVER } else { self.ready_at(now, rules) };
        let silence = self.last_heard.after(rules.give_up);
        let late = Instant(self.must_end(rules).0.saturating_add(1));
        asked.min(flight).min(lease).min(ready).min(silence).min(late)
    }

    /// An ask, which takes the grants that are held with it.
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

    /// Rule 7: the ask that hands all grants back.
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

    /// Rule 4: a data packet, with an ask if one is due, or with the end if it is the last one.
    fn data(&mut self, now: Instant, rules: &Parameters) -> Option<Outgoing> {
        let again = !self.lost.is_empty();
        let asks = self.may_ask(rules) && self.ask_at <= now;
        let seq = self.lost.pop_front().unwrap_or(self.next);
        self.next = self.next.max(seq + 1);
        self.pass_over_acknowledged();
        let (last, payload) = (self.packets.is_last(seq), self.packets.payload(seq));
        (self.left, self.left_bytes) = (now, payload + rules.header);
        self.flight.push_back((seq, now));
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        let conn = self.conn;
        let ask = if asks && self.has_data() {
            Some(self.ask(now, rules, false))
        } else {
            self.may_end().then(|| self.ask(now, rules, true))
        };
        Some((D3Header::Data { conn, seq, last, ask }, payload, again))
    }

    fn pass_over_acknowledged(&mut self) {
        while self.lost.front().is_some_and(|seq| self.acked.contains(*seq)) {
            self.lost.pop_front();
        }
    }

    /// Rule 5: grants of the switches that answer the latest ask.
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

    /// `acknowledged` is told when each packet left that is acknowledged now.
    pub fn on_ack(
        &mut self,
        now: Instant,
        rules: &Parameters,
        ack: Ack,
        mut acknowledged: impl FnMut(Instant),
    ) {
        let (before, count) = (self.acked.cumulative(), self.acked.count());
        let cumulative = if ack.finished { self.packets.number } else { ack.cumulative };
        let answered = ack.answers.into_iter().chain(before..cumulative.min(self.next));
        for seq in answered.filter(|seq| *seq < self.next) {
            self.acked.insert(seq);
        }
        self.last_heard = now;
        if self.acked.count() > count {
            self.last_progress = now;
        }
        if let Some(at) = ack.answers.and_then(|seq| self.arrived(seq)) {
            acknowledged(at);
        }
        while let Some((_, at)) = self.flight.pop_front_if(|(seq, _)| self.acked.contains(*seq)) {
            acknowledged(at);
        }
        self.pass_over_acknowledged();
        if let Some((number, grants)) = ack.reply {
            self.on_reply(now, rules, number, grants);
        }
    }

    /// Takes an acknowledged packet out of those on their way; says when it left. Rule 9: packets that several later ones
    /// have overtaken on the same path are lost.
    fn arrived(&mut self, seq: u32) -> Option<Instant> {
        let position = self.flight.iter().position(|(other, _)| *other == seq)?;
        let (_, at) = self.flight.remove(position)?;
        for _ in REORDERING..=position {
            let lost = self.flight.pop_front().map(|(lost, _)| lost);
            self.lost.extend(lost.filter(|lost| !self.acked.contains(*lost)));
        }
        Some(at)
    }

    /// A timer of the flow.
    pub fn on_timer(&mut self, now: Instant, rules: &Parameters) -> Expiry {
        if now.since(self.last_heard.min(now)) >= rules.give_up {
            return Expiry::Failed("the receiver is silent");
        }
        if self.is_quenched(now, rules) {
            self.failure = Some("quenched: its deadline cannot be met");
        }
        let patience = self.patience(rules);
        if self.asking.is_some_and(|asking| asking.at.after(patience) <= now) {
            // Rule 7: what the switches granted since is unknown, so that nothing is handed back.
            (self.asking, self.rate, self.ask_at) = (None, 0, now);
        }
        if let Some(reason) = self.failure.filter(|_| self.asking.is_none()) {
            return Expiry::Failed(reason);
        }
        if self.rate > 0 && self.lease <= now {
            (self.rate, self.held, self.ask_at) = (0, None, now);
        }
        let late = |(_, at): &(u32, Instant)| at.after(patience) <= now;
        let first = self.flight.front().filter(|first| late(first)).map(|(seq, _)| *seq);
        while let Some((seq, _)) = self.flight.pop_front_if(|packet| late(packet)) {
            self.lost.push_back(seq);
        }
        let Some(first) = first else { return Expiry::Nothing };
        self.counts.timeouts += 1;
        Expiry::Timeout(first)
    }

    /// What the flow waits for, in words.
    pub fn waiting_for(&self) -> &'static str {
        match (self.asking.is_some(), self.has_data(), self.rate) {
            (true, true, 0) => "the answer to its ask",
            (_, true, 0) => "its next ask",
            (_, true, _) => "its rate",
            _ => "ACKs",
        }
    }
}
