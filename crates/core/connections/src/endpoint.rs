//! The endpoint of a host without the rules of a protocol: flows in both directions, their timers, and the memory of
//! ended flows.
//!
//! A transport writes its rules as [`Rules`], with one type for the sending half of a flow and one for the receiving
//! half.

use core::ops::{Deref, DerefMut};

use pullnet_transport::{
    ConnId, Deadline, Event, FailureReason, Fate, FlowSpec, FlowStatus, Header, HostAddr, Received,
    SendCounts, TimerKind, Transmit, Transport,
};
use pullnet_units::{Instant, Picos};

use crate::finished::Finished;
use crate::packets::FlowPackets;
use crate::small_queue::SmallQueue;
use crate::table::Connections;
use crate::timers::{FlowTimer, Timers};

/// The rules of a transport on one host. Every input may change flows, queue control packets, report events and arm timers.
pub trait Rules: Sized {
    /// Header of its packets.
    type Header: Header;
    /// The sending half of a flow.
    type Sender;
    /// The receiving half of a flow.
    type Receiver;
    /// Description of the event that a sender waits for while its timer runs.
    const SENDER_TIMER: TimerKind = TimerKind::Retransmission;
    /// Description of the event that a receiver waits for while its timer runs.
    const RECEIVER_TIMER: TimerKind = TimerKind::SilentSender;

    /// Payload of a full packet. Bytes.
    fn mtu(&self) -> u64;
    /// Opens a flow of `packets`; its connection number is free.
    fn open(&mut self, flows: &mut Flows<Self>, now: Instant, flow: &FlowSpec, packets: FlowPackets);
    /// A packet has arrived whole. One that has lost its payload on the way is not seen: it counts as lost.
    fn handle(&mut self, flows: &mut Flows<Self>, now: Instant, packet: Received<Self::Header>);
    /// The timer of a sender is due.
    fn sender_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32);
    /// The timer of a receiver is due.
    fn receiver_due(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32);
    /// The next packet of a flow, when no control packet waits for the link.
    fn transmit(&mut self, flows: &mut Flows<Self>, now: Instant) -> Option<Transmit<Self::Header>>;

    /// Next tick of the host's own clock, which belongs to no flow.
    #[inline]
    fn clock(&self) -> Deadline {
        Deadline { at: Instant::NEVER, timer: TimerKind::Nothing }
    }
    /// The host's own clock is due.
    #[inline]
    fn tick(&mut self, _flows: &mut Flows<Self>, _now: Instant) {}

    /// Status of a sender.
    fn sender_status(&self, sender: &Self::Sender) -> FlowStatus;
    /// Status of a receiver.
    fn receiver_status(&self, receiver: &Self::Receiver) -> FlowStatus;
}

/// Half of a flow, with its timer.
#[derive(Clone, Debug)]
pub struct Armed<T> {
    half: T,
    /// The earliest of its entries among the host's timers; [`Instant::NEVER`] if there is none.
    at: Instant,
}

impl<T> Deref for Armed<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.half
    }
}

impl<T> DerefMut for Armed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.half
    }
}

/// The end of a flow whose packets are all acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The counters of the flow.
    pub counts: SendCounts,
    /// A single answer has said that the receiver has the whole flow.
    pub finished: bool,
}

/// State, at the receiver, of the flow that a packet names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// The flow is open, in this slot.
    Open(u32),
    /// All data has arrived; the sender does not know that yet.
    Finished,
    /// The flow was given up; nothing answers its packets.
    Dismissed,
    /// The flow is unknown.
    New,
}

/// The flows of a host, with the state common to all transports.
pub struct Flows<R: Rules> {
    /// Events for the application.
    pub events: SmallQueue<Event>,
    /// Control packets that wait for the link.
    pub control: SmallQueue<Transmit<R::Header>>,
    /// Lower bound of the first deadline of the timers and time-waits.
    due: Instant,
    /// Sending halves.
    pub senders: Connections<Armed<R::Sender>>,
    /// Receiving halves.
    pub receivers: Connections<Armed<R::Receiver>>,
    timers: Timers<FlowTimer>,
    /// Complete flows that late packets may not open again.
    received: Finished,
    /// Flows that were given up here.
    dismissed: Finished,
    /// Ended flows whose numbers may not be reused yet.
    sent: Finished,
}

impl<R: Rules> Flows<R> {
    /// No flows. A receiver remembers an ended flow for `remembered`, a sender for twice as long: the receiver forgets
    /// a number before the sender reuses it.
    fn new(remembered: Picos) -> Self {
        Self {
            events: SmallQueue::new(),
            control: SmallQueue::new(),
            due: Instant::NEVER,
            senders: Connections::default(),
            receivers: Connections::default(),
            timers: Timers::default(),
            received: Finished::new(remembered),
            dismissed: Finished::new(remembered),
            sent: Finished::new(remembered.saturating_mul(2)),
        }
    }

    fn arm(&mut self, at: Instant, timer: FlowTimer) {
        self.timers.push(at, timer);
        self.due = self.due.min(at);
    }

    /// Arms the timer of a sender for `at`, unless it is due earlier already.
    pub fn arm_sender(&mut self, slot: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(slot).filter(|sender| at < sender.at) else { return };
        sender.at = at;
        self.arm(at, FlowTimer::Sender(slot));
    }

    /// As [`Flows::arm_sender`].
    pub fn arm_receiver(&mut self, slot: u32, at: Instant) {
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| at < receiver.at) else { return };
        receiver.at = at;
        self.arm(at, FlowTimer::Receiver(slot));
    }

    /// Adds a sender.
    pub fn open_sender(&mut self, to: HostAddr, conn: ConnId, half: R::Sender) -> u32 {
        self.senders.insert(to, conn, Armed { half, at: Instant::NEVER })
    }

    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        self.senders.remove(to, conn);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
    }

    /// Hands an ACK to the sender that it names. `take` gets the sender, and a function that it calls with the departure time of
    /// every packet that is acknowledged for the first time: their latencies are reported. Returns the sender's slot and
    /// what `take` returns; `None` if the sender is unknown.
    pub fn acknowledge<T>(
        &mut self,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        take: impl FnOnce(&mut R::Sender, &mut dyn FnMut(Instant)) -> T,
    ) -> Option<(u32, T)> {
        let slot = self.senders.find(to, conn)?;
        let (sender, events) = (self.senders.get_mut(slot)?, &mut self.events);
        let taken = take(sender, &mut |departure| {
            events.push(Event::Acked { to, conn, latency: now.since(departure) });
        });
        Some((slot, taken))
    }

    /// Every packet of the flow is acknowledged. The answer to the last one that arrives says that all are there. A receiver that
    /// has never said so has forgotten packets that it had acknowledged: they are lost, and the flow fails.
    pub fn end(&mut self, now: Instant, to: HostAddr, conn: ConnId, ended: Ended) {
        let Ended { counts, finished } = ended;
        if finished {
            self.complete(now, to, conn, counts);
        } else {
            self.fail(now, to, conn, FailureReason::Forgotten, counts);
        }
    }

    /// The receiver has all data: the flow ends, and its number rests.
    pub fn complete(&mut self, now: Instant, to: HostAddr, conn: ConnId, counts: SendCounts) {
        self.close_sender(now, to, conn);
        self.events.push(Event::Completed { to, conn, counts });
    }

    /// The sender gives the flow up.
    pub fn fail(
        &mut self,
        now: Instant,
        to: HostAddr,
        conn: ConnId,
        reason: FailureReason,
        counts: SendCounts,
    ) {
        self.close_sender(now, to, conn);
        self.events.push(Event::Failed { to, conn, reason, counts });
    }

    /// State of the flow that a packet from `peer` names. If the flow has ended, its time-wait starts again.
    pub fn known(&mut self, now: Instant, peer: HostAddr, conn: ConnId) -> Known {
        if let Some(slot) = self.receivers.find(peer, conn) {
            return Known::Open(slot);
        }
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
            return Known::Finished;
        }
        if self.dismissed.contains(peer, conn) { Known::Dismissed } else { Known::New }
    }

    /// Adds a receiver.
    pub fn open_receiver(&mut self, peer: HostAddr, conn: ConnId, half: R::Receiver) -> u32 {
        let slot = self.receivers.insert(peer, conn, Armed { half, at: Instant::NEVER });
        self.events.push(Event::Opened { slot, peer, conn });
        slot
    }

    /// All data has arrived: the receiver ends.
    pub fn finish(&mut self, now: Instant, slot: u32, peer: HostAddr, conn: ConnId) {
        self.receivers.remove(peer, conn);
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        self.events.push(Event::Received { slot });
    }

    /// Gives up a receiver whose sender is silent.
    pub fn dismiss(&mut self, now: Instant, slot: u32, peer: HostAddr, conn: ConnId) {
        self.receivers.remove(peer, conn);
        self.dismissed.note(now, peer, conn);
        self.due = self.due.min(self.dismissed.due());
        self.events.push(Event::Silent { slot });
    }

    /// The next flow whose timer is due; the timer stops.
    fn next_due(&mut self, now: Instant) -> Option<FlowTimer> {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            let armed = match timer {
                FlowTimer::Sender(slot) => self.senders.get_mut(slot).map(|sender| &mut sender.at),
                FlowTimer::Receiver(slot) => self.receivers.get_mut(slot).map(|receiver| &mut receiver.at),
            };
            if let Some(armed) = armed.filter(|armed| **armed == at) {
                *armed = Instant::NEVER;
                return Some(timer);
            }
        }
        None
    }

    fn expire(&mut self, now: Instant) {
        self.sent.expire(now);
        self.received.expire(now);
        self.dismissed.expire(now);
        self.due = self.first_timer().at;
    }

    fn first_timer(&self) -> Deadline {
        let rest = self.sent.due().min(self.received.due()).min(self.dismissed.due());
        let first = Deadline { at: rest, timer: TimerKind::TimeWait };
        match self.timers.first() {
            Some((at, FlowTimer::Sender(_))) => first.min_at(at, R::SENDER_TIMER),
            Some((at, FlowTimer::Receiver(_))) => first.min_at(at, R::RECEIVER_TIMER),
            None => first,
        }
    }
}

/// A transport on one host: its rules, and the flows that they govern.
pub struct Endpoint<R: Rules> {
    flows: Flows<R>,
    rules: R,
}

impl<R: Rules> Endpoint<R> {
    /// A host without flows. Its receivers remember an ended flow for `remembered`, which must be longer than any of
    /// its packets can be in flight or be retransmitted.
    pub fn new(rules: R, remembered: Picos) -> Self {
        Self { flows: Flows::new(remembered), rules }
    }

    /// The rules, with their state.
    pub fn rules(&self) -> &R {
        &self.rules
    }
}

impl<R: Rules> Transport for Endpoint<R> {
    type Header = R::Header;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        let (to, conn) = (flow.to, flow.conn);
        let in_use = self.flows.senders.find(to, conn).is_some() || self.flows.sent.contains(to, conn);
        let packets = FlowPackets::of(&flow, self.rules.mtu());
        match packets.and_then(|packets| if in_use { Err(FailureReason::NumberInUse) } else { Ok(packets) }) {
            Ok(packets) => self.rules.open(&mut self.flows, now, &flow, packets),
            Err(reason) => {
                let counts = SendCounts::default();
                self.flows.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
    }

    fn handle(&mut self, now: Instant, packet: Received<R::Header>) {
        if packet.fate == Fate::Whole {
            self.rules.handle(&mut self.flows, now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.flows.next_due(now) {
            match timer {
                FlowTimer::Sender(slot) => self.rules.sender_due(&mut self.flows, now, slot),
                FlowTimer::Receiver(slot) => self.rules.receiver_due(&mut self.flows, now, slot),
            }
        }
        self.flows.expire(now);
        if self.rules.clock().at <= now {
            self.rules.tick(&mut self.flows, now);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<R::Header>> {
        self.flows.control.pop().or_else(|| self.rules.transmit(&mut self.flows, now))
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.events.pop()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        let clock = self.rules.clock();
        if clock.at <= self.flows.due {
            return (clock.at != Instant::NEVER).then_some(clock);
        }
        Some(Deadline { at: self.flows.due, timer: self.flows.first_timer().timer })
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.flows.senders.iter() {
            visit(self.rules.sender_status(sender));
        }
        for receiver in self.flows.receivers.iter() {
            visit(self.rules.receiver_status(receiver));
        }
    }
}
