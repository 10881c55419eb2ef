//! A stream of bytes over NDP or TCP, with one interface: what is measured or relayed over one is the same over the other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use pullnet_host::{NdpStream, Stack, StreamError};
use socket2::SockRef;

/// Timeout of opening a TCP connection.
const TCP_CONNECT: Duration = Duration::from_secs(5);

/// A stream of bytes in both directions.
#[derive(Debug)]
pub enum Line {
    /// Over NDP, through a daemon.
    Ndp(NdpStream),
    /// Over the kernel's TCP.
    Tcp(TcpStream),
}

impl Line {
    /// Reads at least one byte into `out` and returns the number of bytes; 0: the stream has ended.
    ///
    /// # Errors
    /// If the stream fails, or it takes longer than the timeout.
    pub fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Ndp(stream) => (&*stream).read(out),
                Self::Tcp(stream) => (&*stream).read(out),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(timely),
            }
        }
    }

    /// Reads exactly as many bytes as `out` holds. Returns false if the stream ends before the first of them.
    ///
    /// # Errors
    /// If the stream fails, or ends in the middle.
    pub fn read_whole(&self, out: &mut [u8]) -> io::Result<bool> {
        let mut long = 0;
        while long < out.len() {
            match self.read(&mut out[long..])? {
                0 if long == 0 => return Ok(false),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => long += got,
            }
        }
        Ok(true)
    }

    /// Writes at least one byte of `bytes` and returns the number of bytes.
    ///
    /// # Errors
    /// If the stream fails, or it takes longer than the timeout.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Ndp(stream) => (&*stream).write(bytes),
            Self::Tcp(stream) => (&*stream).write(bytes),
        }
        .map_err(timely)
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// If the stream fails, or it takes longer than the timeout.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Ndp(stream) => (&*stream).write_all(bytes),
            Self::Tcp(stream) => (&*stream).write_all(bytes),
        }
        .map_err(timely)
    }

    /// Writes all of `bytes` and ends the writing half behind them. Over NDP the end travels with the data.
    ///
    /// # Errors
    /// As [`Line::write_all`].
    pub fn write_last(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Ndp(stream) => Ok(stream.write_last(bytes)?),
            Self::Tcp(_) => self.write_all(bytes).and_then(|()| self.finish()),
        }
    }

    /// Ends the writing half.
    ///
    /// # Errors
    /// If the stream has failed.
    pub fn finish(&self) -> io::Result<()> {
        match self {
            Self::Ndp(stream) => Ok(stream.finish()?),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Ends the stream at once, at both ends: over NDP by RESET, and over TCP by RST once the value is dropped. Calls that
    /// wait here fail or read the end; a TCP write that waits goes on until its timeout.
    pub fn abort(&self) {
        match self {
            Self::Ndp(stream) => stream.abort(),
            Self::Tcp(stream) => {
                // With a lingering time of 0 the kernel sends RST when the socket is closed. Shutting down the writing half
                // would send FIN before it, by which the other side takes a part for the whole. Errors: it is closed already.
                let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
                let _ = stream.shutdown(Shutdown::Read);
            }
        }
    }

    /// Reads and writes that take longer fail; `None`: they wait for ever.
    ///
    /// # Errors
    /// If the kernel does not take the timeout.
    pub fn set_timeout(&self, most: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Ndp(stream) => {
                stream.set_read_timeout(most);
                stream.set_write_timeout(most);
                Ok(())
            }
            Self::Tcp(stream) => stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most)),
        }
    }
}

/// A timeout of a TCP socket is reported by the kernel as "would block".
fn timely(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

/// Where streams lead.
#[derive(Clone)]
pub enum Road {
    /// Over NDP to a service of a host.
    Ndp {
        /// The daemon of this machine.
        stack: Arc<dyn Stack>,
        /// The other host.
        to: SocketAddr,
        /// The service there.
        service: u16,
    },
    /// Over TCP to a port of a host.
    Tcp {
        /// Address and port.
        to: SocketAddr,
    },
}

impl std::fmt::Debug for Road {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Road {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ndp { to, service, .. } => write!(f, "service {service} of {to} over NDP"),
            Self::Tcp { to } => write!(f, "{to} over TCP"),
        }
    }
}

impl Road {
    /// Opens a stream. Over NDP nothing is waited for: a refusal is reported by the first read or a later write.
    ///
    /// # Errors
    /// If no stream can be opened.
    pub fn connect(&self) -> io::Result<Line> {
        match self {
            Self::Ndp { stack, to, service } => Ok(Line::Ndp(NdpStream::connect(stack, *to, *service)?)),
            Self::Tcp { to } => {
                let stream = TcpStream::connect_timeout(to, TCP_CONNECT)?;
                stream.set_nodelay(true)?;
                Ok(Line::Tcp(stream))
            }
        }
    }

    /// A remedy for `error`, to be printed behind it.
    #[must_use]
    pub fn remedy(&self, error: &io::Error) -> &'static str {
        let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>());
        match (ours, error.kind()) {
            (Some(StreamError::Refused(_)), _) => "; start the other side, or name its service",
            (Some(StreamError::Silent), _) => "; look whether its daemon runs, and whether packets get there",
            (Some(StreamError::Unreachable(_)), _) => "; look at the address, and at the network between",
            (Some(StreamError::Full(_)), _) => {
                "; use fewer streams at a time, or raise [limits] of the daemon"
            }
            (None, io::ErrorKind::ConnectionRefused) => {
                "; start the other side for TCP too, or name its port"
            }
            (None, io::ErrorKind::TimedOut) => "; look whether the other side still runs",
            _ => "",
        }
    }
}
