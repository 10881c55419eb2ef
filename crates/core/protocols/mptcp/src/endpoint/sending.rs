//! The sending side of a host.

use pullnet_rng::RandomStream;
use pullnet_transport::{
    ConnId, Event, FailureReason, FlowSpec, HostAddr, Received, SendCounts, Transmit, Transport,
};
use pullnet_units::{Instant, PacketSeq, WireLen};
use pullnet_window::{Control, Paths, Segment};

use super::{MOST_CONNECTIONS, MultipathEndpoint, Subflow};
use crate::header::{MultipathHeader, SubflowAck, SubflowData};
use crate::sender::{Expiry, Phase, Sender};

/// Most packets of a flow: numbers have 32 bits, and one past the last packet has to be a number too.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl<C: Control> MultipathEndpoint<C> {
    pub(super) fn open_flow(&mut self, now: Instant, flow: &FlowSpec) {
        let packets =
            flow.size.map_or(u64::from(u32::MAX), |size| size.0.div_ceil(u64::from(self.rules.mtu)));
        if packets == 0 {
            return self.refuse(flow, FailureReason::EmptyFlow);
        }
        if flow.size.is_some() && packets > MOST_PACKETS {
            return self.refuse(flow, FailureReason::TooManyPackets);
        }
        if self.sent.contains(flow.to, flow.conn) || self.senders.find(flow.to, flow.conn).is_some() {
            return self.refuse(flow, FailureReason::NumberInUse);
        }
        let sizes = (self.rules.mtu, packets as u32, self.rules.receive_window);
        let mut sender = Sender::open(now, flow, sizes, &self.multipath, &mut self.chance);
        sender.generation = self.next_generation();
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        if slot >= MOST_CONNECTIONS {
            self.senders.remove(flow.to, flow.conn);
            return self
                .refuse(flow, FailureReason::of_protocol(&"the host has 2^20 open connections already"));
        }
        self.open_subflow(now, slot, 0);
        if !self.rules.handshake {
            self.join(now, slot);
        }
    }

    fn refuse(&mut self, flow: &FlowSpec, reason: FailureReason) {
        let counts = SendCounts::default();
        self.events.push(Event::Failed { to: flow.to, conn: flow.conn, reason, counts });
    }

    fn open_subflow(&mut self, now: Instant, slot: u32, index: usize) {
        let handshake = self.rules.handshake;
        let Some(sender) = self.senders.get_mut(slot) else { return };
        sender.carriers[index].phase = if handshake { Phase::Opening } else { Phase::Established };
        let conn = Subflow { slot, generation: sender.generation, index }.name();
        let (to, priority, paths) = (sender.to, sender.priority, sender.paths);
        self.subflows.open(now, FlowSpec { conn, to, priority, paths, ..FlowSpec::default() });
        self.update_limits(now, slot);
    }

    /// The first subflow is established: the others join.
    fn join(&mut self, now: Instant, slot: u32) {
        let Some(sender) = self.senders.get_mut(slot) else { return };
        for index in 0..sender.carriers.len() {
            let waiting = |sender: &mut Sender| sender.carriers[index].phase == Phase::Waiting;
            if self.senders.get_mut(slot).is_some_and(waiting) {
                self.open_subflow(now, slot, index);
            }
        }
    }

    fn update_limits(&mut self, now: Instant, slot: u32) {
        let Self { senders, subflows, .. } = self;
        let Some(sender) = senders.get_mut(slot) else { return };
        let (to, generation) = (sender.to, sender.generation);
        sender.update_limits(|index, limit| {
            subflows.set_limit(now, to, Subflow { slot, generation, index }.name(), limit);
        });
    }

    /// The sender of a subflow's packet. `None` if its connection has ended, even if another one has its slot.
    fn sender_of(&mut self, subflow: Subflow) -> Option<&mut Sender> {
        self.senders.get_mut(subflow.slot).filter(|sender| sender.generation == subflow.generation)
    }

    /// Assigns data to a data packet of a subflow.
    pub(super) fn data(
        &mut self,
        now: Instant,
        packet: &Transmit<Segment>,
        subflow: Subflow,
        (seq, opens): (u32, bool),
    ) -> Option<Transmit<MultipathHeader>> {
        let single = self.rules.paths == Paths::Single;
        let header = self.rules.header;
        let sender = self.sender_of(subflow)?;
        let assigned = sender.assign(now, subflow.index, seq)?;
        let path = if single { sender.carriers[subflow.index].path } else { packet.path };
        let (conn, subflow_number) = (sender.conn, subflow.index as u32);
        let (data, last) = (assigned.data, assigned.last);
        let data = SubflowData { conn, subflow: subflow_number, seq, data, opens, last };
        self.update_limits(now, subflow.slot);
        Some(Transmit {
            to: packet.to,
            path,
            wire: WireLen::of(assigned.payload + header),
            class: packet.class,
            priority: packet.priority,
            ect: packet.ect,
            again: assigned.again,
            header: MultipathHeader::Data(data),
        })
    }

    pub(super) fn syn(
        &mut self,
        packet: &Transmit<Segment>,
        subflow: Subflow,
    ) -> Option<Transmit<MultipathHeader>> {
        let single = self.rules.paths == Paths::Single;
        let sender = self.sender_of(subflow)?;
        let path = if single { sender.carriers[subflow.index].path } else { packet.path };
        let header = MultipathHeader::Syn { conn: sender.conn, subflow: subflow.index as u32 };
        let Transmit { to, wire, class, priority, ect, again, .. } = *packet;
        Some(Transmit { to, path, wire, class, priority, ect, again, header })
    }

    /// Handles an ACK, NACK, SYN-ACK or returned header for a subflow. `segment` is the subflow's part, under its name.
    pub(super) fn feedback(
        &mut self,
        now: Instant,
        packet: &Received<MultipathHeader>,
        (conn, index): (ConnId, u32),
        segment: impl FnOnce(ConnId) -> Segment,
    ) {
        let to = packet.from;
        let Some(slot) = self.senders.find(to, conn) else { return };
        let Some(sender) = self.senders.get_mut(slot) else { return };
        let index = index as usize;
        let is_open = |phase: Phase| matches!(phase, Phase::Opening | Phase::Established);
        let known = sender.carriers.get(index).is_some_and(|carrier| is_open(carrier.phase));
        if let MultipathHeader::Ack(SubflowAck { data_ack, .. }) = packet.header
            && !sender.has_sent(data_ack)
        {
            return;
        }
        if known {
            let name = Subflow { slot, generation: sender.generation, index }.name();
            if let Some(step) = sender.increase(self.multipath.coupling) {
                self.subflows.limit_growth(to, name, step);
            }
            let Received { from, paths, wire, fate, ce, .. } = *packet;
            self.subflows.handle(now, Received { from, paths, wire, fate, ce, header: segment(name) });
            self.after_feedback(now, packet, slot, index);
        }
        self.take_data_ack(now, packet, slot);
    }

    /// Updates the connection from the present state of the subflow.
    fn after_feedback(&mut self, now: Instant, packet: &Received<MultipathHeader>, slot: u32, index: usize) {
        // The subflow's own reports count its packets, not data.
        while self.subflows.poll_event().is_some() {}
        let Some(sender) = self.senders.get_mut(slot) else { return };
        let name = Subflow { slot, generation: sender.generation, index }.name();
        if let Some(subflow) = self.subflows.subflow(sender.to, name) {
            sender.update(index, &subflow);
        }
        let established = matches!(packet.header, MultipathHeader::SynAck { .. });
        if established && sender.carriers[index].phase == Phase::Opening {
            sender.carriers[index].phase = Phase::Established;
            sender.last_progress = now;
            self.join(now, slot);
        }
    }

    /// DATA_ACK, and the end of the connection.
    fn take_data_ack(&mut self, now: Instant, packet: &Received<MultipathHeader>, slot: u32) {
        let Self { senders, events, .. } = self;
        let Some(sender) = senders.get_mut(slot) else { return };
        let (to, conn) = (sender.to, sender.conn);
        if let MultipathHeader::Ack(SubflowAck { data_ack, finished, .. }) = packet.header {
            sender.acknowledge(now, data_ack, finished, |latency| {
                events.push(Event::Acked { to, conn, latency });
            });
        }
        if sender.is_complete() {
            let counts = self.close_sender(now, to, conn, slot);
            return self.events.push(Event::Completed { to, conn, counts });
        }
        self.update_limits(now, slot);
    }

    /// The number of an ended connection is not reused until its receiver has forgotten it.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        let Some(sender) = self.senders.remove(to, conn) else { return SendCounts::default() };
        for index in 0..sender.carriers.len() {
            self.subflows.drop_sender(to, Subflow { slot, generation: sender.generation, index }.name());
        }
        self.sent.note(now, to, conn);
        sender.counts
    }

    /// Handles timeouts of subflows: of a SYN, which then tries another path, or of data, which other subflows then
    /// carry, too.
    pub(super) fn take_timeouts(&mut self, now: Instant) {
        while let Some(event) = self.subflows.poll_event() {
            if let Event::TimedOut { to, conn: name, seq } = event {
                self.on_timeout(now, to, Subflow::named(name), seq.get());
            }
        }
    }

    fn on_timeout(&mut self, now: Instant, to: HostAddr, subflow: Subflow, seq: u32) {
        let (retries, index) = (self.rules.retries, subflow.index);
        let Some(sender) = self.sender_of(subflow) else { return };
        let conn = sender.conn;
        let (data, expiry) = sender.on_timeout(index, seq, retries);
        self.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(data) });
        match expiry {
            Expiry::GoesOn => self.reinject(to, subflow),
            Expiry::SubflowDies => {
                self.subflows.drop_sender(to, subflow.name());
                if let Some(sender) = self.sender_of(subflow) {
                    sender.outstanding(index).for_each(|seq| sender.stuck(index, seq));
                }
            }
            Expiry::Fails(reason) => {
                let counts = self.close_sender(now, to, conn, subflow.slot);
                return self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
        self.update_limits(now, subflow.slot);
    }

    fn reinject(&mut self, to: HostAddr, subflow: Subflow) {
        let Self { senders, subflows, chance, .. } = self;
        let Some(sender) = senders.get_mut(subflow.slot) else { return };
        if sender.carriers[subflow.index].phase == Phase::Opening {
            return redraw(sender, subflow.index, chance);
        }
        let stuck = &mut |seq| sender.stuck(subflow.index, seq);
        subflows.unacknowledged(to, subflow.name(), stuck);
    }
}

/// The SYN may have been lost on a path that is down: nothing binds it to that path yet.
fn redraw(sender: &mut Sender, index: usize, chance: &mut RandomStream) {
    sender.redraw_path(index, chance);
}
