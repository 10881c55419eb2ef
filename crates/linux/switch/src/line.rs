//! One direction of a line: how it works now, and what it does to frames.

use pullnet_rng::SmallStream;
use pullnet_units::Instant;

use crate::fault::LineState;

/// One direction of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    state: LineState,
    /// The latest time at which it was down; `None` for never.
    down_until: Option<Instant>,
}

impl Default for Line {
    fn default() -> Self {
        Self { state: LineState::SOUND, down_until: None }
    }
}

/// What becomes of a frame on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    pub lost: bool,
    pub corrupted: bool,
    pub duplicated: bool,
}

impl Line {
    pub fn state(&self) -> &LineState {
        &self.state
    }

    /// From `now` on it works like this.
    pub fn set(&mut self, now: Instant, state: LineState) {
        if !self.state.up {
            self.down_until = Some(now);
        }
        self.state = state;
    }

    /// What becomes of a frame that was on the line from `since` to now. Chance is drawn only where there is a fault.
    #[inline]
    pub fn carry(&self, since: Instant, chance: &mut SmallStream) -> Passage {
        if self.state == LineState::SOUND && self.down_until.is_none() {
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
