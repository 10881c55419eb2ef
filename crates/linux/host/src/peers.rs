//! Other hosts: who an opaque address of the transport is.

use std::collections::{BTreeMap, VecDeque};
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;
use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

/// Another host that has streams with this one, or had some not long ago.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its address and home port: who it is.
    pub address: SocketAddr,
    /// Where frames to it go; `None`: not known yet.
    pub mac: Option<Mac>,
    /// Where they went before, and when that was last exchanged with the former in doubt.
    before: Option<Mac>,
    doubted: Instant,
    /// Whether it has acknowledged data of ours, so that it most likely is where it says.
    pub proven: bool,
    /// Streams with it.
    pub streams: usize,
    /// When it last had a stream, or spoke of one that has ended.
    used: Instant,
    /// Whether it stands in the queue of those that may be forgotten.
    queued: bool,
}

/// Peers by number and by address. One without streams is remembered as long as the transport may remember connections
/// with it, so that its number does not come to mean another host.
pub(crate) struct Peers {
    remembered: Picos,
    slots: Vec<Option<Peer>>,
    free: Vec<u32>,
    /// Keyed by what others choose, so that the hash is one that they cannot foresee. Only asked, never walked.
    numbers: HashMap<SocketAddr, u32, RandomState>,
    /// Peers without streams: when to look at them, in order.
    idle: VecDeque<(Instant, u32)>,
    /// Ethernet addresses that are given, and not learnt.
    given: BTreeMap<IpAddr, Mac>,
}

impl Peers {
    /// Nobody yet. A peer without streams is forgotten after `remembered`.
    pub fn new(remembered: Picos, given: BTreeMap<IpAddr, Mac>) -> Self {
        let (slots, free, idle) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { remembered, slots, free, numbers: HashMap::default(), idle, given }
    }

    pub fn find(&self, address: SocketAddr) -> Option<HostAddr> {
        self.numbers.get(&address).copied().map(HostAddr)
    }

    pub fn get(&self, peer: HostAddr) -> Option<&Peer> {
        self.slots.get(peer.0 as usize)?.as_ref()
    }

    fn get_mut(&mut self, peer: HostAddr) -> Option<&mut Peer> {
        self.slots.get_mut(peer.0 as usize)?.as_mut()
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of the host at `address`, a new one if it has none. One stream more is with it.
    pub fn hold(&mut self, address: SocketAddr) -> HostAddr {
        let number = match self.numbers.get(&address) {
            Some(number) => *number,
            None => self.add(address),
        };
        if let Some(peer) = self.get_mut(HostAddr(number)) {
            peer.streams += 1;
        }
        HostAddr(number)
    }

    fn add(&mut self, address: SocketAddr) -> u32 {
        let mac = self.given.get(&address.ip()).copied();
        let peer = Peer {
            address,
            mac,
            before: None,
            doubted: Instant::ZERO,
            proven: false,
            streams: 0,
            used: Instant::ZERO,
            queued: false,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[number as usize] = Some(peer);
        self.numbers.insert(address, number);
        number
    }

    /// One stream less is with `peer`.
    pub fn release(&mut self, now: Instant, peer: HostAddr) {
        let Some(entry) = self.get_mut(peer) else { return };
        entry.streams -= 1;
        entry.used = now;
        if entry.streams == 0 && !std::mem::replace(&mut entry.queued, true) {
            self.idle.push_back((now, peer.0));
        }
    }

    /// `peer` spoke of a connection that has ended: the transport remembers it anew.
    pub fn touch(&mut self, now: Instant, peer: HostAddr) {
        if let Some(peer) = self.get_mut(peer) {
            peer.used = now;
        }
    }

    /// A frame that belongs to a stream came from this Ethernet address.
    pub fn learn(&mut self, peer: HostAddr, mac: Mac) {
        let Some(Some(entry)) = self.slots.get_mut(peer.0 as usize) else { return };
        if entry.mac != Some(mac) && !self.given.contains_key(&entry.address.ip()) {
            entry.before = entry.mac.replace(mac);
        }
    }

    /// Nothing has come from `peer` for `patience`: perhaps it is where it was before. No checksum of ours covers the
    /// address that was learnt last.
    pub fn doubt(&mut self, now: Instant, peer: HostAddr, patience: Picos) {
        let Some(entry) = self.get_mut(peer) else { return };
        if entry.before.is_some() && now.since(entry.doubted) > patience {
            std::mem::swap(&mut entry.mac, &mut entry.before);
            entry.doubted = now;
        }
    }

    /// The Ethernet address of `address`, for all peers there that have none.
    pub fn resolve(&mut self, address: IpAddr, mac: Mac) {
        let waiting = self.slots.iter_mut().flatten().filter(|peer| peer.address.ip() == address);
        waiting.for_each(|peer| peer.mac = peer.mac.or(Some(mac)));
    }

    /// `peer` has acknowledged data. Returns how many streams are with it if that is news.
    pub fn prove(&mut self, peer: HostAddr) -> Option<usize> {
        let peer = self.get_mut(peer)?;
        (!std::mem::replace(&mut peer.proven, true)).then_some(peer.streams)
    }

    /// When [`Peers::expire`] has something to do; [`Instant::NEVER`]: nothing.
    pub fn due(&self) -> Instant {
        self.idle.front().map_or(Instant::NEVER, |(since, _)| since.after(self.remembered))
    }

    /// Forgets peers that have had no streams for long enough.
    pub fn expire(&mut self, now: Instant) {
        while self.due() <= now {
            let Some((_, number)) = self.idle.pop_front() else { return };
            let remembered = self.remembered;
            let Some(peer) = self.get_mut(HostAddr(number)) else { continue };
            peer.queued = false;
            if peer.streams > 0 {
                continue;
            }
            if peer.used.after(remembered) > now {
                peer.queued = true;
                self.idle.push_back((now, number));
                continue;
            }
            let address = peer.address;
            self.slots[number as usize] = None;
            self.numbers.remove(&address);
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn peers() -> Peers {
        Peers::new(Picos(100), BTreeMap::new())
    }

    #[test]
    fn a_peer_is_forgotten_that_long_after_it_was_last_used() {
        let mut peers = peers();
        let peer = peers.hold(at(1));
        peers.release(Instant(10), peer);
        assert_eq!(peers.due(), Instant(110));
        peers.touch(Instant(50), peer);
        peers.expire(Instant(110));
        assert_eq!((peers.find(at(1)), peers.len()), (Some(peer), 1));
        peers.expire(Instant(210));
        assert_eq!((peers.find(at(1)), peers.len(), peers.due()), (None, 0, Instant::NEVER));
    }

    #[test]
    fn a_peer_with_a_stream_stays_and_is_queued_once() {
        let mut peers = peers();
        let peer = peers.hold(at(1));
        peers.release(Instant(10), peer);
        assert_eq!(peers.hold(at(1)), peer);
        peers.release(Instant(20), peer);
        assert_eq!(peers.idle.len(), 1);
        assert_eq!(peers.hold(at(1)), peer);
        peers.expire(Instant(1000));
        assert_eq!((peers.find(at(1)), peers.due()), (Some(peer), Instant::NEVER));
        assert_ne!(peers.hold(at(2)), peer);
    }

    #[test]
    fn what_is_given_is_not_learnt_anew() {
        let (given, other) = (Mac([2; 6]), Mac([4; 6]));
        let mut peers = Peers::new(Picos(100), BTreeMap::from([(at(1).ip(), given)]));
        let peer = peers.hold(at(1));
        peers.learn(peer, other);
        assert_eq!(peers.get(peer).and_then(|peer| peer.mac), Some(given));
        let stranger = peers.hold(SocketAddr::from(([10, 0, 0, 2], 1)));
        peers.learn(stranger, other);
        assert_eq!(peers.get(stranger).and_then(|peer| peer.mac), Some(other));
    }

    #[test]
    fn a_silent_peer_is_looked_for_where_it_was_before() {
        let mut peers = peers();
        let peer = peers.hold(at(1));
        let [here, there] = [2, 4].map(|byte| Mac([byte; 6]));
        let known = |peers: &Peers| peers.get(peer).and_then(|peer| peer.mac);
        peers.learn(peer, here);
        peers.doubt(Instant(1000), peer, Picos(100));
        assert_eq!(known(&peers), Some(here), "there is no other place");
        peers.learn(peer, there);
        for (now, place) in [(2000, here), (2100, here), (2101, there), (2202, here)] {
            peers.doubt(Instant(now), peer, Picos(100));
            assert_eq!(known(&peers), Some(place), "at {now}");
        }
    }
}
