use std::collections::BTreeMap;

use pullnet_units::{BitsPerSec, Instant};

use super::{Effect, Fault};
use crate::names::LinkRef;

/// How one direction of a link works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkState {
    /// Whether anything passes.
    pub up: bool,
    /// Bits that leave per second.
    pub rate: BitsPerSec,
    /// Probability that a packet vanishes, 0 to 1.
    pub loss: f64,
    /// Probability that a packet that did not vanish arrives damaged, 0 to 1.
    pub corrupt: f64,
    /// Probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
}

impl LinkState {
    /// As built.
    pub const fn sound(rate: BitsPerSec) -> Self {
        Self { up: true, rate, loss: 0.0, corrupt: 0.0, duplicate: 0.0 }
    }

    /// With one more effect: down wins, the lowest rate counts, probabilities are independent.
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

/// What becomes of one directed link: its state from each instant on. Before the first it is sound.
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

    /// State changes in order of time; neighbours differ.
    pub fn changes(&self) -> &[(Instant, LinkState)] {
        &self.changes
    }

    /// The highest rate at any time from `from` to `until`; `None` if the link is down all the time.
    pub fn best_rate(&self, from: Instant, until: Instant) -> Option<BitsPerSec> {
        let within =
            self.changes.iter().filter(|(at, _)| from < *at && *at <= until).map(|(_, state)| *state);
        let states = core::iter::once(self.at(from)).chain(within);
        states.filter(|state| state.up).map(|state| state.rate).max()
    }

    /// The state at an instant; a change takes effect at its instant.
    pub fn at(&self, at: Instant) -> LinkState {
        let after = self.changes.partition_point(|(from, _)| *from <= at);
        after.checked_sub(1).map_or(self.sound, |last| self.changes[last].1)
    }
}

/// The schedules of all links that have faults.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Schedules(pub(super) BTreeMap<LinkRef, LinkSchedule>);

impl Schedules {
    /// What becomes of `link`; `None` if it stays sound.
    pub fn get(&self, link: LinkRef) -> Option<&LinkSchedule> {
        self.0.get(&link)
    }

    /// Whether nothing goes wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of directed links that have faults.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// NICs, then ports, each by number.
    pub fn iter(&self) -> impl Iterator<Item = (LinkRef, &LinkSchedule)> {
        self.0.iter().map(|(link, schedule)| (*link, schedule))
    }
}
