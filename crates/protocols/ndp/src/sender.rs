//! The sending half of a connection: the rules of the specification in its order.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pullnet_pull::{Feedback, PathSet, WINDOW};
use pullnet_rng::Stream;
use pullnet_transport::{Class, ConnId, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::{Instant, Picos};

use crate::config::Rules;
use crate::header::NdpHeader;
use crate::window::{Slot, State, Window};

/// A packet's timeout doubles this many times at most.
const MAX_DOUBLINGS: u32 = 6;
/// Timers are looked at this often within a timeout: a retransmission is late by a sixteenth at most.
const CHECKS_PER_TIMEOUT: u64 = 16;
/// A pull is missed after this many timeouts, or as many times the longest gap between pulls so far.
const PATIENCE: u64 = 4;
/// Probes that are sent to a silent receiver at least before the sender gives up.
const LEAST_PROBES: u64 = 32;
/// Times as patient for a pull is a sender that may be one of a crowd: its pull may stand in a long queue.
const CROWDED_PATIENCE: u64 = 16;
/// Feedback that is looked at to tell a bad path from an incast; all ones would be 16 ACKs.
const HISTORY: u32 = 16;

/// What sending depends on besides the connection.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub rules: &'a Rules,
    pub chance: &'a mut Stream,
}

/// What an ACK tells the application.
pub(crate) struct Acked {
    /// Time since the packet was first sent.
    pub latency: Picos,
    /// Whether this was the last one.
    pub complete: bool,
}

/// What a look at the timers says.
pub(crate) enum Check {
    /// Look again at this time. These packets have timed out, and perhaps a probe is to be sent.
    Again { at: Instant, timed_out: Vec<u32>, probe: Option<NdpHeader> },
    /// Nothing was heard for too long.
    GiveUp,
}

/// What a connection could send now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A packet that was sent before.
    Again,
    /// A new packet.
    New,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    /// Packets in all; `u32::MAX` never ends.
    total: u32,
    /// Payload bytes of the last packet.
    last_payload: u32,
    window: Window,
    /// Packets of the first window that are still to be pushed.
    push: u32,
    /// Packets that pulls allow and that were not sent yet.
    credit: u32,
    /// Highest pull number so far.
    served: u32,
    /// NACKed or returned packets, in the order in which they are sent again.
    again: VecDeque<u32>,
    /// Packets that are sent again without a pull.
    urgent: VecDeque<u32>,
    /// ACKs and NACKs minus pulls: how many pulls are to come.
    expected_pulls: u32,
    /// Packets of the first window of which nothing was heard yet.
    first_unheard: u32,
    /// The latest feedback, newest in bit 0, 1 for an ACK.
    history: u32,
    /// How many bits of `history` are meant.
    heard: u32,
    paths: PathSet,
    /// Smoothed round trip and its mean deviation, picoseconds; 0 before the first answer.
    round_trip: (u64, u64),
    acked_bytes: u64,
    pub counts: SendCounts,
    last_heard: Instant,
    last_progress: Instant,
    last_pull: Instant,
    longest_pull_gap: Picos,
    probes: u32,
    last_probe: Instant,
    /// When the timers are looked at next.
    pub check_at: Instant,
    /// Whether it stands in the endpoint's queues of connections that can send.
    pub queued_again: bool,
    pub queued_new: bool,
}

impl Sender {
    /// Rule 1, start: no handshake; the first window may leave at line rate.
    pub fn open(cx: &mut Context<'_>, flow: &FlowSpec) -> Self {
        let mtu = u64::from(cx.rules.mtu);
        let size = flow.size.map(|size| size.0);
        let total = size.map_or(u32::MAX, |size| size.div_ceil(mtu).min(u64::from(u32::MAX - 1)) as u32);
        let last_payload = size.map_or(cx.rules.mtu, |size| (size - (u64::from(total) - 1) * mtu) as u32);
        let push = cx.rules.initial_window.min(total);
        let paths = PathSet::new(flow.paths, cx.rules.spread, cx.rules.scoreboard, cx.chance);
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            total,
            last_payload,
            window: Window::default(),
            push,
            credit: 0,
            served: 0,
            again: VecDeque::new(),
            urgent: VecDeque::new(),
            expected_pulls: 0,
            first_unheard: push,
            history: 0,
            heard: 0,
            paths,
            round_trip: (0, 0),
            acked_bytes: 0,
            counts: SendCounts::default(),
            last_heard: cx.now,
            last_progress: cx.now,
            last_pull: cx.now,
            longest_pull_gap: Picos::ZERO,
            probes: 0,
            last_probe: cx.now,
            check_at: Instant::NEVER,
            queued_again: false,
            queued_new: false,
        }
    }

    /// Rule 2, ACK: the packet needs no more care. `None`: it was known before.
    pub fn on_ack(&mut self, cx: &Context<'_>, seq: u32) -> Option<Acked> {
        self.hear(cx.now, true);
        let payload = self.payload(cx.rules, seq);
        let slot = self.window.get_mut(seq).filter(|slot| slot.state != State::Acked)?;
        let first_time = !core::mem::replace(&mut slot.heard, true);
        slot.state = State::Acked;
        let Slot { path, first_sent, sent, timeouts, .. } = *slot;
        let latency = cx.now.since(first_sent);
        self.sample(cx, sent, timeouts);
        self.paths.feedback(path, Feedback::Ack);
        self.account_first(cx.rules, seq, first_time);
        self.window.advance();
        self.acked_bytes += u64::from(payload);
        self.last_progress = cx.now;
        Some(Acked { latency, complete: self.window.first() == self.total })
    }

    /// Rule 3, NACK: the packet waits for a pull. A NACK for a packet that waits already, or that has arrived,
    /// says nothing new.
    pub fn on_nack(&mut self, cx: &Context<'_>, seq: u32) {
        self.hear(cx.now, false);
        let Some(slot) = self.window.get_mut(seq).filter(|slot| slot.state == State::Sent) else { return };
        let first_time = !core::mem::replace(&mut slot.heard, true);
        slot.state = State::Waiting;
        let (path, sent, timeouts) = (slot.path, slot.sent, slot.timeouts);
        self.sample(cx, sent, timeouts);
        self.paths.feedback(path, Feedback::Nack);
        self.account_first(cx.rules, seq, first_time);
        self.again.push_back(seq);
    }

    /// Rule 4, PULL: as many packets may leave as the number is ahead of the highest one so far. What cannot be used
    /// now is kept for the next NACK or new data: a pull may overtake the NACK that goes with it.
    pub fn on_pull(&mut self, cx: &Context<'_>, number: u32) {
        self.last_heard = cx.now;
        let ahead = number.wrapping_sub(self.served);
        if ahead == 0 || ahead > u32::MAX / 2 {
            return;
        }
        self.served = number;
        self.expected_pulls = self.expected_pulls.saturating_sub(ahead);
        // A gap is forgotten over some eight pulls: one outage must not make a connection patient for ever.
        let faded = Picos(self.longest_pull_gap.0 - self.longest_pull_gap.0 / 8);
        self.longest_pull_gap = faded.max(cx.now.since(self.last_pull));
        self.last_pull = cx.now;
        self.probes = 0;
        let useful = (self.total - self.window.next()).saturating_add(self.window.len());
        self.credit = self.credit.saturating_add(ahead).min(useful);
    }

    /// Rule 5, returned header: first in line for the next pull; sent at once if no pull would come, or if feedback
    /// is ACKs otherwise, which points to a bad path and not to an incast.
    pub fn on_return(&mut self, cx: &Context<'_>, seq: u32) {
        self.hear(cx.now, false);
        let Some(slot) = self.window.get_mut(seq).filter(|slot| slot.state == State::Sent) else { return };
        let first_time = !core::mem::replace(&mut slot.heard, true);
        let (path, sent, timeouts) = (slot.path, slot.sent, slot.timeouts);
        self.sample(cx, sent, timeouts);
        self.account_first(cx.rules, seq, first_time);
        let at_once = self.nothing_else_comes() || self.some_acks();
        self.set_state(seq, if at_once { State::Urgent } else { State::Waiting });
        self.paths.feedback(path, Feedback::Return);
        if at_once { self.urgent.push_back(seq) } else { self.again.push_front(seq) }
    }

    /// Rules 5a and 5b in the form of the public code: no pull is expected, and of the first window at most one packet
    /// is unaccounted for, this one being accounted for already.
    fn nothing_else_comes(&self) -> bool {
        self.expected_pulls == 0 && self.first_unheard <= 1
    }

    /// Rule 5c in the form of the public code: an ACK among every three of the latest feedback, in whole numbers.
    fn some_acks(&self) -> bool {
        self.recent_acks() > 0 && self.heard / self.recent_acks() <= 3
    }

    /// ACKs among the latest feedback.
    fn recent_acks(&self) -> u32 {
        (self.history & ((1 << self.heard) - 1)).count_ones()
    }

    /// Whether the receiver may have many senders: no more than half of what was sent lately arrived whole, or less than
    /// two answers are known, of which nobody can tell how far answers differ.
    fn crowded(&self) -> bool {
        self.heard < 2 || 2 * self.recent_acks() <= self.heard
    }

    /// A round trip, of a packet that was not repeated: the estimator of the public code, that of TCP.
    fn sample(&mut self, cx: &Context<'_>, sent: Instant, timeouts: u8) {
        if timeouts > 0 {
            return;
        }
        let (rtt, (mean, deviation)) = (cx.now.since(sent).0, self.round_trip);
        self.round_trip = match mean {
            0 => (rtt, rtt / 2),
            _ => (mean - mean / 8 + rtt / 8, deviation - deviation / 4 + mean.abs_diff(rtt) / 4),
        };
    }

    /// Time without an answer after which a packet is sent again, which doubles with each repetition; the configured one
    /// is the least. And what comes on top: what full header queues take, while they may be full.
    fn patience(&self, rules: &Rules) -> (Picos, Picos) {
        let (mean, deviation) = self.round_trip;
        let queues = if self.crowded() { rules.header_queues } else { Picos::ZERO };
        (rules.timeout.max(Picos(mean + 4 * deviation)), queues)
    }

    /// Rule 6, timeout: packets without an answer leave again on another path. Also asks for a pull that must have
    /// been lost, and gives up on a silent receiver.
    pub fn check(&mut self, cx: &Context<'_>) -> Check {
        if self.window.next() > 0 && cx.now.since(self.last_heard) > cx.rules.give_up {
            return Check::GiveUp;
        }
        let (timed_out, mut next) = self.expire(cx);
        self.counts.timeouts += timed_out.len() as u32;
        let mut probe = None;
        if let Some(due) = self.pull_missed_at(cx.rules) {
            next = next.min(due);
            if due <= cx.now {
                probe = Some(self.probe(cx.now));
                next = next.min(self.pull_missed_at(cx.rules).unwrap_or(Instant::NEVER));
            }
        }
        let step = Picos(cx.rules.timeout.0 / CHECKS_PER_TIMEOUT + 1);
        Check::Again { at: next.max(cx.now + step), timed_out, probe }
    }

    /// Packets whose time is over become urgent. Returns them and when to look again: while any are on their
    /// way, at least once in a timeout, for patience may shrink meanwhile.
    fn expire(&mut self, cx: &Context<'_>) -> (Vec<u32>, Instant) {
        let (mut timed_out, mut next) = (Vec::new(), Instant::NEVER);
        let (patience, queues) = self.patience(cx.rules);
        for (seq, slot) in self.window.iter_mut().filter(|(_, slot)| slot.state == State::Sent) {
            let doublings = u32::from(slot.timeouts).min(MAX_DOUBLINGS);
            let due = slot.sent.after(patience.saturating_mul(1 << doublings).saturating_add(queues));
            if due > cx.now {
                next = next.min(due).min(cx.now + cx.rules.timeout);
                continue;
            }
            slot.timeouts = slot.timeouts.saturating_add(1);
            slot.state = State::Urgent;
            self.paths.feedback(slot.path, Feedback::Loss);
            self.urgent.push_back(seq);
            timed_out.push(seq);
        }
        (timed_out, next)
    }

    /// When a pull that the connection waits for must have been lost; `None` if it waits for none.
    fn pull_missed_at(&self, rules: &Rules) -> Option<Instant> {
        let work = !self.again.is_empty() || (self.push == 0 && self.window.next() < self.total);
        let patience = Picos(rules.timeout.0.max(self.longest_pull_gap.0)).saturating_mul(PATIENCE);
        let patience = if self.crowded() { patience.saturating_mul(CROWDED_PATIENCE) } else { patience };
        let since = self.last_heard.max(self.last_pull).max(self.last_probe);
        let wait = patience.saturating_mul(1 << self.probes.min(MAX_DOUBLINGS));
        (work && self.credit == 0).then(|| since.after(wait.min(Picos(rules.give_up.0 / LEAST_PROBES))))
    }

    /// A control packet that makes the receiver pull again.
    fn probe(&mut self, now: Instant) -> NdpHeader {
        self.probes += 1;
        self.last_probe = now;
        let newest = self.window.next().saturating_sub(1);
        NdpHeader::Probe { conn: self.conn, seq: self.again.front().copied().unwrap_or(newest) }
    }

    /// What could leave now.
    pub fn ready(&mut self) -> Option<Ready> {
        self.forget_answered();
        if !self.urgent.is_empty() || (self.credit > 0 && !self.again.is_empty()) {
            return Some(Ready::Again);
        }
        let may_send_new = (self.push > 0 || self.credit > 0) && self.window.len() < WINDOW;
        (may_send_new && self.window.next() < self.total).then_some(Ready::New)
    }

    /// Drops packets from the queues that have been acknowledged meanwhile.
    fn forget_answered(&mut self) {
        while self.urgent.front().is_some_and(|seq| !self.window.is(*seq, State::Urgent)) {
            self.urgent.pop_front();
        }
        while self.again.front().is_some_and(|seq| !self.window.is(*seq, State::Waiting)) {
            self.again.pop_front();
        }
    }

    /// The next packet: urgent ones without a pull, then those that were trimmed, then new data.
    pub fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit<NdpHeader>> {
        match self.ready()? {
            Ready::Again => self.transmit_again(cx),
            Ready::New => Some(self.transmit_new(cx)),
        }
    }

    fn transmit_again(&mut self, cx: &mut Context<'_>) -> Option<Transmit<NdpHeader>> {
        let (seq, pulled) = match self.urgent.pop_front() {
            Some(seq) => (seq, false),
            None => (self.again.pop_front()?, true),
        };
        self.credit -= u32::from(pulled);
        let slot = self.window.get_mut(seq)?;
        let path = self.paths.next_except(slot.path, cx.chance);
        self.counts.sent += 1;
        self.counts.again += 1;
        *slot = Slot { sent: cx.now, path, state: State::Sent, ..*slot };
        Some(Transmit { again: true, ..self.packet(cx.rules, seq, path, pulled) })
    }

    fn transmit_new(&mut self, cx: &mut Context<'_>) -> Transmit<NdpHeader> {
        let pulled = self.push == 0;
        self.push -= u32::from(!pulled);
        self.credit -= u32::from(pulled);
        let seq = self.window.next();
        if seq == 0 {
            // Until now it was not the receiver who was silent.
            self.last_heard = cx.now;
        }
        let path = self.paths.next(cx.chance);
        self.counts.sent += 1;
        self.window.push(cx.now, path);
        self.packet(cx.rules, seq, path, pulled)
    }

    /// Rule 7, end of data: the last packet says so. Every packet of the first window may open the connection.
    fn packet(&self, rules: &Rules, seq: u32, path: u16, pulled: bool) -> Transmit<NdpHeader> {
        let (syn, last) = (seq < rules.initial_window, seq == self.total - 1);
        let wire = (self.payload(rules, seq) + rules.header) as u16;
        let header = NdpHeader::Data { conn: self.conn, seq, syn, last, pulled, priority: self.priority };
        Transmit { to: self.to, path, wire, class: Class::Data, again: false, header }
    }

    /// A path for a control packet.
    pub fn control_path(&mut self, chance: &mut Stream) -> u16 {
        self.paths.next(chance)
    }

    fn payload(&self, rules: &Rules, seq: u32) -> u32 {
        if seq == self.total - 1 { self.last_payload } else { rules.mtu }
    }

    fn set_state(&mut self, seq: u32, state: State) {
        if let Some(slot) = self.window.get_mut(seq) {
            slot.state = state;
        }
    }

    /// Notes that the receiver, or a switch on the way to it, has answered.
    fn hear(&mut self, now: Instant, ack: bool) {
        self.last_heard = now;
        self.history = self.history << 1 | u32::from(ack);
        self.heard = (self.heard + 1).min(HISTORY);
    }

    /// An ACK or NACK announces a pull.
    pub fn expect_pull(&mut self) {
        self.expected_pulls += 1;
    }

    fn account_first(&mut self, rules: &Rules, seq: u32, first_time: bool) {
        if first_time && seq < rules.initial_window {
            self.first_unheard = self.first_unheard.saturating_sub(1);
        }
    }

    /// Memory that the next call will read.
    pub fn places(&self, visit: &mut impl FnMut(*const u8)) {
        self.window.places().into_iter().chain(self.paths.places()).for_each(visit);
    }

    /// Payload bytes that have been acknowledged.
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }

    /// When the connection last moved.
    pub fn last_progress(&self) -> Instant {
        self.last_progress
    }

    /// What it waits for, in words.
    pub fn waiting_for(&self) -> &'static str {
        if self.push > 0 || self.credit > 0 || !self.urgent.is_empty() {
            "its turn on the link"
        } else if !self.again.is_empty() {
            "a pull to send trimmed packets again"
        } else if self.window.is_empty() {
            "a pull for new data"
        } else {
            "ACKs or NACKs of packets in flight"
        }
    }
}
