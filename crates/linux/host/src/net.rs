//! Streams and listeners like those of `std::net`.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::StreamError;
use crate::handle::{StreamId, StreamInfo};
use crate::options::StreamOptions;
use crate::stack::Stack;

/// Timeout of a call; shared by the handles of a stream.
#[derive(Default, Debug)]
struct Patience(AtomicU64);

impl Patience {
    fn set(&self, most: Option<Duration>) {
        let nanos = most.map_or(0, |most| u64::try_from(most.as_nanos()).unwrap_or(u64::MAX).max(1));
        self.0.store(nanos, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Duration> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }
}

/// A stream that is closed with its last handle.
struct Owned {
    stack: Arc<dyn Stack>,
    id: StreamId,
    read: Patience,
    write: Patience,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.stack.close(self.id);
    }
}

/// A stream of bytes in both directions.
///
/// Opening a stream does not wait: the first bytes written travel in the first packet. A write leaves at once if no earlier
/// packet of the stream waits to be sent; otherwise its bytes join those that wait. So small writes fill packets when the
/// network is slower than the writer, and are never delayed when it is not. There is nothing to flush.
///
/// Dropping the last handle closes the stream: data written already is still delivered, and data that arrives is refused.
#[derive(Clone)]
pub struct NdpStream(Arc<Owned>);

impl std::fmt::Debug for NdpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NdpStream").field(&self.0.id).finish()
    }
}

impl NdpStream {
    /// Opens a stream to `service` at the host that listens at `to`.
    ///
    /// # Errors
    /// If the address is of the wrong family, or this host is full or has stopped. An answer of the other host is reported
    /// by the first read, or by a later write.
    pub fn connect(stack: &Arc<dyn Stack>, to: SocketAddr, service: u16) -> Result<Self, StreamError> {
        Self::connect_with(stack, to, service, StreamOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// Like [`NdpStream::connect`].
    pub fn connect_with(
        stack: &Arc<dyn Stack>,
        to: SocketAddr,
        service: u16,
        options: StreamOptions,
    ) -> Result<Self, StreamError> {
        let id = stack.connect(to, service, options)?;
        Ok(Self::of(stack, id))
    }

    fn of(stack: &Arc<dyn Stack>, id: StreamId) -> Self {
        let (stack, read, write) = (Arc::clone(stack), Patience::default(), Patience::default());
        Self(Arc::new(Owned { stack, id, read, write }))
    }

    /// Writes all of `bytes` and ends the writing half behind them: the end travels with the data.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed, or it takes too long.
    pub fn write_last(&self, mut bytes: &[u8]) -> Result<(), StreamError> {
        let Owned { stack, id, write, .. } = &*self.0;
        if bytes.is_empty() {
            return self.finish();
        }
        while !bytes.is_empty() {
            bytes = &bytes[stack.write(*id, bytes, true, write.get())?..];
        }
        Ok(())
    }

    /// Ends the writing half; the other side reads to the end. Later writes fail.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    pub fn finish(&self) -> Result<(), StreamError> {
        self.0.stack.finish(self.0.id)
    }

    /// Waits until the other host has acknowledged everything that was written.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed, or it takes longer than the write timeout.
    pub fn settle(&self) -> Result<(), StreamError> {
        self.0.stack.settle(self.0.id, self.0.write.get())
    }

    /// Ends the stream at once, at both ends; unacknowledged data may be lost.
    pub fn abort(&self) {
        self.0.stack.abort(self.0.id);
    }

    /// Sets the priority at which data of this stream is pulled (higher first); it overrides the sender's request.
    pub fn prefer(&self, priority: u8) {
        self.0.stack.prefer(self.0.id, priority);
    }

    /// Returns the status of the stream.
    ///
    /// # Errors
    /// If the host has stopped.
    pub fn info(&self) -> Result<StreamInfo, StreamError> {
        self.0.stack.info(self.0.id).ok_or(StreamError::Closed)
    }

    /// The other host: its address and home port.
    ///
    /// # Errors
    /// If the host has stopped.
    pub fn peer_addr(&self) -> Result<SocketAddr, StreamError> {
        self.info().map(|info| info.peer)
    }

    /// Reads that take longer fail with `TimedOut`; `None`, as at the start, waits for ever. For all clones.
    pub fn set_read_timeout(&self, most: Option<Duration>) {
        self.0.read.set(most);
    }

    /// Writes that take longer fail with `TimedOut`; `None`, as at the start, waits for ever. For all clones.
    pub fn set_write_timeout(&self, most: Option<Duration>) {
        self.0.write.set(most);
    }
}

impl Read for &NdpStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Owned { stack, id, read, .. } = &*self.0;
        Ok(stack.read(*id, out, read.get())?)
    }
}

impl Write for &NdpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Owned { stack, id, write, .. } = &*self.0;
        if bytes.is_empty() {
            return Ok(0);
        }
        Ok(stack.write(*id, bytes, false, write.get())?)
    }

    /// Nothing to do: written data leaves as soon as it may.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for NdpStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (&*self).read(out)
    }
}

impl Write for NdpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Accepts the streams that others open for one service. Dropping it stops that, and resets the streams not yet accepted.
pub struct NdpListener {
    stack: Arc<dyn Stack>,
    service: u16,
    patience: Patience,
}

impl std::fmt::Debug for NdpListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NdpListener").field("service", &self.service).finish_non_exhaustive()
    }
}

impl NdpListener {
    /// Pause of a server after an accept has failed for another reason than that the host has stopped, at the limit of streams for
    /// instance. Without it the server would ask the daemon all the time.
    pub const RETRY: Duration = Duration::from_millis(10);

    /// Listens for `service`.
    ///
    /// # Errors
    /// If the service has a listener already, or the host has stopped.
    pub fn bind(stack: &Arc<dyn Stack>, service: u16) -> Result<Self, StreamError> {
        stack.listen(service)?;
        Ok(Self { stack: Arc::clone(stack), service, patience: Patience::default() })
    }

    /// The next stream, and who opened it. The data that came with it can be read at once.
    ///
    /// # Errors
    /// If it takes longer than the accept timeout, or the host has stopped.
    pub fn accept(&self) -> Result<(NdpStream, SocketAddr), StreamError> {
        let id = self.stack.accept(self.service, self.patience.get())?;
        let stream = NdpStream::of(&self.stack, id);
        let peer = stream.peer_addr()?;
        Ok((stream, peer))
    }

    /// Streams one after the other, like [`NdpListener::accept`]. Ends when the host has stopped, or when no stream comes for
    /// the accept timeout. At the limit of streams it waits until a stream ends; further streams stay queued meanwhile.
    pub fn incoming(&self) -> impl Iterator<Item = NdpStream> + '_ {
        std::iter::from_fn(|| {
            let mut told = false;
            loop {
                match self.accept() {
                    Ok((stream, _)) => return Some(stream),
                    Err(StreamError::Stopped(_) | StreamError::NoListener(_) | StreamError::TimedOut) => {
                        return None;
                    }
                    Err(error) => {
                        if !std::mem::replace(&mut told, true) {
                            tracing::warn!(service = self.service, %error, "cannot accept a stream yet");
                        }
                        std::thread::park_timeout(Self::RETRY);
                    }
                }
            }
        })
    }

    /// Accepts that take longer fail with `TimedOut`; `None`, as at the start, waits for ever.
    pub fn set_accept_timeout(&self, most: Option<Duration>) {
        self.patience.set(most);
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> u16 {
        self.service
    }
}

impl Drop for NdpListener {
    fn drop(&mut self) {
        self.stack.unlisten(self.service);
    }
}
