use alloc::collections::VecDeque;

use pullnet_connections::{FlowPackets, WINDOW};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, SendCounts};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

use crate::control::{Acked, CollectedOf, Control};
use crate::parameters::{Parameters, Recovery};

/// A packet that was sent and is at or above the cumulative point.
#[derive(Clone, Copy)]
struct Slot {
    first_sent: Instant,
    /// Sent more than once.
    again: bool,
    acknowledged: bool,
    /// Whether it is in the queue `lost`.
    lost: bool,
}

/// Content of an ACK or a NACK.
#[derive(Clone, Copy)]
pub struct Answered {
    pub seq: u32,
    pub cumulative: u32,
    pub finished: bool,
    pub marked: bool,
    pub missing: bool,
}

/// The sending half of a connection.
pub struct Sender<C> {
    pub conn: ConnId,
    pub to: HostAddr,
    pub priority: u8,
    pub path: u16,
    pub paths: u16,
    pub control: C,
    line: BitsPerSec,
    pub packets: FlowPackets,
    /// The oldest packet without an ACK.
    first: u32,
    /// Number of the next packet; below `sent()` after a go-back.
    next: u32,
    /// Sent packets from `first` on.
    slots: VecDeque<Slot>,
    /// Packets to retransmit one by one (selective repeat).
    lost: VecDeque<u32>,
    /// Packets below this number were checked for loss since the last timeout (selective repeat).
    scanned: u32,
    /// Earliest departure of the next packet under pacing.
    pub next_at: Instant,
    last_sent: Instant,
    last_heard: Instant,
    pub last_progress: Instant,
    pub acked_bytes: u64,
    pub counts: SendCounts,
    /// Whether it is queued for the link.
    pub queued: bool,
}

impl<C: Control> Sender<C> {
    /// Opens a flow of `packets` on `path`.
    pub fn open(
        now: Instant,
        (control, line): (C, BitsPerSec),
        flow: &FlowSpec,
        packets: FlowPackets,
        path: u16,
    ) -> Self {
        Self {
            conn: flow.conn,
            to: flow.to,
            priority: flow.priority,
            path,
            paths: flow.paths.max(1),
            control,
            line,
            packets,
            first: 0,
            next: 0,
            slots: VecDeque::new(),
            lost: VecDeque::new(),
            scanned: 0,
            next_at: now,
            last_sent: now,
            last_heard: now,
            last_progress: now,
            acked_bytes: 0,
            counts: SendCounts::default(),
            queued: false,
        }
    }

    /// Number of packets that were sent at least once.
    fn sent(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    /// Whether a packet is left to send and the window admits it.
    fn has_packet(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> bool {
        if !self.lost.is_empty() {
            return true;
        }
        if self.next >= self.packets.number || self.next - self.first >= WINDOW {
            return false;
        }
        let Some(window) = parameters.window else { return true };
        let share =
            if parameters.window_scales { self.control.rate(own, now) / self.line.get() as f64 } else { 1.0 };
        let outstanding = u64::from(self.next - self.first) * u64::from(parameters.mtu);
        outstanding < ((window as f64 * share) as u64).max(1)
    }

    /// When the next packet may leave; `NEVER` if only an answer or a timeout can change that.
    pub fn next_departure(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> Instant {
        if self.has_packet(now, parameters, own) { self.next_at } else { Instant::NEVER }
    }

    /// Time of the next retransmission by timeout or of the failure of the flow, the earlier of the two. `idle`: nothing is
    /// left to send.
    pub fn timer(&self, parameters: &Parameters, idle: bool) -> Instant {
        if self.slots.is_empty() {
            return Instant::NEVER;
        }
        let repeat = if idle { self.last_sent.after(parameters.timeout) } else { Instant::NEVER };
        repeat.min(self.gives_up_at(parameters))
    }

    /// Time at which the flow fails if no answer arrives before.
    pub fn gives_up_at(&self, parameters: &Parameters) -> Instant {
        if self.slots.is_empty() { Instant::NEVER } else { self.last_heard.after(parameters.give_up) }
    }

    /// Handles an expired timer. On a retransmission timeout, schedules all packets without an ACK for retransmission and
    /// returns the number of the oldest.
    pub fn on_timer(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> Option<u32> {
        let idle = !self.queued && self.next_departure(now, parameters, own) == Instant::NEVER;
        if !idle || self.slots.is_empty() || now < self.last_sent.after(parameters.timeout) {
            return None;
        }
        self.counts.timeouts += 1;
        match parameters.recovery {
            Recovery::GoBackN => self.next = self.first,
            Recovery::Selective => {
                self.scanned = self.first;
                self.find_lost(self.sent());
            }
        }
        Some(self.first)
    }

    /// Counts every unchecked packet below `until` without an ACK as lost (selective repeat).
    fn find_lost(&mut self, until: u32) {
        for seq in self.scanned.max(self.first)..until {
            let slot = &mut self.slots[(seq - self.first) as usize];
            if !slot.acknowledged && !slot.lost {
                slot.lost = true;
                self.lost.push_back(seq);
            }
        }
        self.scanned = self.scanned.max(until);
    }

    /// Sends the next packet, which is due. Returns its number, its payload bytes, and whether it is a retransmission.
    pub fn transmit(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> (u32, u32, bool) {
        if self.slots.is_empty() {
            self.last_heard = now;
        }
        let seq = self.lost.pop_front().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.prune();
        let again = seq < self.sent();
        if again {
            let slot = &mut self.slots[(seq - self.first) as usize];
            (slot.again, slot.lost) = (true, false);
        } else {
            self.slots.push_back(Slot { first_sent: now, again, acknowledged: false, lost: false });
        }
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        let payload = self.packets.payload(seq);
        self.pace(now, parameters, own, payload);
        (seq, payload, again)
    }

    /// Sets the earliest departure of the next packet, from the rate at which this packet leaves.
    fn pace(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules, payload: u32) {
        let wire = payload + parameters.header;
        self.control.on_sent(own, now, wire);
        let rate = self.control.rate(own, now);
        let gap = if rate >= self.line.get() as f64 {
            self.line.serialization(Bytes(wire.into()))
        } else {
            Picos((f64::from(wire) * 8e12 / rate) as u64)
        };
        (self.last_sent, self.next_at) = (now, now.after(gap));
    }

    /// Handles an ACK or a NACK. Visits the first departure time of each newly acknowledged packet. Ignores an answer to
    /// packets that were never sent, because it belongs to another connection.
    pub fn on_answer(
        &mut self,
        now: Instant,
        (parameters, own): (&Parameters, &C::Rules),
        (answered, collected): (Answered, CollectedOf<C>),
        mut visit: impl FnMut(Instant),
    ) {
        let finished = answered.finished && self.sent() == self.packets.number;
        let cumulative = if finished { self.packets.number } else { answered.cumulative };
        if cumulative > self.sent() || answered.seq >= self.sent() {
            return;
        }
        self.last_heard = now;
        let before = self.acked_bytes;
        let rtt = self.slots.get(answered.seq.wrapping_sub(self.first) as usize);
        let rtt = rtt.filter(|slot| !slot.again).map(|slot| now.since(slot.first_sent));
        let selective = parameters.recovery == Recovery::Selective;
        if selective {
            self.note(answered.seq, &mut visit);
        }
        while self.slots.front().is_some_and(|slot| slot.acknowledged || self.first < cumulative) {
            self.note(self.first, &mut visit);
            self.slots.pop_front();
            self.first += 1;
        }
        self.recover(answered, cumulative, selective);
        if self.acked_bytes > before {
            self.last_progress = now;
        }
        let (bytes, marked) = (self.acked_bytes - before, answered.marked);
        let ack = Acked { now, bytes, marked, rtt, first: self.first, next: self.next };
        self.control.on_collected(own, &ack, &collected);
        self.control.on_ack(own, &ack);
    }

    /// Schedules retransmissions after an answer.
    fn recover(&mut self, answered: Answered, cumulative: u32, selective: bool) {
        if selective {
            if answered.missing {
                self.find_lost(answered.seq);
            }
            self.prune();
        } else if answered.missing && cumulative == self.first {
            self.next = self.first;
        }
        self.next = self.next.max(self.first);
    }

    /// Drops packets from the front of `lost` that have been acknowledged meanwhile.
    fn prune(&mut self) {
        let (slots, first) = (&self.slots, self.first);
        let settled =
            |seq: u32| slots.get(seq.wrapping_sub(first) as usize).is_none_or(|slot| slot.acknowledged);
        while self.lost.front().is_some_and(|seq| settled(*seq)) {
            self.lost.pop_front();
        }
    }

    /// Marks packet `seq` as acknowledged.
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
