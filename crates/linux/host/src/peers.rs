//! Other hosts, by the opaque address that the transport uses for them.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;
use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

use crate::handle::StreamId;
use crate::proof::Numbers;

/// Another host with current or recent streams.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its address and home port, which identify it.
    pub address: SocketAddr,
    /// Destination of frames to it; `None`: not known yet.
    pub mac: Option<Mac>,
    /// Time of the latest lookup made because the Ethernet address looked wrong.
    suspected: Instant,
    /// Source of the numbers of streams that this host opens to the peer.
    pub numbers: Numbers,
    /// Streams with it.
    pub streams: usize,
    /// Streams with the peer that have received headers only, oldest first; some may have ended or progressed.
    pub nascent: VecDeque<StreamId>,
    /// Number of these streams.
    pub nascent_streams: usize,
    /// Time at which it last had a stream, or sent a packet of an ended one.
    used: Instant,
    /// Whether the peer is queued to be forgotten.
    queued: bool,
}

/// Peers by number and by address. A peer without streams is remembered as long as the transport may remember connections
/// with it, so that its number does not come to mean another host.
pub(crate) struct Peers {
    remembered: Picos,
    slots: Vec<Option<Peer>>,
    free: Vec<u32>,
    /// Keyed by values that others choose, so the hashes must be unpredictable. The map is only searched, never iterated.
    numbers: HashMap<SocketAddr, u32, RandomState>,
    /// Number of the peer found last: the next packet is mostly of the same.
    latest: Cell<u32>,
    /// Peers without streams, in the order in which they are checked.
    idle: VecDeque<(Instant, u32)>,
    /// Configured Ethernet addresses, which are never looked up.
    given: BTreeMap<IpAddr, Mac>,
    /// Resolved Ethernet addresses, and their order.
    found: HashMap<IpAddr, Mac, RandomState>,
    order: VecDeque<IpAddr>,
}

/// Maximum number of resolved Ethernet addresses; the oldest is dropped and looked up again when needed.
const MOST_FOUND: usize = 4096;

impl Peers {
    /// Creates an empty table. A peer without streams is forgotten after `remembered`.
    pub fn new(remembered: Picos, given: BTreeMap<IpAddr, Mac>) -> Self {
        let (slots, free, idle) = (Vec::new(), Vec::new(), VecDeque::new());
        let (numbers, found, order) = (HashMap::default(), HashMap::default(), VecDeque::new());
        Self { remembered, slots, free, numbers, latest: Cell::new(0), idle, given, found, order }
    }

    pub fn find(&self, address: SocketAddr) -> Option<HostAddr> {
        let latest = HostAddr(self.latest.get());
        if self.get(latest).is_some_and(|peer| peer.address == address) {
            return Some(latest);
        }
        let number = self.numbers.get(&address).copied()?;
        self.latest.set(number);
        Some(HostAddr(number))
    }

    pub fn get(&self, peer: HostAddr) -> Option<&Peer> {
        self.slots.get(peer.0 as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, peer: HostAddr) -> Option<&mut Peer> {
        self.slots.get_mut(peer.0 as usize)?.as_mut()
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns the number of the host at `address`, a new one if it has none, and adds one to its streams.
    pub fn hold(&mut self, address: SocketAddr, numbers: impl FnOnce() -> Numbers) -> HostAddr {
        let number = match self.numbers.get(&address) {
            Some(number) => *number,
            None => self.add(address, numbers()),
        };
        if let Some(peer) = self.get_mut(HostAddr(number)) {
            peer.streams += 1;
        }
        HostAddr(number)
    }

    fn add(&mut self, address: SocketAddr, numbers: Numbers) -> u32 {
        let peer = Peer {
            address,
            mac: self.mac(address.ip()),
            suspected: Instant::ZERO,
            numbers,
            streams: 0,
            nascent: VecDeque::new(),
            nascent_streams: 0,
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

    /// Subtracts one from the streams of `peer`.
    pub fn release(&mut self, now: Instant, peer: HostAddr) {
        let Some(entry) = self.get_mut(peer) else { return };
        entry.streams -= 1;
        entry.used = now;
        if entry.streams == 0 && !std::mem::replace(&mut entry.queued, true) {
            self.idle.push_back((now, peer.0));
        }
    }

    /// `peer` sent a packet of a connection that has ended: the transport's memory of it starts again.
    pub fn touch(&mut self, now: Instant, peer: HostAddr) {
        if let Some(peer) = self.get_mut(peer) {
            peer.used = now;
        }
    }

    /// The Ethernet address of `address`, if it is configured or resolved.
    pub fn mac(&self, address: IpAddr) -> Option<Mac> {
        self.given.get(&address).or_else(|| self.found.get(&address)).copied()
    }

    /// Whether to look up the Ethernet address of `peer` again, because it has been silent or its frames come from
    /// elsewhere: at most once in `patience`.
    pub fn suspect_mac(&mut self, now: Instant, peer: HostAddr, patience: Picos) -> Option<IpAddr> {
        let entry = self.get_mut(peer).filter(|entry| now.since(entry.suspected) > patience)?;
        entry.suspected = now;
        Some(entry.address.ip())
    }

    /// Sets the Ethernet address of `address` from a trusted source: for all present and later peers there.
    pub fn resolve(&mut self, address: IpAddr, mac: Mac) {
        if self.given.contains_key(&address) {
            return;
        }
        if self.found.insert(address, mac).is_none() {
            self.order.push_back(address);
        }
        if self.order.len() > MOST_FOUND
            && let Some(oldest) = self.order.pop_front()
        {
            self.found.remove(&oldest);
        }
        let there = self.slots.iter_mut().flatten().filter(|peer| peer.address.ip() == address);
        there.for_each(|peer| peer.mac = Some(mac));
    }

    /// Time of the next call of [`Peers::expire`]; [`Instant::NEVER`]: not needed.
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

    fn hold(peers: &mut Peers, address: SocketAddr) -> HostAddr {
        let issuer = crate::proof::Issuer::new(crate::Secret::default(), Picos(100));
        peers.hold(address, || issuer.numbers(Instant::ZERO, address))
    }

    fn peers() -> Peers {
        Peers::new(Picos(100), BTreeMap::new())
    }

    #[test]
    fn a_peer_is_forgotten_that_long_after_it_was_last_used() {
        let mut peers = peers();
        let peer = hold(&mut peers, at(1));
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
        let peer = hold(&mut peers, at(1));
        peers.release(Instant(10), peer);
        assert_eq!(hold(&mut peers, at(1)), peer);
        peers.release(Instant(20), peer);
        assert_eq!(peers.idle.len(), 1);
        assert_eq!(hold(&mut peers, at(1)), peer);
        peers.expire(Instant(1000));
        assert_eq!((peers.find(at(1)), peers.due()), (Some(peer), Instant::NEVER));
        assert_ne!(hold(&mut peers, at(2)), peer);
    }

    #[test]
    fn what_is_given_stays_and_what_is_found_is_replaced_by_what_is_found_later() {
        let [given, other, third] = [2, 4, 6].map(|byte| Mac([byte; 6]));
        let mut peers = Peers::new(Picos(100), BTreeMap::from([(at(1).ip(), given)]));
        let known = |peers: &Peers, peer| peers.get(peer).and_then(|peer| peer.mac);
        let peer = hold(&mut peers, at(1));
        peers.resolve(at(1).ip(), other);
        assert_eq!(known(&peers, peer), Some(given));
        let there = SocketAddr::from(([10, 0, 0, 2], 1));
        peers.resolve(there.ip(), other);
        let stranger = hold(&mut peers, there);
        assert_eq!(known(&peers, stranger), Some(other));
        peers.resolve(there.ip(), third);
        assert_eq!(known(&peers, stranger), Some(third));
    }

    #[test]
    fn a_silent_peer_is_asked_for_now_and_then() {
        let mut peers = peers();
        let peer = hold(&mut peers, at(1));
        let asked =
            [1000, 1050, 1100, 1101].map(|now| peers.suspect_mac(Instant(now), peer, Picos(100)).is_some());
        assert_eq!(asked, [true, false, false, true]);
    }

    #[test]
    fn addresses_that_were_found_are_bounded_in_number() {
        let mut peers = peers();
        for number in 0..MOST_FOUND as u32 + 9 {
            peers.resolve(IpAddr::from(number.to_be_bytes()), Mac::default());
        }
        assert_eq!((peers.found.len(), peers.order.len()), (MOST_FOUND, MOST_FOUND));
    }
}
