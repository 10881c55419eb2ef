//! Applications of a host daemon that operators use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pullnet_apps::bench::{Bench, Failed, Plan, Server, Wish};
use pullnet_apps::proxy::{Failed as ProxyFailed, Options, Proxy, Route};
use pyo3::prelude::*;

use crate::host::HostStack;
use crate::{errors, fault};

/// Interval between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

fn failed(py: Python<'_>, error: &Failed) -> PyErr {
    match error {
        Failed::Plan(wrong) => errors::input(py, wrong.clone()),
        Failed::Stream { .. } | Failed::Listen { .. } => errors::host(py, error.to_string()),
    }
}

/// The plan of a wish in JSON.
fn plan(py: Python<'_>, wish: &str) -> PyResult<Plan> {
    let wish: Wish =
        serde_json::from_str(wish).map_err(|error| errors::input(py, vec![error.to_string()]))?;
    wish.plan().map_err(|error| failed(py, &error))
}

/// A benchmark under way.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostBench {
    bench: Arc<Mutex<Bench>>,
    stop: Arc<AtomicBool>,
}

#[pymethods]
impl HostBench {
    /// Raises `InputError` if `begin` would refuse `wish`; needs no daemon.
    #[staticmethod]
    fn check(py: Python<'_>, wish: &str) -> PyResult<()> {
        plan(py, wish).map(drop)
    }

    /// Begins what `wish`, a JSON object, says.
    #[staticmethod]
    fn begin(py: Python<'_>, stack: &HostStack, wish: &str) -> PyResult<Self> {
        let bench = Bench::new(stack.stack(), plan(py, wish)?).map_err(|error| failed(py, &error))?;
        Ok(Self { stop: bench.stop(), bench: Arc::new(Mutex::new(bench)) })
    }

    /// Runs the next part and returns its result as JSON; `None`: all is done. Ctrl-C ends it at once.
    fn next(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let (done, is_done) = channel();
        let bench = Arc::clone(&self.bench);
        // Detached: a stream that waits for another host is not waited for after Ctrl-C.
        thread::spawn(move || {
            let part = bench.lock().unwrap_or_else(PoisonError::into_inner).next();
            // Nobody receives it after Ctrl-C.
            let _ = done.send(part);
        });
        let is_done = Mutex::new(is_done);
        loop {
            let looked = fault::guarded(py, || {
                is_done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)
            })?;
            match looked {
                Ok(Some(Ok(part))) => {
                    let text = serde_json::to_string(&part);
                    return text.map(Some).map_err(|error| errors::internal(py, error.to_string()));
                }
                Ok(Some(Err(error))) => return Err(failed(py, &error)),
                Ok(None) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(errors::internal(py, "the benchmark has panicked".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals().inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
                }
            }
        }
    }
}

/// The serving side of benchmarks.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostBenchServer(Server);

#[pymethods]
impl HostBenchServer {
    /// Serves at `service`, and with `tcp` at the TCP port of that number, as long as the value lives.
    #[staticmethod]
    fn start(py: Python<'_>, stack: &HostStack, service: u16, tcp: bool) -> PyResult<Self> {
        let server = fault::guarded(py, || Server::start(stack.stack(), service, tcp))?;
        server.map(Self).map_err(|error| failed(py, &error))
    }

    /// Raises an error if it no longer serves.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.0.problem().map_or(Ok(()), |problem| Err(errors::host(py, problem)))
    }
}

/// A proxy between TCP and NDP.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostProxy(Mutex<Proxy>);

#[pymethods]
impl HostProxy {
    /// Raises `InputError` if `start` would refuse the route; needs no daemon.
    #[staticmethod]
    fn check_route(py: Python<'_>, listen: Option<&str>, serve: Option<u16>, to: &str) -> PyResult<()> {
        Route::read(listen, serve, to).map(drop).map_err(|error| errors::input(py, vec![error.to_string()]))
    }

    /// Carries connections from the TCP address `listen` to the service `to`, or from the service `serve` to the TCP address
    /// `to`, as long as the value lives.
    #[staticmethod]
    fn start(
        py: Python<'_>,
        stack: &HostStack,
        listen: Option<String>,
        serve: Option<u16>,
        to: &str,
        limit: usize,
        raw: bool,
    ) -> PyResult<Self> {
        let made = fault::guarded(py, || {
            let route = Route::read(listen.as_deref(), serve, to)?;
            Proxy::start(stack.stack(), &route, Options { limit, raw })
        })?;
        made.map(|proxy| Self(Mutex::new(proxy))).map_err(|error| match &error {
            ProxyFailed::Route(text) => errors::input(py, vec![text.clone()]),
            other => errors::host(py, other.to_string()),
        })
    }

    /// TCP port or service at which it accepts connections.
    #[getter]
    fn number(&self, py: Python<'_>) -> PyResult<u16> {
        self.proxy().number().map_err(|error| errors::host(py, error.to_string()))
    }

    /// Raises an error if it no longer accepts connections.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.proxy().problem().map_or(Ok(()), |problem| Err(errors::host(py, problem)))
    }

    /// Its counters, as JSON.
    fn counts(&self, py: Python<'_>) -> PyResult<String> {
        let text = serde_json::to_string(&self.proxy().counts());
        text.map_err(|error| errors::internal(py, error.to_string()))
    }

    /// Accepts no more connections, lets open ones end for so long, and resets the others.
    fn stop(&self, py: Python<'_>, farewell_s: f64) -> PyResult<()> {
        let farewell = Duration::try_from_secs_f64(farewell_s);
        let farewell = farewell.map_err(|error| errors::input(py, vec![error.to_string()]))?;
        fault::guarded(py, || self.proxy().stop(farewell, || false))
    }
}

impl HostProxy {
    fn proxy(&self) -> std::sync::MutexGuard<'_, Proxy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
