//! One host: its connections in both directions, its timeslots, its timers, and the arbiter if this host is one.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, SmallQueue};
use pullnet_pull::{FlowOrder, Sprayer};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, ConnId, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts,
    Side, Transmit, Transport,
};
use pullnet_units::Instant;

use crate::arbiter::Arbiter;
use crate::config::{FastpassConfig, Rules};
use crate::header::FastpassHeader;
use crate::liaison::Liaison;
use crate::receiver::Receiver;
use crate::sender::{Ack, Sender};

mod arbitration;
mod receiving;
mod sending;

/// A timer of one connection. Entries are not removed: one that the connection does not count on any more is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// A timeslot of this host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Slot {
    at: Instant,
    /// Number of the slot on this host: decides where times are equal.
    number: u64,
    handle: u32,
    /// The flow that had the handle when the slot was given.
    conn: ConnId,
    path: Option<u8>,
}

/// The priority of control packets, of data in its timeslot, and of data without one.
const CONTROL: u8 = 7;
const SCHEDULED: u8 = 6;
const UNSCHEDULED: u8 = 0;

/// Fastpass on one host.
pub struct FastpassEndpoint {
    events: SmallQueue<Event>,
    control: SmallQueue<Transmit<FastpassHeader>>,
    /// Slots whose time has come.
    ready: VecDeque<Slot>,
    /// When the first timer or time-wait is due.
    due: Instant,
    /// Slots to come.
    slots: BinaryHeap<Reverse<Slot>>,
    rules: Rules,
    own: HostAddr,
    /// What the host's clock is ahead of the arbiter's, in picoseconds.
    ahead: i64,
    liaison: Liaison,
    arbiter: Option<Box<Arbiter>>,
    /// What this host and the arbiter on it say to each other.
    local: SmallQueue<FastpassHeader>,
    /// Requests made and slots received so far.
    rounds: u32,
    numbers: u64,
    /// Senders that may send without a slot.
    unscheduled: FlowOrder,
    senders: Connections<Sender>,
    /// Open senders, and one past the highest handle that any has had.
    sending: u32,
    handles: u32,
    receivers: Connections<Receiver>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    sprayer: Sprayer,
    /// Flows opened so far.
    opened: u64,
    chance: Stream,
    /// Complete flows, which late packets may not open again.
    received: Finished,
    /// Flows that were given up here; nothing answers their packets.
    dismissed: Finished,
    /// Ended flows whose number may not be used again yet.
    sent: Finished,
}

impl FastpassEndpoint {
    /// A host without connections.
    pub fn new(config: &FastpassConfig, host: HostInfo, mut chance: Stream) -> Self {
        let rules = Rules::new(config, host.rate);
        let remembered = config.give_up.saturating_add(config.time_wait);
        let liaison = Liaison::new(config.arbiters());
        let ahead = (chance.unit() * 2.0 - 1.0) * config.clock_offset.0 as f64;
        Self {
            events: SmallQueue::new(),
            control: SmallQueue::new(),
            ready: VecDeque::new(),
            due: Instant::NEVER,
            slots: BinaryHeap::new(),
            own: host.addr,
            ahead: ahead as i64,
            arbiter: liaison.knows(host.addr).then(|| Box::new(Arbiter::new(config.matching))),
            liaison,
            local: SmallQueue::new(),
            rounds: 0,
            numbers: 0,
            unscheduled: FlowOrder::new(config.matching.policy()),
            senders: Connections::default(),
            sending: 0,
            handles: 0,
            receivers: Connections::default(),
            timers: BinaryHeap::new(),
            sprayer: Sprayer::new(config.paths, &mut chance),
            opened: 0,
            chance,
            received: Finished::new(remembered),
            dismissed: Finished::new(remembered),
            // The receiver has forgotten the number by then.
            sent: Finished::new(remembered.saturating_mul(2)),
            rules,
        }
    }

    fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
        self.due = self.due.min(at);
    }

    fn send_control(&mut self, to: HostAddr, paths: (u16, u16), header: FastpassHeader) {
        if to == self.own {
            return self.local.push(header);
        }
        let path = self.sprayer.next(paths, &mut self.chance);
        let (wire, priority) = (self.rules.header as u16, CONTROL);
        let class = Class::Control;
        self.control.push(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    fn dispatch(&mut self, now: Instant, from: HostAddr, paths: u16, header: FastpassHeader, bytes: u32) {
        match header {
            FastpassHeader::Data { conn, seq, last } => {
                self.on_data(now, (from, conn), paths, (seq, last), bytes);
            }
            FastpassHeader::Ack { conn, cumulative, answers, finished } => {
                self.on_ack(now, (from, conn), Ack { cumulative, answers, finished });
            }
            other => self.on_word(now, (from, paths), other),
        }
    }

    /// What an arbiter on this host and its flows say to each other has no way to go.
    fn talk_locally(&mut self, now: Instant) {
        while let Some(header) = self.local.pop() {
            self.dispatch(now, self.own, 1, header, 0);
        }
    }

    fn first_timer(&self) -> Deadline {
        let rest = self.sent.due().min(self.received.due()).min(self.dismissed.due());
        let first = Deadline { at: rest, why: "time-wait" };
        match self.timers.peek() {
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "the arbiter or ACKs"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "a silent sender"),
            None => first,
        }
    }

    fn check_timers(&mut self, now: Instant) {
        while let Some(Reverse((at, timer))) =
            self.timers.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.timers.pop();
            match timer {
                Timer::Sender(slot) => self.check_sender(now, slot, at),
                Timer::Receiver(slot) => self.check_receiver(now, slot, at),
            }
        }
    }

    fn next_slot(&self) -> Instant {
        self.slots.peek().map_or(Instant::NEVER, |Reverse(slot)| slot.at)
    }
}

impl Transport for FastpassEndpoint {
    type Header = FastpassHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
        self.talk_locally(now);
    }

    fn handle(&mut self, now: Instant, packet: Received<FastpassHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // Fastpass needs no trimming switches: what has lost its payload counts as lost.
            return;
        }
        self.dispatch(now, from, paths, header, u32::from(wire).saturating_sub(self.rules.header));
        self.talk_locally(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.take_slots(now);
        self.check_timers(now);
        self.arbitrate(now);
        self.probe(now);
        self.sent.expire(now);
        self.received.expire(now);
        self.dismissed.expire(now);
        self.talk_locally(now);
        self.due = self.first_timer().at;
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<FastpassHeader>> {
        match self.control.pop() {
            Some(packet) => Some(packet),
            None => self.transmit_data(now),
        }
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        let (arbiter, why) = self.arbiter.as_ref().map_or((Instant::NEVER, ""), |arbiter| arbiter.due());
        let first = Deadline { at: self.next_slot(), why: "a timeslot" };
        let first = first.min_at(arbiter, why).min_at(self.liaison.probe_at, "a silent arbiter");
        let first = if self.due < first.at { self.first_timer() } else { first };
        (first.at != Instant::NEVER).then_some(first)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            visit(FlowStatus {
                side: Side::Sender,
                peer: sender.to,
                conn: sender.conn,
                bytes: sender.acknowledged(&self.rules),
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
                waiting_for: "data",
                counts: SendCounts::default(),
            });
        }
    }
}
