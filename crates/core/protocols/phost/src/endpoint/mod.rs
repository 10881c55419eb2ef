//! One host: its connections in both directions, its token clock, its timers.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use pullnet_connections::{Connections, Finished, SmallQueue};
use pullnet_pull::{FlowOrder, Sprayer};
use pullnet_rng::Stream;
use pullnet_transport::{
    Class, Deadline, Event, Fate, FlowSpec, FlowStatus, HostAddr, HostInfo, Received, SendCounts, Side,
    Transmit, Transport,
};
use pullnet_units::Instant;

use crate::config::{PhostConfig, Rules};
use crate::header::PhostHeader;
use crate::receiver::Receiver;
use crate::sender::Sender;

mod receiving;
mod sending;

/// A timer of one connection. Entries are not removed: one that the connection does not count on any more is ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
}

/// When the destination gives tokens: at most one per packet time.
#[derive(Clone, Copy, Debug)]
struct TokenClock {
    /// One packet time after the last token.
    free_at: Instant,
    /// Until when the packets of free tokens have the link: they take the place of tokens.
    held_until: Instant,
    /// When the next token is due; [`Instant::NEVER`] while no flow may get one.
    due: Instant,
}

/// pHost on one host.
pub struct PhostEndpoint {
    events: SmallQueue<Event>,
    /// RTSs, tokens and ACKs that wait for the link.
    control: SmallQueue<Transmit<PhostHeader>>,
    clock: TokenClock,
    /// When the first timer or time-wait is due.
    due: Instant,
    rules: Rules,
    /// Sources with tokens.
    ready: FlowOrder,
    /// Destinations that may give a token.
    waiting: FlowOrder,
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

impl PhostEndpoint {
    /// A host without connections.
    pub fn new(config: &PhostConfig, host: HostInfo, mut chance: Stream) -> Self {
        let rules = Rules::new(config, host.rate);
        let remembered = config.give_up.saturating_add(config.time_wait);
        Self {
            events: SmallQueue::new(),
            control: SmallQueue::new(),
            clock: TokenClock { free_at: Instant::ZERO, held_until: Instant::ZERO, due: Instant::NEVER },
            due: Instant::NEVER,
            ready: FlowOrder::new(config.source),
            waiting: FlowOrder::new(config.destination),
            senders: Connections::default(),
            receivers: Connections::default(),
            timers: BinaryHeap::new(),
            sprayer: Sprayer::new(config.paths, &mut chance),
            opened: 0,
            chance,
            received: Finished::new(remembered),
            dismissed: Finished::new(remembered),
            // The destination has forgotten the number by then.
            sent: Finished::new(remembered.saturating_mul(2)),
            rules,
        }
    }

    fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
        self.due = self.due.min(at);
    }

    fn send_control(&mut self, to: HostAddr, paths: (u16, u16), header: PhostHeader) {
        let path = self.sprayer.next(paths, &mut self.chance);
        let (wire, priority) = (self.rules.header as u16, self.rules.control_priority());
        let class = Class::Control;
        self.control.push(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    fn first_timer(&self) -> Deadline {
        let rest = self.sent.due().min(self.received.due()).min(self.dismissed.due());
        let first = Deadline { at: rest, why: "time-wait" };
        match self.timers.peek() {
            Some(Reverse((at, Timer::Sender(_)))) => first.min_at(*at, "a token"),
            Some(Reverse((at, Timer::Receiver(_)))) => first.min_at(*at, "unanswered tokens"),
            None => first,
        }
    }
}

impl Transport for PhostEndpoint {
    type Header = PhostHeader;

    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.open_flow(now, &flow);
    }

    fn handle(&mut self, now: Instant, packet: Received<PhostHeader>) {
        let Received { from, paths, wire, fate, header, .. } = packet;
        if fate != Fate::Whole {
            // pHost needs no trimming switches: what has lost its payload counts as lost.
            return;
        }
        match header {
            PhostHeader::Data { conn, seq, number, about } => {
                let bytes = u32::from(wire).saturating_sub(self.rules.header);
                if let Some(slot) = self.receiver_for(now, (from, conn), about, paths) {
                    self.on_data(now, slot, (seq, number), bytes);
                }
            }
            PhostHeader::Token { conn, seq, number, left } => {
                self.on_token(now, (from, conn), (seq, number), left)
            }
            PhostHeader::Rts { conn, about, again } => {
                if let Some(slot) = self.receiver_for(now, (from, conn), about, paths) {
                    self.on_rts(now, slot, again);
                }
            }
            PhostHeader::Wait { conn, left } => self.on_wait(now, (from, conn), left),
            PhostHeader::Ack { conn } => self.on_ack(now, (from, conn)),
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
        if self.clock.due <= now {
            self.give_token(now);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<PhostHeader>> {
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
        let at = self.due.min(self.clock.due);
        (at != Instant::NEVER).then(|| {
            let why = if self.clock.due <= self.due { "the token clock" } else { self.first_timer().why };
            Deadline { at, why }
        })
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        for sender in self.senders.iter() {
            visit(FlowStatus {
                side: Side::Sender,
                peer: sender.to,
                conn: sender.conn,
                bytes: sender.acknowledged(&self.rules),
                last_progress: sender.last_progress,
                waiting_for: "tokens",
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
