//! One host: its flows in both directions, its timers, its turns on the link.

use alloc::collections::{BTreeSet, VecDeque};

use pullnet_connections::{Connections, Finished, RoundRobin};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts,
    Side, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Instant, Picos};

use crate::RdmaHeader;
use crate::control::Control;
use crate::receiver::{Answer, Data, Receiver};
use crate::rules::{Paths, Rules};
use crate::sender::{Answered, Sender};

/// A timer of one connection, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// A RoCE host whose flows are under rate control `C`.
pub struct Endpoint<C: Control> {
    rules: Rules,
    own: C::Rules,
    line: BitsPerSec,
    chance: Stream,
    senders: Connections<Sender<C>>,
    receivers: Connections<Receiver>,
    /// Ended connections: late packets do not open them again, and their numbers rest.
    sent: Finished,
    received: Finished,
    /// Every deadline of a connection, once.
    timers: BTreeSet<(Instant, Timer)>,
    /// Senders whose next packet may leave now.
    ready: RoundRobin,
    /// ACKs, NACKs and CNPs.
    answers: VecDeque<Transmit<RdmaHeader>>,
    events: VecDeque<Event>,
}

/// Time for which a receiver remembers: twice as long as a sender goes on without an answer.
fn memory(rules: &Rules) -> Picos {
    rules.give_up.saturating_mul(2)
}

impl<C: Control> Endpoint<C> {
    /// A host without connections.
    pub fn new(rules: Rules, own: C::Rules, host: HostInfo, chance: Stream) -> Self {
        Self {
            own,
            line: host.rate,
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            received: Finished::new(memory(&rules)),
            // The receiver has forgotten the number by then.
            sent: Finished::new(memory(&rules).saturating_mul(2)),
            timers: BTreeSet::new(),
            ready: RoundRobin::default(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            rules,
        }
    }

    /// The rate control of a flow.
    pub fn control(&self, to: HostAddr, conn: ConnId) -> Option<&C> {
        Some(&self.senders.get(to, conn)?.control)
    }

    /// Lets `change` happen to a sender; afterwards it stands in line if its next packet may leave, and has a timer.
    fn with_sender<R>(
        &mut self,
        now: Instant,
        slot: u32,
        change: impl FnOnce(&mut Sender<C>, &Rules, &C::Rules) -> R,
    ) -> Option<R> {
        let (rules, own) = (&self.rules, &self.own);
        let sender = self.senders.get_mut(slot)?;
        let result = change(sender, rules, own);
        let departure = sender.next_departure(now, rules, own);
        if !sender.queued && departure <= now {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
        }
        let timer = sender.timer(rules, !sender.queued && departure == Instant::NEVER);
        let due = if sender.queued { timer } else { departure.min(timer) };
        // A timer that moves to a later time stays where it is, and is set anew when it runs out: most of them move with
        // every packet.
        if due < sender.due {
            self.timers.remove(&(sender.due, Timer::Sender(slot)));
            self.timers.insert((due, Timer::Sender(slot)));
            sender.due = due;
        }
        Some(result)
    }

    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        let Some(sender) = self.senders.remove(to, conn) else { return SendCounts::default() };
        self.timers.remove(&(sender.due, Timer::Sender(slot)));
        self.ready.remove(slot);
        self.sent.note(now, to, conn);
        sender.counts
    }

    fn on_answer(&mut self, now: Instant, to: HostAddr, conn: ConnId, answered: Answered) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let mut latencies = VecDeque::new();
        let complete = self.with_sender(now, slot, |sender, rules, own| {
            sender.on_answer(now, (rules, own), answered, |sent| latencies.push_back(now.since(sent)));
            sender.is_complete()
        });
        self.events.extend(latencies.into_iter().map(|latency| Event::Acked { to, conn, latency }));
        if complete == Some(true) {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push_back(Event::Completed { to, conn, counts });
        }
    }

    fn on_cnp(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        self.with_sender(now, slot, |sender, _, own| sender.control.on_cnp(own, now));
    }

    fn check_sender(&mut self, now: Instant, slot: u32) {
        let checked = self.with_sender(now, slot, |sender, rules, own| {
            sender.due = Instant::NEVER;
            let late = sender.gives_up_at(rules) <= now;
            let repeats = if late { None } else { sender.on_timer(now, rules, own) };
            (sender.to, sender.conn, late, repeats)
        });
        let Some((to, conn, late, repeats)) = checked else { return };
        if let Some(seq) = repeats {
            self.events.push_back(Event::TimedOut { to, conn, seq });
        }
        if late {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push_back(Event::Failed { to, conn, reason: "the receiver is silent", counts });
        }
    }

    /// Any packet opens a connection, for each of them may be lost; unless the connection has ended before.
    fn receiver_for(&mut self, now: Instant, peer: HostAddr, conn: ConnId) -> u32 {
        if let Some(slot) = self.receivers.find(peer, conn) {
            return slot;
        }
        let slot = self.receivers.insert(peer, conn, Receiver::open(now, peer, conn));
        let due = now.after(memory(&self.rules));
        self.timers.insert((due, Timer::Receiver(slot)));
        if let Some(receiver) = self.receivers.get_mut(slot) {
            receiver.due = due;
        }
        self.events.push_back(Event::Opened { slot, peer, conn });
        slot
    }

    fn on_data(&mut self, now: Instant, packet: &Received<RdmaHeader>, data: Data) {
        let (peer, Data { conn, seq, .. }) = (packet.from, data);
        let marked = data.marked && self.rules.cnp_interval.is_none();
        if self.received.contains(peer, conn) {
            // The last ACKs were lost.
            self.received.note(now, peer, conn);
            let cumulative = seq.saturating_add(1);
            return self.answer(packet, RdmaHeader::Ack { conn, seq, cumulative, finished: true, marked });
        }
        let slot = self.receiver_for(now, peer, conn);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let bytes = u32::from(packet.wire).saturating_sub(self.rules.header);
        let (answer, new) = receiver.on_data(now, &self.rules, data, bytes);
        let notifies = data.marked && receiver.notifies(now, &self.rules);
        let (cumulative, finished, due) = (receiver.cumulative(), receiver.is_complete(), receiver.due);
        if new {
            self.events.push_back(Event::Delivered { slot, seq, bytes });
        }
        if finished {
            self.timers.remove(&(due, Timer::Receiver(slot)));
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.events.push_back(Event::Received { slot });
        }
        if notifies {
            self.answer(packet, RdmaHeader::Cnp { conn });
        }
        match answer {
            Answer::Ack => self.answer(packet, RdmaHeader::Ack { conn, seq, cumulative, finished, marked }),
            Answer::Nack => self.answer(packet, RdmaHeader::Nack { conn, seq, cumulative, marked }),
            Answer::Nothing => {}
        }
    }

    fn answer(&mut self, packet: &Received<RdmaHeader>, header: RdmaHeader) {
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire, priority) = (packet.from, self.rules.ack as u16, self.rules.control_priority);
        let (class, ect, again) = (Class::Control, false, false);
        self.answers.push_back(Transmit { to, path, wire, class, priority, ect, again, header });
    }

    fn on_silence(&mut self, now: Instant, slot: u32) {
        let memory = memory(&self.rules);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        if now < receiver.last_heard.after(memory) {
            receiver.due = receiver.last_heard.after(memory);
            self.timers.insert((receiver.due, Timer::Receiver(slot)));
            return;
        }
        self.receivers.remove(peer, conn);
        self.events.push_back(Event::Silent { slot });
    }

    fn transmit_data(&mut self, now: Instant) -> Option<Transmit<RdmaHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let path = (self.rules.paths == Paths::Scatter).then(|| self.chance.unit());
            let sent = self.with_sender(now, slot, |sender, rules, own| {
                sender.queued = false;
                // An answer may have changed what there is to send since it stood in line.
                (sender.next_departure(now, rules, own) <= now)
                    .then(|| Self::packet(sender, now, (rules, own), path))
            });
            if let Some(Some(packet)) = sent {
                return Some(packet);
            }
        }
    }

    /// The next packet of `sender`; `drawn`, uniform in `[0, 1)`, chooses its path if every packet has its own.
    fn packet(
        sender: &mut Sender<C>,
        now: Instant,
        (rules, own): (&Rules, &C::Rules),
        drawn: Option<f64>,
    ) -> Transmit<RdmaHeader> {
        let (seq, payload, again) = sender.transmit(now, rules, own);
        let path = drawn.map_or(sender.path, |drawn| (drawn * f64::from(sender.paths)) as u16);
        let header = RdmaHeader::Data { conn: sender.conn, seq, last: sender.is_last(seq) };
        let (to, wire, priority) = (sender.to, (payload + rules.header) as u16, rules.data_priority);
        Transmit { to, path, wire, class: Class::Data, priority, ect: rules.ecn, again, header }
    }
}

impl<C: Control> Transport for Endpoint<C> {
    type Header = RdmaHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        let (to, conn) = (flow.to, flow.conn);
        let packets = flow.size.map(|size| size.0.div_ceil(self.rules.mtu.into()));
        let in_use = self.senders.find(to, conn).is_some() || self.sent.contains(to, conn);
        let refusal = match packets {
            Some(0) => Some("a flow of zero bytes has nothing to send"),
            Some(packets) if packets >= u64::from(u32::MAX) => Some("a flow has at most 2^32 - 2 packets"),
            _ if in_use => Some("the connection number is still in use or in time-wait"),
            _ => None,
        };
        if let Some(reason) = refusal {
            return self.events.push_back(Event::Failed { to, conn, reason, counts: SendCounts::default() });
        }
        let packets = packets.map(|packets| packets as u32);
        let control = C::open(&self.own, self.line.get() as f64);
        let mut sender = Sender::open(now, &self.rules, (control, self.line), &flow, packets);
        sender.path = self.chance.below(flow.paths.into()) as u16;
        let slot = self.senders.insert(to, conn, sender);
        self.with_sender(now, slot, |_, _, _| ());
    }

    fn handle(&mut self, now: Instant, packet: Received<RdmaHeader>) {
        // A packet without payload counts as lost: RoCE adapters know no trimming.
        if packet.fate != Fate::Whole {
            return;
        }
        let (from, marked) = (packet.from, packet.ce);
        match packet.header {
            RdmaHeader::Data { conn, seq, last } => {
                self.on_data(now, &packet, Data { conn, seq, last, marked });
            }
            RdmaHeader::Ack { conn, seq, cumulative, finished, marked } => {
                let answered = Answered { seq, cumulative, finished, marked, missing: false };
                self.on_answer(now, from, conn, answered);
            }
            RdmaHeader::Nack { conn, seq, cumulative, marked } => {
                let answered = Answered { seq, cumulative, finished: false, marked, missing: true };
                self.on_answer(now, from, conn, answered);
            }
            RdmaHeader::Cnp { conn } => self.on_cnp(now, from, conn),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Sender(slot) => self.check_sender(now, slot),
                Timer::Receiver(slot) => self.on_silence(now, slot),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<RdmaHeader>> {
        self.answers.pop_front().or_else(|| self.transmit_data(now))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let mut first = Deadline { at: self.sent.due().min(self.received.due()), why: "time-wait" };
        if let Some((at, timer)) = self.timers.first() {
            let sender = matches!(timer, Timer::Sender(_));
            first = first.min_at(*at, if sender { "pacing or retransmission" } else { "a silent sender" });
        }
        (first.at != Instant::NEVER).then_some(first)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            let Sender { to: peer, conn, acked_bytes: bytes, last_progress, counts, .. } = *sender;
            let waiting_for = if sender.queued { "its turn on the link" } else { "ACKs" };
            visit(FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts });
        }
        for receiver in self.receivers.iter() {
            let Receiver { peer, conn, bytes, last_progress, .. } = *receiver;
            let (waiting_for, counts) = ("data", SendCounts::default());
            visit(FlowStatus { side: Side::Receiver, peer, conn, bytes, last_progress, waiting_for, counts });
        }
    }
}
