//! Protects this host's resources from others: budgets per time, and a memory of refused connections.

use std::collections::VecDeque;
use std::hash::RandomState;
use std::net::SocketAddr;

use hashbrown::HashMap;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Reason;

const SECOND: u64 = Picos::from_secs(1).0;

/// Rate limit: so many units per second, in bursts of a tenth of that.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Time that one unit takes.
    each: Picos,
    /// Time at which all units so far would have been done at that rate.
    spent: Instant,
    burst: Picos,
}

impl Budget {
    pub fn new(per_second: u32) -> Self {
        let each = Picos(SECOND / u64::from(per_second.max(1)));
        Self { each, spent: Instant::ZERO, burst: Picos(SECOND / 10).max(each) }
    }

    /// Takes one unit. Returns whether the rate allows it.
    pub fn take(&mut self, now: Instant) -> bool {
        let after = self.spent.max(now).after(self.each);
        let allowed = after.since(now) <= self.burst;
        if allowed {
            self.spent = after;
        }
        allowed
    }
}

/// Identifies a connection among all hosts: its opener or its other end, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub peer: SocketAddr,
    pub conn: u32,
}

/// Connections that were refused or dropped, with the reason: a late copy of one of their packets must not open them after
/// all. Remembers the latest only: a flood shortens the time that they are remembered, not the memory.
#[derive(Debug)]
pub(crate) struct Denylist {
    reasons: HashMap<Key, (Instant, Reason), RandomState>,
    notes: VecDeque<(Instant, Key)>,
    remembered: Picos,
}

/// Maximum number of connections that are remembered.
const MOST: usize = 16_384;

impl Denylist {
    pub fn new(remembered: Picos) -> Self {
        Self { reasons: HashMap::default(), notes: VecDeque::new(), remembered }
    }

    /// The reason for refusing packets of this connection; `None`: it was not refused.
    pub fn reason(&self, key: &Key) -> Option<Reason> {
        self.reasons.get(key).map(|(_, reason)| *reason)
    }

    /// Refuses packets of this connection from now on.
    pub fn note(&mut self, now: Instant, key: Key, reason: Reason) {
        if self.notes.len() >= MOST {
            self.forget_first();
        }
        self.reasons.insert(key, (now, reason));
        self.notes.push_back((now, key));
        self.expire(now);
    }

    fn forget_first(&mut self) {
        let Some((at, key)) = self.notes.pop_front() else { return };
        if self.reasons.get(&key).is_some_and(|(noted, _)| *noted == at) {
            self.reasons.remove(&key);
        }
    }

    /// Forgets connections that have been remembered long enough.
    fn expire(&mut self, now: Instant) {
        while self.notes.front().is_some_and(|(at, _)| at.after(self.remembered) <= now) {
            self.forget_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_allows_a_burst_and_then_its_rate() {
        let mut budget = Budget::new(1000);
        let at = |millis| Instant::ZERO.after(Picos::from_millis(millis));
        let taken = |budget: &mut Budget, now| (0..10_000).filter(|_| budget.take(now)).count();
        assert_eq!(taken(&mut budget, at(0)), 100);
        assert_eq!(taken(&mut budget, at(7)), 7);
        assert_eq!(taken(&mut budget, at(5000)), 100);
    }

    #[test]
    fn what_is_barred_is_forgotten_in_time_and_bounded_in_number() {
        let key = |conn| Key { peer: SocketAddr::from(([10, 0, 0, 1], 1)), conn };
        let mut denylist = Denylist::new(Picos(100));
        denylist.note(Instant(0), key(1), Reason::FULL);
        denylist.note(Instant(99), key(2), Reason::ABORTED);
        assert_eq!((denylist.reason(&key(1)), denylist.reason(&key(3))), (Some(Reason::FULL), None));
        denylist.note(Instant(100), key(3), Reason::ABORTED);
        assert_eq!((denylist.reason(&key(1)), denylist.reason(&key(2))), (None, Some(Reason::ABORTED)));
        (0..2 * MOST as u32).for_each(|conn| denylist.note(Instant(150), key(conn), Reason::FULL));
        assert_eq!((denylist.reasons.len(), denylist.notes.len()), (MOST, MOST));
    }
}
