//! Decides which packet times are plausible.
//!
//! Captures of several queues or cards are slightly out of order, and damaged ones contain nonsensical times. A time is
//! believed if it is at most the reorder window before the latest one and at most the largest jump after it. Three
//! consecutive packets with disbelieved times may agree with each other: then the clock was set. If it was set forward,
//! reading continues there, and the time between is a gap. If it was set within the first packets, these were wrong, and the
//! trace begins with the three. Otherwise the three are skipped, because the bins that they belong to lie long before the
//! current one.

use pullnet_capture::Time;

/// Number of consecutive agreeing packets that make a new time believable.
const AGREEING: usize = 3;

pub(crate) struct Clock {
    reorder: i128,
    jump: i128,
    latest: Option<Time>,
    believed: u64,
    /// Disbelieved packets that agree with each other: times and bytes.
    pending: Vec<(Time, u32)>,
}

/// Verdict on a packet's time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Belief {
    /// At or after the latest time.
    InOrder,
    /// Out of order within the reorder window.
    Reordered,
    /// Disbelieved for now; a later packet decides.
    Pending,
    /// This and the pending packets are now believed: the clock was set forward.
    SetForward(Vec<(Time, u32)>),
    /// The same, and the packets believed before are now disbelieved.
    Restart(Vec<(Time, u32)>),
}

impl Clock {
    pub(crate) fn new(reorder: i128, jump: i128) -> Self {
        Self { reorder, jump, latest: None, believed: 0, pending: Vec::with_capacity(AGREEING) }
    }

    /// The latest believed time.
    pub(crate) fn latest(&self) -> Option<Time> {
        self.latest
    }

    /// Whether `time` is plausible after `latest`.
    fn follows(&self, time: Time, latest: Time) -> bool {
        (-self.reorder..=self.jump).contains(&time.since(latest))
    }

    pub(crate) fn judge(&mut self, time: Time, bytes: u32) -> Belief {
        let Some(latest) = self.latest else {
            self.latest = Some(time);
            self.believed = 1;
            return Belief::InOrder;
        };
        if !self.follows(time, latest) {
            return self.judge_jump(time, bytes, latest);
        }
        self.believed += 1;
        self.pending.clear();
        if time >= latest {
            self.latest = Some(time);
            Belief::InOrder
        } else {
            Belief::Reordered
        }
    }

    #[cold]
    fn judge_jump(&mut self, time: Time, bytes: u32, latest: Time) -> Belief {
        if self.pending.last().is_some_and(|(last, _)| !self.follows(time, *last)) {
            // They do not agree, so only the current packet can be the first of three that do.
            self.pending.clear();
        }
        self.pending.push((time, bytes));
        if self.pending.len() < AGREEING {
            return Belief::Pending;
        }
        let forward = self.pending[0].0 > latest;
        if self.believed >= AGREEING as u64 && !forward {
            self.pending.remove(0);
            return Belief::Pending;
        }
        let restart = self.believed < AGREEING as u64;
        let agreed = std::mem::take(&mut self.pending);
        self.latest = agreed.iter().map(|(time, _)| *time).max();
        self.believed = AGREEING as u64 + if restart { 0 } else { self.believed };
        if restart { Belief::Restart(agreed) } else { Belief::SetForward(agreed) }
    }
}
