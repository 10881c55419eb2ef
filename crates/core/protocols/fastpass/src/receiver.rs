//! The receiving half of a connection.

use pullnet_pull::{Noted, ReceivedSet};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

/// The receiving half of a connection: it acknowledges every packet (rule R1).
#[derive(Clone, Debug)]
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    pub paths: u16,
    pub path: u16,
    pub received: ReceivedSet,
    /// Packets in all, once the last one was seen.
    total: Option<u32>,
    pub bytes: u64,
    pub last_progress: Instant,
    pub last_heard: Instant,
}

impl Receiver {
    /// Any data packet opens the connection.
    pub fn open(now: Instant, (peer, conn): (HostAddr, ConnId), (paths, path): (u16, u16)) -> Self {
        Self {
            peer,
            conn,
            paths,
            path,
            received: ReceivedSet::default(),
            total: None,
            bytes: 0,
            last_progress: now,
            last_heard: now,
        }
    }

    /// Notes a packet. `None`: no sender that keeps to the rules has sent it.
    pub fn on_data(&mut self, now: Instant, seq: u32, last: bool) -> Option<Noted> {
        let beyond = self.total.is_some_and(|total| seq >= total);
        if beyond || seq == u32::MAX {
            return None;
        }
        let noted = self.received.insert(seq);
        if noted == Noted::TooFar {
            return None;
        }
        if last && self.total.is_none() {
            self.total = Some(seq + 1);
        }
        self.last_heard = now;
        if noted == Noted::New {
            self.last_progress = now;
        }
        Some(noted)
    }

    /// Whether every packet has arrived.
    pub fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }
}
