//! From text to a scenario that can be simulated.

use std::sync::Arc;

use pullnet_scenario::compile;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::inputs::Inputs;
use crate::{errors, fault};

/// A scenario without errors.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Scenario(pub Arc<pullnet_scenario::Scenario>);

#[pymethods]
impl Scenario {
    /// Compiles `text`; `path` names it in errors, and the files it names lie beside it.
    #[staticmethod]
    fn compile(py: Python<'_>, path: &str, text: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let compiled = fault::guarded(py, || compile(path, text, &overrides, &Inputs))?;
        compiled
            .map(|scenario| Self(Arc::new(scenario)))
            .map_err(|errors| errors::input(py, errors.iter().map(ToString::to_string).collect()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    #[getter]
    fn hosts(&self) -> usize {
        self.0.topology.hosts.len()
    }

    /// TOML text with every value and where it comes from.
    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }

    /// The files that it names, in the order in which it was read.
    #[getter]
    fn inputs(&self) -> Vec<Input> {
        self.0.inputs.iter().cloned().map(Input).collect()
    }

    /// The resolved text with other names for its files, one for each of `inputs`.
    fn with_inputs_at(&self, names: Vec<String>) -> String {
        self.0.with_inputs_at(&names).to_string()
    }
}

/// A file that a scenario names.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Input(pullnet_scenario::Input);

#[pymethods]
impl Input {
    /// Where it was read from.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// What was read; of a flow list in Parquet the CSV that it was turned into.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes)
    }
}
