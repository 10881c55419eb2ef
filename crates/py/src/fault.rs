//! Converts a Rust panic to a Python exception that names the location of the panic.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

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

fn reported(py: Python<'_>) -> PyErr {
    let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    errors::internal(py, messages.drain(..).collect::<Vec<_>>().join("; "))
}

/// Panics, for tests of the conversion.
#[pyfunction]
pub fn provoke_fault(py: Python<'_>, message: String) -> PyResult<()> {
    guarded(py, || panic!("{message}"))
}
