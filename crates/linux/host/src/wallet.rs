//! Tokens that other hosts gave to this one, and HELLOs that wait for one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::RandomState;
use std::net::SocketAddr;

use hashbrown::HashMap;
use pullnet_units::{Instant, Picos};

use crate::proof::{LIFE, Token};

/// Maximum number of tokens; the oldest is dropped, and requested again when needed.
const MOST: usize = 16_384;
/// Age from which on a new token is requested while the old one is still used.
const RENEW: Picos = Picos(LIFE.0 / 2);
/// Longest time between two HELLOs to one host, as a fraction of the time after which it is given up.
const PATIENCE: u64 = 32;

/// A HELLO without an answer so far.
#[derive(Clone, Copy, Debug)]
struct Asking {
    nonce: u64,
    since: Instant,
    next: Instant,
    wait: Picos,
}

/// Outcome of a HELLO without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    /// The HELLO is repeated, with this nonce.
    Again(u64),
    /// The host is silent.
    GivenUp,
}

#[derive(Debug)]
pub(crate) struct Wallet {
    /// First time between two HELLOs; it doubles with each repetition.
    first: Picos,
    give_up: Picos,
    tokens: HashMap<SocketAddr, Token, RandomState>,
    /// Hosts in the order in which their tokens came; a host whose token was replaced is listed once.
    order: VecDeque<SocketAddr>,
    asking: BTreeMap<SocketAddr, Asking>,
    timers: BTreeSet<(Instant, SocketAddr)>,
}

impl Wallet {
    /// Creates an empty wallet. HELLO is repeated after `first`, and a host given up after `give_up`.
    pub fn new(first: Picos, give_up: Picos) -> Self {
        let (tokens, order) = (HashMap::default(), VecDeque::new());
        Self { first, give_up, tokens, order, asking: BTreeMap::new(), timers: BTreeSet::new() }
    }

    /// A token of `peer` that is valid now.
    pub fn usable(&self, now: Instant, peer: SocketAddr) -> Option<Token> {
        self.tokens.get(&peer).copied().filter(|token| token.age(now) <= LIFE)
    }

    /// Whether to request a token of `peer`: there is none that will last.
    pub fn wants(&self, now: Instant, peer: SocketAddr) -> bool {
        let lasts = self.tokens.get(&peer).is_some_and(|token| token.age(now) <= RENEW);
        !lasts && !self.asking.contains_key(&peer)
    }

    /// Notes that a HELLO with `nonce` leaves for `peer`.
    pub fn ask(&mut self, now: Instant, peer: SocketAddr, nonce: u64) {
        let asking = Asking { nonce, since: now, next: now + self.first, wait: self.first };
        self.asking.insert(peer, asking);
        self.timers.insert((asking.next, peer));
    }

    /// Enters the answer of `peer`. False: this host did not send that request.
    pub fn answer(&mut self, peer: SocketAddr, nonce: u64, token: Token) -> bool {
        if self.asking.get(&peer).is_none_or(|asking| asking.nonce != nonce) {
            return false;
        }
        self.stop_asking(peer);
        if self.tokens.insert(peer, token).is_none() {
            self.order.push_back(peer);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.tokens.remove(&oldest);
        }
        true
    }

    fn stop_asking(&mut self, peer: SocketAddr) {
        if let Some(asking) = self.asking.remove(&peer) {
            self.timers.remove(&(asking.next, peer));
        }
    }

    /// Drops the token `value`, which `peer` has refused.
    pub fn spent(&mut self, peer: SocketAddr, value: u64) {
        if self.tokens.get(&peer).is_some_and(|token| token.value == value) {
            self.tokens.remove(&peer);
            self.order.retain(|known| *known != peer);
        }
    }

    /// Time of the next repeated HELLO; [`Instant::NEVER`]: all are answered.
    pub fn due(&self) -> Instant {
        self.timers.first().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// Returns the next host that has not answered in time.
    pub fn overdue(&mut self, now: Instant) -> Option<(SocketAddr, Unanswered)> {
        let (_, peer) = *self.timers.first().filter(|(at, _)| *at <= now)?;
        let asking = *self.asking.get(&peer)?;
        self.stop_asking(peer);
        if now.since(asking.since) > self.give_up {
            return Some((peer, Unanswered::GivenUp));
        }
        let longest = Picos(self.give_up.0 / PATIENCE).max(self.first);
        let wait = asking.wait.saturating_mul(2).min(longest);
        let again = Asking { next: now + wait, wait, ..asking };
        self.asking.insert(peer, again);
        self.timers.insert((again.next, peer));
        Some((peer, Unanswered::Again(asking.nonce)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO.after(Picos::from_millis(millis))
    }

    fn wallet() -> Wallet {
        Wallet::new(Picos::from_millis(1), Picos::from_millis(1000))
    }

    #[test]
    fn only_the_answer_to_a_question_counts() {
        let (mut wallet, token) = (wallet(), Token::new(at(1), 5, 9));
        wallet.ask(at(0), peer(1), 77);
        assert!(!wallet.answer(peer(1), 78, token) && !wallet.answer(peer(2), 77, token));
        assert_eq!(wallet.usable(at(1), peer(1)), None);
        assert!(wallet.answer(peer(1), 77, token) && !wallet.answer(peer(1), 77, token));
        assert_eq!((wallet.usable(at(1), peer(1)), wallet.due()), (Some(token), Instant::NEVER));
        wallet.spent(peer(1), 4);
        assert!(wallet.usable(at(1), peer(1)).is_some(), "another token was meant");
        wallet.spent(peer(1), 5);
        assert_eq!(wallet.usable(at(1), peer(1)), None);
    }

    #[test]
    fn a_token_is_renewed_before_it_is_too_old() {
        let mut wallet = wallet();
        wallet.ask(at(0), peer(1), 1);
        assert!(wallet.answer(peer(1), 1, Token::new(at(0), 5, 9)));
        assert!(!wallet.wants(at(200_000), peer(1)));
        assert!(wallet.wants(at(300_000), peer(1)) && wallet.usable(at(300_000), peer(1)).is_some());
        assert!(wallet.usable(at(590_001), peer(1)).is_none());
    }

    #[test]
    fn a_silent_host_is_asked_less_and_less_often_and_given_up() {
        let mut wallet = wallet();
        wallet.ask(at(0), peer(1), 77);
        let mut times = Vec::new();
        loop {
            let now = wallet.due();
            times.push(now.since(at(0)).0 / Picos::from_millis(1).0);
            match wallet.overdue(now) {
                Some((_, Unanswered::Again(nonce))) => assert_eq!(nonce, 77),
                other => break assert_eq!(other, Some((peer(1), Unanswered::GivenUp))),
            }
        }
        assert_eq!(times[..6], [1, 3, 7, 15, 31, 62]);
        assert!(times.len() < 40 && *times.last().unwrap() < 1040, "{times:?}");
        assert_eq!(wallet.due(), Instant::NEVER);
    }

    #[test]
    fn tokens_are_bounded_in_number() {
        let mut wallet = wallet();
        for number in 0..MOST as u32 + 10 {
            let peer = SocketAddr::from(([10, 1, (number >> 8) as u8, number as u8], (number >> 16) as u16));
            wallet.ask(at(0), peer, 1);
            assert!(wallet.answer(peer, 1, Token::new(at(0), 5, 9)));
        }
        assert_eq!((wallet.tokens.len(), wallet.order.len()), (MOST, MOST));
    }
}
