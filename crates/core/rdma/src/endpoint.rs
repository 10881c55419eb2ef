//! The rules of one host: its flows in both directions, its pacing clock, its turns on the link.

use alloc::collections::BTreeSet;

use pullnet_connections::{Ended, FlowPackets, Flows, Known, RoundRobin, Rules, Target};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, DataPacket, Deadline, Event, FailureReason, FlowSpec, FlowStatus, HostAddr, HostInfo,
    Received, Side, TimerKind, Transmit,
};
use pullnet_units::{BitsPerSec, Instant, PacketSeq, Picos, WireLen};

use crate::control::{CollectedOf, Control};
use crate::header::{Carrier, Feedback, RdmaHeader};
use crate::parameters::{Parameters, Paths};
use crate::receiver::{Answer, Receiver};
use crate::sender::{Answered, Sender};

/// A RoCE host whose flows are under rate control `C`.
pub type Endpoint<C> = pullnet_connections::Endpoint<RdmaRules<C>>;

/// The state that belongs to no flow.
pub struct RdmaRules<C: Control> {
    parameters: Parameters,
    /// Rules of rate control.
    own: C::Rules,
    line: BitsPerSec,
    chance: RandomStream,
    /// The pacing clock: senders that have a packet, and when their rate allows it. Pacing changes with every packet, and a
    /// flow's own timer would leave an entry behind each time.
    departures: BTreeSet<(Instant, u32)>,
    /// Senders whose next packet may leave now.
    ready: RoundRobin,
}

/// Time for which a receiver remembers: twice as long as a sender goes on without an answer.
fn memory(parameters: &Parameters) -> Picos {
    parameters.give_up.saturating_mul(2)
}

impl<C: Control> RdmaRules<C> {
    /// A host without connections.
    pub fn endpoint(
        parameters: Parameters,
        own: C::Rules,
        host: HostInfo,
        chance: RandomStream,
    ) -> Endpoint<C> {
        let remembered = memory(&parameters);
        let (departures, ready) = (BTreeSet::new(), RoundRobin::default());
        let rules = Self { parameters, own, line: host.rate, chance, departures, ready };
        Endpoint::new(rules, remembered)
    }

    /// After every change: a sender stands in line if its next packet may leave, waits for the pacing clock if it may leave
    /// later, and has a timer in any case: one that is paused may fail while it stands in line.
    fn settle(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let departure = sender.next_departure(now, &self.parameters, &self.own);
        let waits = !sender.queued && departure != Instant::NEVER;
        if waits && departure <= now {
            sender.queued = true;
            self.ready.push(slot, sender.target.priority);
        } else if waits {
            self.departures.insert((departure, slot));
        }
        let idle = !sender.queued && departure == Instant::NEVER;
        let due = sender.timer(&self.parameters, idle);
        flows.arm_sender(slot, due);
    }

    /// A sender that ends has no turn and no departure any more.
    fn forget(&mut self, slot: u32, next_at: Instant) {
        self.departures.remove(&(next_at, slot));
        self.ready.remove(slot);
    }

    fn on_answer(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        to: HostAddr,
        answered: (Answered, CollectedOf<C>),
    ) {
        let conn = answered.0.feedback.conn;
        let taken = flows.acknowledge(now, (to, conn), |sender, visit| {
            sender.on_answer(now, (&self.parameters, &self.own), answered, visit);
            let ended = Ended { counts: sender.counts, finished: sender.finished };
            (sender.outstanding.is_complete(), sender.control.failure(), ended, sender.next_at)
        });
        match taken {
            Some((slot, (true, _, ended, next_at))) => {
                self.forget(slot, next_at);
                flows.end(now, to, conn, ended);
            }
            Some((slot, (_, Some(reason), ended, next_at))) => {
                self.forget(slot, next_at);
                flows.fail(now, to, conn, reason, ended.counts);
            }
            Some((slot, _)) => self.settle(flows, now, slot),
            None => (),
        }
    }

    fn on_cnp(&mut self, flows: &mut Flows<Self>, now: Instant, to: HostAddr, conn: ConnId) {
        let Some(slot) = flows.senders.find(to, conn) else { return };
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        sender.control.on_cnp(&self.own, now);
        self.settle(flows, now, slot);
    }

    /// Any packet opens a connection, since each of them may be lost, unless the connection has ended here before.
    fn receiver_for(&mut self, flows: &mut Flows<Self>, now: Instant, peer: HostAddr, conn: ConnId) -> Known {
        let known = flows.known(now, peer, conn);
        if known != Known::New {
            return known;
        }
        let slot = flows.open_receiver(peer, conn, Receiver::open(now, peer, conn));
        flows.arm_receiver(slot, now.after(memory(&self.parameters)));
        Known::Open(slot)
    }

    fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        packet: &Received<C::Header>,
        data: DataPacket,
    ) {
        let (peer, DataPacket { conn, seq, .. }) = (packet.from, data);
        let marked = packet.ce && self.parameters.cnp_interval.is_none();
        let slot = match self.receiver_for(flows, now, peer, conn) {
            Known::Open(slot) => slot,
            Known::Finished => {
                // The last ACKs were lost.
                let cumulative = seq.saturating_add(1);
                let feedback = Feedback { conn, seq, cumulative, marked };
                return self.answer(flows, packet, RdmaHeader::Ack { feedback, finished: true });
            }
            Known::Dismissed | Known::New => return flows.events.push(Event::Stray { peer, conn }),
        };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let bytes = u32::from(packet.wire).saturating_sub(self.parameters.header);
        let (answer, new) = receiver.on_data(now, &self.parameters, data, bytes);
        let notifies = packet.ce && receiver.notifies(now, &self.parameters);
        let finished = receiver.is_complete();
        let feedback = Feedback { conn, seq, cumulative: receiver.cumulative(), marked };
        if new {
            flows.events.push(Event::Delivered { slot, seq: PacketSeq::new(seq), bytes });
        }
        if finished {
            flows.finish(now, slot, peer, conn);
        }
        if notifies {
            self.answer(flows, packet, RdmaHeader::Cnp { conn });
        }
        match answer {
            Answer::Ack => self.answer(flows, packet, RdmaHeader::Ack { feedback, finished }),
            Answer::Nack => self.answer(flows, packet, RdmaHeader::Nack(feedback)),
            Answer::Nothing => {}
        }
    }

    /// Answers `packet`, and hands back what it has collected.
    fn answer(&mut self, flows: &mut Flows<Self>, packet: &Received<C::Header>, header: RdmaHeader) {
        let (_, collected) = packet.header.split();
        let header = C::Header::join(header, collected);
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire, priority) =
            (packet.from, WireLen::of(self.parameters.ack), self.parameters.control_priority);
        flows.control.push(Transmit { priority, ..Transmit::control(to, path, wire, header) });
    }

    /// The next packet of `sender`; `drawn`, uniform in `[0, 1)`, chooses its path if every packet has its own.
    fn packet(
        sender: &mut Sender<C>,
        now: Instant,
        (parameters, own): (&Parameters, &C::Rules),
        drawn: Option<f64>,
    ) -> Transmit<C::Header> {
        let (seq, payload, again) = sender.transmit(now, parameters, own);
        let target = sender.target;
        let path = drawn.map_or(target.path, |drawn| (drawn * f64::from(target.paths)) as u16);
        let last = sender.outstanding.packets().is_last(seq);
        let header = RdmaHeader::Data(DataPacket { conn: target.conn, seq, last });
        let header = C::Header::join(header, CollectedOf::<C>::default());
        let (to, wire, priority) =
            (target.to, WireLen::of(payload + parameters.header), parameters.data_priority);
        Transmit { priority, ect: parameters.ecn, again, ..Transmit::data(to, path, wire, header) }
    }
}

impl<C: Control> Rules for RdmaRules<C> {
    type Header = C::Header;
    type Sender = Sender<C>;
    type Receiver = Receiver;

    fn mtu(&self) -> u64 {
        self.parameters.mtu.into()
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let control = C::open(&self.own, self.line.get() as f64);
        let path = self.chance.below(flow.paths.into()) as u16;
        let sender = Sender::open(now, (control, self.line), Target::of(flow, path), packets);
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.settle(flows, now, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<C::Header>) {
        let from = packet.from;
        let (header, collected) = packet.header.split();
        match header {
            RdmaHeader::Data(data) => self.on_data(flows, now, &packet, data),
            RdmaHeader::Ack { feedback, finished } => {
                let answered = Answered { feedback, finished, missing: false };
                self.on_answer(flows, now, from, (answered, collected));
            }
            RdmaHeader::Nack(feedback) => {
                let answered = Answered { feedback, finished: false, missing: true };
                self.on_answer(flows, now, from, (answered, collected));
            }
            RdmaHeader::Cnp { conn } => self.on_cnp(flows, now, from, conn),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (Target { to, conn, .. }, counts, next_at) = (sender.target, sender.counts, sender.next_at);
        if sender.gives_up_at(&self.parameters) <= now {
            self.forget(slot, next_at);
            return flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
        }
        if let Some(seq) = sender.on_timer(now, &self.parameters, &self.own) {
            flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
        }
        self.settle(flows, now, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        let due = receiver.last_heard.after(memory(&self.parameters));
        if due <= now {
            flows.dismiss(now, slot, peer, conn);
        } else {
            flows.arm_receiver(slot, due);
        }
    }

    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<C::Header>> {
        loop {
            let slot = self.ready.pop()?;
            let drawn = (self.parameters.paths == Paths::Scatter).then(|| self.chance.unit());
            let Some(sender) = flows.senders.get_mut(slot) else { continue };
            sender.queued = false;
            let (parameters, own) = (&self.parameters, &self.own);
            // An answer may have changed what there is to send since it stood in line.
            let leaves = sender.next_departure(now, parameters, own) <= now;
            let packet = leaves.then(|| Self::packet(sender, now, (parameters, own), drawn));
            self.settle(flows, now, slot);
            if packet.is_some() {
                return packet;
            }
        }
    }

    fn clock(&self) -> Deadline {
        let at = self.departures.first().map_or(Instant::NEVER, |(at, _)| *at);
        Deadline { at, timer: TimerKind::Pacing }
    }

    fn tick(&mut self, flows: &mut Flows<Self>, now: Instant) {
        while let Some((at, slot)) = self.departures.first().copied().filter(|(at, _)| *at <= now) {
            self.departures.remove(&(at, slot));
            self.settle(flows, now, slot);
        }
    }

    fn sender_status(&self, sender: &Sender<C>) -> FlowStatus {
        let Sender { target: Target { to: peer, conn, .. }, last_progress, counts, .. } = *sender;
        let bytes = sender.outstanding.acked_bytes();
        let waiting_for = if sender.queued { Awaited::LinkTurn } else { Awaited::Acks };
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn receiver_status(&self, receiver: &Receiver) -> FlowStatus {
        FlowStatus::of_receiver(receiver.peer, receiver.conn, receiver.bytes, receiver.last_progress)
    }
}
