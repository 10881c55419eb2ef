//! Tokens, tags and connection numbers: they keep out hosts that do not receive packets sent to their claimed address.
//!
//! A **token** is given to any host that requests one with HELLO, and sent to the requesting address: a keyed hash of that
//! address and of the time. No state is kept for it. A **tag** is a keyed hash of the token, the connection number and the
//! time at which the stream was opened; every packet of the stream carries it, in both directions. So an opening with a
//! right tag comes from a host that received a token at that address not long ago, and a packet with the tag of its stream
//! comes from the other host, or from a party on the path between both.

use core::fmt;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

use pullnet_units::{Instant, Picos};
use pullnet_wire::{REPLY, STAMP_MASK};
use siphasher::sip::{SipHasher13, SipHasher24};

/// Interval between two keys of tokens. A token is valid under the key that it was made with and under the next one: for 10
/// to 20 minutes.
const PERIOD: Picos = Picos::from_secs(600);
/// Age up to which a token is used; its key may be gone after that.
pub(crate) const LIFE: Picos = Picos::from_secs(590);
/// Maximum clock difference between two hosts: a drift of 0.1 ms per second over [`LIFE`], and rounding. Milliseconds.
const SKEW: u64 = 61;
const MILLI: u64 = Picos::from_millis(1).0;

/// The secret key of a host: 128 bits, different at each start.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Secret([u64; 2]);

impl Secret {
    /// Makes a secret from `bytes` of the system's random number generator.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| bytes[at + byte]));
        Self([word(0), word(8)])
    }

    /// The same with `seed` mixed in: a host in a test has no other secret.
    pub(crate) fn with(self, seed: u64) -> Self {
        let half = |domain| self.hash(domain, |hasher| hasher.write_u64(seed));
        Self([half(0), half(1)])
    }

    fn hash(&self, domain: u8, write: impl FnOnce(&mut SipHasher24)) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.0[0], self.0[1]);
        hasher.write_u8(domain);
        write(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn write_address(hasher: &mut SipHasher24, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
    hasher.write_u16(address.port());
}

/// Milliseconds of a host's clock, in the form used in packets.
fn clock(now: Instant) -> u32 {
    (now.0 / MILLI) as u32 & STAMP_MASK
}

/// Issues tokens to other hosts, and verifies them.
#[derive(Debug)]
pub(crate) struct Issuer {
    secret: Secret,
    /// Maximum age of an opening. Milliseconds.
    lifetime: u64,
    /// Maximum time by which the stamp of an opening may lie in the future. Milliseconds.
    skew: u64,
}

impl Issuer {
    /// Uses the key `secret`. Ended connections are remembered for `remembered`, and every opening has expired by then.
    pub fn new(secret: Secret, remembered: Picos) -> Self {
        let remembered = remembered.0 / MILLI;
        let skew = SKEW.min(remembered / 8);
        Self { secret, lifetime: remembered - skew, skew }
    }

    fn token(&self, generation: u64, peer: SocketAddr) -> u64 {
        self.secret.hash(2, |hasher| {
            hasher.write_u64(generation);
            write_address(hasher, peer);
        })
    }

    /// Returns a token for `peer`, and the time by this host's clock.
    pub fn issue(&self, now: Instant, peer: SocketAddr) -> (u64, u32) {
        (self.token(now.0 / PERIOD.0, peer), clock(now))
    }

    /// Whether `tag` is that of a stream that `peer` opened at `stamp`, recently enough and with a token of this host.
    pub fn accepts(&self, now: Instant, peer: SocketAddr, conn: u32, stamp: u32, tag: u64) -> bool {
        let age = u64::from(clock(now).wrapping_sub(stamp) & STAMP_MASK);
        let early = u64::from(stamp.wrapping_sub(clock(now)) & STAMP_MASK);
        let generation = now.0 / PERIOD.0;
        let made = |generation| pullnet_wire::tag(self.token(generation, peer), conn, stamp) == tag;
        let fresh = age <= self.lifetime || early <= self.skew;
        fresh && (made(generation) || generation.checked_sub(1).is_some_and(made))
    }

    /// The nonce of a HELLO to `peer`.
    pub fn nonce(&self, now: Instant, peer: SocketAddr) -> u64 {
        self.secret.hash(3, |hasher| {
            hasher.write_u64(now.0);
            write_address(hasher, peer);
        })
    }

    /// Returns 72 bits that differ at each start of this host.
    pub fn start(&self) -> [u8; 9] {
        let words = [6, 7].map(|domain| self.secret.hash(domain, |_| {}).to_be_bytes());
        core::array::from_fn(|at| words[at / 8][at % 8])
    }

    /// Returns the generator of connection numbers towards `peer`.
    pub fn numbers(&self, now: Instant, peer: SocketAddr) -> Numbers {
        let part = |domain| {
            self.secret.hash(domain, |hasher| {
                hasher.write_u64(now.0);
                write_address(hasher, peer);
            })
        };
        Numbers { key: part(4), next: part(5) as u32 & !REPLY }
    }
}

/// Connection numbers towards one peer: a keyed permutation of a counter. No number repeats before all have been used, and
/// observed numbers do not predict the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    key: u64,
    next: u32,
}

/// Rounds of the Feistel network: four make a strong permutation (Luby and Rackoff, 1988).
const ROUNDS: u64 = 4;

impl Numbers {
    /// The next number, without the bit of the way back.
    pub fn next(&mut self) -> u32 {
        let mut number = self.permute(self.next);
        self.next = (self.next + 1) & !REPLY;
        // A permutation of 32 bits; only its 31-bit values are used.
        while number & REPLY != 0 {
            number = self.permute(number);
        }
        number
    }

    fn permute(&self, number: u32) -> u32 {
        let (mut left, mut right) = ((number >> 16) as u16, number as u16);
        for round in 0..ROUNDS {
            let mut hasher = SipHasher13::new_with_keys(self.key, round);
            hasher.write_u16(right);
            (left, right) = (right, left ^ hasher.finish() as u16);
        }
        u32::from(left) << 16 | u32::from(right)
    }
}

/// A token that another host gave to this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub value: u64,
    clock: u32,
    at: Instant,
}

impl Token {
    pub fn new(now: Instant, value: u64, clock: u32) -> Self {
        Self { value, clock, at: now }
    }

    pub fn age(&self, now: Instant) -> Picos {
        now.since(self.at)
    }

    /// Current clock reading of the host that gave the token.
    pub fn stamp(&self, now: Instant) -> u32 {
        self.clock.wrapping_add((self.age(now).0 / MILLI) as u32) & STAMP_MASK
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PEER: fn() -> SocketAddr = || SocketAddr::from(([10, 0, 0, 1], 7));

    fn at(millis: u64) -> Instant {
        Instant(millis * MILLI)
    }

    fn issuer() -> Issuer {
        Issuer::new(Secret::new([7; 16]), Picos::from_millis(5000))
    }

    /// An opening that a peer makes `age` after it got a token at `now`, by the peer's own clock.
    fn opening(now: Instant, age: Instant, conn: u32) -> (u32, u64) {
        let (value, clock) = issuer().issue(now, PEER());
        let token = Token::new(Instant(17), value, clock);
        let stamp = token.stamp(Instant(17 + age.0));
        (stamp, pullnet_wire::tag(value, conn, stamp))
    }

    #[test]
    fn an_opening_is_good_for_its_lifetime_and_for_nobody_and_nothing_else() {
        let (stamp, tag) = opening(at(1000), at(0), 5);
        let accepts = |now, peer, conn, stamp, tag| issuer().accepts(now, peer, conn, stamp, tag);
        assert!(accepts(at(1000), PEER(), 5, stamp, tag) && accepts(at(5939), PEER(), 5, stamp, tag));
        assert!(!accepts(at(5941), PEER(), 5, stamp, tag), "too old");
        assert!(!accepts(at(1000), PEER(), 6, stamp, tag), "another connection");
        assert!(!accepts(at(1000), PEER(), 5, stamp + 1, tag), "another time");
        assert!(!accepts(at(1000), SocketAddr::from(([10, 0, 0, 2], 7)), 5, stamp, tag), "another host");
        assert!(!accepts(at(1000), SocketAddr::from(([10, 0, 0, 1], 8)), 5, stamp, tag), "another port");
        let anew = Issuer::new(Secret::new([8; 16]), Picos::from_millis(5000));
        assert!(!anew.accepts(at(1000), PEER(), 5, stamp, tag), "a host that was started anew");
    }

    #[test]
    fn a_token_is_good_for_its_life_whenever_it_was_given() {
        for given in [0, 1000, 599_999, 600_000, 1_234_567, 16_777_000] {
            for age in [0, 1, 300_000, LIFE.0 / MILLI] {
                let (stamp, tag) = opening(at(given), at(age), 5);
                assert!(
                    issuer().accepts(at(given + age), PEER(), 5, stamp, tag),
                    "{given} ms, {age} ms later"
                );
            }
            let (stamp, tag) = opening(at(given), at(1_200_001), 5);
            assert!(!issuer().accepts(at(given + 1_200_001), PEER(), 5, stamp, tag));
        }
    }

    #[test]
    fn a_clock_that_is_a_little_fast_is_forgiven() {
        let (stamp, tag) = opening(at(1000), at(50), 5);
        assert!(issuer().accepts(at(1000), PEER(), 5, stamp, tag));
        let (stamp, tag) = opening(at(1000), at(100), 5);
        assert!(!issuer().accepts(at(1000), PEER(), 5, stamp, tag));
    }

    #[test]
    fn connection_numbers_do_not_repeat_and_differences_say_nothing() {
        let mut numbers = issuer().numbers(at(1), PEER());
        let made: Vec<u32> = (0..20_000).map(|_| numbers.next()).collect();
        let distinct: BTreeSet<u32> = made.iter().copied().collect();
        assert!(distinct.len() == made.len() && made.iter().all(|number| number & REPLY == 0));
        let steps: BTreeSet<u32> = made.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert!(steps.len() > 19_900, "{} different steps of 19999", steps.len());
        let other = issuer().numbers(at(1), SocketAddr::from(([10, 0, 0, 2], 7))).next();
        assert_ne!(made[0], other);
    }
}
