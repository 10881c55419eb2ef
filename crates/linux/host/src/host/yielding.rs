//! Yields the processor, as long as that helps.

use std::time::Duration;

use pullnet_units::{Instant, Picos};

/// A yield that took longer has let other work run. Threads of the same stream keep the processor for a millisecond now and then.
pub const LONG_YIELD: Duration = Duration::from_micros(2000);
/// Time after such a yield in which idle turns sleep; then one more yield tells whether the other work is over.
const WARY: Picos = Picos::from_millis(100);

/// The yields of a loop that polls.
///
/// A thread that yields lets the other threads of a stream run. But if a program that has nothing to do with them is ready to run, it
/// gets the processor for one of the scheduler's time slices, about 3 ms, in which a stream moves one ring or one window at most. A
/// thread that sleeps gets the processor back as soon as it is woken.
#[derive(Default, Debug)]
pub struct Yielding {
    /// Time of the yield that was not looked at yet.
    since: Option<Instant>,
    /// Until then idle turns sleep.
    wary: Instant,
}

impl Yielding {
    /// Notes that a turn begins at `now`.
    pub fn begin_turn(&mut self, now: Instant) {
        let long = Picos::from_micros(LONG_YIELD.as_micros() as u64);
        if self.since.take().is_some_and(|since| now.since(since) > long) {
            self.wary = now.after(WARY);
        }
    }

    /// Whether an idle turn has to sleep, because a yield would let other work run.
    #[must_use]
    pub fn is_wary(&self, now: Instant) -> bool {
        now < self.wary
    }

    /// Yields, at the end of a turn that began at `now`.
    pub fn give_way(&mut self, now: Instant) {
        self.since = Some(now);
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_yield_makes_idle_turns_sleep_for_a_while() {
        let mut yielding = Yielding::default();
        let at = |micros| Instant::ZERO.after(Picos::from_micros(micros));
        yielding.give_way(at(1000));
        yielding.begin_turn(at(1500));
        assert!(!yielding.is_wary(at(1500)), "a turn of the other threads");
        // Busy turns do not yield, however long they take.
        yielding.begin_turn(at(9000));
        assert!(!yielding.is_wary(at(9000)));
        yielding.give_way(at(9000));
        yielding.begin_turn(at(12_000));
        assert!(yielding.is_wary(at(12_000)) && yielding.is_wary(at(111_999)));
        assert!(!yielding.is_wary(at(112_000)), "it looks again");
    }
}
