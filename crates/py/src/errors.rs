//! Maps all errors to the Python classes in `pullnet.errors`.

use pyo3::prelude::*;

fn raise(py: Python<'_>, class: &str, argument: impl for<'py> IntoPyObject<'py>) -> PyErr {
    let make = || py.import("pullnet.errors")?.getattr(class)?.call1((argument,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Invalid input; one text per error.
pub fn input(py: Python<'_>, errors: Vec<String>) -> PyErr {
    raise(py, "InputError", errors)
}

/// A stream, or the daemon that serves it, failed.
pub fn host(py: Python<'_>, message: String) -> PyErr {
    raise(py, "HostError", message)
}

/// An internal error (a bug).
pub fn internal(py: Python<'_>, message: String) -> PyErr {
    raise(py, "InternalError", message)
}
