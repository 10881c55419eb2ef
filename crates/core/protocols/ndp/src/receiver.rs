//! The receiving half of a connection: the rules of the specification in its order.

use pullnet_pull::{Noted, PathSet, ReceivedSet};
use pullnet_rng::RandomStream;
use pullnet_transport::{ConnId, FlowStatus, HostAddr};
use pullnet_units::{Instant, WireLen};

use crate::config::Rules;

/// Largest first window of any host: the upper bound of `initial_window`.
pub(crate) const LARGEST_FIRST_WINDOW: u32 = 65535;

/// Result of an arriving data packet or header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// Whether its payload is new.
    pub new: bool,
    /// ACK or NACK.
    pub acknowledge: bool,
    /// Whether it earns a pull.
    pub pull: bool,
}

/// Aligned to a cache line, so that it touches and prefetches as few of them as possible.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    pub priority: u8,
    /// Whether the priority is this host's own choice.
    preferred: bool,
    /// Whether the application is slow: pulls are kept back.
    pub held: bool,
    received: ReceivedSet,
    /// Packets in all, once the last one was seen.
    total: Option<u32>,
    /// Pulls sent so far: the number of the last one.
    pulled: u32,
    /// Whether the pull number has wrapped.
    wrapped: bool,
    /// Pulls that wait in the host's pull queue, or outside of it while the connection is held.
    pub pending: u32,
    /// Bytes on the wire of the latest packet when it was sent: the expected size of the packet that a pull brings.
    pub wire: WireLen,
    paths: PathSet,
    pub bytes: u64,
    pub last_progress: Instant,
    pub last_heard: Instant,
}

impl Receiver {
    /// Rule 1: any packet of the first window opens the connection, whole or trimmed.
    pub fn open(
        now: Instant,
        peer: HostAddr,
        conn: ConnId,
        paths: u16,
        rules: &Rules,
        chance: &mut RandomStream,
    ) -> Self {
        Self {
            peer,
            conn,
            priority: 0,
            preferred: false,
            held: false,
            received: ReceivedSet::default(),
            total: None,
            pulled: 0,
            wrapped: false,
            pending: 0,
            wire: WireLen::new(0),
            paths: PathSet::new(paths, rules.spread, false, chance),
            bytes: 0,
            last_progress: now,
            last_heard: now,
        }
    }

    /// Sets the priority that the sender requests.
    #[inline]
    pub fn ask(&mut self, priority: u8) {
        if !self.preferred {
            self.priority = priority;
        }
    }

    /// Sets the priority that this host's application prefers.
    pub fn prefer(&mut self, priority: u8) {
        (self.priority, self.preferred) = (priority, true);
    }

    /// Whether the connection is in the host's pull queue.
    pub fn waits(&self) -> bool {
        self.pending > 0 && !self.held
    }

    /// Whether the peer may have sent packet `seq`. A conforming peer sends no more than the largest first window and
    /// what was pulled, and stays within the window from the oldest missing packet.
    #[inline]
    pub fn accepts(&self, seq: u32) -> bool {
        let pulled = if self.wrapped { u32::MAX } else { self.pulled };
        seq < pulled.saturating_add(LARGEST_FIRST_WINDOW) && self.received.reaches(seq)
    }

    /// Rules 2, 3 and 6: whole data is stored and acknowledged, a header is answered with a NACK; each earns a pull. A
    /// duplicate is acknowledged again. It earns a pull only if it was sent on one, so that duplicates neither add to
    /// the packets in flight nor reduce them.
    #[inline]
    pub fn on_data(&mut self, now: Instant, seq: u32, last: bool, pulled: bool, whole: bool) -> Arrival {
        self.last_heard = now;
        if last {
            self.total = Some(seq.saturating_add(1));
        }
        if !whole {
            let known = self.received.contains(seq);
            return Arrival { new: false, acknowledge: known, pull: self.wants_pull() };
        }
        let new = self.received.insert(seq) == Noted::New;
        if new {
            self.last_progress = now;
        }
        Arrival { new, acknowledge: true, pull: (new || pulled) && self.wants_pull() }
    }

    /// Rule 5, the last packet: waiting pulls never exceed the missing packets. So no pull is left when all data is
    /// there, and trimmed packets keep theirs.
    fn wants_pull(&self) -> bool {
        self.total.is_none_or(|total| self.pending < total.saturating_sub(self.received.count()))
    }

    /// Whether the last packet was seen.
    #[inline]
    pub fn knows_end(&self) -> bool {
        self.total.is_some()
    }

    /// Pulls that the last packet made superfluous.
    pub fn excess_pulls(&self) -> u32 {
        self.total.map_or(0, |total| self.pending.saturating_sub(total.saturating_sub(self.received.count())))
    }

    /// Handles a PROBE: the sender misses a pull. True if a pull has to be queued.
    pub fn on_probe(&mut self, now: Instant) -> bool {
        self.last_heard = now;
        self.pending == 0 && !self.complete()
    }

    /// Whether packet `seq` has arrived.
    pub fn has(&self, seq: u32) -> bool {
        self.received.contains(seq)
    }

    /// Whether all packets up to the last one have arrived.
    pub fn complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }

    /// Number of the pull that leaves now.
    pub fn next_pull(&mut self) -> u32 {
        self.pulled = self.pulled.wrapping_add(1);
        self.wrapped |= self.pulled == 0;
        self.pulled
    }

    /// A path for a control packet.
    pub fn control_path(&mut self, chance: &mut RandomStream) -> u16 {
        self.paths.next(chance)
    }

    /// Memory that the next calls will read, when they answer a packet and pull another.
    pub fn prefetch_targets(&self, chance: &mut RandomStream, visit: &mut impl FnMut(*const u8)) {
        visit(self.received.bitmap_place());
        self.paths.prefetch_targets(2, chance, visit);
    }

    /// State of the flow.
    pub fn status(&self) -> FlowStatus {
        FlowStatus::of_receiver(self.peer, self.conn, self.bytes, self.last_progress)
    }
}
