//! The one mapping of errors to Python: its classes are in `pullnet.errors`.

use pyo3::prelude::*;

fn raise(py: Python<'_>, class: &str, argument: impl for<'py> IntoPyObject<'py>) -> PyErr {
    let make = || py.import("pullnet.errors")?.getattr(class)?.call1((argument,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// The input is wrong; one text for each error.
pub fn input(py: Python<'_>, errors: Vec<String>) -> PyErr {
    raise(py, "InputError", errors)
}

/// A stream, or the daemon that serves it, has failed.
pub fn host(py: Python<'_>, message: String) -> PyErr {
    raise(py, "HostError", message)
}

/// The fault is ours.
pub fn internal(py: Python<'_>, message: String) -> PyErr {
    raise(py, "InternalError", message)
}
