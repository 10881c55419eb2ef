//! One host's NDP: all its connections, its one pull queue, its timers.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use pullnet_pull::{Pacer, PullQueue, Turns};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts,
    Side, Transmit, Transport,
};
use pullnet_units::{Instant, Picos};

use crate::config::{NdpConfig, Rules};
use crate::connections::Connections;
use crate::finished::Finished;
use crate::header::NdpHeader;
use crate::receiver::{Arrival, LARGEST_FIRST_WINDOW, Receiver};
use crate::sender::{Check, Context, Ready, Sender};

/// A timer of one connection, besides the pacer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    /// Look at a sender's packets.
    Retransmission(u32),
    /// Forget a receiver whose sender is silent.
    Silence(HostAddr, ConnId),
}

/// NDP on one host. What every packet needs comes first: a large network has its memory at hand only if that is little.
#[derive(Debug)]
#[repr(C)]
pub struct NdpEndpoint {
    events: VecDeque<Event>,
    /// When the first of the timers and time-waits is due.
    due: Instant,
    pacer: Pacer,
    pulls: PullQueue,
    /// ACKs, NACKs, pulls and probes that wait for the link.
    control: VecDeque<Transmit<NdpHeader>>,
    /// Senders that could send a packet again, or a new one.
    ready_again: Turns,
    ready_new: Turns,
    chance: Stream,
    rules: Rules,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    /// Ended connections that late packets may not open again.
    received: Finished,
    /// Ended connections whose number may not be used again yet.
    sent: Finished,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    host: HostInfo,
    /// Packets that nobody who keeps to the rules can have sent.
    refused: u64,
}

impl NdpEndpoint {
    /// NDP on `host`.
    pub fn new(config: &NdpConfig, host: HostInfo, chance: Stream) -> Self {
        let rules = Rules::new(config, host.rate);
        Self {
            // The receiver has forgotten the number by then.
            sent: Finished::new(rules.remembered + rules.time_wait),
            received: Finished::new(rules.remembered),
            refused: 0,
            rules,
            host,
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            control: VecDeque::new(),
            ready_again: Turns::default(),
            ready_new: Turns::default(),
            pulls: PullQueue::default(),
            pacer: Pacer::default(),
            timers: BinaryHeap::new(),
            due: Instant::NEVER,
            events: VecDeque::new(),
        }
    }

    /// The first of the timers and time-waits.
    #[inline]
    fn first_timer(&self) -> Deadline {
        let mut first = Deadline { at: self.sent.due(), why: "sender's time-wait" };
        first = first.min_at(self.received.due(), "receiver's time-wait");
        match self.timers.peek() {
            Some(Reverse((at, timer))) if *at <= first.at => Deadline { at: *at, why: name(timer) },
            _ => first,
        }
    }

    fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
        self.due = self.due.min(at);
    }

    fn send_control(&mut self, to: HostAddr, path: u16, header: NdpHeader) {
        let wire = self.rules.header as u16;
        self.control.push_back(Transmit { to, path, wire, class: Class::Control, again: false, header });
    }
}

/// The sending side.
impl NdpEndpoint {
    /// Lets `input` change the sender in `slot` and puts it in line for the link if it can send afterwards.
    fn with_sender<R>(
        &mut self,
        now: Instant,
        slot: u32,
        input: impl FnOnce(&mut Sender, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let sender = self.senders.get_mut(slot)?;
        let mut cx = Context { now, rules: &self.rules, chance: &mut self.chance };
        let result = input(sender, &mut cx);
        match sender.ready() {
            Some(Ready::Again) if !sender.queued_again => {
                sender.queued_again = true;
                self.ready_again.push(slot, sender.priority);
            }
            Some(Ready::New) if !sender.queued_new => {
                sender.queued_new = true;
                self.ready_new.push(slot, sender.priority);
            }
            _ => {}
        }
        Some(result)
    }

    /// An ACK, NACK, PULL or returned header for one of our connections.
    fn handle_feedback(&mut self, now: Instant, from: HostAddr, header: NdpHeader, fate: Fate) {
        let Some(slot) = self.senders.find(from, header.conn()) else { return };
        let acked = self.with_sender(now, slot, |sender, cx| match header {
            NdpHeader::Data { seq, .. } => {
                if fate == Fate::Returned {
                    sender.on_return(cx, seq);
                }
                None
            }
            NdpHeader::Ack { seq, pull, .. } => {
                sender.expect_pull();
                let acked = sender.on_ack(cx, seq);
                pull.inspect(|number| sender.on_pull(cx, *number));
                acked
            }
            NdpHeader::Nack { seq, pull, .. } => {
                sender.expect_pull();
                sender.on_nack(cx, seq);
                pull.inspect(|number| sender.on_pull(cx, *number));
                None
            }
            NdpHeader::Pull { number, .. } => {
                sender.on_pull(cx, number);
                None
            }
            NdpHeader::Probe { .. } => None,
        });
        if let Some(acked) = acked.flatten() {
            self.events.push_back(Event::Acked { conn: header.conn(), latency: acked.latency });
            if acked.complete {
                let counts = self.close_sender(now, from, header.conn(), slot);
                self.events.push_back(Event::Completed { conn: header.conn(), counts });
            }
        }
    }

    /// Rule 8, time-wait: the number of a finished connection is not used again for a while.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready_again.remove(slot);
        self.ready_new.remove(slot);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts)
    }

    fn check_sender(&mut self, now: Instant, slot: u32, armed_for: Instant) {
        let due = self.with_sender(now, slot, |sender, cx| {
            let current = sender.check_at == armed_for;
            current.then(|| (sender.conn, sender.to, sender.check(cx), sender.control_path(cx.chance)))
        });
        let Some(Some((conn, to, check, path))) = due else { return };
        match check {
            Check::GiveUp => {
                let counts = self.close_sender(now, to, conn, slot);
                self.events.push_back(Event::Failed { conn, reason: "the receiver is silent", counts });
            }
            Check::Again { at, timed_out, probe } => {
                self.events.extend(timed_out.into_iter().map(|seq| Event::TimedOut { conn, seq }));
                probe.into_iter().for_each(|header| self.send_control(to, path, header));
                self.arm_check(slot, at);
            }
        }
    }

    fn arm_check(&mut self, slot: u32, at: Instant) {
        if let Some(sender) = self.senders.get_mut(slot) {
            sender.check_at = at;
            if at != Instant::NEVER {
                self.arm(at, Timer::Retransmission(slot));
            }
        }
    }

    /// The next data packet of the connection whose turn it is.
    fn transmit_data(&mut self, now: Instant) -> Option<Transmit<NdpHeader>> {
        loop {
            let again = self.ready_again.pop();
            let slot = again.or_else(|| self.ready_new.pop())?;
            let packet = self.with_sender(now, slot, |sender, cx| {
                if again.is_some() {
                    sender.queued_again = false
                } else {
                    sender.queued_new = false
                }
                let packet = sender.transmit(cx)?;
                let look = cx.now + cx.rules.timeout;
                Some((packet, (sender.check_at > look).then_some(look)))
            });
            if let Some(Some((packet, look))) = packet {
                look.into_iter().for_each(|at| self.arm_check(slot, at));
                return Some(packet);
            }
        }
    }
}

/// The receiving side.
impl NdpEndpoint {
    /// Rule 1: finds the connection, or opens it if the packet may do so. A packet that nobody can have sent is refused.
    fn receiver_for(
        &mut self,
        now: Instant,
        packet: &Received<NdpHeader>,
        seq: u32,
        syn: bool,
    ) -> Option<u32> {
        let conn = packet.header.conn();
        if let Some(slot) = self.receivers.find(packet.from, conn) {
            let accepted = self.receivers.get_mut(slot).is_some_and(|receiver| receiver.accepts(seq));
            self.refused += u64::from(!accepted);
            return accepted.then_some(slot);
        }
        if !syn {
            return None;
        }
        if seq >= LARGEST_FIRST_WINDOW {
            self.refused += 1;
            return None;
        }
        let receiver = Receiver::open(now, packet.from, conn, packet.paths, &self.rules, &mut self.chance);
        let slot = self.receivers.insert(packet.from, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer: packet.from, conn });
        self.arm(now + self.rules.time_wait, Timer::Silence(packet.from, conn));
        Some(slot)
    }

    /// A receiver outlives the sender's patience, then it is forgotten.
    fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    fn handle_data(&mut self, now: Instant, packet: &Received<NdpHeader>) {
        let NdpHeader::Data { conn, seq, syn, last, pulled, priority } = packet.header else { return };
        if self.received.contains(packet.from, conn) {
            return self.answer_late(now, packet, seq);
        }
        let Some(slot) = self.receiver_for(now, packet, seq, syn) else { return };
        let whole = packet.fate == Fate::Whole;
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.priority = priority;
        receiver.wire = packet.wire;
        let arrival = receiver.on_data(now, seq, last, pulled, whole);
        if arrival.new {
            let bytes = u32::from(packet.wire).saturating_sub(self.rules.header);
            receiver.bytes += u64::from(bytes);
            self.events.push_back(Event::Delivered { slot, bytes });
        }
        self.answer(slot, seq, arrival, now);
        self.drop_excess_pulls(slot);
        self.finish_if_complete(now, slot);
    }

    /// Rule 7, time-wait: what comes for a finished connection is there already, and nothing more is to be pulled.
    fn answer_late(&mut self, now: Instant, packet: &Received<NdpHeader>, seq: u32) {
        let conn = packet.header.conn();
        self.received.note(now, packet.from, conn);
        self.due = self.due.min(self.received.due());
        let path = self.chance.below(packet.paths.into()) as u16;
        self.send_control(packet.from, path, NdpHeader::Ack { conn, seq, pull: None });
    }

    /// Rule 4: the answer leaves at once and carries the pull if nobody else waits for one and the link is free.
    fn answer(&mut self, slot: u32, seq: u32, arrival: Arrival, now: Instant) {
        let piggyback =
            self.rules.piggyback && arrival.pull && self.pulls.is_empty() && self.pacer.free_at() <= now;
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (conn, to, path) = (receiver.conn, receiver.peer, receiver.control_path(&mut self.chance));
        let pull = piggyback.then(|| receiver.next_pull());
        if piggyback {
            let interval = self.rules.pull_interval(receiver.wire);
            self.pacer.spend(now, interval, &self.rules.spacing, &mut self.chance);
        } else if arrival.pull {
            self.pacer.wake(now);
            self.pulls.add(slot, receiver.priority, receiver.pending);
            receiver.pending += 1;
        }
        let header = if arrival.acknowledge {
            NdpHeader::Ack { conn, seq, pull }
        } else {
            NdpHeader::Nack { conn, seq, pull }
        };
        self.send_control(to, path, header);
    }

    fn drop_excess_pulls(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let excess = receiver.excess_pulls();
        if excess > 0 {
            receiver.pending -= excess;
            self.pulls.remove(slot, excess, receiver.pending);
        }
    }

    fn finish_if_complete(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.complete() {
            let (peer, conn) = (receiver.peer, receiver.conn);
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push_back(Event::Received { slot });
        }
    }

    /// The pacer lets the next pull go.
    fn release_pull(&mut self, now: Instant) {
        let Some(slot) = self.pulls.take() else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.pending -= 1;
        if receiver.pending > 0 {
            self.pulls.keep(slot, receiver.priority);
        }
        let header = NdpHeader::Pull { conn: receiver.conn, number: receiver.next_pull() };
        let (to, path) = (receiver.peer, receiver.control_path(&mut self.chance));
        let interval = self.rules.pull_interval(receiver.wire);
        self.pacer.spend(now, interval, &self.rules.spacing, &mut self.chance);
        self.send_control(to, path, header);
    }

    /// A sender misses a pull: tell it how its packet stands, and pull if no pull waits for it.
    fn handle_probe(&mut self, now: Instant, packet: &Received<NdpHeader>, seq: u32) {
        let conn = packet.header.conn();
        if self.received.contains(packet.from, conn) {
            return self.answer_late(now, packet, seq);
        }
        let Some(slot) = self.receivers.find(packet.from, conn) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (pull, acknowledge) = (receiver.on_probe(now), receiver.has(seq));
        self.answer(slot, seq, Arrival { new: false, acknowledge, pull }, now);
    }

    /// One timer per receiver looks again at least once in a time-wait, whatever the connection does meanwhile.
    fn check_silence(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        let silence = self.silence();
        let Some(slot) = self.receivers.find(peer, conn) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let until = receiver.last_heard + silence;
        if until > now {
            return self.arm(until.min(now + self.rules.time_wait), Timer::Silence(peer, conn));
        }
        let pending = receiver.pending;
        self.pulls.remove(slot, pending, 0);
        self.receivers.remove(peer, conn);
    }
}

impl Transport for NdpEndpoint {
    type Header = NdpHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        let in_time_wait = self.sent.contains(flow.to, flow.conn);
        let refusal = if in_time_wait || self.senders.find(flow.to, flow.conn).is_some() {
            Some("the connection number is still in use or in time-wait")
        } else if flow.size.is_some_and(|size| size.0 == 0) {
            Some("a flow of zero bytes has nothing to send")
        } else {
            None
        };
        if let Some(reason) = refusal {
            return self.events.push_back(Event::Failed {
                conn: flow.conn,
                reason,
                counts: SendCounts::default(),
            });
        }
        let mut cx = Context { now, rules: &self.rules, chance: &mut self.chance };
        let sender = Sender::open(&mut cx, &flow);
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        self.with_sender(now, slot, |_, _| ());
        self.arm_check(slot, now + self.rules.timeout);
    }

    fn handle(&mut self, now: Instant, packet: Received<NdpHeader>) {
        match packet.header {
            NdpHeader::Data { .. } if packet.fate != Fate::Returned => self.handle_data(now, &packet),
            // A control packet that a switch sent back says nothing about the connection.
            NdpHeader::Ack { .. }
            | NdpHeader::Nack { .. }
            | NdpHeader::Pull { .. }
            | NdpHeader::Probe { .. }
                if packet.fate == Fate::Returned => {}
            NdpHeader::Probe { seq, .. } => self.handle_probe(now, &packet, seq),
            header => self.handle_feedback(now, packet.from, header, packet.fate),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.pulls.is_empty() && self.pacer.free_at() <= now {
            self.release_pull(now);
        }
        while let Some(Reverse((at, timer))) =
            self.timers.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.timers.pop();
            match timer {
                Timer::Retransmission(slot) => self.check_sender(now, slot, at),
                Timer::Silence(peer, conn) => self.check_silence(now, peer, conn),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
        self.due = self.first_timer().at;
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<NdpHeader>> {
        match pop(&mut self.control) {
            Some(packet) => Some(packet),
            None => self.transmit_data(now),
        }
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        pop(&mut self.events)
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        let pull = if self.pulls.is_empty() { Instant::NEVER } else { self.pacer.free_at() };
        let at = pull.min(self.due);
        let why = if pull <= self.due { "pull pacer" } else { self.first_timer().why };
        (at != Instant::NEVER).then_some(Deadline { at, why })
    }

    fn places(&self, step: u8, visit: &mut impl FnMut(*const u8)) {
        if step == 0 {
            self.senders.places().into_iter().chain(self.receivers.places()).for_each(&mut *visit);
            let queues =
                [self.control.as_slices().0.as_ptr().cast(), self.events.as_slices().0.as_ptr().cast()];
            queues.into_iter().for_each(visit);
        } else {
            self.senders.latest().into_iter().for_each(|sender| sender.places(&mut *visit));
            self.receivers.latest().into_iter().for_each(|receiver| receiver.places(&mut *visit));
        }
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            visit(FlowStatus {
                side: Side::Sender,
                peer: sender.to,
                conn: sender.conn,
                bytes: sender.acked_bytes(),
                last_progress: sender.last_progress(),
                waiting_for: sender.waiting_for(),
                counts: sender.counts,
            });
        }
        for receiver in self.receivers.iter() {
            visit(FlowStatus {
                side: Side::Receiver,
                peer: receiver.peer,
                conn: receiver.conn,
                bytes: receiver.bytes,
                last_progress: receiver.last_progress,
                waiting_for: "data",
                counts: SendCounts::default(),
            });
        }
    }
}

/// Takes the oldest. A queue that is empty starts again at its beginning, to stay within few cache lines.
#[inline]
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        queue.clear();
    }
    first
}

fn name(timer: &Timer) -> &'static str {
    match timer {
        Timer::Retransmission(_) => "retransmission",
        Timer::Silence(..) => "a silent sender",
    }
}

impl NdpEndpoint {
    /// The host that this endpoint runs on.
    pub fn host(&self) -> HostInfo {
        self.host
    }

    /// Packets that were discarded because nobody who keeps to the rules can have sent them: beyond the largest first
    /// window and everything that was pulled, or beyond the window of [`pullnet_pull::WINDOW`] packets.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
