//! Compiles text to a scenario that can be simulated.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_scenario::compile;
use pullnet_topology::LinkRef;
use pullnet_units::{Bytes, HostId};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::inputs::Inputs;
use crate::{errors, fault};

/// A warning in Python: name, place, setting and message.
type Notice = (&'static str, String, String, String);

/// A link on a path: row of the table ports, name, rate in bits per second, delay in picoseconds.
type Hop = (u32, String, u64, u64);

/// The warnings about a scenario, in the form used by records.
pub fn notices(
    scenario: &pullnet_scenario::Scenario,
    available_bytes: Option<u64>,
) -> Vec<pullnet_record::Notice> {
    let notice = |warning: pullnet_scenario::Warning| {
        let pullnet_scenario::Warning { name, place, setting, message } = warning;
        pullnet_record::Notice { name, place, setting, message }
    };
    scenario.warnings(available_bytes.map(Bytes)).into_iter().map(notice).collect()
}

/// A valid scenario.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Scenario(pub Arc<pullnet_scenario::Scenario>);

#[pymethods]
impl Scenario {
    /// Compiles `text`. Errors refer to it as `path`; file names in it are relative to the folder of `path`.
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

    /// TOML text with every value and its origin.
    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }

    /// All warnings about the scenario that are not silenced: name, place, setting and message. `available_bytes`: free
    /// memory, to warn if the scenario needs more.
    #[pyo3(signature = (available_bytes=None))]
    fn warnings(&self, py: Python<'_>, available_bytes: Option<u64>) -> PyResult<Vec<Notice>> {
        let notices = fault::guarded(py, || notices(&self.0, available_bytes))?;
        Ok(notices
            .into_iter()
            .map(|notice| (notice.name, notice.place, notice.setting, notice.message))
            .collect())
    }

    /// All paths from host `src` to host `dst`. Each link is given by its row of the table ports, its name, its rate in bits
    /// per second and its delay in picoseconds.
    fn paths(&self, py: Python<'_>, src: u32, dst: u32) -> PyResult<Vec<Vec<Hop>>> {
        let topology = &self.0.topology;
        let hosts = topology.hosts.len();
        if let Some(wrong) = [src, dst].into_iter().find(|host| *host as usize >= hosts) {
            let last = hosts - 1;
            return Err(errors::input(py, vec![format!("there is no host {wrong}; use 0 to {last}")]));
        }
        if src == dst {
            return Err(errors::input(py, vec![format!("host {src} has no path to itself; name two hosts")]));
        }
        let (from, to) = (HostId::new(src), HostId::new(dst));
        let count = topology.path_count(topology.addr(from), topology.addr(to));
        let hop = |link: LinkRef| {
            let (row, name) = match link {
                LinkRef::Nic(host) => (host.get(), topology.nic_name(host)),
                LinkRef::Port(port) => (hosts as u32 + port.get(), topology.port_name(port)),
            };
            (row, name, topology.link(link).rate.get(), topology.link(link).delay.0)
        };
        let path = |number: u16| {
            let ports = topology.route(from, to, number).into_iter().map(LinkRef::Port);
            std::iter::once(LinkRef::Nic(from)).chain(ports).map(hop).collect()
        };
        Ok((0..count).map(path).collect())
    }

    /// The text of the file `name` with the scenario's topology, in the format that the ending names.
    fn topology_file(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        pullnet_topology::save(&self.0.topology, name)
            .map_err(|error| errors::input(py, vec![error.to_string()]))
    }

    /// Names that group results in a summary, by the path of the group: the names of tags are at `by_tag`.
    fn group_names(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, Vec<String>>> {
        let names = fault::guarded(py, || self.0.group_names())?;
        Ok(names.into_iter().map(|(group, names)| (group, names.into_iter().collect())).collect())
    }

    /// Names of the warnings that the scenario silences.
    #[getter]
    fn silenced(&self) -> Vec<&'static str> {
        self.0.silence.silenced()
    }

    /// The files that the scenario refers to, in the order of reading.
    #[getter]
    fn inputs(&self) -> Vec<Input> {
        self.0.inputs.iter().cloned().map(Input).collect()
    }

    /// The resolved text with its files renamed; `names` has one name for each of `inputs`.
    fn with_inputs_at(&self, names: Vec<String>) -> String {
        self.0.with_inputs_at(&names).to_string()
    }
}

/// A file that a scenario refers to.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Input(pullnet_scenario::Input);

#[pymethods]
impl Input {
    /// Path that the file was read from.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// Content of the file; for a flow list in Parquet, the CSV that it was converted to.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes)
    }
}
