//! The daemon of a host, and streams of applications.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pullnet_daemon::config::HostFile as File;
use pullnet_daemon::{DaemonStack, serve};
use pullnet_host::{NdpListener, NdpStream, Stack, StreamError, StreamId, StreamOptions, Timeout};
use pyo3::Borrowed;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::fault::{self, LOOK};

/// A valid host file.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostFile(File);

#[pymethods]
impl HostFile {
    /// Parses `text`; errors refer to it as `path`.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str, text: &str) -> PyResult<Self> {
        let file = fault::guarded(py, || File::read(path, text))?;
        let texts = |errors: Vec<_>| errors.iter().map(ToString::to_string).collect();
        file.map(Self).map_err(|wrong: Vec<pullnet_config::SpecError>| errors::input(py, texts(wrong)))
    }

    /// Address and port of the host.
    #[getter]
    fn address(&self) -> String {
        SocketAddr::from((self.0.address, self.0.port)).to_string()
    }

    /// Path of the socket.
    #[getter]
    fn socket(&self) -> PathBuf {
        self.0.access.path.clone()
    }

    /// Looks at what the file names on this machine: accounts, the core, the keys.
    fn check_machine(&self, py: Python<'_>) -> PyResult<()> {
        let checked = fault::guarded(py, || self.0.check_machine())?;
        checked.map_err(|error| errors::input(py, vec![error.to_string()]))
    }

    /// Runs the daemon until SIGINT or SIGTERM.
    fn serve(&self, py: Python<'_>) -> PyResult<()> {
        let served = fault::guarded(py, || serve(&self.0))?;
        served.map_err(|error| errors::input(py, vec![error.to_string()]))
    }
}

fn patience(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).map(Some);
    time.map_err(|_| errors::input(py, vec![format!("{seconds:?} s is no time to wait; use 0 or more")]))
}

/// Address and port of another host.
pub fn peer(py: Python<'_>, to: &str) -> PyResult<SocketAddr> {
    let wrong = |what| errors::input(py, vec![format!("{to}: {what}, such as 10.0.0.2:61199")]);
    let address: SocketAddr = to.parse().map_err(|_| wrong("is no address with a port"))?;
    if address.port() == 0 {
        return Err(wrong("no host has port 0; use the other host's port from 1 to 65535"));
    }
    Ok(address)
}

/// An argument that is a number of type `T`; a number out of its range is refused as `what`.
fn number<'a, 'py, T>(given: Borrowed<'a, 'py, PyAny>, what: &str, most: T) -> PyResult<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr> + Display,
{
    let py = given.py();
    given.extract().map_err(|error: PyErr| match error.is_instance_of::<PyOverflowError>(py) {
        true => errors::input(py, vec![format!("{what} {}: is out of range; use 0 to {most}", &*given)]),
        false => error,
    })
}

/// Number of a service.
pub struct Service(pub u16);

impl<'a, 'py> FromPyObject<'a, 'py> for Service {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        number(given, "service", u16::MAX).map(Self)
    }
}

/// Priority of a stream.
pub struct Priority(pub u8);

impl<'a, 'py> FromPyObject<'a, 'py> for Priority {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        number(given, "priority", u8::MAX).map(Self)
    }
}

/// A deadline for several waits.
struct Deadline(Option<Instant>);

impl Deadline {
    /// Waits with `attempt` until it is done or the deadline has passed. Ctrl-C ends the wait.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        mut attempt: impl FnMut(Timeout) -> Result<T, StreamError> + Send,
    ) -> PyResult<T> {
        loop {
            let left = self.0.map(|end| end.saturating_duration_since(now()));
            let slice = left.map_or(LOOK, |left| left.min(LOOK));
            match fault::guarded(py, || attempt(Some(slice)))? {
                Err(StreamError::TimedOut) if left.is_none_or(|left| left > slice) => py.check_signals()?,
                done => return done.map_err(|error| errors::stream(py, &error)),
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a timeout for several waits together")]
fn now() -> Instant {
    Instant::now()
}

/// Least room for a read. Bytes.
const PIECE: usize = 4096;

/// Sends `request` on a stream and returns the response, as [`Stack::call`] does, but Ctrl-C ends the wait.
fn exchange(
    py: Python<'_>,
    stack: &DaemonStack,
    id: StreamId,
    mut request: &[u8],
    deadline: &Deadline,
) -> PyResult<Vec<u8>> {
    if request.is_empty() {
        stack.finish(id).map_err(|error| errors::stream(py, &error))?;
    }
    while !request.is_empty() {
        request = &request[deadline.wait(py, |slice| stack.write(id, request, true, slice))?..];
    }
    let (mut response, mut long) = (vec![0; PIECE], 0);
    loop {
        if response.len() - long < PIECE {
            response.resize(2 * response.len(), 0);
        }
        match deadline.wait(py, |slice| stack.read(id, &mut response[long..], slice))? {
            0 => break,
            got => long += got,
        }
    }
    response.truncate(long);
    Ok(response)
}

/// An application's connection to a daemon.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostStack(Arc<DaemonStack>);

impl HostStack {
    /// The connection.
    pub fn stack(&self) -> &Arc<DaemonStack> {
        &self.0
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&DaemonStack) -> Result<T, StreamError> + Send,
    ) -> PyResult<T> {
        fault::guarded(py, || work(&self.0))?.map_err(|error| errors::stream(py, &error))
    }
}

#[pymethods]
impl HostStack {
    /// Connects to the daemon whose socket is at `path`.
    #[staticmethod]
    fn connect(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // A daemon that is stopped by a signal lets its clients wait for a minute.
        let stack = fault::abandonable(py, move || DaemonStack::connect(&path))?;
        stack.map(|stack| Self(Arc::new(stack))).map_err(|error| errors::stream(py, &error))
    }

    /// Raises `InputError` if `call` would refuse the other host or the timeout; needs no daemon.
    #[staticmethod]
    fn check_call(py: Python<'_>, to: &str, timeout_s: Option<f64>) -> PyResult<()> {
        peer(py, to)?;
        patience(py, timeout_s).map(drop)
    }

    /// Address and port of the host.
    #[getter]
    fn address(&self) -> String {
        self.0.address().to_string()
    }

    /// Status of the daemon as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, DaemonStack::status)
    }

    /// Totals of the daemon in the Prometheus format.
    fn prometheus(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, DaemonStack::prometheus)
    }

    /// Sends a request on a new stream and returns the response.
    fn call<'py>(
        &self,
        py: Python<'py>,
        to: &str,
        service: Service,
        request: Vec<u8>,
        priority: Priority,
        timeout_s: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (to, timeout) = (peer(py, to)?, patience(py, timeout_s)?);
        // A time that the clock cannot hold is no limit.
        let deadline = Deadline(timeout.and_then(|most| now().checked_add(most)));
        let (Service(service), options) = (service, StreamOptions { priority: priority.0 });
        let id = self.with(py, |stack| stack.connect(to, service, options))?;
        let response = exchange(py, &self.0, id, &request, &deadline);
        match &response {
            Ok(_) => self.0.close(id),
            Err(_) => self.0.abort(id),
        }
        Ok(PyBytes::new(py, &response?))
    }

    /// Listens for streams to `service`.
    fn listen(&self, py: Python<'_>, service: Service) -> PyResult<HostListener> {
        let stack: Arc<dyn Stack> = Arc::<DaemonStack>::clone(&self.0);
        self.with(py, |_| NdpListener::bind(&stack, service.0)).map(HostListener)
    }
}

/// A listener for a service.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostListener(NdpListener);

#[pymethods]
impl HostListener {
    /// The next stream; `None` after the timeout.
    fn accept(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Option<HostRequest>> {
        self.0.set_accept_timeout(patience(py, timeout_s)?);
        match fault::guarded(py, || self.0.accept())? {
            Ok((stream, peer)) => Ok(Some(HostRequest { stream, peer, answered: AtomicBool::new(false) })),
            Err(StreamError::TimedOut) => Ok(None),
            Err(error) => Err(errors::stream(py, &error)),
        }
    }
}

/// A stream opened by a peer, with a request and room for a response. It is reset if it is dropped without a response, which
/// an exception may cause at any time.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostRequest {
    stream: NdpStream,
    peer: SocketAddr,
    answered: AtomicBool,
}

impl Drop for HostRequest {
    fn drop(&mut self) {
        if !self.answered.load(Ordering::Relaxed) {
            self.stream.abort();
        }
    }
}

#[pymethods]
impl HostRequest {
    /// Address and port of the requesting host.
    #[getter]
    fn peer(&self) -> String {
        self.peer.to_string()
    }

    /// The whole request; at most `most` bytes.
    fn read<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout_s: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.stream.set_read_timeout(patience(py, timeout_s)?);
        let read = fault::guarded(py, || read(&self.stream, most))?;
        read.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
            inner.map_or_else(|| errors::host(py, error.to_string()), |inner| errors::stream(py, inner))
        })
    }

    /// Sends the response and ends the stream. Does not wait for its delivery.
    fn respond(&self, py: Python<'_>, response: Vec<u8>, timeout_s: Option<f64>) -> PyResult<()> {
        self.stream.set_write_timeout(patience(py, timeout_s)?);
        let sent = fault::guarded(py, || self.stream.write_last(&response))?;
        sent.map_err(|error| errors::stream(py, &error))?;
        self.answered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Resets the stream.
    fn refuse(&self) {
        self.stream.abort();
    }
}

fn read(stream: &NdpStream, most: usize) -> std::io::Result<Vec<u8>> {
    use std::io::{Error, Read};
    let mut bytes = Vec::new();
    let mut limited = stream.take((most as u64).saturating_add(1));
    limited.read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(Error::other(format!("the request is longer than {most} B")));
    }
    Ok(bytes)
}
