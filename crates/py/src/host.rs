//! The daemon of a host, and streams of applications.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pullnet_daemon::config::HostFile as File;
use pullnet_daemon::{DaemonStack, serve};
use pullnet_host::{NdpListener, NdpStream, Stack, StreamError, StreamOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{errors, fault};

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

    /// Reads the keys that the file names, if any.
    fn check_keys(&self, py: Python<'_>) -> PyResult<()> {
        let checked = fault::guarded(py, || self.0.check_keys())?;
        checked.map_err(|error| errors::input(py, vec![error.to_string()]))
    }

    /// Runs the daemon until SIGINT or SIGTERM.
    fn serve(&self, py: Python<'_>) -> PyResult<()> {
        let served = fault::guarded(py, || serve(&self.0))?;
        served.map_err(|error| errors::input(py, vec![error.to_string()]))
    }
}

/// Converts the error of a stream.
fn failed(py: Python<'_>, error: &StreamError) -> PyErr {
    errors::host(py, error.to_string())
}

fn patience(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).map(Some);
    time.map_err(|_| errors::input(py, vec![format!("{seconds:?} s is no time to wait; use 0 or more")]))
}

/// Address and port of another host.
pub fn peer(py: Python<'_>, to: &str) -> PyResult<SocketAddr> {
    let wrong = || format!("{to}: is no address with a port, such as 10.0.0.2:61199");
    to.parse().map_err(|_| errors::input(py, vec![wrong()]))
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
        fault::guarded(py, || work(&self.0))?.map_err(|error| failed(py, &error))
    }
}

#[pymethods]
impl HostStack {
    /// Connects to the daemon whose socket is at `path`.
    #[staticmethod]
    fn connect(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let stack = fault::guarded(py, || DaemonStack::connect(&path))?;
        stack.map(|stack| Self(Arc::new(stack))).map_err(|error| failed(py, &error))
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
        service: u16,
        request: Vec<u8>,
        priority: u8,
        timeout_s: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let to = peer(py, to)?;
        let (options, timeout) = (StreamOptions { priority }, patience(py, timeout_s)?);
        let response = self.with(py, |stack| stack.call(to, service, &request, options, timeout))?;
        Ok(PyBytes::new(py, &response))
    }

    /// Listens for streams to `service`.
    fn listen(&self, py: Python<'_>, service: u16) -> PyResult<HostListener> {
        let stack: Arc<dyn Stack> = Arc::<DaemonStack>::clone(&self.0);
        self.with(py, |_| NdpListener::bind(&stack, service)).map(HostListener)
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
            Ok((stream, peer)) => Ok(Some(HostRequest { stream, peer })),
            Err(StreamError::TimedOut) => Ok(None),
            Err(error) => Err(failed(py, &error)),
        }
    }
}

/// A stream opened by a peer, with a request and room for a response.
#[pyclass(frozen, module = "pullnet._core")]
pub struct HostRequest {
    stream: NdpStream,
    peer: SocketAddr,
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
        read.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| errors::host(py, error.to_string()))
    }

    /// Sends the response and ends the stream. Does not wait for its delivery.
    fn respond(&self, py: Python<'_>, response: Vec<u8>, timeout_s: Option<f64>) -> PyResult<()> {
        self.stream.set_write_timeout(patience(py, timeout_s)?);
        let sent = fault::guarded(py, || self.stream.write_last(&response))?;
        sent.map_err(|error| failed(py, &error))
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
