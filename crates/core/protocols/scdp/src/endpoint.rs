//! One host: its sessions in both directions, its one pull queue, its timers.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use pullnet_codes::Share;
use pullnet_connections::{Connections, Finished, FlowTimer, RoundRobin, Timers};
use pullnet_pull::{Pacer, PullQueue};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, Deadline, Event, FailureReason, Fate, FlowSpec, FlowStatus, GroupMember, HostAddr,
    Received, SendCounts, Side, Source, TimerKind, Transmit, Transport,
};
use pullnet_units::{Instant, PacketSeq, WireLen};

use crate::blocks::Piece;
use crate::config::Rules;
use crate::group::{Group, Word};
use crate::header::{ScdpHeader, Symbol};
use crate::receiver::{Arrival, Receiver, key};
use crate::sender::Sender;
use crate::shape::Cut;

/// SCDP or Polyraptor on one host.
pub struct ScdpEndpoint {
    rules: Rules,
    chance: RandomStream,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    /// Group addresses of the sessions with several receivers, by session number.
    groups: BTreeMap<ConnId, HostAddr>,
    /// Ended sessions: late packets do not open them again, and their numbers are not reused.
    sent: Finished,
    received: Finished,
    pulls: PullQueue,
    pacer: Pacer,
    /// Timer entries. A session may have several; stale ones are skipped.
    timers: Timers<FlowTimer>,
    /// Senders that have something to send.
    ready: RoundRobin,
    control: VecDeque<Transmit<ScdpHeader>>,
    events: VecDeque<Event>,
}

impl ScdpEndpoint {
    /// A host without sessions.
    pub(crate) fn new(rules: Rules, chance: RandomStream) -> Self {
        Self {
            // The receiver has forgotten the number by then.
            sent: Finished::new(rules.remembered.saturating_add(rules.time_wait)),
            received: Finished::new(rules.remembered),
            rules,
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            groups: BTreeMap::new(),
            pulls: PullQueue::default(),
            pacer: Pacer::default(),
            timers: Timers::default(),
            ready: RoundRobin::default(),
            control: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Applies `change` to a sender, then updates its timer and queues it for the link if it can send.
    fn with_sender<R>(
        &mut self,
        slot: u32,
        change: impl FnOnce(&mut Sender, &Rules, &mut RandomStream) -> R,
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
            self.timers.push(due, FlowTimer::Sender(slot));
        }
        Some(result)
    }

    /// Updates the timer of a receiver.
    fn arm_receiver(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let due = receiver.due(&self.rules);
        if due < receiver.armed {
            receiver.armed = due;
            self.timers.push(due, FlowTimer::Receiver(slot));
        }
    }

    fn refuse(&mut self, flow: &FlowSpec, reason: FailureReason) {
        let (to, conn, counts) = (flow.to, flow.conn, SendCounts::default());
        self.events.push_back(Event::Failed { to, conn, reason, counts });
    }

    /// Whether a flow can be opened; reports a failure if not.
    fn admits(&mut self, flow: &FlowSpec) -> bool {
        let reason =
            if self.senders.find(flow.to, flow.conn).is_some() || self.sent.contains(flow.to, flow.conn) {
                FailureReason::NumberInUse
            } else if flow.size.is_some_and(|size| size.0 == 0) {
                FailureReason::EmptyFlow
            } else {
                return true;
            };
        self.refuse(flow, reason);
        false
    }

    /// Opens a flow that sends the part `share` of the symbols; to a group if there are `members`.
    fn open_any(&mut self, now: Instant, flow: &FlowSpec, share: Share, members: &[GroupMember]) -> bool {
        if !self.admits(flow) {
            return false;
        }
        let Some(sender) = Sender::open(now, &self.rules, flow, share, &mut self.chance) else {
            self.refuse(flow, FailureReason::of_protocol(&"a flow has at most 2^32 - 2 symbols"));
            return false;
        };
        let sender = if members.is_empty() { sender } else { sender.with_group(members) };
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        self.with_sender(slot, |_, _, _| ());
        true
    }

    /// Closes a sender; `key` is the address of its receiver or group.
    fn close_sender(&mut self, now: Instant, key: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready.remove(slot);
        self.sent.note(now, key, conn);
        if self.groups.get(&conn) == Some(&key) {
            self.groups.remove(&conn);
        }
        self.senders.remove(key, conn).map_or_else(SendCounts::default, |mut sender| sender.take_counts())
    }

    /// Address and slot of the group sender of session `conn`.
    fn group_slot(&mut self, conn: ConnId) -> Option<(HostAddr, u32)> {
        let key = *self.groups.get(&conn)?;
        Some((key, self.senders.find(key, conn)?))
    }

    fn on_done(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(slot) = self.senders.find(to, conn) else { return self.on_group_done(now, to, conn) };
        let row = self.senders.get_mut(slot).map_or(0, |sender| sender.row);
        let counts = self.close_sender(now, to, conn, slot);
        self.events.push_back(Event::Completed { to, conn: ConnId::new(conn.get() + row), counts });
    }

    /// Handles the DONE of one of several receivers.
    fn on_group_done(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        let Some((key, slot)) = self.group_slot(conn) else { return };
        let done = self.with_sender(slot, |sender, rules, chance| {
            let row = sender.on_group_done(now, to, rules, chance)?;
            Some((row, sender.take_counts(), sender.group.as_ref().is_none_or(Group::is_empty)))
        });
        let Some(Some((row, counts, over))) = done else { return };
        self.events.push_back(Event::Completed { to, conn: ConnId::new(conn.get() + row), counts });
        if over {
            self.close_sender(now, key, conn, slot);
        }
    }

    /// Takes receivers that have kept their group waiting out of it: gives them sessions of their own, or fails their flows.
    fn detach(&mut self, now: Instant, slot: u32) {
        if !self.rules.detaches {
            return self.leave_behind(now, slot);
        }
        let alone = self.with_sender(slot, |sender, rules, chance| sender.detach(now, rules, chance));
        for sender in alone.unwrap_or_default() {
            let slot = self.senders.insert(sender.to, sender.conn, sender);
            self.with_sender(slot, |_, _, _| ());
        }
    }

    /// Fails the flows of the receivers that have kept their group waiting; the others go on.
    fn leave_behind(&mut self, now: Instant, slot: u32) {
        let left = self.with_sender(slot, |sender, rules, chance| {
            let behind = sender.leave_behind(now, rules, chance);
            (sender.conn, behind, sender.take_counts())
        });
        let Some((conn, behind, mut counts)) = left else { return };
        for member in behind {
            self.events.push_back(Event::Failed {
                to: member.addr,
                conn: ConnId::new(conn.get() + member.row),
                reason: FailureReason::of_protocol(&"the receiver keeps its group waiting"),
                counts: core::mem::take(&mut counts),
            });
        }
    }

    /// Fails the flows of a group whose receivers are all silent.
    fn fail_group(&mut self, now: Instant, conn: ConnId, reason: FailureReason) {
        let Some((key, slot)) = self.group_slot(conn) else { return };
        let members: Vec<_> = self.senders.get_mut(slot).map_or_else(Vec::new, |sender| {
            sender
                .group
                .iter()
                .flat_map(|group| group.members())
                .map(|member| (member.addr, member.row))
                .collect()
        });
        let mut counts = self.close_sender(now, key, conn, slot);
        for (to, row) in members {
            let counts = core::mem::take(&mut counts);
            self.events.push_back(Event::Failed { to, conn: ConnId::new(conn.get() + row), reason, counts });
        }
    }

    /// Handles a packet for a driver with real symbols and a real decoder: `sufficient` is false if the symbols of the
    /// packet's block, this one included, are enough by number but do not determine the block. The receiver then pulls one
    /// more.
    pub fn handle_decoded(&mut self, now: Instant, packet: Received<ScdpHeader>, sufficient: bool) {
        // SCDP switches return nothing. A header returned by another switch counts as lost, and is recovered like any loss.
        if packet.fate == Fate::Returned {
            return;
        }
        match packet.header {
            ScdpHeader::Symbol { conn, symbol } => {
                self.on_symbol(now, &packet, (conn, &symbol), !sufficient);
            }
            ScdpHeader::Pull { conn, number, first, block, extra, fin } => {
                if let Some(slot) = self.senders.find(packet.from, conn) {
                    self.with_sender(slot, |sender, _, _| {
                        sender.on_pull(now, number, first, (block, extra), fin)
                    });
                } else if let Some((_, slot)) = self.group_slot(conn) {
                    let pull = Word { number, first, fin };
                    self.with_sender(slot, |sender, _, _| {
                        sender.on_group_pull(now, packet.from, pull, (block, extra));
                    });
                }
            }
            ScdpHeader::Done { conn } => self.on_done(now, packet.from, conn),
        }
        self.run_due(now);
    }

    fn send_control(&mut self, to: HostAddr, path: u16, header: ScdpHeader) {
        let wire = WireLen::new(self.rules.header);
        self.control.push_back(Transmit::control(to, path, wire, header));
    }

    /// The receiver of a symbol. A symbol sent without a pull opens a session.
    fn receiver_for(
        &mut self,
        now: Instant,
        packet: &Received<ScdpHeader>,
        conn: ConnId,
        symbol: &Symbol,
    ) -> Option<u32> {
        let (peer, key) = (packet.from, key(packet.from, symbol));
        let slot = self.receivers.find(key, conn);
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
        let slot = self.receivers.insert(key, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer, conn });
        Some(slot)
    }

    /// Answers a symbol of an ended session with DONE, because its sender may not have received it. A symbol to a group may
    /// be for others: only a probe or one with FIN is answered.
    fn answer_late(&mut self, now: Instant, packet: &Received<ScdpHeader>, conn: ConnId, symbol: &Symbol) {
        self.received.note(now, key(packet.from, symbol), conn);
        if symbol.group && !symbol.unasked() && !symbol.fin {
            return;
        }
        let path = self.chance.below(packet.paths.into()) as u16;
        self.send_control(packet.from, path, ScdpHeader::Done { conn });
    }

    fn on_symbol(
        &mut self,
        now: Instant,
        packet: &Received<ScdpHeader>,
        (conn, symbol): (ConnId, &Symbol),
        dependent: bool,
    ) {
        if self.received.contains(key(packet.from, symbol), conn) {
            return self.answer_late(now, packet, conn, symbol);
        }
        let Some(slot) = self.receiver_for(now, packet, conn, symbol) else { return };
        let (rules, chance) = (&self.rules, &mut self.chance);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(payload) = payload(packet, rules).filter(|payload| receiver.accepts(symbol, *payload))
        else {
            return;
        };
        let piece = Piece { payload, whole: packet.fate == Fate::Whole, dependent };
        let peer = (packet.from, packet.paths);
        let Arrival { bytes, add, remove } = receiver.on_symbol(now, peer, (symbol, piece), rules, chance);
        let (pending, priority, complete) = (receiver.pending, receiver.priority, receiver.complete());
        if let Some(bytes) = bytes {
            self.events.push_back(Event::Delivered { slot, seq: PacketSeq::new(symbol.number), bytes });
        }
        if remove > 0 {
            self.pulls.remove(slot, remove, pending);
        }
        self.add_pulls(now, slot, priority, pending, add);
        let pulls_now = add > 0 && self.pulls.len() == u64::from(add) && self.pacer.free_at() <= now;
        if complete {
            self.finish(now, slot);
        } else {
            self.arm_receiver(slot);
        }
        if symbol.unasked() && !pulls_now {
            self.answer_probe(slot, packet.from);
        }
    }

    /// Tells the sender `peer` that its receiver is alive, although no pull for it may leave now: by the latest pull, which
    /// grants nothing unless it was lost.
    fn answer_probe(&mut self, slot: u32, peer: HostAddr) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some((header, path)) = receiver.latest_pull(peer, &mut self.chance) else { return };
        self.send_control(peer, path, header);
    }

    /// Adds `add` pulls to the queue; the session's `pending` already includes them.
    fn add_pulls(&mut self, now: Instant, slot: u32, priority: u8, pending: u32, add: u32) {
        if add > 0 {
            self.pacer.wake(now);
        }
        (pending - add..pending).for_each(|before| self.pulls.add(slot, priority, before));
    }

    /// Handles the arrival of the last symbol needed. The session ends once the last block is decoded: an earlier DONE would
    /// report data as delivered that the application does not have yet.
    fn finish(&mut self, now: Instant, slot: u32) {
        self.arm_receiver(slot);
        self.hand_over(now, slot);
    }

    /// Ends a session whose blocks are decoded.
    fn hand_over(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.complete() && receiver.decoded_at() <= now {
            let (key, conn) = (receiver.key, receiver.conn);
            let chance = &mut self.chance;
            let ends: Vec<_> =
                receiver.sources.iter_mut().map(|source| (source.peer, source.path(chance))).collect();
            self.receivers.remove(key, conn);
            self.received.note(now, key, conn);
            self.events.push_back(Event::Received { slot });
            for (peer, path) in ends {
                self.send_control(peer, path, ScdpHeader::Done { conn });
            }
        }
    }

    /// Runs all timers that are due, so that no deadline lies in the past.
    fn run_due(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                FlowTimer::Sender(slot) => self.check_sender(now, slot, at),
                FlowTimer::Receiver(slot) => self.check_receiver(now, slot, at),
            }
        }
        if !self.pulls.is_empty() && self.pacer.free_at() <= now {
            self.release_pull(now);
        }
    }

    /// Sends the next pull, which the pacer has released.
    fn release_pull(&mut self, now: Instant) {
        let Some(slot) = self.pulls.take() else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (header, to) = receiver.next_pull(now);
        if receiver.pending > 0 {
            self.pulls.keep(slot, receiver.priority);
        }
        let source = &mut receiver.sources[to];
        let (to, path, wire) = (source.peer, source.path(&mut self.chance), receiver.wire);
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
        let (key, conn, priority) = (receiver.key, receiver.conn, receiver.priority);
        if receiver.is_silent(now, rules) {
            if receiver.pending > 0 {
                self.pulls.remove(slot, receiver.pending, 0);
            }
            self.receivers.remove(key, conn);
            self.events.push_back(Event::Silent { slot });
            return;
        }
        let add = receiver.on_timeout(now, rules, chance);
        let pending = receiver.pending;
        self.add_pulls(now, slot, priority, pending, add);
        self.arm_receiver(slot);
    }

    fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let due = self.with_sender(slot, |sender, rules, _| {
            let current = sender.armed == at;
            if current {
                sender.armed = Instant::NEVER;
            }
            (current && sender.due(rules) <= now).then(|| sender.must_detach(now, rules))
        });
        match due.flatten() {
            Some(true) => self.detach(now, slot),
            Some(false) => self.ask(now, slot),
            None => {}
        }
    }

    /// Handles the timeout of a sender.
    fn ask(&mut self, now: Instant, slot: u32) {
        let asked = self.with_sender(slot, |sender, rules, _| {
            let (to, conn, row) = (sender.to, sender.conn, sender.row);
            (to, conn, row, sender.group.is_some(), sender.on_timeout(now, rules))
        });
        match asked {
            Some((_, conn, _, true, Err(()))) => self.fail_group(now, conn, FailureReason::ReceiverSilent),
            Some((to, conn, row, false, Err(()))) => {
                let counts = self.close_sender(now, to, conn, slot);
                self.events.push_back(Event::Failed {
                    to,
                    conn: ConnId::new(conn.get() + row),
                    reason: FailureReason::ReceiverSilent,
                    counts,
                });
            }
            Some((to, conn, row, false, Ok(seq))) => {
                self.events.push_back(Event::TimedOut {
                    to,
                    conn: ConnId::new(conn.get() + row),
                    seq: PacketSeq::new(seq),
                });
            }
            Some((.., true, Ok(_))) | None => {}
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

    /// Earliest of the timers and time-waits.
    fn first_timer(&self) -> Deadline {
        let first = Deadline { at: self.sent.due().min(self.received.due()), timer: TimerKind::TimeWait };
        match self.timers.first() {
            Some((at, FlowTimer::Sender(_))) => {
                first.min_at(at, TimerKind::of_protocol(&"a silent receiver"))
            }
            Some((at, FlowTimer::Receiver(_))) => {
                first.min_at(at, TimerKind::of_protocol(&"lost symbols or decoding"))
            }
            None => first,
        }
    }
}

/// Payload bytes of a symbol when it was sent; `None` if 0.
fn payload(packet: &Received<ScdpHeader>, rules: &Rules) -> Option<u16> {
    packet.wire.get().checked_sub(rules.header).filter(|payload| *payload > 0)
}

impl Transport for ScdpEndpoint {
    type Header = ScdpHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_any(now, &flow, Share::default(), &[]);
    }

    fn open_group(&mut self, now: Instant, flow: FlowSpec, receivers: &[GroupMember]) {
        if self.open_any(now, &flow, Share::default(), receivers) {
            self.groups.insert(flow.conn, flow.to);
            return;
        }
        // The flow to the first receiver was refused, and so the others are.
        let Some(Event::Failed { reason, .. }) = self.events.back().copied() else { return };
        for (conn, member) in (flow.conn.get()..).zip(receivers).skip(1) {
            self.refuse(&FlowSpec { conn: ConnId::new(conn), to: member.addr, ..flow }, reason);
        }
    }

    fn open_source(&mut self, now: Instant, flow: FlowSpec, source: Source) {
        match Share::new(source.index, source.of) {
            Ok(share) => drop(self.open_any(now, &flow, share, &[])),
            Err(_) => self.refuse(
                &flow,
                FailureReason::of_protocol(&"a sender's number is below the number of senders"),
            ),
        }
    }

    fn handle(&mut self, now: Instant, packet: Received<ScdpHeader>) {
        self.handle_decoded(now, packet, true);
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
            first = first.min_at(self.pacer.free_at(), TimerKind::PullPacer);
        }
        (first.at != Instant::NEVER).then_some(first)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        let mut status = |sender: &Sender, peer: HostAddr, row: u32, counts: SendCounts| {
            visit(FlowStatus {
                side: Side::Sender,
                peer,
                conn: ConnId::new(sender.conn.get() + row),
                bytes: sender.acked_bytes,
                last_progress: sender.last_progress,
                waiting_for: sender.waiting_for(),
                counts,
            });
        };
        for sender in self.senders.iter() {
            let Some(group) = &sender.group else {
                status(sender, sender.to, sender.row, sender.unreported());
                continue;
            };
            for (index, member) in group.members().iter().enumerate() {
                let counts = if index == 0 { sender.unreported() } else { SendCounts::default() };
                status(sender, member.addr, member.row, counts);
            }
        }
        for receiver in self.receivers.iter() {
            visit(FlowStatus {
                side: Side::Receiver,
                peer: receiver.sources[0].peer,
                conn: receiver.conn,
                bytes: receiver.bytes,
                last_progress: receiver.last_progress,
                waiting_for: if receiver.complete() {
                    Awaited::of_protocol(&"decoding")
                } else {
                    Awaited::of_protocol(&"symbols")
                },
                counts: SendCounts::default(),
            });
        }
    }
}
