//! Streams of a host daemon that are polled, for event loops: calls that never wait, and descriptors to wait for.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pullnet_daemon::{DaemonStack, Doorbells};
use pullnet_host::{Stack, StreamError, StreamId, StreamOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::host::{HostStack, Priority, Service, peer};

/// Most bytes of one read.
const MOST: usize = 1 << 20;

/// A stream that is polled. It is closed when it is dropped.
#[pyclass(frozen, module = "pullnet._core")]
pub struct PolledStream {
    stack: Arc<DaemonStack>,
    id: StreamId,
    doorbells: Doorbells,
}

impl PolledStream {
    fn new(stack: &Arc<DaemonStack>, id: StreamId) -> Result<Self, StreamError> {
        let doorbells = stack.doorbells(id).inspect_err(|_| stack.abort(id))?;
        Ok(Self { stack: Arc::clone(stack), id, doorbells })
    }
}

impl Drop for PolledStream {
    fn drop(&mut self) {
        self.stack.close(self.id);
    }
}

#[pymethods]
impl PolledStream {
    /// Opens a stream, without waiting.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        stack: &HostStack,
        to: &str,
        service: Service,
        priority: Priority,
    ) -> PyResult<Self> {
        let to = peer(py, to)?;
        let (stack, options) = (stack.stack(), StreamOptions { priority: priority.0 });
        let opened = stack.connect(to, service.0, options).and_then(|id| Self::new(stack, id));
        opened.map_err(|error| errors::stream(py, &error))
    }

    /// Address and port of the other host.
    #[getter]
    fn peer(&self, py: Python<'_>) -> PyResult<String> {
        let info = self.stack.info(self.id).ok_or(StreamError::Closed);
        info.map(|info| info.peer.to_string()).map_err(|error| errors::stream(py, &error))
    }

    /// Becomes readable when there may be something to read.
    #[getter]
    fn readable(&self) -> i32 {
        self.doorbells.readable.as_raw_fd()
    }

    /// Becomes readable when there may be room to write, or everything may be acknowledged.
    #[getter]
    fn writable(&self) -> i32 {
        self.doorbells.writable.as_raw_fd()
    }

    /// Takes the rings so far from `readable`. All tasks that wait for it must then try again.
    fn silence_readable(&self) {
        self.doorbells.silence_readable();
    }

    /// As `silence_readable`, for `writable`.
    fn silence_writable(&self) {
        self.doorbells.silence_writable();
    }

    /// At most `most` bytes; empty at the end and if `most` is 0; `None`: nothing is there yet.
    fn try_read<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut bytes = vec![0; most.min(MOST)];
        let read = self.stack.poll_read(self.id, &mut bytes).map_err(|error| errors::stream(py, &error))?;
        Ok(read.map(|long| PyBytes::new(py, &bytes[..long])))
    }

    /// Writes as many of the bytes from `start` on as there is room for; with `last` the stream ends behind them. Returns
    /// their number; `None`: there is no room yet.
    fn try_write(&self, py: Python<'_>, bytes: &[u8], start: usize, last: bool) -> PyResult<Option<usize>> {
        let left = bytes.get(start..).unwrap_or_default();
        self.stack.poll_write(self.id, left, last).map_err(|error| errors::stream(py, &error))
    }

    /// Whether everything that was written is acknowledged.
    fn try_settle(&self, py: Python<'_>) -> PyResult<bool> {
        self.stack.poll_settle(self.id).map_err(|error| errors::stream(py, &error))
    }

    /// Closes the stream: what was written still arrives.
    fn close(&self) {
        self.stack.close(self.id);
    }

    /// Ends the stream at once, at both ends.
    fn abort(&self) {
        self.stack.abort(self.id);
    }
}

/// A listener that is polled. It stops listening when it is dropped.
#[pyclass(frozen, module = "pullnet._core")]
pub struct PolledListener {
    stack: Arc<DaemonStack>,
    service: u16,
    doorbells: Doorbells,
    /// Another listener may have the service by now.
    closed: AtomicBool,
}

impl PolledListener {
    fn stop(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            self.stack.unlisten(self.service);
        }
    }
}

impl Drop for PolledListener {
    fn drop(&mut self) {
        self.stop();
    }
}

#[pymethods]
impl PolledListener {
    /// Listens for streams to `service`.
    #[staticmethod]
    fn open(py: Python<'_>, stack: &HostStack, service: Service) -> PyResult<Self> {
        let (stack, Service(service)) = (Arc::clone(stack.stack()), service);
        stack.listen(service).map_err(|error| errors::stream(py, &error))?;
        let doorbells = stack.doorbells_of_listener(service).inspect_err(|_| stack.unlisten(service));
        let closed = AtomicBool::new(false);
        let opened = doorbells.map(|doorbells| Self { stack, service, doorbells, closed });
        opened.map_err(|error| errors::stream(py, &error))
    }

    /// Becomes readable when there may be a stream.
    #[getter]
    fn readable(&self) -> i32 {
        self.doorbells.readable.as_raw_fd()
    }

    /// Takes the rings so far. All tasks that wait for a stream must then try again.
    fn silence_readable(&self) {
        self.doorbells.silence_readable();
    }

    /// The next stream; `None`: there is none yet.
    fn try_accept(&self, py: Python<'_>) -> PyResult<Option<PolledStream>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(errors::closed_listener(py, self.service));
        }
        let accepted = self.stack.poll_accept(self.service);
        let stream = accepted.and_then(|id| id.map(|id| PolledStream::new(&self.stack, id)).transpose());
        stream.map_err(|error| errors::stream(py, &error))
    }

    /// Stops listening, and resets the streams that have not been accepted.
    fn close(&self) {
        self.stop();
    }
}
