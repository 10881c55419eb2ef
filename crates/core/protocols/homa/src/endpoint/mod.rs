//! One host: its messages in both directions and its timers.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, SmallQueue};
use pullnet_pull::{FlowOrder, Policy, Sprayer};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, Received, SendCounts, Side, Transmit,
    Transport,
};
use pullnet_units::Instant;

use crate::config::{HomaConfig, LEVELS};
use crate::header::HomaHeader;
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;

/// A timer of one message. Entries are not removed: one that the message does not count on any more is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// Homa on one host.
pub struct HomaEndpoint {
    events: SmallQueue<Event>,
    /// Control packets that wait for the link.
    control: SmallQueue<Transmit<HomaHeader>>,
    /// When the first timer or time-wait is due.
    due: Instant,
    config: HomaConfig,
    /// Messages that can send, the one with the fewest packets left first.
    ready: FlowOrder,
    /// Incoming messages that need grants, the one with the fewest packets left first.
    waiting: FlowOrder,
    senders: Connections<Sender>,
    receivers: Connections<Receiver>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    sprayer: Sprayer,
    /// Messages opened so far.
    opened: u64,
    chance: Stream,
    /// Complete messages, which late packets may not open again.
    received: Finished,
    /// Messages that were given up here; nothing answers their packets.
    dismissed: Finished,
    /// Ended messages whose number may not be used again yet.
    sent: Finished,
}

impl HomaEndpoint {
    /// A host without messages.
    pub fn new(config: &HomaConfig, mut chance: Stream) -> Self {
        let remembered = config.give_up.saturating_add(config.time_wait);
        Self {
            events: SmallQueue::new(),
            control: SmallQueue::new(),
            due: Instant::NEVER,
            ready: FlowOrder::new(Policy::Srpt),
            waiting: FlowOrder::new(Policy::Srpt),
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

    /// Control packets have the most urgent priority.
    fn send_control(&mut self, to: HostAddr, paths: (u16, u16), header: HomaHeader) {
        let path = self.sprayer.next(paths, &mut self.chance);
        let (wire, class) = (self.config.header.0 as u16, Class::Control);
        let priority = LEVELS - 1;
        self.control.push(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    fn first_timer(&self) -> Deadline {
        let rest = self.sent.due().min(self.received.due()).min(self.dismissed.due());
        let first = Deadline { at: rest, why: "time-wait" };
        match self.timers.peek() {
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "a word from the receiver"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "missing packets"),
            None => first,
        }
    }
}

impl Transport for HomaEndpoint {
    type Header = HomaHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_message(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<HomaHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // Homa needs no trimming switches: what has lost its payload counts as lost.
            return;
        }
        match header {
            HomaHeader::Data { conn, seq, packets } => {
                let bytes = u32::from(wire).saturating_sub(self.config.header.0 as u32);
                if let Some(slot) = self.receiver_for(now, (from, conn), packets, paths) {
                    self.on_data(now, slot, seq, bytes);
                }
            }
            HomaHeader::Grant { conn, until, priority } => {
                self.hear(now, (from, conn), |sender, config| sender.on_grant(now, config, until, priority));
            }
            HomaHeader::Resend { conn, first, until } => self.on_resend(now, (from, conn), first, until),
            HomaHeader::Busy { conn, by_sender: false } => {
                self.hear(now, (from, conn), |sender, config| sender.on_word(now, config));
            }
            HomaHeader::Busy { conn, by_sender: true } => self.on_busy(now, (from, conn)),
            HomaHeader::Query { conn, packets } => {
                if let Some(slot) = self.receiver_for(now, (from, conn), packets, paths) {
                    self.on_query(now, slot);
                }
            }
            HomaHeader::Ack { conn } => self.on_ack(now, (from, conn)),
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
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<HomaHeader>> {
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
        (self.due != Instant::NEVER).then(|| Deadline { at: self.due, why: self.first_timer().why })
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            let waiting_for = if sender.can_send() { "its turn on the link" } else { "grants" };
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
