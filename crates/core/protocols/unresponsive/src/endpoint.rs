//! One host: its flows in both directions, its timers, its turns on the link.

use alloc::collections::{BTreeSet, VecDeque};

use pullnet_connections::{Connections, Finished, Noted, ReceivedSet, RoundRobin};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, Received, SendCounts, Side,
    Transmit, Transport,
};
use pullnet_units::{Instant, Picos};

use crate::sender::Sender;
use crate::{Paths, UnresponsiveConfig, UnresponsiveHeader};

/// The receiving half of a connection.
struct Receiver {
    peer: HostAddr,
    conn: ConnId,
    received: ReceivedSet,
    /// Number of packets, once the last one was seen.
    total: Option<u32>,
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

/// A data packet as it arrives.
#[derive(Clone, Copy)]
struct Data {
    conn: ConnId,
    seq: u32,
    last: bool,
}

/// An unresponsive host.
pub struct UnresponsiveEndpoint {
    config: UnresponsiveConfig,
    chance: Stream,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    /// Ended connections: late packets do not open them again, and their numbers rest.
    sent: Finished,
    received: Finished,
    /// Every deadline of a connection, once.
    timers: BTreeSet<(Instant, Timer)>,
    /// Senders whose next packet may leave now.
    ready: RoundRobin,
    acks: VecDeque<Transmit<UnresponsiveHeader>>,
    events: VecDeque<Event>,
}

/// Time for which a receiver remembers: twice as long as a sender goes on without an answer.
fn memory(config: &UnresponsiveConfig) -> Picos {
    config.give_up.saturating_mul(2)
}

impl UnresponsiveEndpoint {
    /// A host without connections.
    pub fn new(config: &UnresponsiveConfig, chance: Stream) -> Self {
        Self {
            chance,
            senders: Connections::default(),
            receivers: Connections::default(),
            received: Finished::new(memory(config)),
            // The receiver has forgotten the number by then.
            sent: Finished::new(memory(config).saturating_mul(2)),
            timers: BTreeSet::new(),
            ready: RoundRobin::default(),
            acks: VecDeque::new(),
            events: VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Lets `change` happen to a sender; afterwards it stands in line if its next packet may leave, and has a timer.
    fn with_sender<R>(
        &mut self,
        now: Instant,
        slot: u32,
        change: impl FnOnce(&mut Sender, &UnresponsiveConfig) -> R,
    ) -> Option<R> {
        let sender = self.senders.get_mut(slot)?;
        let result = change(sender, &self.config);
        let departure = sender.next_departure(&self.config);
        if !sender.queued && departure <= now {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
        }
        let gives_up = sender.gives_up_at(&self.config);
        let due = if sender.queued { gives_up } else { departure.min(gives_up) };
        if due != sender.due {
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

    fn on_ack(&mut self, now: Instant, to: HostAddr, conn: ConnId, ack: (u32, u32, bool)) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let mut latencies = VecDeque::new();
        let complete = self.with_sender(now, slot, |sender, config| {
            sender.on_ack(now, config, ack, |sent| latencies.push_back(now.since(sent)));
            sender.is_complete()
        });
        self.events.extend(latencies.into_iter().map(|latency| Event::Acked { to, conn, latency }));
        if complete == Some(true) {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push_back(Event::Completed { to, conn, counts });
        }
    }

    fn check_sender(&mut self, now: Instant, slot: u32) {
        let late = self.with_sender(now, slot, |sender, config| {
            sender.due = Instant::NEVER;
            (sender.to, sender.conn, sender.gives_up_at(config) <= now)
        });
        let Some((to, conn, true)) = late else { return };
        let counts = self.close_sender(now, to, conn, slot);
        self.events.push_back(Event::Failed { to, conn, reason: "the receiver is silent", counts });
    }

    /// Any packet opens a connection, for each of them may be lost; unless the connection has ended before.
    fn receiver_for(&mut self, now: Instant, peer: HostAddr, conn: ConnId) -> u32 {
        if let Some(slot) = self.receivers.find(peer, conn) {
            return slot;
        }
        let (received, total, due) = (ReceivedSet::default(), None, Instant::NEVER);
        let receiver = Receiver { peer, conn, received, total, bytes: 0, last_progress: now, due };
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer, conn });
        slot
    }

    fn on_data(&mut self, now: Instant, packet: &Received<UnresponsiveHeader>, data: Data) {
        let (peer, Data { conn, seq, last }) = (packet.from, data);
        if self.received.contains(peer, conn) {
            // The last ACKs were lost.
            self.received.note(now, peer, conn);
            return self.acknowledge(packet, data, seq.saturating_add(1), true);
        }
        let slot = self.receiver_for(now, peer, conn);
        let due = now.after(memory(&self.config));
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        self.timers.remove(&(receiver.due, Timer::Receiver(slot)));
        receiver.due = due;
        let noted = receiver.received.insert(seq);
        if noted == Noted::New {
            let bytes = u32::from(packet.wire).saturating_sub(self.config.header.0 as u32);
            receiver.bytes += u64::from(bytes);
            receiver.last_progress = now;
            self.events.push_back(Event::Delivered { slot, seq, bytes });
        }
        if last && noted != Noted::TooFar {
            receiver.total = Some(seq.saturating_add(1));
        }
        let cumulative = receiver.received.cumulative();
        let complete = receiver.total.is_some_and(|total| cumulative >= total);
        if complete {
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.events.push_back(Event::Received { slot });
        } else {
            self.timers.insert((due, Timer::Receiver(slot)));
        }
        if noted != Noted::TooFar {
            self.acknowledge(packet, data, cumulative, complete);
        }
    }

    fn acknowledge(
        &mut self,
        packet: &Received<UnresponsiveHeader>,
        data: Data,
        cumulative: u32,
        finished: bool,
    ) {
        let path = self.chance.below(packet.paths.into()) as u16;
        let (to, wire) = (packet.from, self.config.header.0 as u16);
        let header = UnresponsiveHeader::Ack { conn: data.conn, seq: data.seq, cumulative, finished };
        let (class, priority) = (Class::Control, 0);
        self.acks.push_back(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    fn on_silence(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        self.receivers.remove(peer, conn);
        self.events.push_back(Event::Silent { slot });
    }

    fn transmit_data(&mut self, now: Instant) -> Option<Transmit<UnresponsiveHeader>> {
        loop {
            let slot = self.ready.pop()?;
            let drawn = self.chance.unit();
            let sent = self.with_sender(now, slot, |sender, config| {
                sender.queued = false;
                // An ACK may have changed what there is to send since it stood in line.
                (sender.next_departure(config) <= now).then(|| Self::packet(sender, now, config, drawn))
            });
            let Some(Some(packet)) = sent else { continue };
            if let (UnresponsiveHeader::Data { conn, seq, .. }, true) = (packet.header, packet.again) {
                self.events.push_back(Event::TimedOut { to: packet.to, conn, seq });
            }
            return Some(packet);
        }
    }

    /// The next packet of `sender`; `drawn`, uniform in `[0, 1)`, chooses its path if every packet has its own.
    fn packet(
        sender: &mut Sender,
        now: Instant,
        config: &UnresponsiveConfig,
        drawn: f64,
    ) -> Transmit<UnresponsiveHeader> {
        let (seq, payload, again) = sender.transmit(now, config);
        let path = match config.paths {
            Paths::Single => sender.path,
            Paths::Scatter => (drawn * f64::from(sender.paths)) as u16,
        };
        let header = UnresponsiveHeader::Data { conn: sender.conn, seq, last: sender.is_last(seq) };
        let wire = (u64::from(payload) + config.header.0) as u16;
        Transmit { to: sender.to, path, wire, class: Class::Data, priority: 0, ect: false, again, header }
    }
}

impl Transport for UnresponsiveEndpoint {
    type Header = UnresponsiveHeader;

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
        let begin = now.after(Picos((self.chance.unit() * self.config.phase.0 as f64) as u64));
        let packets = packets.map(|packets| packets as u32);
        let sender = Sender::open((now, begin), &self.config, &flow, packets, path);
        let slot = self.senders.insert(to, conn, sender);
        self.with_sender(now, slot, |_, _| ());
    }

    fn handle(&mut self, now: Instant, packet: Received<UnresponsiveHeader>) {
        // A packet without payload says nothing that these hosts would react to.
        if packet.fate != Fate::Whole {
            return;
        }
        match packet.header {
            UnresponsiveHeader::Data { conn, seq, last } => {
                self.on_data(now, &packet, Data { conn, seq, last });
            }
            UnresponsiveHeader::Ack { conn, seq, cumulative, finished } => {
                self.on_ack(now, packet.from, conn, (seq, cumulative, finished));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Sender(slot) => self.check_sender(now, slot),
                Timer::Receiver(slot) => self.on_silence(slot),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<UnresponsiveHeader>> {
        self.acks.pop_front().or_else(|| self.transmit_data(now))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let mut first = Deadline { at: self.sent.due().min(self.received.due()), why: "time-wait" };
        if let Some((at, timer)) = self.timers.first() {
            let sender = matches!(timer, Timer::Sender(_));
            first = first.min_at(*at, if sender { "the next packet" } else { "a silent sender" });
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
