//! The clocks of conversations on frames.

use std::cell::Cell;
use std::time::{Duration, Instant as Moment};

use pullnet_testbed::Clock;
use pullnet_units::{Instant, Picos};

/// A clock that can be waited for.
pub trait Time: Clock {
    /// Lets time pass while nothing happens, up to `until` at most.
    fn rest(&self, until: Instant);
}

/// Time that passes only while nothing happens.
#[derive(Default)]
pub struct Virtual(Cell<Instant>);

impl Clock for Virtual {
    fn now(&self) -> Instant {
        self.0.get()
    }
}

impl Time for Virtual {
    fn rest(&self, until: Instant) {
        assert!(until != Instant::NEVER, "nothing will ever happen again");
        self.0.set(until.max(self.now()));
    }
}

/// The longest rest.
const NAP: Duration = Duration::from_millis(1);
/// Most time that may pass between two readings of the clock. While the machine does not schedule the process, its time
/// stands still, so that no timer expires while packets are in flight.
const STRIDE: Picos = Picos::from_micros(20);

/// Real time.
pub struct Wall {
    now: Cell<Instant>,
    looked: Cell<Moment>,
}

#[expect(clippy::disallowed_methods, reason = "the one clock of real interfaces")]
fn moment() -> Moment {
    Moment::now()
}

impl Default for Wall {
    fn default() -> Self {
        Self { now: Cell::new(Instant::ZERO), looked: Cell::new(moment()) }
    }
}

impl Wall {
    /// Time since the latest reading.
    fn passed(&self) -> Picos {
        let moment = moment();
        let passed = moment.duration_since(self.looked.replace(moment));
        Picos((passed.as_nanos() as u64).saturating_mul(1000))
    }
}

impl Clock for Wall {
    fn now(&self) -> Instant {
        let now = self.now.get() + self.passed().min(STRIDE);
        self.now.set(now);
        now
    }
}

impl Time for Wall {
    #[expect(clippy::disallowed_methods, reason = "the one wait for a real clock")]
    fn rest(&self, until: Instant) {
        let now = self.now();
        let left = Duration::from_nanos(until.since(now).0 / 1000);
        std::thread::sleep(left.min(NAP));
        self.now.set((now + self.passed()).min(until.max(now)));
    }
}
