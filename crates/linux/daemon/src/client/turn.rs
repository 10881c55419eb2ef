//! Several threads that sleep at one doorbell: one waits on it, and wakes the others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::StreamError;

use crate::doorbell::{Doorbell, Signal};
use crate::error::Error;
use crate::sys;

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
}

impl Turn {
    pub fn new(doorbell: Doorbell) -> Self {
        Self { doorbell, state: Mutex::default(), woken: Condvar::new() }
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
        self.state().waiting = false;
        self.wake();
        signal
    }

    fn wake(&self) {
        self.state().epoch += 1;
        self.woken.notify_all();
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
