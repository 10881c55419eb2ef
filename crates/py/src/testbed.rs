//! Plays a scenario on the hosts of a testbed.

use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pullnet_record::About;
use pullnet_testbed::rpc::{CallTimes, Calls, Carrier, CongestionControl, End};
use pullnet_testbed::{PlayError, PortCounts};
use pullnet_units::Picos;
use pyo3::prelude::*;

use crate::scenario::{Scenario, notices};
use crate::simulation::{Measured, Record};
use crate::{errors, fault};

/// The hosts of a testbed, in the calling thread.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Play {
    play: Mutex<pullnet_testbed::Play>,
    about: About,
}

fn failed(py: Python<'_>, error: &PlayError) -> PyErr {
    match error {
        PlayError::Content { .. } | PlayError::Length { .. } | PlayError::Emit { .. } => {
            errors::internal(py, error.to_string())
        }
        _ => errors::input(py, vec![error.to_string()]),
    }
}

impl Play {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut pullnet_testbed::Play) -> Result<T, PlayError> + Send,
    ) -> PyResult<T> {
        let done =
            fault::guarded(py, || work(&mut self.play.lock().unwrap_or_else(PoisonError::into_inner)))?;
        done.map_err(|error| failed(py, &error))
    }
}

#[pymethods]
impl Play {
    /// Opens a socket in each of `namespaces`, one per host in the scenario's order.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, namespaces: Vec<String>) -> PyResult<Self> {
        let scenario = &scenario.0;
        let opened = fault::guarded(py, || pullnet_testbed::Play::open(scenario, &namespaces))?;
        let about = About {
            world: "linux",
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            threads: 1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interrupted: false,
            stuck_after: Picos::MAX,
            warnings: notices(scenario, None),
            silenced: scenario.silence.silenced(),
        };
        let play = Mutex::new(opened.map_err(|error| failed(py, &error))?);
        Ok(Self { play, about })
    }

    /// Starts a round at time zero.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, pullnet_testbed::Play::begin)
    }

    /// Plays for at most `seconds`. True when the round has ended.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let budget = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.with(py, move |play| play.advance(budget))
    }

    /// Ends the round in its current state. `before` and `after` are `status` answers of the switches, as JSON. Open flows
    /// without progress for `stuck_after_ps` count as stuck.
    fn finish(
        &self,
        py: Python<'_>,
        before: &str,
        after: &str,
        interrupted: bool,
        stuck_after_ps: u64,
        cost: Measured,
    ) -> PyResult<Record> {
        let ports = counted(before, after);
        let ports =
            ports.ok_or_else(|| errors::internal(py, "the switches' status is not understood".into()))?;
        let record = self.with(py, move |play| Ok(play.finish(&ports)))?;
        let record = record.ok_or_else(|| errors::internal(py, "no round has begun".to_owned()))?;
        let about = About { interrupted, stuck_after: Picos(stuck_after_ps), ..self.about.clone() };
        Ok(Record::of(&record, about, cost))
    }
}

fn counted(before: &str, after: &str) -> Option<Vec<PortCounts>> {
    let [before, after] = [before, after].map(|text| serde_json::from_str(text).ok());
    PortCounts::between(&before?, &after?)
}

/// Longest frame of a scenario, including the Ethernet header but not the check sequence. Unit: bytes.
#[pyfunction]
pub fn frame_room(py: Python<'_>, scenario: &Scenario) -> PyResult<usize> {
    pullnet_testbed::frame_room(&scenario.0).map_err(|error| failed(py, &error))
}

/// Makes calls between two directly connected hosts, each call on a connection of its own. `ends`: namespace, address and
/// core of the caller and of the server. `carrier`: ndp, tcp, fast-open or mptcp; the last three with congestion control
/// cubic or reno. Returns the time of each call and the processor time per call, in microseconds.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a row of settings, named on the Python side")]
pub fn calls(
    py: Python<'_>,
    carrier: &str,
    ends: [(String, String, usize); 2],
    count: usize,
    before: usize,
    bytes: usize,
    congestion_control: &str,
    spin: bool,
) -> PyResult<(Vec<f64>, f64)> {
    let carrier = match carrier {
        "ndp" => Carrier::Ndp,
        "tcp" => Carrier::Tcp,
        "fast-open" => Carrier::FastOpen,
        "mptcp" => Carrier::Mptcp,
        _ => return Err(errors::input(py, vec![format!("{carrier}: use ndp, tcp, fast-open or mptcp")])),
    };
    let [one, other] = ends.map(|(namespace, address, core)| {
        let wrong = |_| errors::input(py, vec![format!("{address}: is no IPv4 address")]);
        address.parse::<Ipv4Addr>().map_err(wrong).map(|address| End { namespace, address, core })
    });
    let ends = [one?, other?];
    let congestion_control = match congestion_control {
        "cubic" => CongestionControl::Cubic,
        "reno" => CongestionControl::Reno,
        other => return Err(errors::input(py, vec![format!("{other}: use cubic or reno")])),
    };
    let calls = Calls { count, before, bytes, congestion_control, spin };
    let made = fault::guarded(py, move || pullnet_testbed::rpc::calls(carrier, &ends, calls))?;
    let CallTimes { times_us, cpu_us } = made.map_err(|error| errors::input(py, vec![error.to_string()]))?;
    Ok((times_us, cpu_us))
}
