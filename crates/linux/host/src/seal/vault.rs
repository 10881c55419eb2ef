//! The keys of a running host: the key that it sends under, and the counters received under each.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use pullnet_units::Instant;
use pullnet_wire::{Seal, Sealed};

use super::window::Window;
use super::{Authentic, Cipher, Key, Keys};
use crate::guard::Budget;

/// Maximum number of packets under one salt: half of the limit of RFC 9001 (section 6.6) for AES-GCM under one key, since
/// each packet uses the cipher twice.
const MOST_PACKETS: u32 = 1 << 22;
/// Maximum number of salts of a host between two starts: their number has 24 bits.
const MOST_SALTS: u32 = 1 << 24;
/// Salts of a peer that are remembered; the least recently used one gives way.
const MOST_SESSIONS: usize = 16;
/// Packets under unknown salts that are checked per second: each costs a key derivation.
const DERIVATIONS: u32 = 20_000;

type Salt = [u8; 12];

/// The reason for refusing an encrypted packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// This host has no such key for that peer.
    NoKey,
    /// It was not made by a holder of the key.
    Unauthentic,
    /// It is a copy, or too old to tell.
    Replayed,
    /// Too many packets under unknown salts.
    TooFast,
}

/// Receiving state for the packets of a peer under one salt.
#[derive(Debug)]
struct Session {
    epoch: u16,
    salt: Salt,
    cipher: Cipher,
    window: Window,
    /// Time of its latest use, counted in packets that the host has accepted.
    used: u64,
}

/// Salt, cipher and counter under which this host sends to a peer.
#[derive(Debug)]
struct Sending {
    epoch: u16,
    salt: Salt,
    counter: u32,
    cipher: Cipher,
}

#[derive(Default, Debug)]
struct Peer {
    keys: BTreeMap<u16, Key>,
    /// Number of the peer's newest key, as announced last; `None`: not announced yet.
    theirs: Option<u16>,
    /// The key to try while `theirs` is unknown, counted from the newest.
    guess: usize,
    sending: Option<Sending>,
    /// The previous one: headers returned by switches may have been sent under it.
    before: Option<Sending>,
    sessions: Vec<Session>,
}

impl Peer {
    fn newest(&self) -> u16 {
        self.keys.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// The key to send under: the newest one that the peer has too.
    fn epoch(&self) -> Option<u16> {
        let guess = || self.keys.keys().rev().nth(self.guess % self.keys.len().max(1)).copied();
        let Some(theirs) = self.theirs else { return guess() };
        self.keys.range(..=theirs).next_back().map(|(number, _)| *number).or_else(guess)
    }

    /// Replaces the keys. Packets under removed keys are refused from now on.
    fn set_keys(&mut self, keys: BTreeMap<u16, Key>) {
        self.keys = keys;
        let keys = &self.keys;
        self.sessions.retain(|session| keys.contains_key(&session.epoch));
        (self.sending, self.before) = (self.sending.take().filter(|old| keys.contains_key(&old.epoch)), None);
        self.guess = 0;
    }
}

/// Encryption status with a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    pub peer: SocketAddr,
    pub sends: Option<u16>,
    pub newest: u16,
    pub theirs: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct Vault {
    /// This host: its address and home port.
    own: SocketAddr,
    /// First part of its salts; differs at each start of this host.
    start: [u8; 9],
    /// Number of salts used since the start.
    salts: u32,
    keys: Keys,
    /// Only those with keys, so that no stranger can make the search longer.
    peers: BTreeMap<SocketAddr, Peer>,
    unknown: Budget,
    taken: u64,
}

impl Vault {
    pub fn new(own: SocketAddr, start: [u8; 9], keys: Keys) -> Self {
        let (unknown, peers) = (Budget::new(DERIVATIONS), BTreeMap::new());
        let mut vault = Self { own, start, salts: 0, keys: Keys::default(), peers, unknown, taken: 0 };
        vault.set_keys(keys);
        vault
    }

    /// Replaces the keys. Sending continues under a key that remains.
    pub fn set_keys(&mut self, keys: Keys) {
        self.peers.retain(|peer, _| keys.of(*peer).is_some());
        for peer in keys.peers() {
            let of_peer = keys.of(peer).cloned().unwrap_or_default();
            self.peers.entry(peer).or_default().set_keys(of_peer);
        }
        self.keys = keys;
    }

    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Whether there is a key for `peer`.
    pub fn has(&self, peer: SocketAddr) -> bool {
        self.peers.contains_key(&peer)
    }

    /// Returns the seal of the next packet to `peer`, and the cipher. `None`: there is no key.
    pub fn next(&mut self, peer: SocketAddr) -> Option<(Seal, &Cipher)> {
        let (own, start) = (self.own, self.start);
        let entry = self.peers.get_mut(&peer)?;
        let (epoch, newest) = (entry.epoch()?, entry.newest());
        let goes_on = |sending: &Sending| sending.epoch == epoch && sending.counter < MOST_PACKETS;
        if !entry.sending.as_ref().is_some_and(goes_on) {
            if self.salts >= MOST_SALTS {
                return None;
            }
            // The start and an increasing number: no salt is used twice, even if keys and peers come and go.
            let mut salt = [0; 12];
            salt[..9].copy_from_slice(&start);
            salt[9..].copy_from_slice(&self.salts.to_be_bytes()[1..]);
            self.salts += 1;
            let cipher = Cipher::derive(entry.keys.get(&epoch)?, epoch, &salt, own, peer)?;
            entry.before = entry.sending.replace(Sending { epoch, salt, counter: 0, cipher });
        }
        let sending = entry.sending.as_mut()?;
        let counter = sending.counter;
        sending.counter += 1;
        Some((Seal { epoch, newest, counter, salt: sending.salt }, &sending.cipher))
    }

    /// Verifies that a holder of the key has made a packet from `from`, and that it is not a copy. Decrypts its payload into
    /// `text`, and says whether the payload is there and right.
    pub fn open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        sealed: &Sealed<'_>,
        text: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let seal = &sealed.seal;
        let entry = self.peers.get_mut(&from).ok_or(Refusal::NoKey)?;
        if sealed.returned {
            let mine = [entry.sending.as_ref(), entry.before.as_ref()].into_iter().flatten();
            let mut mine = mine.filter(|own| own.epoch == seal.epoch && own.salt == seal.salt);
            let own = mine.next().ok_or(Refusal::Unauthentic)?;
            return is_whole(&own.cipher, sealed, text);
        }
        let known = |session: &Session| session.epoch == seal.epoch && session.salt == seal.salt;
        let (at, whole) = match entry.sessions.iter().position(known) {
            Some(at) if entry.sessions[at].window.has(seal.counter) => return Err(Refusal::Replayed),
            Some(at) => (at, is_whole(&entry.sessions[at].cipher, sealed, text)?),
            None => {
                let key = entry.keys.get(&seal.epoch).ok_or(Refusal::NoKey)?;
                if !self.unknown.take(now) {
                    return Err(Refusal::TooFast);
                }
                let cipher = Cipher::derive(key, seal.epoch, &seal.salt, from, self.own);
                let cipher = cipher.ok_or(Refusal::Unauthentic)?;
                let whole = is_whole(&cipher, sealed, text)?;
                (entry.add_session(seal, cipher), whole)
            }
        };
        self.taken += 1;
        entry.theirs = entry.theirs.max(Some(seal.newest));
        let session = &mut entry.sessions[at];
        session.used = self.taken;
        session.window.note(seal.counter);
        Ok(whole)
    }

    /// Notes the newest key that `peer` has just announced, in a packet that cannot be a copy.
    pub fn heard(&mut self, peer: SocketAddr, newest: u16) {
        self.peers.get_mut(&peer).into_iter().for_each(|entry| entry.theirs = Some(newest));
    }

    /// Notes that `peer` does not answer: it may lack the key that was used, so the next older one is tried.
    pub fn unheard(&mut self, peer: SocketAddr) {
        let Some(entry) = self.peers.get_mut(&peer) else { return };
        entry.guess = if entry.theirs.take().is_some() { 0 } else { entry.guess + 1 };
    }

    /// Returns the status with every peer, in order.
    pub fn standing(&self) -> Vec<Standing> {
        let of = |peer| {
            let entry = self.peers.get(&peer)?;
            let sends = entry.sending.as_ref().map(|sending| sending.epoch);
            Some(Standing { peer, sends, newest: entry.newest(), theirs: entry.theirs })
        };
        self.keys.peers().filter_map(of).collect()
    }
}

/// Whether the payload of an authentic packet is there and right; it is in `text` then.
fn is_whole(cipher: &Cipher, sealed: &Sealed<'_>, text: &mut Vec<u8>) -> Result<bool, Refusal> {
    match cipher.open(sealed, text) {
        Authentic::Nothing => Err(Refusal::Unauthentic),
        Authentic::Header => Ok(false),
        Authentic::Whole => Ok(true),
    }
}

impl Peer {
    fn add_session(&mut self, seal: &Seal, cipher: Cipher) -> usize {
        let (epoch, salt) = (seal.epoch, seal.salt);
        let session = Session { epoch, salt, cipher, window: Window::default(), used: 0 };
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.push(session);
            return self.sessions.len() - 1;
        }
        let oldest = self.sessions.iter().enumerate().min_by_key(|(_, session)| session.used);
        let at = oldest.map_or(0, |(at, _)| at);
        self.sessions[at] = session;
        at
    }
}
