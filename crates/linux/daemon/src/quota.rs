//! Quotas of one application and one user, so that resources remain for the others.

use std::cell::{Cell, RefCell};

use pullnet_units::{Instant, Picos};

const SECOND: u64 = Picos::from_secs(1).0;
/// Requests for the status of one user per second.
const STATUS: u64 = 20;
/// Requests that may be saved up, as a fraction of those per second.
const SAVED: u64 = 10;

/// A rate limit in requests per second, with a burst.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Time per request. Picoseconds.
    each: u64,
    /// Time at which all requests so far would have been done at that rate.
    spent: Instant,
}

impl Rate {
    pub fn new(per_second: u64) -> Self {
        Self { each: SECOND / per_second.max(1), spent: Instant::ZERO }
    }

    /// The time from which the next request may be answered: now, unless the rate is exceeded.
    pub fn ready(&self, now: Instant) -> Instant {
        Instant(now.0.max(self.spent.0.saturating_sub(SECOND / SAVED)))
    }

    /// Counts an answered request.
    pub fn spend(&mut self, now: Instant) {
        self.spent = self.spent.max(now).after(Picos(self.each));
    }
}

/// A user, with the resources of all of the user's applications.
#[derive(Debug)]
pub(crate) struct User {
    /// Connected applications.
    pub applications: Cell<usize>,
    /// Streams and listeners.
    pub channels: Cell<usize>,
    /// Shared memory. Bytes.
    pub memory: Cell<usize>,
    pub rate: RefCell<Rate>,
    /// Requests for the status. Each costs the daemon as much as more than a thousand other requests.
    pub status: RefCell<Rate>,
}

impl User {
    /// Creates a user whose applications make at most `messages` requests per second each, and twice as many together.
    pub fn new(messages: u32) -> Self {
        let rate = RefCell::new(Rate::new(2 * u64::from(messages)));
        let status = RefCell::new(Rate::new(STATUS));
        Self { applications: Cell::new(0), channels: Cell::new(0), memory: Cell::new(0), rate, status }
    }

    /// Whether the user has no application and no resource left.
    pub fn is_gone(&self) -> bool {
        self.applications.get() == 0 && self.channels.get() == 0 && self.memory.get() == 0
    }
}

/// Adds `by` to a count.
pub(crate) fn change(count: &Cell<usize>, by: isize) {
    count.set(count.get().saturating_add_signed(by));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_after_what_was_saved_up() {
        let mut rate = Rate::new(1000);
        let at = |millis: u64| Instant::ZERO.after(Picos::from_millis(millis));
        let count = |rate: &mut Rate, until: u64| {
            let mut done = 0;
            let (mut now, start) = (rate.ready(at(5000)), rate.ready(at(5000)));
            while now.since(start) < Picos::from_millis(until) {
                rate.spend(now);
                done += 1;
                now = rate.ready(now);
            }
            done
        };
        let done = count(&mut rate, 1000);
        assert!((1000..=1101).contains(&done), "{done}");
        let done = count(&mut Rate::new(STATUS), 1000);
        assert!((20..=23).contains(&done), "{done}");
    }
}
