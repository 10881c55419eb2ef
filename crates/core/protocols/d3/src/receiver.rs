//! The receiving half of a connection.

use pullnet_connections::{Noted, ReceivedSet};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

#[derive(Clone, Debug)]
pub struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    /// The path back.
    pub path: u16,
    received: ReceivedSet,
    /// Total number of packets; `None` until the last one has arrived.
    total: Option<u32>,
    pub bytes: u64,
    pub last_progress: Instant,
    pub last_heard: Instant,
}

impl Receiver {
    pub fn open(now: Instant, (peer, conn): (HostAddr, ConnId), path: u16) -> Self {
        Self {
            peer,
            conn,
            path,
            received: ReceivedSet::default(),
            total: None,
            bytes: 0,
            last_progress: now,
            last_heard: now,
        }
    }

    /// Records a data packet. `None`: no sender that follows the protocol would send it.
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

    /// Every packet below this number has arrived.
    pub fn cumulative(&self) -> u32 {
        self.received.cumulative()
    }

    pub fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }
}
