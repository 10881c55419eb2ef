//! Maps all errors to the Python classes in `pullnet.errors`.

use pullnet_host::StreamError;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

fn raise(py: Python<'_>, class: &str, arguments: impl for<'py> PyCallArgs<'py>) -> PyErr {
    let make = || py.import("pullnet.errors")?.getattr(class)?.call1(arguments);
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Invalid input; one text per error.
pub fn input(py: Python<'_>, errors: Vec<String>) -> PyErr {
    raise(py, "InputError", (errors,))
}

/// Invalid value of the argument `keyword`.
pub fn argument(py: Python<'_>, keyword: &str, error: String) -> PyErr {
    let make = || {
        let named = [("keyword", keyword)].into_py_dict(py)?;
        py.import("pullnet.errors")?.getattr("InputError")?.call((vec![error],), Some(&named))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// A stream, or the daemon that serves it, failed.
pub fn host(py: Python<'_>, message: String) -> PyErr {
    raise(py, "HostError", (message,))
}

/// The error of a stream, with the code that `pullnet.errors.HostError` lists.
pub fn stream(py: Python<'_>, error: &StreamError) -> PyErr {
    let code = match error {
        StreamError::Refused(_) => "refused",
        StreamError::Reset(_) => "reset",
        StreamError::Silent => "silent",
        StreamError::Failed(_) => "failed",
        StreamError::Full(_) => "full",
        StreamError::Closed => "closed",
        StreamError::ServiceTaken(_) => "service taken",
        StreamError::NoListener(_) => "no listener",
        StreamError::Family { .. } => "family",
        StreamError::NoKey(_) => "no key",
        StreamError::Unreachable(_) => "unreachable",
        StreamError::TimedOut => "timed out",
        StreamError::Options(_) => "argument",
        StreamError::Stopped(_) => "stopped",
    };
    raise(py, "HostError", (error.to_string(), code))
}

/// The error of a listener that was closed.
pub fn closed_listener(py: Python<'_>, service: u16) -> PyErr {
    raise(py, "HostError", (format!("the listener for service {service} is closed"), "closed"))
}

/// An internal error (a bug).
pub fn internal(py: Python<'_>, message: String) -> PyErr {
    raise(py, "InternalError", (message,))
}
