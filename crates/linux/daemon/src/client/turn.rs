//! Several threads that sleep at one doorbell: one waits on it, and wakes the others.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::{LONG_YIELD, StreamError};

use crate::doorbell::{Doorbell, Signal};
use crate::error::Error;
use crate::sys;

/// Number of waits that sleep at once after a yield that has let other work run ([`pullnet_host::Yielding`]).
const WARY: u32 = 64;

#[derive(Default, Debug)]
struct State {
    /// Number of times that the doorbell rang, or that all sleepers were woken.
    epoch: u64,
    /// Whether a thread waits on the doorbell.
    waiting: bool,
}

/// A doorbell for any number of threads.
#[derive(Debug)]
pub(super) struct Turn {
    doorbell: Doorbell,
    state: Mutex<State>,
    woken: Condvar,
    /// Number of waits from now on that sleep at once.
    wary: AtomicU32,
}

impl Turn {
    pub fn new(doorbell: Doorbell) -> Self {
        Self { doorbell, state: Mutex::default(), woken: Condvar::new(), wary: AtomicU32::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current epoch. Read it before the last check, and pass it to [`Turn::sleep`].
    pub fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Sleeps until the doorbell rings, or for `time`; not at all if it has rung since `epoch`.
    pub fn sleep(&self, epoch: u64, time: Option<Duration>) -> Result<Signal, Error> {
        let mut state = self.state();
        if state.epoch != epoch {
            return Ok(Signal::Rung);
        }
        if state.waiting {
            let longest = time.unwrap_or(Duration::MAX);
            let slept = self.woken.wait_timeout_while(state, longest, |state| state.epoch == epoch);
            drop(slept.unwrap_or_else(PoisonError::into_inner));
            return Ok(Signal::Rung);
        }
        state.waiting = true;
        drop(state);
        let signal = self.doorbell.wait(time);
        // In one step: a thread that began to sleep in between would miss the ring.
        {
            let mut state = self.state();
            state.waiting = false;
            state.epoch += 1;
        }
        self.woken.notify_all();
        signal
    }

    /// Whether a wait that begins may yield before it sleeps. Threads that wait at the same time may count as one: it is a hint.
    pub fn may_yield(&self) -> bool {
        let left = self.wary.load(Ordering::Relaxed);
        self.wary.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 0
    }

    /// Notes that a wait has yielded for `time`.
    pub fn yielded(&self, time: Duration) {
        if time > LONG_YIELD {
            self.wary.store(WARY, Ordering::Relaxed);
        }
    }

    /// The doorbell, for programs with an event loop of their own.
    pub fn doorbell(&self) -> &Doorbell {
        &self.doorbell
    }

    /// Ends sleeping here. Returns whether a thread waited; the doorbell cannot be used again then.
    pub fn end(&self) -> bool {
        // Both at once: a thread that is about to wait sees the new epoch, or is seen here.
        let waiting = {
            let mut state = self.state();
            state.epoch += 1;
            state.waiting
        };
        if waiting {
            sys::silence(&self.doorbell);
        }
        self.woken.notify_all();
        waiting
    }
}

/// The error for a daemon that is gone.
pub(super) fn gone() -> StreamError {
    StreamError::Stopped("the daemon is gone; start pullnetd again, and connect again".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn waits_after_a_long_yield_sleep_at_once_until_one_looks_again() {
        let [hears, _rings] = Doorbell::pair().unwrap();
        let turn = Turn::new(hears);
        turn.yielded(LONG_YIELD);
        assert!(turn.may_yield());
        turn.yielded(2 * LONG_YIELD);
        assert_eq!((0..=WARY).filter(|_| turn.may_yield()).count(), 1);
        assert!(turn.may_yield());
    }

    /// A thread that comes while another one takes a ring must not sleep at the doorbell as if it had not rung.
    #[test]
    fn a_ring_that_one_thread_takes_is_seen_by_the_next() {
        let [rings, hears] = Doorbell::pair().unwrap();
        let turn = Arc::new(Turn::new(hears));
        for _ in 0..300 {
            let (epoch, sleeps) = (turn.epoch(), Arc::clone(&turn));
            let sleeper = thread::spawn(move || sleeps.sleep(epoch, None).unwrap());
            while !turn.state().waiting {
                thread::yield_now();
            }
            rings.ring();
            let after = loop {
                if let State { waiting: false, epoch } = *turn.state() {
                    break epoch;
                }
                std::hint::spin_loop();
            };
            assert_ne!(after, epoch, "one thread has taken the ring, and the others are not told");
            assert_eq!(sleeper.join().unwrap(), Signal::Rung);
        }
    }
}
