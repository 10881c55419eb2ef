//! Streams and listeners for programs that run on tokio (feature `tokio`): the same as [`crate::NdpStream`] and
//! [`crate::NdpListener`], without a thread that waits.
//!
//! The background thread of the [`Host`] moves the packets, and wakes tasks.
//!
//! ```
//! use pullnet_host::{EngineOptions, Host, HostOptions, tokio::{NdpListener, call}};
//! use pullnet_netio::{UdpOptions, UdpSockets};
//! use tokio::io::AsyncReadExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "127.0.0.1".parse()?;
//! let sockets = UdpSockets::open(&UdpOptions { port: 0, ..UdpOptions::new(address) })?;
//! let engine = EngineOptions { port: sockets.local().port(), ..EngineOptions::new(address) };
//! let host = Host::start(sockets, HostOptions::new(engine))?;
//! let listener = NdpListener::bind(&host, 7)?;
//! let server = async {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let mut request = Vec::new();
//!     stream.read_to_end(&mut request).await?;
//!     stream.write_last(&request).await?;
//!     Ok::<_, std::io::Error>(())
//! };
//! let (response, served) = tokio::join!(call(&host, host.local(), 7, b"hello"), server);
//! assert_eq!(response?, b"hello");
//! served?;
//! # Ok(())
//! # }
//! ```

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::StreamError;
use crate::handle::{Read, StreamId, StreamInfo};
use crate::host::Host;
use crate::host::{Interest, Shared, Waiter};
use crate::options::StreamOptions;
use crate::stack::Stack;

/// A stream of bytes in both directions, for tasks.
///
/// `shutdown` of `AsyncWriteExt` ends the writing half. Dropping the stream closes it: data written already is still
/// delivered, and data that arrives is refused.
pub struct NdpStream {
    shared: Arc<Shared>,
    id: StreamId,
    reading: Waiter,
    writing: Waiter,
}

impl std::fmt::Debug for NdpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NdpStream").field(&self.id).finish()
    }
}

impl Drop for NdpStream {
    fn drop(&mut self) {
        self.shared.close(self.id);
    }
}

impl NdpStream {
    fn of(shared: &Arc<Shared>, id: StreamId) -> Self {
        let [reading, writing] = [Waiter::new(shared), Waiter::new(shared)];
        Self { shared: Arc::clone(shared), id, reading, writing }
    }

    /// Opens a stream to `service` at the host that listens at `to`, without waiting.
    ///
    /// # Errors
    /// If the address is of the wrong family, or the host is full or has stopped.
    pub fn connect(host: &Host, to: SocketAddr, service: u16) -> Result<Self, StreamError> {
        let id = host.shared().connect(to, service, StreamOptions::default())?;
        Ok(Self::of(host.shared(), id))
    }

    /// Writes all of `bytes` and ends the writing half behind them: the end travels with the data.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    pub async fn write_last(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        if bytes.is_empty() {
            return self.shared.finish(self.id);
        }
        while !bytes.is_empty() {
            let taken = poll_fn(|cx| self.poll_put(cx, bytes, true)).await?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Ends the stream at once, at both ends; unacknowledged data may be lost.
    pub fn abort(&self) {
        self.shared.abort(self.id);
    }

    /// Sets the priority at which data of this stream is pulled (higher first); it overrides the sender's request.
    pub fn prefer(&self, priority: u8) {
        self.shared.prefer(self.id, priority);
    }

    /// Returns the status of the stream.
    ///
    /// # Errors
    /// If there is no such stream any more.
    pub fn info(&self) -> Result<StreamInfo, StreamError> {
        self.shared.info(self.id).ok_or(StreamError::Closed)
    }

    fn poll_put(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        last: bool,
    ) -> Poll<Result<usize, StreamError>> {
        let id = self.id;
        self.writing.poll(cx, Interest::Write(id), |engine, now| engine.put(now, id, bytes, last))
    }

    fn poll_take(&mut self, cx: &mut Context<'_>, out: &mut [u8]) -> Poll<Result<usize, StreamError>> {
        let id = self.id;
        self.reading.poll(cx, Interest::Read(id), |engine, now| match engine.read(now, id, out) {
            Ok(Read::Nothing) => None,
            Ok(Read::Bytes(long)) => Some(Ok(long)),
            Ok(Read::End) => Some(Ok(0)),
            Err(error) => Some(Err(error)),
        })
    }
}

impl AsyncRead for NdpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let read = self.poll_take(cx, buffer.initialize_unfilled());
        read.map(|read| read.map(|long| buffer.advance(long)).map_err(io::Error::from))
    }
}

impl AsyncWrite for NdpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_put(cx, bytes, false).map_err(io::Error::from)
    }

    /// Nothing to do: written data leaves as soon as it may.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shared.finish(self.id).map_err(io::Error::from))
    }
}

/// Accepts the streams that others open for one service. Dropping it stops that, and resets the streams not yet accepted.
pub struct NdpListener {
    shared: Arc<Shared>,
    service: u16,
}

impl std::fmt::Debug for NdpListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NdpListener").field("service", &self.service).finish_non_exhaustive()
    }
}

impl NdpListener {
    /// Listens for `service`.
    ///
    /// # Errors
    /// If the service has a listener already, or the host has stopped.
    pub fn bind(host: &Host, service: u16) -> Result<Self, StreamError> {
        host.shared().listen(service)?;
        Ok(Self { shared: Arc::clone(host.shared()), service })
    }

    /// Returns the next stream, and the address of its opener. Cancel safe: dropping the future loses no stream.
    ///
    /// # Errors
    /// If the host has stopped.
    pub async fn accept(&self) -> Result<(NdpStream, SocketAddr), StreamError> {
        let (mut waiter, service) = (Waiter::new(&self.shared), self.service);
        let accepted = poll_fn(|cx| {
            waiter.poll(cx, Interest::Accept(service), |engine, _| engine.accept(service).map(Ok))
        });
        let stream = NdpStream::of(&self.shared, accepted.await?);
        let peer = stream.info()?.peer;
        Ok((stream, peer))
    }
}

impl Drop for NdpListener {
    fn drop(&mut self) {
        self.shared.unlisten(self.service);
    }
}

/// Sends `request` to `service` at `to` on a stream of its own and returns everything that comes back: see
/// [`Stack::call`].
///
/// # Errors
/// If the stream is refused, reset or silent.
pub async fn call(host: &Host, to: SocketAddr, service: u16, request: &[u8]) -> Result<Vec<u8>, StreamError> {
    let mut stream = NdpStream::connect(host, to, service)?;
    stream.write_last(request).await?;
    let (mut response, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match poll_fn(|cx| stream.poll_take(cx, &mut piece)).await? {
            0 => return Ok(response),
            long => response.extend_from_slice(&piece[..long]),
        }
    }
}
