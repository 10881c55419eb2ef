//! Round trips and answers that a host has learned per receiver, kept from one connection to the next.

use alloc::collections::VecDeque;

use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};

use crate::sender::Known;

/// Largest number of hosts remembered.
const ROOM: usize = 32;

/// Knowledge of one host, and when it was learned.
#[derive(Debug)]
struct Learned {
    at: Instant,
    peer: HostAddr,
    known: Known,
}

/// Hosts with recently ended connections, latest first.
#[derive(Debug)]
pub(crate) struct Peers {
    learned: VecDeque<Learned>,
    /// Time for which the knowledge is used.
    remembered: Picos,
}

impl Peers {
    pub fn new(remembered: Picos) -> Self {
        Self { learned: VecDeque::new(), remembered }
    }

    /// Knowledge that a new connection starts with. Of a host with no knowledge yet, the answers of the host that was
    /// heard of last: they show whether receivers are crowded at present. Round trips are a matter of each host.
    pub fn of(&self, now: Instant, peer: HostAddr) -> Known {
        let mut lately = self.learned.iter().filter(|learned| now.since(learned.at) <= self.remembered);
        let last = lately.clone().next();
        let same = lately.find(|learned| learned.peer == peer).map(|learned| learned.known);
        same.or_else(|| last.map(|learned| learned.known.of_another_host())).unwrap_or_default()
    }

    /// A connection to `peer` has ended.
    pub fn note(&mut self, at: Instant, peer: HostAddr, known: Known) {
        match self.learned.iter().position(|learned| learned.peer == peer) {
            Some(place) => drop(self.learned.remove(place)),
            None => self.learned.truncate(ROOM - 1),
        }
        self.learned.push_front(Learned { at, peer, known });
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_latest_are_remembered_and_no_more_than_there_is_room_for() {
        let mut peers = Peers::new(Picos(1000));
        let note = |peers: &mut Peers, at, peer| peers.note(Instant(at), HostAddr(peer), Known::default());
        (0..200).for_each(|n| note(&mut peers, n.into(), n));
        note(&mut peers, 200, 180);
        assert_eq!(peers.learned.len(), ROOM);
        let mut known: Vec<_> = peers.learned.iter().map(|learned| learned.peer.0).collect();
        assert_eq!(known[0], 180);
        known.sort_unstable();
        assert!(known.into_iter().eq(168..200));
    }
}
