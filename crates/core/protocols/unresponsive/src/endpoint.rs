//! The rules of one host: its flows in both directions and their turns on the link.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, Receipt, RoundRobin, Rules, Target};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, CumulativeAck, DataPacket, Event, FailureReason, FlowSpec, FlowStatus, HostAddr,
    Received, Side, TimerKind, Transmit,
};
use pullnet_units::{Instant, PacketSeq, Picos, WireLen};

use crate::config::{Paths, UnresponsiveConfig};
use crate::header::UnresponsiveHeader;
use crate::sender::Sender;

/// An unresponsive host.
pub type UnresponsiveEndpoint = Endpoint<UnresponsiveRules>;

/// The state that belongs to no flow.
pub struct UnresponsiveRules {
    config: UnresponsiveConfig,
    chance: RandomStream,
    /// Senders whose next packet may leave now.
    ready: RoundRobin,
}

/// Time for which a receiver remembers: twice as long as a sender goes on without an answer.
fn memory(config: &UnresponsiveConfig) -> Picos {
    config.give_up.saturating_mul(2)
}

impl UnresponsiveRules {
    /// A host without connections.
    pub fn endpoint(config: &UnresponsiveConfig, chance: RandomStream) -> UnresponsiveEndpoint {
        let rules = Self { config: config.clone(), chance, ready: RoundRobin::default() };
        Endpoint::new(rules, memory(config))
    }

    /// After every change: a sender stands in line if its next packet may leave, otherwise it has a timer for that. The first
    /// has none, or each turn on the link would leave one behind.
    fn settle(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let departure = sender.next_departure(&self.config);
        if !sender.queued && departure <= now {
            sender.queued = true;
            self.ready.push(slot, sender.target.priority);
        }
        if !sender.queued {
            let due = departure.min(sender.gives_up_at(&self.config));
            flows.arm_sender(slot, due);
        }
    }

    fn on_ack(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        ack: (u32, u32, bool),
    ) {
        let acknowledged = flows.acknowledge(now, (to, conn), |sender, visit| {
            sender.on_ack(now, ack, visit);
            sender.outstanding.is_complete().then_some(sender.counts)
        });
        match acknowledged {
            Some((slot, Some(counts))) => {
                self.ready.remove(slot);
                flows.complete(now, to, conn, counts);
            }
            Some((slot, None)) => self.settle(flows, now, slot),
            None => (),
        }
    }

    /// Any packet opens a connection, for each of them may be lost; unless the connection has ended before.
    fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        packet: &Received<UnresponsiveHeader>,
        data: DataPacket,
    ) {
        let bytes = u32::from(packet.wire).saturating_sub(self.config.header.0 as u32);
        let silence = memory(&self.config);
        // Each ACK has a random path: the receiver keeps none.
        let paths = || (packet.paths, 0);
        let receipt = flows.receive(now, packet.from, data, bytes, silence, paths);
        if let Some(Receipt { ack: CumulativeAck { cumulative, finished, .. }, .. }) = receipt {
            // A flow that has ended has at least this packet.
            let cumulative = if finished { cumulative.max(data.seq.saturating_add(1)) } else { cumulative };
            self.acknowledge(flows, packet, data, cumulative, finished);
        }
    }

    fn acknowledge(
        &mut self,
        flows: &mut Flows<Self>,
        packet: &Received<UnresponsiveHeader>,
        data: DataPacket,
        cumulative: u32,
        finished: bool,
    ) {
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire) = (packet.from, WireLen::of(self.config.header.0 as u32));
        let header = UnresponsiveHeader::Ack { conn: data.conn, seq: data.seq, cumulative, finished };
        flows.control.push(Transmit::control(to, path, wire, header));
    }

    /// Whether the flow has failed, for nothing was heard for too long.
    fn gives_up(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) -> bool {
        let Some(sender) = flows.senders.get_mut(slot) else { return true };
        if sender.gives_up_at(&self.config) > now {
            return false;
        }
        let (Target { to, conn, .. }, counts) = (sender.target, sender.counts);
        self.ready.remove(slot);
        flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
        true
    }

    /// The next packet of `sender`; `drawn`, uniform in `[0, 1)`, chooses its path if every packet has its own.
    fn packet(
        sender: &mut Sender,
        now: Instant,
        config: &UnresponsiveConfig,
        drawn: f64,
    ) -> Transmit<UnresponsiveHeader> {
        let (seq, payload, again) = sender.transmit(now, config);
        let target = sender.target;
        let path = match config.paths {
            Paths::Single => target.path,
            Paths::Scatter => (drawn * f64::from(target.paths)) as u16,
        };
        let last = sender.outstanding.packets().is_last(seq);
        let header = UnresponsiveHeader::Data(DataPacket { conn: target.conn, seq, last });
        let wire = WireLen::of(payload + config.header.0 as u32);
        Transmit { again, ..Transmit::data(target.to, path, wire, header) }
    }
}

impl Rules for UnresponsiveRules {
    type Header = UnresponsiveHeader;
    type Sender = Sender;
    type Receiver = Incoming;
    const SENDER_TIMER: TimerKind = TimerKind::of_protocol(&"the next packet");

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let path = self.chance.below(flow.paths.into()) as u16;
        let begin = now.after(Picos((self.chance.unit() * self.config.phase.0 as f64) as u64));
        let sender = Sender::open((now, begin), Target::of(flow, path), packets);
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.settle(flows, now, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<UnresponsiveHeader>) {
        match packet.header {
            UnresponsiveHeader::Data(data) => self.on_data(flows, now, &packet, data),
            UnresponsiveHeader::Ack { conn, seq, cumulative, finished } => {
                self.on_ack(flows, now, (packet.from, conn), (seq, cumulative, finished));
            }
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        if !self.gives_up(flows, now, slot) {
            self.settle(flows, now, slot);
        }
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        flows.check_silence(now, slot, memory(&self.config));
    }

    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<UnresponsiveHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let drawn = self.chance.unit();
            if let Some(sender) = flows.senders.get_mut(slot) {
                sender.queued = false;
            }
            if self.gives_up(flows, now, slot) {
                continue;
            }
            // An ACK may have changed what there is to send since it stood in line.
            let sender = flows.senders.get_mut(slot);
            let sender = sender.filter(|sender| sender.next_departure(&self.config) <= now);
            let packet = sender.map(|sender| Self::packet(sender, now, &self.config, drawn));
            self.settle(flows, now, slot);
            let Some(packet) = packet else { continue };
            if let (UnresponsiveHeader::Data(DataPacket { conn, seq, .. }), true) =
                (packet.header, packet.again)
            {
                flows.events.push(Event::TimedOut { to: packet.to, conn, seq: PacketSeq::new(seq) });
            }
            return Some(packet);
        }
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        let Sender { target: Target { to: peer, conn, .. }, last_progress, counts, .. } = *sender;
        let bytes = sender.outstanding.acked_bytes();
        let waiting_for = if sender.queued { Awaited::LinkTurn } else { Awaited::Acks };
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
