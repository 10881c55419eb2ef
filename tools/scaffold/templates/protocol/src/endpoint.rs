//! The rules of one host: reactions to packets, to timers, and to a free link.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Incoming, RoundRobin, Rules};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, DataPacket, Event, FailureReason, FlowSpec, FlowStatus, HostAddr, PacketSeq,
    Received, SendCounts, Side, Transmit, WireLen,
};
use pullnet_units::{Instant, Picos};

use crate::config::StencilNameConfig;
use crate::header::StencilNameHeader;

/// The sending half of a connection.
pub struct Sender {
    to: HostAddr,
    conn: ConnId,
    priority: u8,
    /// Number of paths to the receiver: each packet takes one by chance.
    paths: u16,
    packets: FlowPackets,
    /// The packet that has no ACK yet; all before it have one.
    seq: u32,
    /// When `seq` was sent first; `None` before that.
    sent_at: Option<Instant>,
    /// When `seq` is retransmitted; [`Instant::NEVER`] while the packet waits for the link.
    due: Instant,
    /// Timeouts since the last ACK.
    timeouts: u32,
    last_progress: Instant,
    acked_bytes: u64,
    counts: SendCounts,
}

/// stencil-name on one host.
pub type StencilNameEndpoint = Endpoint<StencilNameRules>;

/// The state that belongs to no flow.
pub struct StencilNameRules {
    config: StencilNameConfig,
    chance: RandomStream,
    /// Senders with a packet for the link.
    ready: RoundRobin,
}

/// Time for which a receiver remembers a flow: a sender retries for half of it.
fn patience(config: &StencilNameConfig) -> Picos {
    config.timeout.saturating_mul(2 * (u64::from(config.retries) + 1))
}

impl StencilNameRules {
    /// A host without connections.
    pub fn endpoint(config: &StencilNameConfig, chance: RandomStream) -> StencilNameEndpoint {
        let rules = Self { config: config.clone(), chance, ready: RoundRobin::default() };
        Endpoint::new(rules, patience(config))
    }

    /// The receiving side: every data packet is acknowledged, because an earlier ACK may be lost.
    fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        packet: &Received<StencilNameHeader>,
        data: DataPacket,
    ) {
        let bytes = u32::from(packet.wire).saturating_sub(self.config.header.0 as u32);
        // Each ACK takes a path by chance, so the receiver keeps none.
        let receipt = flows.receive(now, packet.from, data, bytes, patience(&self.config), || (packet.paths, 0));
        if receipt.is_none() {
            return;
        }
        let path = self.chance.below(packet.paths.into()) as u16;
        let wire = WireLen::of(self.config.header.0 as u32);
        let header = StencilNameHeader::Ack { conn: data.conn, seq: data.seq };
        flows.control.push(Transmit::control(packet.from, path, wire, header));
    }

    fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, to: HostAddr, conn: ConnId, seq: u32) {
        let Some(slot) = flows.senders.find(to, conn) else { return };
        let Some(sender) = flows.senders.get_mut(slot).filter(|sender| sender.seq == seq) else { return };
        // An ACK for a packet that was never sent belongs to an older connection.
        let Some(sent) = sender.sent_at.take() else { return };
        flows.events.push(Event::Acked { to, conn, latency: now.since(sent) });
        sender.acked_bytes += u64::from(sender.packets.payload(seq));
        sender.seq += 1;
        (sender.timeouts, sender.last_progress, sender.due) = (0, now, Instant::NEVER);
        let (priority, counts) = (sender.priority, sender.counts);
        self.ready.remove(slot);
        if seq + 1 == sender.packets.number {
            return flows.complete(now, to, conn, counts);
        }
        self.ready.push(slot, priority);
    }
}

impl Rules for StencilNameRules {
    type Header = StencilNameHeader;
    type Sender = Sender;
    type Receiver = Incoming;

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let sender = Sender {
            to: flow.to,
            conn: flow.conn,
            priority: flow.priority,
            paths: flow.paths,
            packets,
            seq: 0,
            sent_at: None,
            due: Instant::NEVER,
            timeouts: 0,
            last_progress: now,
            acked_bytes: 0,
            counts: SendCounts::default(),
        };
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.ready.push(slot, flow.priority);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<StencilNameHeader>) {
        match packet.header {
            StencilNameHeader::Data(data) => self.on_data(flows, now, &packet, data),
            StencilNameHeader::Ack { conn, seq } => self.on_ack(flows, now, packet.from, conn, seq),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn, seq, due) = (sender.to, sender.conn, sender.seq, sender.due);
        // The timer fires early where an ACK has moved the deadline.
        if due > now {
            return flows.arm_sender(slot, due);
        }
        sender.timeouts += 1;
        sender.counts.timeouts += 1;
        sender.due = Instant::NEVER;
        let (priority, counts) = (sender.priority, sender.counts);
        let gives_up = sender.timeouts > self.config.retries;
        flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
        if gives_up {
            return flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
        }
        self.ready.push(slot, priority);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        flows.check_silence(now, slot, patience(&self.config));
    }

    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<StencilNameHeader>> {
        let slot = self.ready.pop()?;
        let sender = flows.senders.get_mut(slot)?;
        let again = sender.sent_at.is_some();
        sender.sent_at.get_or_insert(now);
        sender.due = now.after(self.config.timeout);
        sender.counts.sent += 1;
        sender.counts.again += u32::from(again);
        let (seq, due) = (sender.seq, sender.due);
        let path = self.chance.below(sender.paths.into()) as u16;
        let wire = WireLen::of(sender.packets.payload(seq) + self.config.header.0 as u32);
        let data = DataPacket { conn: sender.conn, seq, last: sender.packets.is_last(seq) };
        let header = StencilNameHeader::Data(data);
        let transmit = Transmit { again, ..Transmit::data(sender.to, path, wire, header) };
        flows.arm_sender(slot, due);
        Some(transmit)
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        let Sender { to: peer, conn, acked_bytes: bytes, last_progress, counts, .. } = *sender;
        let waiting_for = if sender.due == Instant::NEVER { Awaited::LinkTurn } else { Awaited::Acks };
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn receiver_status(&self, receiver: &Incoming) -> FlowStatus {
        receiver.status()
    }
}
