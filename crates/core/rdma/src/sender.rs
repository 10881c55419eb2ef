use alloc::collections::VecDeque;

use pullnet_connections::{FlowPackets, Outstanding, Target, WINDOW};
use pullnet_transport::SendCounts;
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

use crate::control::{Acked, CollectedOf, Control};
use crate::header::Feedback;
use crate::parameters::{Parameters, Recovery};

/// Note on a packet that was sent and is at or above the cumulative point.
#[derive(Clone, Copy, Default)]
pub struct Note {
    /// Sent more than once.
    again: bool,
    /// Whether it is in the queue `lost`.
    lost: bool,
}

/// Content of an ACK or a NACK.
#[derive(Clone, Copy)]
pub struct Answered {
    pub feedback: Feedback,
    pub finished: bool,
    pub missing: bool,
}

/// The sending half of a connection.
pub struct Sender<C> {
    pub target: Target,
    pub control: C,
    line: BitsPerSec,
    pub outstanding: Outstanding<Note>,
    /// A single answer has said that the receiver has the whole flow.
    pub finished: bool,
    /// Number of the next packet; after a go-back below that of a packet that was never sent.
    next: u32,
    /// Packets to retransmit one by one (selective repeat).
    lost: VecDeque<u32>,
    /// Packets below this number were checked for loss since the last timeout (selective repeat).
    scanned: u32,
    /// Earliest departure of the next packet under pacing.
    pub next_at: Instant,
    last_sent: Instant,
    last_heard: Instant,
    pub last_progress: Instant,
    pub counts: SendCounts,
    /// Whether it is queued for the link.
    pub queued: bool,
}

impl<C: Control> Sender<C> {
    /// Opens a flow of `packets` to `target`.
    pub fn open(
        now: Instant,
        (control, line): (C, BitsPerSec),
        target: Target,
        packets: FlowPackets,
    ) -> Self {
        Self {
            target,
            control,
            line,
            outstanding: Outstanding::new(packets),
            finished: false,
            next: 0,
            lost: VecDeque::new(),
            scanned: 0,
            next_at: now,
            last_sent: now,
            last_heard: now,
            last_progress: now,
            counts: SendCounts::default(),
            queued: false,
        }
    }

    /// Whether a packet is left to send and the window admits it.
    fn has_packet(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> bool {
        if !self.lost.is_empty() {
            return true;
        }
        let ahead = self.next - self.outstanding.first();
        if self.next >= self.outstanding.packets().number || ahead >= WINDOW {
            return false;
        }
        let Some(window) = parameters.window else { return true };
        let share =
            if parameters.window_scales { self.control.rate(own, now) / self.line.get() as f64 } else { 1.0 };
        let outstanding = u64::from(ahead) * u64::from(parameters.mtu);
        outstanding < ((window as f64 * share) as u64).max(1)
    }

    /// When the next packet may leave; `NEVER` if only an answer or a timeout can change that.
    pub fn next_departure(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> Instant {
        if self.has_packet(now, parameters, own) { self.next_at } else { Instant::NEVER }
    }

    /// Time of the next retransmission by timeout or of the failure of the flow, the earlier of the two. `idle`: nothing is
    /// left to send.
    pub fn timer(&self, parameters: &Parameters, idle: bool) -> Instant {
        if self.outstanding.is_empty() {
            return Instant::NEVER;
        }
        let repeat = if idle { self.last_sent.after(parameters.timeout) } else { Instant::NEVER };
        repeat.min(self.gives_up_at(parameters))
    }

    /// Time at which the flow fails if no answer arrives before.
    pub fn gives_up_at(&self, parameters: &Parameters) -> Instant {
        if self.outstanding.is_empty() { Instant::NEVER } else { self.last_heard.after(parameters.give_up) }
    }

    /// Handles an expired timer. On a retransmission timeout, schedules all packets without an ACK for retransmission and
    /// returns the number of the oldest.
    pub fn on_timer(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> Option<u32> {
        let idle = !self.queued && self.next_departure(now, parameters, own) == Instant::NEVER;
        if !idle || self.outstanding.is_empty() || now < self.last_sent.after(parameters.timeout) {
            return None;
        }
        self.counts.timeouts += 1;
        match parameters.recovery {
            Recovery::GoBackN => self.next = self.outstanding.first(),
            Recovery::Selective => {
                self.scanned = self.outstanding.first();
                self.find_lost(self.outstanding.sent());
            }
        }
        Some(self.outstanding.first())
    }

    /// Counts every unchecked packet below `until` without an ACK as lost (selective repeat).
    fn find_lost(&mut self, until: u32) {
        for seq in self.scanned.max(self.outstanding.first())..until {
            if let Some(note) = self.outstanding.unacknowledged(seq).filter(|note| !note.lost) {
                note.lost = true;
                self.lost.push_back(seq);
            }
        }
        self.scanned = self.scanned.max(until);
    }

    /// Sends the next packet, which is due. Returns its number, its payload bytes, and whether it is a retransmission.
    pub fn transmit(&mut self, now: Instant, parameters: &Parameters, own: &C::Rules) -> (u32, u32, bool) {
        if self.outstanding.is_empty() {
            self.last_heard = now;
        }
        let seq = self.lost.pop_front().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.prune();
        let again = seq < self.outstanding.sent();
        if again {
            if let Some(note) = self.outstanding.unacknowledged(seq) {
                *note = Note { again, lost: false };
            }
        } else {
            self.outstanding.push(now, Note::default());
        }
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        let payload = self.outstanding.packets().payload(seq);
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
        let outstanding = &mut self.outstanding;
        let sent = outstanding.sent();
        let cumulative =
            if answered.finished && outstanding.all_sent() { sent } else { answered.feedback.cumulative };
        if cumulative > sent || answered.feedback.seq >= sent {
            return;
        }
        self.finished |= cumulative == outstanding.packets().number;
        let before = (outstanding.acked_bytes(), outstanding.first());
        let rtt = outstanding.get(answered.feedback.seq).filter(|(_, note)| !note.again);
        let rtt = rtt.map(|(first_sent, _)| now.since(first_sent));
        let selective = parameters.recovery == Recovery::Selective;
        if selective {
            outstanding.acknowledge(answered.feedback.seq, &mut visit);
        }
        outstanding.advance(cumulative, &mut visit);
        let (bytes, first) = (outstanding.acked_bytes() - before.0, outstanding.first());
        // An answer that lags behind earlier ones is late, or of a receiver that has forgotten the flow and will never have it.
        if cumulative >= before.1 || bytes > 0 {
            self.last_heard = now;
        }
        self.recover(answered, cumulative, selective);
        if bytes > 0 {
            self.last_progress = now;
        }
        let ack = Acked { now, bytes, marked: answered.feedback.marked, rtt, first, next: self.next };
        self.control.on_collected(own, &ack, &collected);
        self.control.on_ack(own, &ack);
    }

    /// Schedules retransmissions after an answer.
    fn recover(&mut self, answered: Answered, cumulative: u32, selective: bool) {
        let first = self.outstanding.first();
        if selective {
            if answered.missing {
                self.find_lost(answered.feedback.seq);
            }
            self.prune();
        } else if answered.missing && cumulative == first {
            self.next = first;
        }
        self.next = self.next.max(first);
    }

    /// Drops packets from the front of `lost` that have been acknowledged meanwhile.
    fn prune(&mut self) {
        while self.lost.front().is_some_and(|seq| !self.outstanding.waits_for(*seq)) {
            self.lost.pop_front();
        }
    }
}
