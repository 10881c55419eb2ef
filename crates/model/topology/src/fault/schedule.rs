use std::collections::BTreeMap;

use pullnet_units::{BitsPerSec, Instant};

use super::{Effect, Fault};
use crate::naming::LinkRef;

/// State of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkState {
    /// Whether the link is up.
    pub up: bool,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Probability that a packet that is not lost is corrupted, 0 to 1.
    pub corrupt: f64,
    /// Probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
}

impl LinkState {
    /// State without faults.
    pub const fn sound(rate: BitsPerSec) -> Self {
        Self { up: true, rate, loss: 0.0, corrupt: 0.0, duplicate: 0.0 }
    }

    /// The state with one more effect: down takes precedence, the lowest rate applies, probabilities are independent.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        let either = |p: f64, q: f64| 1.0 - (1.0 - p) * (1.0 - q);
        match effect {
            Effect::Down => self.up = false,
            Effect::Rate(rate) => self.rate = self.rate.min(rate),
            Effect::Loss(p) => self.loss = either(self.loss, p),
            Effect::Corrupt(p) => self.corrupt = either(self.corrupt, p),
            Effect::Duplicate(p) => self.duplicate = either(self.duplicate, p),
        }
        self
    }
}

/// State changes of one directed link. Before the first change the link has no faults.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkSchedule {
    sound: LinkState,
    changes: Vec<(Instant, LinkState)>,
}

impl LinkSchedule {
    pub(super) fn new(rate: BitsPerSec, faults: &[&Fault]) -> Self {
        let mut times: Vec<Instant> = faults.iter().flat_map(|f| [Some(f.from), f.until]).flatten().collect();
        times.sort_unstable();
        times.dedup();
        let sound = LinkState::sound(rate);
        let active = |at| faults.iter().filter(move |fault| fault.is_active(at));
        let state = |at| active(at).fold(sound, |state, fault| state.with(fault.effect));
        let mut changes: Vec<_> = times.into_iter().map(|at| (at, state(at))).collect();
        changes.dedup_by_key(|(_, state)| *state);
        Self { sound, changes }
    }

    /// State changes in time order; consecutive states differ.
    pub fn changes(&self) -> &[(Instant, LinkState)] {
        &self.changes
    }

    /// The highest rate between `from` and `until`; `None` if the link is down all the time.
    pub fn best_rate(&self, from: Instant, until: Instant) -> Option<BitsPerSec> {
        let within =
            self.changes.iter().filter(|(at, _)| from < *at && *at <= until).map(|(_, state)| *state);
        let states = core::iter::once(self.at(from)).chain(within);
        states.filter(|state| state.up).map(|state| state.rate).max()
    }

    /// The state at an instant; a change is effective from its own instant.
    pub fn at(&self, at: Instant) -> LinkState {
        let after = self.changes.partition_point(|(from, _)| *from <= at);
        after.checked_sub(1).map_or(self.sound, |last| self.changes[last].1)
    }
}

/// The schedules of all links that have faults.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Schedules(pub(super) BTreeMap<LinkRef, LinkSchedule>);

impl Schedules {
    /// The schedule of `link`; `None` if it has no faults.
    pub fn get(&self, link: LinkRef) -> Option<&LinkSchedule> {
        self.0.get(&link)
    }

    /// Whether there are no faults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of directed links with faults.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Schedules of NICs, then of ports, each in numeric order.
    pub fn iter(&self) -> impl Iterator<Item = (LinkRef, &LinkSchedule)> {
        self.0.iter().map(|(link, schedule)| (*link, schedule))
    }
}
