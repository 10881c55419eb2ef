//! Lists of the available protocols, switches and so on, and small parsers.

use std::borrow::Cow;

use pullnet_probes::{OptionalTable, Probes};
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

/// Names with a one-line summary each, of `protocols`, `switches`, `topologies`, `traffic`, `distributions`, `probes` or
/// `warnings`.
#[pyfunction]
pub fn catalogue(what: &str) -> PyResult<Vec<(&'static str, Cow<'static, str>)>> {
    let listed = match what {
        "protocols" => pullnet_scenario::protocols(),
        "switches" => pullnet_scenario::switches(),
        "topologies" => pullnet_scenario::topologies(),
        "traffic" => pullnet_scenario::traffic_kinds(),
        "distributions" => pullnet_scenario::distributions(),
        "probes" => return Ok(Probes::all().into_iter().map(enabled_by).collect()),
        "warnings" => pullnet_scenario::warning_kinds(),
        _ => return Err(PyKeyError::new_err(what.to_owned())),
    };
    Ok(listed.into_iter().map(|Listed { name, summary }| (name, summary.into())).collect())
}

/// An optional table and the line that enables it.
fn enabled_by(OptionalTable { table, line, doc }: OptionalTable) -> (&'static str, Cow<'static, str>) {
    (table, format!("{doc} Under [probes]: {line}").into())
}

/// Optional tables: the name of each, the line under `[probes]` that enables it, and what a row is.
#[pyfunction]
pub fn probes() -> Vec<(&'static str, String, &'static str)> {
    Probes::all().into_iter().map(|probe| (probe.table, probe.line, probe.doc)).collect()
}

/// Parses a time with its unit. Unit: picoseconds.
#[pyfunction]
pub fn picoseconds(py: Python<'_>, text: &str) -> PyResult<u64> {
    let time = text.parse::<Picos>().map_err(|error| errors::input(py, vec![format!("`{text}` {error}")]))?;
    Ok(time.0)
}
