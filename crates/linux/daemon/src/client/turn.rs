//! Several threads that sleep at one bell: one listens, and wakes the others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::StreamError;

use crate::bell::{Bell, Heard};
use crate::error::Error;
use crate::sys;

#[derive(Default, Debug)]
struct State {
    /// Number of times that the bell was heard, or that all sleepers were woken.
    epoch: u64,
    /// Whether a thread listens.
    listens: bool,
}

/// A bell for any number of threads.
#[derive(Debug)]
pub(super) struct Turn {
    bell: Bell,
    state: Mutex<State>,
    woken: Condvar,
}

impl Turn {
    pub fn new(bell: Bell) -> Self {
        Self { bell, state: Mutex::default(), woken: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current epoch. Read it before the last check, and pass it to [`Turn::sleep`].
    pub fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Sleeps until the bell is heard, or for `time`; not at all if it was heard since `epoch`.
    pub fn sleep(&self, epoch: u64, time: Option<Duration>) -> Result<Heard, Error> {
        let mut state = self.state();
        if state.epoch != epoch {
            return Ok(Heard::Rung);
        }
        if state.listens {
            let longest = time.unwrap_or(Duration::MAX);
            let slept = self.woken.wait_timeout_while(state, longest, |state| state.epoch == epoch);
            drop(slept.unwrap_or_else(PoisonError::into_inner));
            return Ok(Heard::Rung);
        }
        state.listens = true;
        drop(state);
        let heard = self.bell.wait(time);
        self.state().listens = false;
        self.wake();
        heard
    }

    fn wake(&self) {
        self.state().epoch += 1;
        self.woken.notify_all();
    }

    /// The bell, for programs with an event loop of their own.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Ends sleeping here. Returns whether a thread listened; the bell cannot be used again then.
    pub fn end(&self) -> bool {
        let listens = self.state().listens;
        if listens {
            sys::silence(&self.bell);
        }
        self.wake();
        listens
    }
}

/// The error for a daemon that is gone.
pub(super) fn gone() -> StreamError {
    StreamError::Stopped("the daemon is gone; start it, and connect to it anew".to_owned())
}
