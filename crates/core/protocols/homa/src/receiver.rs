//! The receiving half of a message: the rules of the README, in its order.

use pullnet_pull::{Noted, ReceivedSet, Standing};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos};

use crate::config::HomaConfig;
use crate::header::HomaHeader;
use crate::sender::SILENCE;

/// Result of a timer check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// No action before this time.
    At(Instant),
    /// The RESEND for missing packets.
    Resend(HomaHeader),
    /// The sender is silent.
    GiveUp,
}

#[derive(Clone, Debug)]
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    packets: u32,
    pub paths: u16,
    pub path: u16,
    opened: u64,
    received: ReceivedSet,
    pub bytes: u64,
    /// Packets below this number may be sent.
    granted: u32,
    granted_priority: u8,
    pub last_progress: Instant,
    pub last_heard: Instant,
    /// Time of the latest RESEND.
    asked: Instant,
}

impl Receiver {
    /// Rule R1: the first packet opens a message.
    pub fn open(
        now: Instant,
        config: &HomaConfig,
        (peer, conn): (HostAddr, ConnId),
        packets: u32,
        opened: u64,
        (paths, path): (u16, u16),
    ) -> Self {
        Self {
            peer,
            conn,
            packets,
            paths,
            path,
            opened,
            received: ReceivedSet::default(),
            bytes: 0,
            granted: packets.min(config.unscheduled.0),
            granted_priority: 0,
            last_progress: now,
            last_heard: now,
            asked: now,
        }
    }

    /// Properties that decide the order of grants (rule R2).
    pub fn standing(&self) -> Standing {
        let left = self.packets - self.received.count();
        Standing { priority: 0, left, deadline: None, tenant: 0, opened: self.opened }
    }

    /// Whether every packet has arrived.
    pub fn is_complete(&self) -> bool {
        self.received.count() == self.packets
    }

    /// Whether packets are left to grant.
    pub fn needs_grants(&self) -> bool {
        self.granted < self.packets
    }

    /// Rule R3: grants one round trip of packets beyond the packets that have arrived.
    pub fn grant(&mut self, config: &HomaConfig, priority: u8) -> Option<HomaHeader> {
        let until = self.received.count().saturating_add(config.unscheduled.0).min(self.packets);
        if until <= self.granted {
            return None;
        }
        (self.granted, self.granted_priority) = (until, priority);
        Some(HomaHeader::Grant { conn: self.conn, until, priority })
    }

    /// Notes a packet. `None` if no conforming sender can have sent it.
    pub fn on_data(&mut self, now: Instant, seq: u32) -> Option<Noted> {
        if seq >= self.granted {
            return None;
        }
        let noted = self.received.insert(seq);
        if noted == Noted::TooFar {
            return None;
        }
        self.last_heard = now;
        if noted == Noted::New {
            self.last_progress = now;
        }
        Some(noted)
    }

    /// The first run of packets that were granted and are missing.
    pub fn missing(&self) -> Option<HomaHeader> {
        let first = self.received.cumulative();
        // The packets behind the first hole mark its end.
        let end = (first..self.granted).find(|seq| self.received.contains(*seq)).unwrap_or(self.granted);
        (first < end).then_some(HomaHeader::Resend { conn: self.conn, first, until: end })
    }

    /// Rule R5: requests missing packets when none has come for a while, and then at growing intervals.
    pub fn check(&mut self, now: Instant, config: &HomaConfig) -> Check {
        let silence = now.since(self.last_heard);
        if silence >= config.give_up.saturating_mul(2) {
            return Check::GiveUp;
        }
        let wait = config.timeout.max(Picos(silence.0 / SILENCE));
        let due = self.last_progress.max(self.asked).after(wait);
        match self.missing() {
            Some(resend) if due <= now => {
                self.asked = now;
                Check::Resend(resend)
            }
            Some(_) => Check::At(due),
            // No packet is in flight: the message waits for its grants.
            None => Check::At(now.after(config.timeout)),
        }
    }
}
