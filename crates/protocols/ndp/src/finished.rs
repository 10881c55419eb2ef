use alloc::collections::VecDeque;

use hashbrown::HashMap;
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos};
use rustc_hash::FxBuildHasher;

/// Notes of one connection that are kept at most.
const NOTES: u64 = 64;

/// Connections that have ended and are remembered for a while (rule 8, time-wait): a few words each.
///
/// All are remembered equally long, so that they are forgotten in the order in which they were noted.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    remembered: Picos,
    /// When each one was last spoken to.
    latest: HashMap<(HostAddr, ConnId), Instant, FxBuildHasher>,
    /// Every note, oldest first; one that was renewed since is passed over.
    notes: VecDeque<(Instant, HostAddr, ConnId)>,
}

impl Finished {
    /// Remembers each for `remembered`.
    pub fn new(remembered: Picos) -> Self {
        Self { remembered, latest: HashMap::default(), notes: VecDeque::new() }
    }

    /// Whether a connection ended not long ago.
    #[inline]
    pub fn contains(&self, peer: HostAddr, conn: ConnId) -> bool {
        !self.latest.is_empty() && self.latest.contains_key(&(peer, conn))
    }

    /// A connection ended, or was spoken to after its end. What was noted just now is not noted again, so that a flood of
    /// late packets takes no memory.
    pub fn note(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        let fresh = |at: &Instant| now.since(*at).0 < self.remembered.0 / NOTES;
        if self.latest.get(&(peer, conn)).is_some_and(fresh) {
            return;
        }
        self.latest.insert((peer, conn), now);
        self.notes.push_back((now, peer, conn));
    }

    /// When the oldest note is to be looked at; [`Instant::NEVER`] if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        self.notes.front().map_or(Instant::NEVER, |(at, ..)| at.after(self.remembered))
    }

    /// Forgets what has been remembered long enough.
    #[inline]
    pub fn expire(&mut self, now: Instant) {
        if self.due() <= now {
            self.forget(now);
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.due() <= now {
            let Some((at, peer, conn)) = self.notes.pop_front() else { return };
            if self.latest.get(&(peer, conn)) == Some(&at) {
                self.latest.remove(&(peer, conn));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_forgotten_that_long_after_it_was_last_spoken_to() {
        let mut finished = Finished::new(Picos(100));
        let (peer, conn) = (HostAddr(1), ConnId(2));
        finished.note(Instant(10), peer, conn);
        finished.note(Instant(50), peer, conn);
        finished.expire(Instant(149));
        assert!(finished.contains(peer, conn) && !finished.contains(peer, ConnId(3)));
        finished.expire(Instant(150));
        assert!(!finished.contains(peer, conn) && finished.due() == Instant::NEVER);
    }
}
