//! The receiving half of a connection: reassembly of the data of its subflows.

use alloc::vec::Vec;

use pullnet_connections::{Noted, ReceivedSet};
use pullnet_transport::{ConnId, FlowStatus, HostAddr};
use pullnet_units::Instant;

/// Latest packets of a subflow to remember: a delayed ACK acknowledges at most this many.
const RECENT: usize = 2;

/// The latest packets of a subflow, newest first: number within the subflow, and data.
pub(crate) type Recent = [(u32, u32); RECENT];

/// One connection as its receiver knows it.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    pub paths: u16,
    /// Path of each subflow's ACKs.
    ack_paths: Vec<u16>,
    /// Distinguishes the connection from earlier ones in the same slot.
    pub generation: u8,
    received: ReceivedSet,
    /// Number of packets; `None` until the last one was seen.
    total: Option<u32>,
    /// By subflow; `None`: not open.
    subflows: Vec<Option<Recent>>,
    pub bytes: u64,
    pub last_heard: Instant,
    pub last_progress: Instant,
    /// When to check for a silent sender.
    pub due: Instant,
}

impl Receiver {
    pub fn open(
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        (paths, ack_paths): (u16, Vec<u16>),
        generation: u8,
    ) -> Self {
        Self {
            peer,
            conn,
            paths,
            ack_paths,
            generation,
            received: ReceivedSet::default(),
            total: None,
            subflows: Vec::new(),
            bytes: 0,
            last_heard: now,
            last_progress: now,
            due: Instant::NEVER,
        }
    }

    /// Every packet of the connection below this number has arrived: DATA_ACK.
    pub fn data_ack(&self) -> u32 {
        self.received.cumulative()
    }

    /// Whether a sender that respects the receive window may have sent packet `data`.
    pub fn accepts(&self, receive_window: u32, data: u32) -> bool {
        data < self.data_ack().saturating_add(receive_window)
    }

    /// Whether subflow `index` is open.
    pub fn has_subflow(&self, index: usize) -> bool {
        self.subflows.get(index).is_some_and(Option::is_some)
    }

    /// Opens subflow `index` if it is not open.
    pub fn open_subflow(&mut self, index: usize) {
        if self.subflows.len() <= index {
            self.subflows.resize(index + 1, None);
        }
        self.subflows[index].get_or_insert_default();
    }

    /// Every open subflow.
    pub fn open_subflows(&self) -> impl Iterator<Item = usize> + '_ {
        self.subflows.iter().enumerate().filter(|(_, recent)| recent.is_some()).map(|(index, _)| index)
    }

    /// Notes that packet `seq` of subflow `index` carries `data`, for its ACK.
    pub fn note_arrival(&mut self, index: usize, seq: u32, data: u32) {
        if let Some(Some(recent)) = self.subflows.get_mut(index) {
            recent.rotate_right(1);
            recent[0] = (seq, data);
        }
    }

    /// The data that packet `seq` of subflow `index` carried, if it is among the latest.
    pub fn data_of(&self, index: usize, seq: u32) -> u32 {
        let Some(Some(recent)) = self.subflows.get(index) else { return 0 };
        recent.iter().find(|(other, _)| *other == seq).map_or(recent[0].1, |(_, data)| *data)
    }

    /// Notes the arrival of packet `data`. Returns whether it is new.
    pub fn take(&mut self, now: Instant, data: u32, bytes: u32, last: bool) -> bool {
        if last {
            self.total = Some(data.saturating_add(1));
        }
        let new = self.received.insert(data) == Noted::New;
        if new {
            self.last_progress = now;
            self.bytes += u64::from(bytes);
        }
        new
    }

    /// Path of the ACKs of subflow `index`. Subflows share a path only when there are more subflows than paths, so that
    /// one bad path does not silence several. The sender may have more subflows than this host would open.
    pub fn ack_path(&self, index: usize) -> u16 {
        self.ack_paths.get(index % self.ack_paths.len().max(1)).copied().unwrap_or(0)
    }

    /// Whether all data has arrived.
    pub fn complete(&self) -> bool {
        self.total.is_some_and(|total| self.data_ack() >= total)
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        FlowStatus::of_receiver(self.peer, self.conn, self.bytes, self.last_progress)
    }
}
