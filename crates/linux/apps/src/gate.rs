//! Accepts streams over NDP or TCP.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use pullnet_host::{NdpListener, Stack, StreamError};
use socket2::SockRef;

use crate::line::Line;

/// Time after which an accept returns without a stream, so that its caller can stop.
const LOOK: Duration = Duration::from_millis(250);

/// Accepts streams; several threads may wait at one.
#[derive(Debug)]
pub enum Gate {
    /// Streams to a service of this host.
    Ndp(NdpListener),
    /// TCP connections.
    Tcp(TcpListener),
}

impl Gate {
    /// Listens for `service`.
    ///
    /// # Errors
    /// If the service has a listener already, or the daemon is gone.
    pub fn ndp(stack: &Arc<dyn Stack>, service: u16) -> Result<Self, StreamError> {
        let listener = NdpListener::bind(stack, service)?;
        listener.set_accept_timeout(Some(LOOK));
        Ok(Self::Ndp(listener))
    }

    /// Listens at `address`.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        // On Linux the timeout of reads is that of accepts too.
        SockRef::from(&listener).set_read_timeout(Some(LOOK))?;
        Ok(Self::Tcp(listener))
    }

    /// Port or service at which others find it.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn number(&self) -> io::Result<u16> {
        match self {
            Self::Ndp(listener) => Ok(listener.service()),
            Self::Tcp(listener) => Ok(listener.local_addr()?.port()),
        }
    }

    /// The next stream and who opened it; `None`: none came for a quarter of a second, it was gone again, or this
    /// application is at its limit of streams or of file descriptors.
    ///
    /// # Errors
    /// If no more can come.
    pub fn accept(&self) -> io::Result<Option<(Line, SocketAddr)>> {
        let passing = |error: &io::Error| {
            use io::ErrorKind::{ConnectionAborted, Interrupted, TimedOut, WouldBlock};
            matches!(error.kind(), ConnectionAborted | Interrupted | TimedOut | WouldBlock)
        };
        match self {
            Self::Ndp(listener) => match listener.accept() {
                Ok((stream, peer)) => Ok(Some((Line::Ndp(stream), peer))),
                Err(StreamError::TimedOut | StreamError::Closed) => Ok(None),
                Err(StreamError::Full(_)) => {
                    std::thread::park_timeout(NdpListener::RETRY);
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            },
            Self::Tcp(listener) => match listener.accept() {
                Ok((stream, peer)) => {
                    // A connection inherits the timeout of its listener. An error means that it is gone again, which its
                    // first read says too.
                    let _ = stream.set_read_timeout(None);
                    let _ = stream.set_nodelay(true);
                    Ok(Some((Line::Tcp(stream), peer)))
                }
                Err(error) if passing(&error) => Ok(None),
                // The connection stays queued until others have ended.
                Err(error) if is_short_of_resources(&error) => {
                    std::thread::park_timeout(NdpListener::RETRY);
                    Ok(None)
                }
                Err(error) => Err(error),
            },
        }
    }
}

/// Whether the process or the machine lacks file descriptors or memory for a connection, which passes.
fn is_short_of_resources(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
