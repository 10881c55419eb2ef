use alloc::collections::VecDeque;

use pullnet_connections::{FlowPackets, WINDOW};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, SendCounts};
use pullnet_units::{Bytes, Instant};

use crate::config::UnresponsiveConfig;

/// An outstanding packet.
#[derive(Clone, Copy)]
struct Slot {
    first_sent: Instant,
    acknowledged: bool,
}

/// The sending half of a connection.
pub struct Sender {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    pub path: u16,
    pub paths: u16,
    pub packets: FlowPackets,
    /// The oldest packet without an ACK.
    first: u32,
    /// The packets from `first` on that were sent.
    slots: VecDeque<Slot>,
    /// The latest copy of every outstanding packet, oldest first: when, and which packet. The first one has no ACK; later
    /// ones may have.
    copies: VecDeque<(Instant, u32)>,
    /// The constant rate allows the next packet at this time.
    next_at: Instant,
    pub last_heard: Instant,
    pub last_progress: Instant,
    pub acked_bytes: u64,
    pub counts: SendCounts,
    /// Whether it stands in line for the link.
    pub queued: bool,
}

impl Sender {
    /// A flow that is opened `now` and sends from `begin` on.
    pub fn open((now, begin): (Instant, Instant), flow: &FlowSpec, packets: FlowPackets, path: u16) -> Self {
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            path,
            paths: flow.paths.max(1),
            packets,
            first: 0,
            slots: VecDeque::new(),
            copies: VecDeque::new(),
            next_at: begin,
            last_heard: begin,
            last_progress: now,
            acked_bytes: 0,
            counts: SendCounts::default(),
            queued: false,
        }
    }

    fn next(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    fn waits_for(&self, seq: u32) -> bool {
        let slot = self.slots.get(seq.wrapping_sub(self.first) as usize);
        slot.is_some_and(|slot| !slot.acknowledged)
    }

    /// When the next packet may leave: a new one as soon as the rate allows it, a repeated one not before its time.
    pub fn next_departure(&self, config: &UnresponsiveConfig) -> Instant {
        if self.next() < self.packets.number && (self.slots.len() as u32) < WINDOW {
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
        let again = self.next() >= self.packets.number || self.slots.len() as u32 >= WINDOW;
        let seq = if again {
            self.copies.pop_front().map_or(self.first, |(_, seq)| seq)
        } else {
            let seq = self.next();
            self.slots.push_back(Slot { first_sent: now, acknowledged: false });
            seq
        };
        self.copies.push_back((now, seq));
        self.prune();
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        self.counts.timeouts += u32::from(again);
        let payload = self.packets.payload(seq);
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
        let finished = finished && self.next() == self.packets.number;
        let cumulative = if finished { self.packets.number } else { cumulative };
        if cumulative > self.next() || seq >= self.next() {
            return;
        }
        self.last_heard = now;
        let before = self.acked_bytes;
        self.note(seq, &mut visit);
        while self.slots.front().is_some_and(|slot| slot.acknowledged || self.first < cumulative) {
            self.note(self.first, &mut visit);
            self.slots.pop_front();
            self.first += 1;
        }
        self.prune();
        if self.acked_bytes > before {
            self.last_progress = now;
        }
    }

    /// Passes over copies of packets that were acknowledged.
    fn prune(&mut self) {
        while self.copies.front().is_some_and(|(_, seq)| !self.waits_for(*seq)) {
            self.copies.pop_front();
        }
    }

    /// Packet `seq` has arrived.
    fn note(&mut self, seq: u32, visit: &mut impl FnMut(Instant)) {
        let payload = u64::from(self.packets.payload(seq));
        let slot = self.slots.get_mut(seq.wrapping_sub(self.first) as usize);
        if let Some(slot) = slot.filter(|slot| !slot.acknowledged) {
            slot.acknowledged = true;
            self.acked_bytes += payload;
            visit(slot.first_sent);
        }
    }

    pub fn is_complete(&self) -> bool {
        self.first == self.packets.number
    }
}
