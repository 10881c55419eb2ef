use alloc::collections::VecDeque;

use pullnet_connections::{FlowPackets, Outstanding, Target, WINDOW};
use pullnet_transport::SendCounts;
use pullnet_units::{Bytes, Instant};

use crate::config::UnresponsiveConfig;

/// The sending half of a connection.
pub struct Sender {
    pub target: Target,
    pub outstanding: Outstanding<()>,
    /// The latest copy of every outstanding packet, oldest first: when, and which packet. The first one has no ACK; later
    /// ones may have.
    copies: VecDeque<(Instant, u32)>,
    /// The constant rate allows the next packet at this time.
    next_at: Instant,
    pub last_heard: Instant,
    pub last_progress: Instant,
    pub counts: SendCounts,
    /// Whether it stands in line for the link.
    pub queued: bool,
}

impl Sender {
    /// A flow that is opened `now` and sends from `begin` on.
    pub fn open((now, begin): (Instant, Instant), target: Target, packets: FlowPackets) -> Self {
        Self {
            target,
            outstanding: Outstanding::new(packets),
            copies: VecDeque::new(),
            next_at: begin,
            last_heard: begin,
            last_progress: now,
            counts: SendCounts::default(),
            queued: false,
        }
    }

    /// Whether a packet may leave that was not sent before.
    fn has_new(&self) -> bool {
        let outstanding = &self.outstanding;
        !outstanding.all_sent() && outstanding.sent() - outstanding.first() < WINDOW
    }

    /// When the next packet may leave: a new one as soon as the rate allows it, a repeated one not before its time.
    pub fn next_departure(&self, config: &UnresponsiveConfig) -> Instant {
        if self.has_new() {
            return self.next_at;
        }
        let repeat = self.copies.front().map_or(Instant::NEVER, |(at, _)| at.after(config.repeat_after));
        self.next_at.max(repeat)
    }

    /// When the flow fails unless something is heard.
    pub fn gives_up_at(&self, config: &UnresponsiveConfig) -> Instant {
        self.last_heard.after(config.give_up)
    }

    /// The next packet leaves, whose time has come: its number and payload, and whether it was sent before.
    pub fn transmit(&mut self, now: Instant, config: &UnresponsiveConfig) -> (u32, u32, bool) {
        let again = !self.has_new();
        let seq = if again {
            self.copies.pop_front().map_or(self.outstanding.first(), |(_, seq)| seq)
        } else {
            let seq = self.outstanding.sent();
            self.outstanding.push(now, ());
            seq
        };
        self.copies.push_back((now, seq));
        self.prune();
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        self.counts.timeouts += u32::from(again);
        let payload = self.outstanding.packets().payload(seq);
        if let Some(rate) = config.rate {
            // A packet that waited for the link does not slow the flow down.
            let spacing = rate.serialization(Bytes(u64::from(payload) + config.header.0));
            self.next_at = self.next_at.after(spacing).max(now);
        }
        (seq, payload, again)
    }

    /// Packet `seq` and all below `cumulative` have arrived, or all there are. Visits when each newly acknowledged packet was
    /// first sent. An ACK of packets that were never sent is not for this connection.
    pub fn on_ack(
        &mut self,
        now: Instant,
        (seq, cumulative, finished): (u32, u32, bool),
        mut visit: impl FnMut(Instant),
    ) {
        let outstanding = &mut self.outstanding;
        let sent = outstanding.sent();
        let cumulative = if finished && outstanding.all_sent() { sent } else { cumulative };
        if cumulative > sent || seq >= sent {
            return;
        }
        self.last_heard = now;
        let before = outstanding.acked_bytes();
        outstanding.acknowledge(seq, &mut visit);
        outstanding.advance(cumulative, &mut visit);
        let progress = outstanding.acked_bytes() > before;
        self.prune();
        if progress {
            self.last_progress = now;
        }
    }

    /// Passes over copies of packets that were acknowledged.
    fn prune(&mut self) {
        while self.copies.front().is_some_and(|(_, seq)| !self.outstanding.waits_for(*seq)) {
            self.copies.pop_front();
        }
    }
}
