//! One host: its connections in both directions and its timers.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, SmallQueue};
use pullnet_pull::{FlowOrder, Policy, Sprayer};
use pullnet_rng::Stream;
use pullnet_transport::{
    Deadline, Event, Fate, FlowSpec, FlowStatus, Received, SendCounts, Side, Transmit, Transport,
};
use pullnet_units::Instant;

use crate::config::{PfabricConfig, RankBy};
use crate::header::PfabricHeader;
use crate::sender::{Ack, Sender};

mod receiving;
mod sending;

use receiving::Receiver;

/// A timer of one connection. Entries are not removed: one that the connection does not count on any more is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// pFabric on one host.
pub struct PfabricEndpoint {
    events: SmallQueue<Event>,
    acks: SmallQueue<Transmit<PfabricHeader>>,
    /// When the first timer or time-wait is due.
    due: Instant,
    config: PfabricConfig,
    /// Senders that can send, in the order that switches would give them.
    ready: FlowOrder,
    senders: Connections<Sender>,
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

impl PfabricEndpoint {
    /// A host without connections.
    pub fn new(config: &PfabricConfig, mut chance: Stream) -> Self {
        let remembered = config.give_up.saturating_add(config.time_wait);
        let policy = if config.rank == RankBy::Left { Policy::Srpt } else { Policy::Edf };
        Self {
            events: SmallQueue::new(),
            acks: SmallQueue::new(),
            due: Instant::NEVER,
            ready: FlowOrder::new(policy),
            senders: Connections::default(),
            receivers: Connections::default(),
            timers: BinaryHeap::new(),
            sprayer: Sprayer::new(config.paths, &mut chance),
            opened: 0,
            chance,
            received: Finished::new(remembered),
            dismissed: Finished::new(remembered),
            // The receiver has forgotten the number by then.
            sent: Finished::new(remembered.saturating_mul(2)),
            config: config.clone(),
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
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "retransmission"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "a silent sender"),
            None => first,
        }
    }
}

impl Transport for PfabricEndpoint {
    type Header = PfabricHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<PfabricHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // pFabric's switches drop: what has lost its payload counts as lost.
            return;
        }
        match header {
            PfabricHeader::Data { conn, seq, last, .. } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                self.on_data(now, (from, conn), paths, (seq, last), bytes);
            }
            PfabricHeader::Probe { conn, .. } => self.on_probe(now, (from, conn), paths),
            PfabricHeader::Ack { conn, cumulative, answers, finished } => {
                self.on_ack(now, (from, conn), Ack { cumulative, answers, finished });
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
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<PfabricHeader>> {
        match self.acks.pop() {
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
        (self.due != Instant::NEVER).then(|| Deadline { at: self.due, why: self.first_timer().why })
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            let waiting_for = if sender.can_send() { "its turn on the link" } else { "ACKs" };
            visit(FlowStatus {
                side: Side::Sender,
                peer: sender.to,
                conn: sender.conn,
                bytes: sender.acknowledged(&self.config),
                last_progress: sender.last_progress,
                waiting_for,
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
