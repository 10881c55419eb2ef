use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::{Instant, Picos};

/// A connection is noted again at most this many times per time-wait.
const NOTES: u64 = 64;

/// Connections that have ended and are remembered for a while (rule 8, time-wait): a few words each.
///
/// All are remembered equally long, so they are forgotten in the order in which they were noted.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Every connection is remembered for this time, and longer by [`Finished::fresh`].
    remembered: Picos,
    /// `None` as long as no connection has ended: a host of a large network may have few.
    noted: Option<Box<Noted>>,
}

/// Connections of a [`Finished`].
#[derive(Clone, Default, Debug)]
struct Noted {
    /// Time of the latest note of each connection. A hash map would grow once more, long after the number of connections
    /// has stopped growing: entries come and go all the time, and each may leave its place unusable.
    latest: BTreeMap<(HostAddr, ConnId), Instant>,
    /// Every note, oldest first; a note is skipped if the connection has been noted again since.
    notes: VecDeque<(Instant, HostAddr, ConnId)>,
}

impl Finished {
    /// Remembers each connection for at least `remembered`.
    pub fn new(remembered: Picos) -> Self {
        Self { remembered, noted: None }
    }

    /// Shortest time between two notes of a connection.
    fn fresh(&self) -> Picos {
        Picos(self.remembered.0 / NOTES)
    }

    /// Whether a connection ended recently.
    #[inline]
    pub fn contains(&self, peer: HostAddr, conn: ConnId) -> bool {
        self.noted.as_ref().is_some_and(|noted| noted.latest.contains_key(&(peer, conn)))
    }

    /// Number of notes kept; at least the number of connections.
    pub fn len(&self) -> usize {
        self.noted.as_ref().map_or(0, |noted| noted.notes.len())
    }

    /// Whether no connection is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes that a connection ended, or that a packet came for it after its end. A connection noted shortly before is
    /// not noted again, so that a flood of late packets takes no memory.
    pub fn note(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        let fresh = self.fresh();
        let noted = self.noted.get_or_insert_default();
        if noted.latest.get(&(peer, conn)).is_some_and(|at| now.since(*at) < fresh) {
            return;
        }
        noted.latest.insert((peer, conn), now);
        noted.notes.push_back((now, peer, conn));
    }

    /// When the oldest note may expire; [`Instant::NEVER`] if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        let oldest = self.noted.as_ref().and_then(|noted| noted.notes.front());
        oldest.map_or(Instant::NEVER, |(at, ..)| at.after(self.remembered.saturating_add(self.fresh())))
    }

    /// Forgets connections that have been remembered long enough.
    #[inline]
    pub fn expire(&mut self, now: Instant) {
        if self.due() <= now {
            self.forget(now);
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.due() <= now {
            let Some(noted) = &mut self.noted else { return };
            let Some((at, peer, conn)) = noted.notes.pop_front() else { return };
            if noted.latest.get(&(peer, conn)) == Some(&at) {
                noted.latest.remove(&(peer, conn));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: HostAddr = HostAddr(1);
    const CONN: ConnId = ConnId::new(2);

    #[test]
    fn a_connection_is_forgotten_that_long_after_it_was_last_spoken_to() {
        let mut finished = Finished::new(Picos(6400));
        finished.note(Instant(1000), PEER, CONN);
        finished.note(Instant(5000), PEER, CONN);
        finished.expire(Instant(11_499));
        assert!(finished.contains(PEER, CONN) && !finished.contains(PEER, ConnId::new(3)));
        finished.expire(Instant(11_500));
        assert!(!finished.contains(PEER, CONN) && finished.due() == Instant::NEVER);
    }

    #[test]
    fn a_flood_of_late_packets_takes_no_memory_and_none_is_forgotten_early() {
        let mut finished = Finished::new(Picos(6400));
        (0..=99).for_each(|at| finished.note(Instant(at), PEER, CONN));
        assert_eq!(finished.len(), 1);
        finished.expire(Instant(99 + 6400));
        assert!(finished.contains(PEER, CONN), "6400 after the last of them");
        finished.expire(Instant(6501));
        assert!(!finished.contains(PEER, CONN));
    }
}
