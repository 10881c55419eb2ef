use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A secret key of 256 bits, shared by two hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub(super) [u8; 32]);

impl Key {
    /// Makes a key from bytes that both hosts have. They must come from a random number generator.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The keys of a host: one or more for each peer, by number; newer keys have higher numbers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Keys {
    peers: BTreeMap<SocketAddr, BTreeMap<u16, Key>>,
    plain: BTreeSet<u16>,
}

impl Keys {
    /// Adds key `number` towards the host that listens at `peer`. False: the number is taken, and its key is kept.
    pub fn add(&mut self, peer: SocketAddr, number: u16, key: Key) -> bool {
        let keys = self.peers.entry(peer).or_default();
        let new = !keys.contains_key(&number);
        keys.entry(number).or_insert(key);
        new
    }

    /// Exempts `service`: its streams are opened without encryption, and accepted with or without.
    pub fn leave_plain(&mut self, service: u16) {
        self.plain.insert(service);
    }

    /// Whether `service` is exempt from encryption.
    #[must_use]
    pub fn is_plain(&self, service: u16) -> bool {
        self.plain.contains(&service)
    }

    /// The keys towards `peer` by number; `None`: there is none.
    pub(super) fn of(&self, peer: SocketAddr) -> Option<&BTreeMap<u16, Key>> {
        self.peers.get(&peer)
    }

    /// The peers for which there are keys.
    pub fn peers(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.peers.keys().copied()
    }

    /// Returns a key that `other` has under the same number with another content.
    pub(crate) fn contradicts(&self, other: &Self) -> Option<(SocketAddr, u16)> {
        let all = self.peers.iter().flat_map(|(peer, keys)| keys.iter().map(move |key| (*peer, key)));
        let differs = |(peer, (number, key)): (SocketAddr, (&u16, &Key))| {
            let there = other.of(peer)?.get(number)?;
            (there != key).then_some((peer, *number))
        };
        all.into_iter().find_map(differs)
    }
}
