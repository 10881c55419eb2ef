//! One host: its connections in both directions and its timers.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, RoundRobin, SmallQueue};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts, Side,
    Transmit, Transport,
};
use pullnet_units::Instant;

use crate::config::Rules;
use crate::header::D3Header;
use crate::receiver::Receiver;
use crate::sender::{Ack, Sender};

mod receiving;
mod sending;

/// A timer of one connection. Entries are not removed: one that the connection does not count on any more is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// D3 or RCP on one host.
pub struct D3Endpoint {
    events: SmallQueue<Event>,
    /// ACKs, and asks that hand grants back.
    control: SmallQueue<Transmit<D3Header>>,
    /// When the first timer or time-wait is due.
    due: Instant,
    rules: Rules,
    host: HostInfo,
    /// Senders whose next packet may leave.
    line: RoundRobin,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    chance: Stream,
    /// Complete flows, which late packets may not open again.
    received: Finished,
    /// Flows that were given up here; nothing answers their packets.
    dismissed: Finished,
    /// Ended flows whose number may not be used again yet.
    sent: Finished,
}

impl D3Endpoint {
    /// A host without connections.
    pub(crate) fn new(rules: Rules, host: HostInfo, chance: Stream) -> Self {
        let remembered = rules.give_up.saturating_add(rules.time_wait);
        Self {
            events: SmallQueue::new(),
            control: SmallQueue::new(),
            due: Instant::NEVER,
            rules,
            host,
            line: RoundRobin::default(),
            senders: Connections::default(),
            receivers: Connections::default(),
            timers: BinaryHeap::new(),
            chance,
            received: Finished::new(remembered),
            dismissed: Finished::new(remembered),
            // The receiver has forgotten the number by then.
            sent: Finished::new(remembered.saturating_mul(2)),
        }
    }

    fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
        self.due = self.due.min(at);
    }

    fn first_timer(&self) -> Deadline {
        let rest = self.sent.due().min(self.received.due()).min(self.dismissed.due());
        let first = Deadline { at: rest, why: "time-wait" };
        match self.timers.peek() {
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "pace or retransmission"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "a silent sender"),
            None => first,
        }
    }

    /// A packet without payload.
    fn push_control(&mut self, to: HostAddr, path: u16, header: D3Header) {
        let (wire, class) = (self.rules.header as u16, Class::Control);
        self.control.push(Transmit { to, path, wire, class, priority: 0, ect: false, again: false, header });
    }
}

impl Transport for D3Endpoint {
    type Header = D3Header;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<D3Header>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // D3's switches drop: what has lost its payload counts as lost.
            return;
        }
        match header {
            D3Header::Data { conn, seq, last, ask } => {
                let bytes = u32::from(wire).saturating_sub(self.rules.header);
                self.on_data(now, (from, conn, paths), (seq, last), bytes, ask);
            }
            D3Header::Request { conn, quenched, ask } => {
                self.on_request(now, (from, conn, paths), quenched, ask);
            }
            D3Header::Ack { conn, cumulative, answers, finished, reply } => {
                self.on_ack(now, (from, conn), Ack { cumulative, answers, finished, reply });
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(Reverse((at, timer))) =
            self.timers.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.timers.pop();
            match timer {
                Timer::Sender(slot) => self.check_sender(now, slot, at),
                Timer::Receiver(slot) => self.check_receiver(now, slot, at),
            }
        }
        self.sent.expire(now);
        self.received.expire(now);
        self.dismissed.expire(now);
        self.due = self.first_timer().at;
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<D3Header>> {
        match self.control.pop() {
            Some(packet) => Some(packet),
            None => self.transmit_next(now),
        }
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Deadline> {
        (self.due != Instant::NEVER).then(|| Deadline { at: self.due, why: self.first_timer().why })
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
