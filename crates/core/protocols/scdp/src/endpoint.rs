//! One host: its sessions in both directions, its one pull queue, its timers.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, RoundRobin};
use pullnet_pull::{Pacer, PullQueue};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts,
    Side, Transmit, Transport,
};
use pullnet_units::Instant;

use crate::ScdpConfig;
use crate::config::Rules;
use crate::header::{ScdpHeader, Symbol};
use crate::receiver::{Arrival, Receiver};
use crate::sender::Sender;
use crate::shape::Cut;

/// A timer of one session, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// SCDP on one host.
pub struct ScdpEndpoint {
    rules: Rules,
    chance: Stream,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    /// Ended sessions: late packets do not open them again, and their numbers rest.
    sent: Finished,
    received: Finished,
    pulls: PullQueue,
    pacer: Pacer,
    /// When timers are to be looked at. A session's timer may be here more than once; the others are passed over.
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    /// Senders that have something to send.
    ready: RoundRobin,
    control: VecDeque<Transmit<ScdpHeader>>,
    events: VecDeque<Event>,
}

impl ScdpEndpoint {
    /// A host without sessions.
    pub fn new(config: &ScdpConfig, host: HostInfo, chance: Stream) -> Self {
        let rules = Rules::new(config, host.rate);
        Self {
            // The receiver has forgotten the number by then.
            sent: Finished::new(rules.remembered.saturating_add(rules.time_wait)),
            received: Finished::new(rules.remembered),
            rules,
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            pulls: PullQueue::default(),
            pacer: Pacer::default(),
            timers: BinaryHeap::new(),
            ready: RoundRobin::default(),
            control: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Lets `change` happen to a sender; afterwards its timer is right, and it stands in line if it can send.
    fn with_sender<R>(
        &mut self,
        slot: u32,
        change: impl FnOnce(&mut Sender, &Rules, &mut Stream) -> R,
    ) -> Option<R> {
        let sender = self.senders.get_mut(slot)?;
        let result = change(sender, &self.rules, &mut self.chance);
        if !sender.queued && sender.can_send() {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
        }
        let due = sender.due(&self.rules);
        if due < sender.armed {
            sender.armed = due;
            self.timers.push(Reverse((due, Timer::Sender(slot))));
        }
        Some(result)
    }

    /// Makes the timer of a receiver right.
    fn arm_receiver(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let due = receiver.due(&self.rules);
        if due < receiver.armed {
            receiver.armed = due;
            self.timers.push(Reverse((due, Timer::Receiver(slot))));
        }
    }

    fn refuse(&mut self, flow: &FlowSpec, reason: &'static str) {
        let (to, conn, counts) = (flow.to, flow.conn, SendCounts::default());
        self.events.push_back(Event::Failed { to, conn, reason, counts });
    }

    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready.remove(slot);
        self.sent.note(now, to, conn);
        self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts)
    }

    fn on_done(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let counts = self.close_sender(now, to, conn, slot);
        self.events.push_back(Event::Completed { to, conn, counts });
    }

    fn send_control(&mut self, to: HostAddr, path: u16, header: ScdpHeader) {
        let (wire, class, priority) = (self.rules.header, Class::Control, 0);
        self.control.push_back(Transmit {
            to,
            path,
            wire,
            class,
            priority,
            ect: false,
            again: false,
            header,
        });
    }

    /// A symbol that was sent without a pull opens a session, unless that has ended before.
    fn receiver_for(
        &mut self,
        now: Instant,
        packet: &Received<ScdpHeader>,
        conn: ConnId,
        symbol: &Symbol,
    ) -> Option<u32> {
        let peer = packet.from;
        let slot = self.receivers.find(peer, conn);
        if slot.is_some() {
            return slot;
        }
        if !symbol.syn {
            self.events.push_back(Event::Stray { peer, conn });
            return None;
        }
        let cut = Cut::new(symbol.shape)?;
        let receiver =
            Receiver::open(now, (peer, conn), (symbol, cut), packet.paths, &self.rules, &mut self.chance);
        if !receiver.accepts(symbol, payload(packet, &self.rules)?) {
            return None;
        }
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer, conn });
        Some(slot)
    }

    /// What comes for a session that has everything is answered: its sender has not heard of the end.
    fn answer_late(&mut self, now: Instant, packet: &Received<ScdpHeader>, conn: ConnId) {
        self.received.note(now, packet.from, conn);
        let path = self.chance.below(packet.paths.into()) as u16;
        self.send_control(packet.from, path, ScdpHeader::Done { conn });
    }

    fn on_symbol(&mut self, now: Instant, packet: &Received<ScdpHeader>, conn: ConnId, symbol: &Symbol) {
        if self.received.contains(packet.from, conn) {
            return self.answer_late(now, packet, conn);
        }
        let Some(slot) = self.receiver_for(now, packet, conn, symbol) else { return };
        let (rules, chance) = (&self.rules, &mut self.chance);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(payload) = payload(packet, rules).filter(|payload| receiver.accepts(symbol, *payload))
        else {
            return;
        };
        let whole = packet.fate == Fate::Whole;
        let Arrival { bytes, add, remove } = receiver.on_symbol(now, (symbol, payload, whole), rules, chance);
        let (pending, priority, complete) = (receiver.pending, receiver.priority, receiver.complete());
        if let Some(bytes) = bytes {
            self.events.push_back(Event::Delivered { slot, seq: symbol.number, bytes });
        }
        if remove > 0 {
            self.pulls.remove(slot, remove, pending);
        }
        self.add_pulls(now, slot, priority, pending, add);
        if complete {
            self.finish(now, slot);
        } else {
            self.arm_receiver(slot);
        }
    }

    /// Puts `add` pulls into the queue, which are among the `pending` ones of the session already.
    fn add_pulls(&mut self, now: Instant, slot: u32, priority: u8, pending: u32, add: u32) {
        if add > 0 {
            self.pacer.wake(now);
        }
        (pending - add..pending).for_each(|before| self.pulls.add(slot, priority, before));
    }

    /// Everything needed has arrived. The session ends once the last block is decoded: a sender that was told before would
    /// take data for delivered that its application does not have yet.
    fn finish(&mut self, now: Instant, slot: u32) {
        self.arm_receiver(slot);
        self.hand_over(now, slot);
    }

    /// Ends a session whose blocks are decoded.
    fn hand_over(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.complete() && receiver.decoded_at() <= now {
            let (peer, conn, path) = (receiver.peer, receiver.conn, receiver.control_path(&mut self.chance));
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.events.push_back(Event::Received { slot });
            self.send_control(peer, path, ScdpHeader::Done { conn });
        }
    }

    /// Does everything for which it is time, so that no deadline lies in the past.
    fn run_due(&mut self, now: Instant) {
        while let Some(Reverse((at, timer))) =
            self.timers.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.timers.pop();
            match timer {
                Timer::Sender(slot) => self.check_sender(now, slot, at),
                Timer::Receiver(slot) => self.check_receiver(now, slot, at),
            }
        }
        if !self.pulls.is_empty() && self.pacer.free_at() <= now {
            self.release_pull(now);
        }
    }

    /// The pacer lets the next pull go.
    fn release_pull(&mut self, now: Instant) {
        let Some(slot) = self.pulls.take() else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let header = receiver.next_pull(now);
        if receiver.pending > 0 {
            self.pulls.keep(slot, receiver.priority);
        }
        let (to, path, wire) = (receiver.peer, receiver.control_path(&mut self.chance), receiver.wire);
        self.pacer.spend(now, self.rules.pull_interval(wire), &self.rules.spacing, &mut self.chance);
        self.send_control(to, path, header);
        self.arm_receiver(slot);
    }

    fn check_receiver(&mut self, now: Instant, slot: u32, at: Instant) {
        let (rules, chance) = (&self.rules, &mut self.chance);
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.armed == at) else {
            return;
        };
        receiver.armed = Instant::NEVER;
        if receiver.due(rules) > now {
            return self.arm_receiver(slot);
        }
        if receiver.complete() {
            return self.hand_over(now, slot);
        }
        let (peer, conn, priority) = (receiver.peer, receiver.conn, receiver.priority);
        if receiver.is_silent(now, rules) {
            if receiver.pending > 0 {
                self.pulls.remove(slot, receiver.pending, 0);
            }
            self.receivers.remove(peer, conn);
            self.events.push_back(Event::Silent { slot });
            return;
        }
        let add = receiver.on_timeout(now, chance);
        let pending = receiver.pending;
        self.add_pulls(now, slot, priority, pending, add);
        self.arm_receiver(slot);
    }

    fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let checked = self.with_sender(slot, |sender, rules, _| {
            let current = sender.armed == at;
            if current {
                sender.armed = Instant::NEVER;
            }
            (current && sender.due(rules) <= now)
                .then(|| (sender.to, sender.conn, sender.on_timeout(now, rules)))
        });
        match checked.flatten() {
            Some((to, conn, Ok(seq))) => self.events.push_back(Event::TimedOut { to, conn, seq }),
            Some((to, conn, Err(()))) => {
                let counts = self.close_sender(now, to, conn, slot);
                self.events.push_back(Event::Failed { to, conn, reason: "the receiver is silent", counts });
            }
            None => {}
        }
    }

    fn transmit_symbol(&mut self, now: Instant) -> Option<Transmit<ScdpHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let packet = self.with_sender(slot, |sender, rules, chance| {
                sender.queued = false;
                sender.transmit(now, rules, chance)
            });
            if let Some(Some(packet)) = packet {
                return Some(packet);
            }
        }
    }

    /// The first of the timers and time-waits.
    fn first_timer(&self) -> Deadline {
        let first = Deadline { at: self.sent.due().min(self.received.due()), why: "time-wait" };
        match self.timers.peek() {
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "a silent receiver"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "lost symbols or decoding"),
            None => first,
        }
    }
}

/// Payload of a symbol when it was sent; `None` for one without.
fn payload(packet: &Received<ScdpHeader>, rules: &Rules) -> Option<u16> {
    packet.wire.checked_sub(rules.header).filter(|payload| *payload > 0)
}

impl Transport for ScdpEndpoint {
    type Header = ScdpHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        if self.senders.find(flow.to, flow.conn).is_some() || self.sent.contains(flow.to, flow.conn) {
            return self.refuse(&flow, "the connection number is still in use or in time-wait");
        }
        if flow.size.is_some_and(|size| size.0 == 0) {
            return self.refuse(&flow, "a flow of zero bytes has nothing to send");
        }
        let Some(sender) = Sender::open(now, &self.rules, &flow, &mut self.chance) else {
            return self.refuse(&flow, "a flow has at most 2^32 - 2 symbols");
        };
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        self.with_sender(slot, |_, _, _| ());
    }

    fn handle(&mut self, now: Instant, packet: Received<ScdpHeader>) {
        // Switches of SCDP send nothing back; what others do so is lost, and made up for like any loss.
        if packet.fate == Fate::Returned {
            return;
        }
        match packet.header {
            ScdpHeader::Symbol { conn, symbol } => self.on_symbol(now, &packet, conn, &symbol),
            ScdpHeader::Pull { conn, number, first, block, extra, fin } => {
                if let Some(slot) = self.senders.find(packet.from, conn) {
                    self.with_sender(slot, |sender, _, _| {
                        sender.on_pull(now, number, first, (block, extra), fin)
                    });
                }
            }
            ScdpHeader::Done { conn } => self.on_done(now, packet.from, conn),
        }
        self.run_due(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.run_due(now);
        self.sent.expire(now);
        self.received.expire(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<ScdpHeader>> {
        self.control.pop_front().or_else(|| self.transmit_symbol(now))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let mut first = self.first_timer();
        if !self.pulls.is_empty() {
            first = first.min_at(self.pacer.free_at(), "pull pacer");
        }
        (first.at != Instant::NEVER).then_some(first)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            visit(FlowStatus {
                side: Side::Sender,
                peer: sender.to,
                conn: sender.conn,
                bytes: sender.acked_bytes,
                last_progress: sender.last_progress,
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
                waiting_for: if receiver.complete() { "decoding" } else { "symbols" },
                counts: SendCounts::default(),
            });
        }
    }
}
