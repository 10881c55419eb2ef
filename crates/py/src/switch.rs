//! Software switches, and the plan of a testbed.

use std::sync::{Mutex, PoisonError};

use pullnet_config::SpecError;
use pullnet_switch::config::{self, Outside};
use pullnet_switch::live::{Live, LiveError, Status};
use pullnet_testbed::plan::{HostPlan, Plan};
use pyo3::prelude::*;

use crate::inputs::Inputs;
use crate::scenario::Scenario;
use crate::{errors, fault};

/// A valid switch file.
#[pyclass(frozen, module = "pullnet._core")]
pub struct SwitchFile(config::SwitchFile);

/// Name, switch, and interface or device.
fn of_port(port: &config::NamedPort) -> (&str, &str, Option<String>) {
    (&port.name, &port.switch, port.outside.as_ref().map(Outside::to_string))
}

fn refused(py: Python<'_>, errors: &[SpecError]) -> PyErr {
    errors::input(py, errors.iter().map(ToString::to_string).collect())
}

fn failed(py: Python<'_>, error: &LiveError) -> PyErr {
    match error {
        LiveError::Port { .. } | LiveError::Dpdk(_) | LiveError::Capture { .. } => {
            errors::input(py, vec![error.to_string()])
        }
        LiveError::Joined(_) | LiveError::Ended | LiveError::Thread(_) => {
            errors::internal(py, error.to_string())
        }
    }
}

#[pymethods]
impl SwitchFile {
    /// Parses `text`; errors refer to it as `path`.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str, text: &str) -> PyResult<Self> {
        let file = fault::guarded(py, || config::SwitchFile::read(path, text, &Inputs))?;
        file.map(Self).map_err(|errors| refused(py, &errors))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Name and switch of each port with its interface or device, which lines inside the file have not.
    #[getter]
    fn ports(&self) -> Vec<(&str, &str, Option<String>)> {
        self.0.ports.iter().map(of_port).collect()
    }

    /// Configuration of the kernel switch as JSON. Fails if the file has settings that the kernel switch does not support.
    fn kernel(&self, py: Python<'_>) -> PyResult<String> {
        self.0.kernel().map(|told| told.to_string()).map_err(|refused| errors::input(py, refused))
    }

    /// Opens the interfaces and runs the switches in a thread of their own.
    fn start(&self, py: Python<'_>) -> PyResult<Switch> {
        let live = fault::guarded(py, || Live::start(&self.0))?;
        let live = live.map_err(|error| failed(py, &error))?;
        Ok(Switch { file: self.0.clone(), thread_id: live.thread_id, live: Mutex::new(Some(live)) })
    }
}

/// A running switch.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Switch {
    file: config::SwitchFile,
    #[pyo3(get)]
    thread_id: u32,
    /// `None` after the end.
    live: Mutex<Option<Live>>,
}

impl Switch {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Live) -> Result<T, LiveError> + Send,
    ) -> PyResult<T> {
        let done = fault::guarded(py, || match &*self.live.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(live) => work(live),
            None => Err(LiveError::Ended),
        })?;
        done.map_err(|error| failed(py, &error))
    }
}

#[pymethods]
impl Switch {
    /// Whether the thread is still running.
    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |live| Ok(live.runs()))
    }

    /// Current status as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |live| live.status().map(|status| json(&status)))
    }

    /// Adds faults: `text` holds `[[fault]]` tables, whose times count from now.
    fn fault(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        let faults = self.file.read_faults("fault", text).map_err(|errors| refused(py, &errors))?;
        self.with(py, move |live| faults.into_iter().try_for_each(|fault| live.fault(fault)))
    }

    /// Removes all faults of a port.
    fn clear(&self, py: Python<'_>, port: &str) -> PyResult<()> {
        let names = || self.file.ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(port) = self.file.port(port) else {
            return Err(errors::input(py, vec![format!("\"{port}\" is no port; there is {}", names())]));
        };
        self.with(py, move |live| live.clear(port))
    }

    /// Stops the switch; returns the final status as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let status = fault::guarded(py, || live.map_or(Err(LiveError::Ended), Live::stop))?;
        status.map(|status| json(&status)).map_err(|error| failed(py, &error))
    }
}

fn json(status: &Status) -> String {
    status.json().to_string()
}

/// The plan of a testbed for the network of `scenario`. For each host: its name, its port, its Ethernet and IPv4 addresses
/// and its rate in bit/s. Then the text of the switch file.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a row of five columns, named on the Python side")]
pub fn testbed_plan(
    py: Python<'_>,
    scenario: &Scenario,
) -> PyResult<(Vec<(String, String, String, String, u64)>, String)> {
    let plan = Plan::of(&scenario.0).map_err(|error| errors::input(py, vec![error.to_string()]))?;
    let row = |HostPlan { name, port, mac, ip, rate, .. }: HostPlan| {
        (name, port, format!("{mac}"), ip.to_string(), rate.get())
    };
    Ok((plan.hosts.into_iter().map(row).collect(), plan.switch_file))
}
