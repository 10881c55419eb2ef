//! The sending half of a message: the rules of the README, in its order.

use core::ops::Range;

use pullnet_connections::FlowPackets;
use pullnet_pull::{Outbound, Queued, Standing};
use pullnet_transport::SendCounts;
use pullnet_units::{Instant, Picos};

use crate::config::HomaConfig;
use crate::header::HomaHeader;

/// Result of a timer check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// No action yet.
    Early,
    /// No packet came for a while: the sender queries the receiver.
    Query,
    /// The receiver is silent.
    GiveUp,
}

/// A packet to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub header: HomaHeader,
    pub payload: u32,
    pub priority: u8,
    /// Whether it was sent before.
    pub again: bool,
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub flow: Outbound,
    pub packets: FlowPackets,
    /// The next packet to leave for the first time.
    next: u32,
    /// Packets below this number may leave.
    granted: u32,
    /// Network priorities of unscheduled and of granted packets.
    unscheduled: (u32, u8),
    scheduled_priority: u8,
    /// Packets that the receiver requested again.
    again: Range<u32>,
    /// First packet of the latest request for packets that had all left, and the time since when it is the first.
    stuck: Option<(u32, Instant)>,
    pub counts: SendCounts,
    pub last_progress: Instant,
    last_heard: Instant,
    /// Deadline of the timer.
    due: Instant,
}

/// The receiver is queried after this part of the time since its last packet, if that exceeds the timeout.
pub(crate) const SILENCE: u64 = 8;

impl Queued for Sender {
    fn can_send(&self) -> bool {
        !self.again.is_empty() || self.next < self.granted
    }

    /// Rule S2: the message with the fewest packets left to send goes first.
    fn standing(&self) -> Standing {
        self.flow.standing(self.packets.number - self.next + (self.again.end - self.again.start))
    }

    fn due(&self) -> Instant {
        self.due
    }
}

impl Sender {
    /// Rule S1: the first packets leave without a grant.
    pub fn open(now: Instant, config: &HomaConfig, flow: Outbound, packets: FlowPackets) -> Self {
        let unscheduled = packets.number.min(config.unscheduled.0);
        Self {
            flow,
            packets,
            next: 0,
            granted: unscheduled,
            unscheduled: (unscheduled, config.cutoffs.priority(packets.number)),
            scheduled_priority: 0,
            again: 0..0,
            stuck: None,
            counts: SendCounts::default(),
            last_progress: now,
            last_heard: now,
            due: now.after(config.timeout.min(config.give_up)),
        }
    }

    /// Whether every packet has left at least once.
    pub fn all_sent(&self) -> bool {
        self.next == self.packets.number
    }

    /// Returns the next packet; packets requested again go first.
    pub fn transmit(&mut self) -> Option<Outgoing> {
        let (seq, again) = match self.again.next() {
            Some(seq) => (seq, true),
            None if self.next < self.granted => {
                self.next += 1;
                (self.next - 1, false)
            }
            None => return None,
        };
        self.counts.sent += 1;
        self.counts.again += u32::from(again);
        let (unscheduled, priority) = self.unscheduled;
        let priority = if seq < unscheduled { priority } else { self.scheduled_priority };
        let payload = self.packets.payload(seq);
        let header = HomaHeader::Data { conn: self.flow.conn, seq, packets: self.packets.number };
        Some(Outgoing { header, payload, priority, again })
    }

    /// Rule S3: a grant raises the number of packets that may leave, and sets their priority.
    pub fn on_grant(&mut self, now: Instant, until: u32, priority: u8) {
        if until > self.granted {
            self.granted = until.min(self.packets.number);
            (self.last_progress, self.stuck) = (now, None);
        }
        self.scheduled_priority = priority;
    }

    /// Rule S4: retransmits packets. Returns whether none of them has left yet: they wait for their turn.
    pub fn on_resend(&mut self, now: Instant, first: u32, until: u32) -> bool {
        self.granted = self.granted.max(until.min(self.packets.number));
        let until = until.min(self.next);
        if first < until {
            let since = self.stuck.filter(|(same, _)| *same == first && self.again.is_empty());
            self.stuck = since.or(Some((first, now)));
            self.again = first..until;
        }
        first >= until
    }

    /// The receiver has every packet that was granted.
    pub fn on_busy(&mut self) {
        self.stuck = None;
    }

    /// The receiver is alive.
    pub fn on_word(&mut self, now: Instant, config: &HomaConfig) {
        self.last_heard = now;
        self.due = now.after(config.timeout.min(config.give_up));
    }

    /// Rule S5: a sender that hears nothing queries the receiver; after a long silence the message fails.
    pub fn check(&mut self, now: Instant, config: &HomaConfig) -> Check {
        if now < self.due {
            return Check::Early;
        }
        let end = self.last_heard.after(config.give_up);
        // Requests for the same packets again and again are no progress: a path may pass them and never the packets.
        let stuck = self.stuck.is_some_and(|(_, since)| now >= since.after(config.give_up));
        if now >= end || stuck {
            return Check::GiveUp;
        }
        let wait = config.timeout.max(Picos(now.since(self.last_heard).0 / SILENCE));
        self.due = now.after(wait).min(end);
        Check::Query
    }

    /// Payload bytes known to have arrived: grants run `unscheduled` packets ahead of arrivals (rule R3).
    pub fn acknowledged(&self, config: &HomaConfig) -> u64 {
        let granted_beyond = self.granted.saturating_sub(config.unscheduled.0);
        u64::from(granted_beyond.min(self.next)) * config.mtu.0
    }
}
