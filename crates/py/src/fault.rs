//! Converts a Rust panic to a Python exception that names the location of the panic.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// Messages of panics that have not been reported yet. Simulating threads may leave more than one.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Stores the messages of panics instead of printing them.
pub fn keep_messages() {
    panic::set_hook(Box::new(|info| {
        MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).push(message(info));
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let text = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(location) => format!("{text}, at {location}"),
        None => text.to_owned(),
    }
}

/// Runs `work` detached from the interpreter; a panic becomes an `InternalError`.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| panic::catch_unwind(AssertUnwindSafe(work)).ok());
    done.ok_or_else(|| reported(py))
}

/// Longest wait before the signal handlers of Python get their turn.
pub const LOOK: Duration = Duration::from_millis(100);

/// Like [`guarded`], but Ctrl-C ends the wait; `work` goes on in its thread then, and its result is dropped.
pub fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    // After Ctrl-C there is no receiver, and the result is dropped.
    std::thread::spawn(move || drop(sender.send(work())));
    loop {
        let (got, back) = guarded(py, move || (receiver.recv_timeout(LOOK), receiver))?;
        match got {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(reported(py)),
        }
        receiver = back;
    }
}

fn reported(py: Python<'_>) -> PyErr {
    let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    errors::internal(py, messages.drain(..).collect::<Vec<_>>().join("; "))
}

/// Panics, for tests of the conversion.
#[pyfunction]
pub fn provoke_fault(py: Python<'_>, message: String) -> PyResult<()> {
    guarded(py, || panic!("{message}"))
}
