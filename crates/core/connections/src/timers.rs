use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use pullnet_units::Instant;

/// A timer of one half of a flow, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FlowTimer {
    /// The sending half.
    Sender(u32),
    /// The receiving half.
    Receiver(u32),
}

/// The timer entries of a host, earliest first; `T` names what an entry is for, and orders entries of the same time. Entries are
/// not removed: what has moved its deadline ignores or renews its entry when it is due, so that moving a timer to a later
/// time costs no search.
#[derive(Clone, Debug)]
pub struct Timers<T> {
    entries: BinaryHeap<Reverse<(Instant, T)>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new() }
    }
}

impl<T: Ord + Copy> Timers<T> {
    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, at: Instant, timer: T) {
        self.entries.push(Reverse((at, timer)));
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<(Instant, T)> {
        self.entries.peek().map(|Reverse(entry)| *entry)
    }

    /// Removes and returns the earliest entry if it is due.
    #[inline]
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, T)> {
        let first = self.first().filter(|(at, _)| *at <= now)?;
        self.entries.pop();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_when_due_in_order_of_time_and_then_of_timer() {
        let mut timers = Timers::default();
        timers.push(Instant(9), FlowTimer::Sender(0));
        timers.push(Instant(5), FlowTimer::Receiver(1));
        timers.push(Instant(5), FlowTimer::Sender(2));
        assert_eq!(timers.pop_due(Instant(4)), None);
        assert_eq!(timers.first(), Some((Instant(5), FlowTimer::Sender(2))));
        assert_eq!(timers.pop_due(Instant(5)), Some((Instant(5), FlowTimer::Sender(2))));
        assert_eq!(timers.pop_due(Instant(5)), Some((Instant(5), FlowTimer::Receiver(1))));
        assert_eq!(timers.pop_due(Instant(8)), None);
        assert_eq!(timers.pop_due(Instant(20)), Some((Instant(9), FlowTimer::Sender(0))));
        assert_eq!(timers.first(), None);
    }
}
