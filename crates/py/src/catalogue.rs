//! Lists of the available protocols, switches and so on, and small parsers.

use pullnet_scenario::Listed;
use pullnet_units::Picos;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::errors;

/// JSON schema of a scenario file.
#[pyfunction]
pub fn schema() -> String {
    format!("{:#}", pullnet_scenario::schema())
}

/// A template for a new scenario.
#[pyfunction]
pub fn template(name: &str) -> String {
    pullnet_scenario::template(name)
}

/// Names with a one-line summary each, of `protocols`, `switches`, `topologies`, `traffic`, `distributions` or `warnings`.
#[pyfunction]
pub fn catalogue(what: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let listed = match what {
        "protocols" => pullnet_scenario::protocols(),
        "switches" => pullnet_scenario::switches(),
        "topologies" => pullnet_scenario::topologies(),
        "traffic" => pullnet_scenario::traffic_kinds(),
        "distributions" => pullnet_scenario::distributions(),
        "warnings" => pullnet_scenario::warning_kinds(),
        _ => return Err(PyKeyError::new_err(what.to_owned())),
    };
    Ok(listed.into_iter().map(|Listed { name, summary }| (name, summary)).collect())
}

/// Parses a time with its unit. Unit: picoseconds.
#[pyfunction]
pub fn picoseconds(py: Python<'_>, text: &str) -> PyResult<u64> {
    let time = text.parse::<Picos>().map_err(|error| errors::input(py, vec![format!("`{text}` {error}")]))?;
    Ok(time.0)
}
