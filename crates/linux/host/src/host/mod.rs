//! A host in this process: an engine, its interface, and the threads that drive them.

mod core;
mod intake;
mod neighbours;
mod shared;
mod signals;
mod wait;
#[cfg(feature = "tokio")]
mod waiter;
mod yielding;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pullnet_netio::PacketIo;

#[cfg(feature = "tokio")]
pub(crate) use core::Interest;
pub use intake::Intake;
pub use neighbours::{Neighbours, Search};
pub(crate) use shared::Shared;
pub use wait::Wait;
#[cfg(feature = "tokio")]
pub(crate) use waiter::Waiter;
pub use yielding::{LONG_YIELD, Yielding};

use crate::error::StreamError;
use crate::net::{NdpListener, NdpStream};
use crate::options::{EngineOptions, StreamOptions};
use crate::stack::{Stack, Timeout};
use crate::status::Status;
/// Options of a [`Host`].
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Addresses, sizes, limits.
    pub engine: EngineOptions,
    /// Behaviour of the driving thread when it is idle.
    pub wait: Wait,
    /// Where Ethernet addresses come from.
    pub neighbours: Neighbours,
}

impl HostOptions {
    /// Spins for a while before it blocks; the backend resolves Ethernet addresses itself, as UDP sockets do.
    #[must_use]
    pub fn new(engine: EngineOptions) -> Self {
        Self { engine, wait: Wait::default(), neighbours: Neighbours::default() }
    }
}

/// A host: it answers, pulls and sends as long as it lives. Dropping it resets all of its streams at once and notifies the
/// other hosts; [`Host::shutdown`] lets the streams finish first.
///
/// A thread that waits for something drives the host itself meanwhile, so that an answer needs no thread switch; otherwise a
/// background thread does.
///
/// ```
/// use std::io::Read;
/// use std::net::{IpAddr, Ipv4Addr};
///
/// use pullnet_host::{EngineOptions, Host, HostOptions};
/// use pullnet_netio::{UdpOptions, UdpSockets};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// let start = || -> Result<Host, Box<dyn std::error::Error>> {
///     let sockets = UdpSockets::open(&UdpOptions { port: 0, ..UdpOptions::new(address) })?;
///     let engine = EngineOptions { port: sockets.local().port(), ..EngineOptions::new(address) };
///     Ok(Host::start(sockets, HostOptions::new(engine))?)
/// };
/// let (here, there) = (start()?, start()?);
/// let listener = there.listen(7)?;
/// let stream = here.connect(there.local(), 7)?;
/// stream.write_last(b"hello")?;
/// let (mut accepted, peer) = listener.accept()?;
/// let mut text = String::new();
/// accepted.read_to_string(&mut text)?;
/// assert_eq!((text.as_str(), peer), ("hello", here.local()));
/// # Ok(())
/// # }
/// ```
pub struct Host {
    shared: Arc<Shared>,
    stack: Arc<dyn Stack>,
    local: SocketAddr,
    background: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Host {
    /// Starts a host on `io`.
    ///
    /// # Errors
    /// If the options contradict what can be done, frames of the MTU do not fit, or the process has no thread or file
    /// descriptor left.
    pub fn start(io: impl PacketIo + Send + 'static, options: HostOptions) -> Result<Self, StreamError> {
        let local = SocketAddr::new(options.engine.address, options.engine.port);
        let shared = Arc::new(Shared::new(Box::new(io), options)?);
        let driven = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("pullnet-host".to_string());
        let background = thread
            .spawn(move || driven.drive_when_nobody_does())
            .map_err(|error| StreamError::Options(format!("cannot start a thread: {error}")))?;
        shared.has_background(background.thread().clone());
        tracing::info!(%local, "host started");
        let stack: Arc<dyn Stack> = Arc::<Shared>::clone(&shared);
        Ok(Self { shared, stack, local, background: Mutex::new(Some(background)) })
    }

    /// Address and home port, to which other hosts connect.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The stack from which streams and listeners are made.
    #[must_use]
    pub fn stack(&self) -> &Arc<dyn Stack> {
        &self.stack
    }

    /// Listens for `service`.
    ///
    /// # Errors
    /// If the service has a listener already, or the host has stopped.
    pub fn listen(&self, service: u16) -> Result<NdpListener, StreamError> {
        NdpListener::bind(&self.stack, service)
    }

    /// Opens a stream to `service` at the host that listens at `to`.
    ///
    /// # Errors
    /// If the address is of the wrong family, or this host is full or has stopped.
    pub fn connect(&self, to: SocketAddr, service: u16) -> Result<NdpStream, StreamError> {
        NdpStream::connect(&self.stack, to, service)
    }

    /// Sends `request` to `service` at `to` on a stream of its own and returns the response: see [`Stack::call`].
    ///
    /// # Errors
    /// If the stream is refused, reset or silent, or it takes longer than `timeout`.
    pub fn call(
        &self,
        to: SocketAddr,
        service: u16,
        request: &[u8],
        timeout: Timeout,
    ) -> Result<Vec<u8>, StreamError> {
        self.stack.call(to, service, request, StreamOptions::default(), timeout)
    }

    /// Returns the status of the host.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Refuses new streams, ends the writing half of all, waits until the other hosts have acknowledged everything, and
    /// stops. Streams with unacknowledged data after `timeout` are reset. True: everything was acknowledged.
    pub fn shutdown(&self, timeout: Duration) -> bool {
        let done = self.shared.drain(timeout);
        self.stop();
        done
    }

    fn stop(&self) {
        self.shared.stop("it was shut down");
        let background = self.background.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic of the background thread is not passed on.
        background.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}
