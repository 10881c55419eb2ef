//! One host: its connections in both directions, its timers, its turns on the link.

use alloc::collections::{BTreeSet, VecDeque};

use pullnet_connections::{Connections, Finished, RoundRobin};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, Received, SendCounts, Side,
    Transmit, Transport,
};
use pullnet_units::{Instant, Picos};

use crate::sender::Sender;
use crate::{GoBackNConfig, GoBackNHeader};

/// The receiving half of a connection: it takes packets in order and discards all others.
struct Receiver {
    peer: HostAddr,
    conn: ConnId,
    /// The packet that it waits for.
    next: u32,
    bytes: u64,
    last_progress: Instant,
    /// When it forgets a silent sender.
    due: Instant,
}

/// A timer of one connection, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// Go-back-N on one host.
pub struct GoBackNEndpoint {
    config: GoBackNConfig,
    chance: Stream,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    /// Ended connections: late packets do not open them again, and their numbers rest.
    sent: Finished,
    received: Finished,
    /// Every deadline of a connection, once.
    timers: BTreeSet<(Instant, Timer)>,
    /// Senders that have something to send.
    ready: RoundRobin,
    acks: VecDeque<Transmit<GoBackNHeader>>,
    events: VecDeque<Event>,
}

impl GoBackNEndpoint {
    /// A host without connections.
    pub fn new(config: &GoBackNConfig, chance: Stream) -> Self {
        Self {
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            received: Finished::new(patience(config)),
            // The receiver has forgotten the number by then.
            sent: Finished::new(patience(config).saturating_mul(2)),
            timers: BTreeSet::new(),
            ready: RoundRobin::default(),
            acks: VecDeque::new(),
            events: VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Lets `change` happen to a sender; afterwards its timer is right, and it stands in line if it can send.
    fn with_sender<R>(
        &mut self,
        slot: u32,
        change: impl FnOnce(&mut Sender, &GoBackNConfig) -> R,
    ) -> Option<R> {
        let sender = self.senders.get_mut(slot)?;
        self.timers.remove(&(sender.due, Timer::Sender(slot)));
        let result = change(sender, &self.config);
        if sender.due != Instant::NEVER {
            self.timers.insert((sender.due, Timer::Sender(slot)));
        }
        if !sender.queued && sender.can_send(&self.config) {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
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

    fn on_ack(&mut self, now: Instant, to: HostAddr, conn: ConnId, next: u32) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let mut latencies = VecDeque::new();
        let complete = self.with_sender(slot, |sender, config| {
            sender.on_ack(now, config, next, |sent| latencies.push_back(now.since(sent)));
            sender.is_complete()
        });
        self.events.extend(latencies.into_iter().map(|latency| Event::Acked { to, conn, latency }));
        if complete == Some(true) {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push_back(Event::Completed { to, conn, counts });
        }
    }

    fn on_timeout(&mut self, now: Instant, slot: u32) {
        let expired = self.with_sender(slot, |sender, config| {
            (sender.to, sender.conn, sender.first, sender.go_back(config))
        });
        let Some((to, conn, seq, goes_on)) = expired else { return };
        self.events.push_back(Event::TimedOut { to, conn, seq });
        if !goes_on {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push_back(Event::Failed { to, conn, reason: "the receiver is silent", counts });
        }
    }

    /// Packet 0 opens a connection, unless it has ended before.
    fn receiver_for(&mut self, now: Instant, peer: HostAddr, conn: ConnId, seq: u32) -> Option<u32> {
        let slot = self.receivers.find(peer, conn);
        if slot.is_some() || seq != 0 {
            return slot;
        }
        let receiver = Receiver { peer, conn, next: 0, bytes: 0, last_progress: now, due: Instant::NEVER };
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer, conn });
        Some(slot)
    }

    fn on_data(
        &mut self,
        now: Instant,
        packet: &Received<GoBackNHeader>,
        conn: ConnId,
        seq: u32,
        last: bool,
    ) {
        let peer = packet.from;
        if self.received.contains(peer, conn) {
            // The last ACKs were lost: the sender learns packet by packet that all are there.
            self.received.note(now, peer, conn);
            return self.acknowledge(packet, conn, seq.saturating_add(1), seq);
        }
        let Some(slot) = self.receiver_for(now, peer, conn, seq) else {
            return self.events.push_back(Event::Stray { peer, conn });
        };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        self.timers.remove(&(receiver.due, Timer::Receiver(slot)));
        receiver.due = now.after(patience(&self.config));
        let in_order = seq == receiver.next;
        if in_order {
            let bytes = u32::from(packet.wire).saturating_sub(self.config.header.0 as u32);
            receiver.next = receiver.next.saturating_add(1);
            receiver.bytes += u64::from(bytes);
            receiver.last_progress = now;
            self.events.push_back(Event::Delivered { slot, seq, bytes });
        }
        let next = receiver.next;
        if in_order && last {
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.events.push_back(Event::Received { slot });
        } else {
            self.timers.insert((receiver.due, Timer::Receiver(slot)));
        }
        self.acknowledge(packet, conn, next, seq);
    }

    /// Every data packet is answered, in order or not: ACKs may be lost, too.
    fn acknowledge(&mut self, packet: &Received<GoBackNHeader>, conn: ConnId, next: u32, answers: u32) {
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire) = (packet.from, self.config.header.0 as u16);
        let header = GoBackNHeader::Ack { conn, next, answers };
        let (class, priority) = (Class::Control, 0);
        self.acks.push_back(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    fn on_silence(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        self.receivers.remove(peer, conn);
        self.events.push_back(Event::Silent { slot });
    }

    fn transmit_data(&mut self, now: Instant) -> Option<Transmit<GoBackNHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let packet = self.with_sender(slot, |sender, config| {
                sender.queued = false;
                // An ACK or a timeout may have changed what it can send since it stood in line.
                sender.can_send(config).then(|| {
                    let (seq, payload, again) = sender.transmit(now, config);
                    let header = GoBackNHeader::Data { conn: sender.conn, seq, last: sender.is_last(seq) };
                    let (to, path) = (sender.to, sender.path);
                    let wire = (payload + config.header.0 as u32) as u16;
                    Transmit { to, path, wire, class: Class::Data, priority: 0, ect: false, again, header }
                })
            });
            if let Some(Some(packet)) = packet {
                return Some(packet);
            }
        }
    }
}

/// Longest time for which a sender repeats packets to a silent receiver, and as long again for packets on their way: so long
/// a receiver remembers.
fn patience(config: &GoBackNConfig) -> Picos {
    config.timeout.saturating_mul(2 * (u64::from(config.retries) + 1))
}

impl Transport for GoBackNEndpoint {
    type Header = GoBackNHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        let (to, conn) = (flow.to, flow.conn);
        let packets = flow.size.map(|size| size.0.div_ceil(self.config.mtu.0));
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
        let path = self.chance.below(flow.paths.into()) as u16;
        let sender = Sender::open(now, &self.config, &flow, packets.map(|packets| packets as u32), path);
        let slot = self.senders.insert(to, conn, sender);
        self.with_sender(slot, |_, _| ());
    }

    fn handle(&mut self, now: Instant, packet: Received<GoBackNHeader>) {
        if packet.fate != Fate::Whole {
            return;
        }
        match packet.header {
            GoBackNHeader::Data { conn, seq, last } => self.on_data(now, &packet, conn, seq, last),
            GoBackNHeader::Ack { conn, next, .. } => self.on_ack(now, packet.from, conn, next),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Sender(slot) => self.on_timeout(now, slot),
                Timer::Receiver(slot) => self.on_silence(slot),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<GoBackNHeader>> {
        self.acks.pop_front().or_else(|| self.transmit_data(now))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let mut first = Deadline { at: self.sent.due().min(self.received.due()), why: "time-wait" };
        if let Some((at, timer)) = self.timers.first() {
            let sender = matches!(timer, Timer::Sender(_));
            first = first.min_at(*at, if sender { "retransmission" } else { "a silent sender" });
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
