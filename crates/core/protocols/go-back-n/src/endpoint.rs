//! The rules of one host: what it does with a packet, with a timer, and with its turn on the link.

use pullnet_connections::{Endpoint, FlowPackets, Flows, Known, RoundRobin, Rules};
use pullnet_rng::RandomStream;
use pullnet_transport::{
    Awaited, ConnId, DataPacket, Event, FailureReason, FlowSpec, FlowStatus, HostAddr, Received, Side,
    Transmit,
};
use pullnet_units::{Instant, PacketSeq, Picos, WireLen};

use crate::config::GoBackNConfig;
use crate::header::GoBackNHeader;
use crate::sender::Sender;

/// The receiving half of a connection: it takes packets in order and discards all others.
pub struct Receiver {
    peer: HostAddr,
    conn: ConnId,
    /// The packet that it waits for.
    next: u32,
    bytes: u64,
    last_progress: Instant,
    /// When it forgets a silent sender.
    due: Instant,
}

/// Go-back-N on one host.
pub type GoBackNEndpoint = Endpoint<GoBackNRules>;

/// The state that belongs to no flow.
pub struct GoBackNRules {
    config: GoBackNConfig,
    chance: RandomStream,
    /// Senders that have something to send.
    ready: RoundRobin,
}

/// Longest time for which a sender repeats packets to a silent receiver, and as long again for packets on their way: so long
/// a receiver remembers.
fn patience(config: &GoBackNConfig) -> Picos {
    config.timeout.saturating_mul(2 * (u64::from(config.retries) + 1))
}

impl GoBackNRules {
    /// A host without connections.
    pub fn endpoint(config: &GoBackNConfig, chance: RandomStream) -> GoBackNEndpoint {
        let rules = Self { config: config.clone(), chance, ready: RoundRobin::default() };
        Endpoint::new(rules, patience(config))
    }

    /// After every change: the sender's timer runs, and it stands in line if it can send.
    fn settle(&mut self, flows: &mut Flows<Self>, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        if !sender.queued && sender.can_send(&self.config) {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
        }
        let due = sender.due;
        flows.arm_sender(slot, due);
    }

    fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, to: HostAddr, conn: ConnId, next: u32) {
        let acknowledged = flows.acknowledge(now, (to, conn), |sender, visit| {
            sender.on_ack(now, &self.config, next, visit);
            sender.is_complete().then_some(sender.counts)
        });
        match acknowledged {
            Some((slot, Some(counts))) => {
                self.ready.remove(slot);
                flows.complete(now, to, conn, counts);
            }
            Some((slot, None)) => self.settle(flows, slot),
            None => (),
        }
    }

    fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        packet: &Received<GoBackNHeader>,
        DataPacket { conn, seq, last }: DataPacket,
    ) {
        let peer = packet.from;
        let slot = match flows.known(now, peer, conn) {
            Known::Open(slot) => slot,
            // The last ACKs were lost: the sender learns packet by packet that all are there.
            Known::Finished => return self.acknowledge(flows, packet, conn, seq.saturating_add(1), seq),
            // Packet 0 opens a connection.
            Known::New if seq == 0 => {
                let due = Instant::NEVER;
                let receiver = Receiver { peer, conn, next: 0, bytes: 0, last_progress: now, due };
                flows.open_receiver(peer, conn, receiver)
            }
            Known::New | Known::Dismissed => return flows.events.push(Event::Stray { peer, conn }),
        };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let due = now.after(patience(&self.config));
        receiver.due = due;
        let in_order = seq == receiver.next;
        if in_order {
            let bytes = u32::from(packet.wire).saturating_sub(self.config.header.0 as u32);
            receiver.next = receiver.next.saturating_add(1);
            receiver.bytes += u64::from(bytes);
            receiver.last_progress = now;
            flows.events.push(Event::Delivered { slot, seq: PacketSeq::new(seq), bytes });
        }
        let next = receiver.next;
        if in_order && last {
            flows.finish(now, slot, peer, conn);
        } else {
            flows.arm_receiver(slot, due);
        }
        self.acknowledge(flows, packet, conn, next, seq);
    }

    /// Every data packet is answered, in order or not: ACKs may be lost, too.
    fn acknowledge(
        &mut self,
        flows: &mut Flows<Self>,
        packet: &Received<GoBackNHeader>,
        conn: ConnId,
        next: u32,
        answers: u32,
    ) {
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire) = (packet.from, WireLen::of(self.config.header.0 as u32));
        let header = GoBackNHeader::Ack { conn, next, answers };
        flows.control.push(Transmit::control(to, path, wire, header));
    }
}

impl Rules for GoBackNRules {
    type Header = GoBackNHeader;
    type Sender = Sender;
    type Receiver = Receiver;

    fn mtu(&self) -> u64 {
        self.config.mtu.0
    }

    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets) {
        let path = self.chance.below(flow.paths.into()) as u16;
        let slot = flows.open_sender(flow.to, flow.conn, Sender::open(now, flow, packets, path));
        self.settle(flows, slot);
    }

    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<GoBackNHeader>) {
        match packet.header {
            GoBackNHeader::Data(data) => self.on_data(flows, now, &packet, data),
            GoBackNHeader::Ack { conn, next, .. } => self.on_ack(flows, now, packet.from, conn, next),
        }
    }

    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        if sender.due <= now {
            let (to, conn, seq) = (sender.to, sender.conn, sender.first);
            let goes_on = sender.go_back(&self.config);
            let counts = sender.counts;
            flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
            if !goes_on {
                self.ready.remove(slot);
                return flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
            }
        }
        self.settle(flows, slot);
    }

    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn, due) = (receiver.peer, receiver.conn, receiver.due);
        if due <= now {
            flows.dismiss(now, slot, peer, conn);
        } else {
            flows.arm_receiver(slot, due);
        }
    }

    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<GoBackNHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let Some(sender) = flows.senders.get_mut(slot) else { continue };
            sender.queued = false;
            // An ACK or a timeout may have changed what it can send since it stood in line.
            if !sender.can_send(&self.config) {
                continue;
            }
            let (seq, payload, again) = sender.transmit(now, &self.config);
            let data = DataPacket { conn: sender.conn, seq, last: sender.packets.is_last(seq) };
            let header = GoBackNHeader::Data(data);
            let (to, path) = (sender.to, sender.path);
            let wire = WireLen::of(payload + self.config.header.0 as u32);
            self.settle(flows, slot);
            return Some(Transmit { again, ..Transmit::data(to, path, wire, header) });
        }
    }

    fn sender_status(&self, sender: &Sender) -> FlowStatus {
        let Sender { to: peer, conn, acked_bytes: bytes, last_progress, counts, .. } = *sender;
        let waiting_for = if sender.queued { Awaited::LinkTurn } else { Awaited::Acks };
        FlowStatus { side: Side::Sender, peer, conn, bytes, last_progress, waiting_for, counts }
    }

    fn receiver_status(&self, receiver: &Receiver) -> FlowStatus {
        FlowStatus::of_receiver(receiver.peer, receiver.conn, receiver.bytes, receiver.last_progress)
    }
}
