//! Which times of packets to believe.
//!
//! Captures of several queues or cards are a little out of order, and damaged ones have times that are nonsense. A time
//! is believed if it is at most the reorder window before the latest one and at most the largest jump behind it. Of
//! packets whose time is not believed three in a row may agree with each other: then the clock was set. If it was set
//! forward, reading goes on there, and what lies between is a gap. If it was set within the first packets, these were
//! the odd ones, and the trace begins where the three do. Otherwise they are left out, since what they would have to be
//! added to lies long behind.

use pullnet_capture::Time;

/// Packets in a row that agree with each other and make a new time believable.
const AGREEING: usize = 3;

pub(crate) struct Clock {
    reorder: i128,
    jump: i128,
    latest: Option<Time>,
    believed: u64,
    /// Packets that were not believed and agree with each other: times and bytes.
    pending: Vec<(Time, u32)>,
}

/// What to do with a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Belief {
    /// Later than all others, or at the same time.
    InOrder,
    /// Out of order within the window.
    Reordered,
    /// Not believed for now; its fate is told later.
    Pending,
    /// It and those before it that were pending are believed now: the clock was set forward.
    SetForward(Vec<(Time, u32)>),
    /// The same, and what was believed before is not any more.
    Restart(Vec<(Time, u32)>),
}

impl Clock {
    pub(crate) fn new(reorder: i128, jump: i128) -> Self {
        Self { reorder, jump, latest: None, believed: 0, pending: Vec::with_capacity(AGREEING) }
    }

    /// The latest time that is believed.
    pub(crate) fn latest(&self) -> Option<Time> {
        self.latest
    }

    /// Whether `time` follows `latest` well enough.
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
            return self.doubt(time, bytes, latest);
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
    fn doubt(&mut self, time: Time, bytes: u32, latest: Time) -> Belief {
        if self.pending.last().is_some_and(|(last, _)| !self.follows(time, *last)) {
            // They do not agree; only this one can be the first of three that do.
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
