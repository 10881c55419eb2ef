//! One direction of a line: its state, and the effects of faults on frames.

use pullnet_rng::SmallRandomStream;
use pullnet_topology::LinkState;
use pullnet_units::{BitsPerSec, Instant};

/// One direction of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    state: LinkState,
    /// Whether the line has no faults.
    sound: bool,
    /// End of the latest downtime; `None` if the line was never down.
    down_until: Option<Instant>,
}

/// Fate of a frame on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    pub lost: bool,
    pub corrupted: bool,
    pub duplicated: bool,
}

impl Line {
    /// A line with this rate and without faults.
    pub fn new(rate: BitsPerSec) -> Self {
        Self { state: LinkState::sound(rate), sound: true, down_until: None }
    }

    pub fn state(&self) -> &LinkState {
        &self.state
    }

    /// Sets the state from `now` on.
    pub fn set(&mut self, now: Instant, state: LinkState) {
        if !self.state.up {
            self.down_until = Some(now);
        }
        self.sound = state == LinkState::sound(state.rate);
        self.state = state;
    }

    /// Decides the fate of a frame that was on the line from `since` until now. Draws random numbers only if there is a
    /// fault.
    #[inline]
    pub fn carry(&self, since: Instant, chance: &mut SmallRandomStream) -> Passage {
        if self.sound && self.down_until.is_none() {
            return Passage { lost: false, corrupted: false, duplicated: false };
        }
        let cut = !self.state.up || self.down_until.is_some_and(|until| since < until);
        let mut happens = |probability: f64| probability > 0.0 && chance.unit() < probability;
        let lost = cut || happens(self.state.loss);
        Passage {
            lost,
            corrupted: !lost && happens(self.state.corrupt),
            duplicated: !lost && happens(self.state.duplicate),
        }
    }
}
