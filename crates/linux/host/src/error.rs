use std::io;
use std::net::{IpAddr, SocketAddr};

use pullnet_transport::FailureReason;
use pullnet_wire::Reason;
use thiserror::Error;

/// Why a stream cannot be had, read or written.
#[derive(Clone, PartialEq, Eq, Error, Debug)]
pub enum StreamError {
    /// The other host did not take the stream.
    #[error("refused: {}", .0.words())]
    Refused(Reason),
    /// The other host ended the stream before its end.
    #[error("reset: {}", .0.words())]
    Reset(Reason),
    /// Nothing was heard of the other host for as long as `give_up` says.
    #[error("the other host is silent")]
    Silent,
    /// The transport gave up the stream for another reason, such as that the packet numbers are used up.
    #[error("the stream failed: {0}")]
    Failed(FailureReason),
    /// This host has as many streams as its limits allow.
    #[error("this host has as many streams as its limits allow ({0})")]
    Full(&'static str),
    /// There is no such stream any more, or its writing end is finished.
    #[error("the stream is closed")]
    Closed,
    /// Another listener of this host has the service.
    #[error("service {0} has a listener already")]
    ServiceTaken(u16),
    /// The service has no listener at this host.
    #[error("service {0} has no listener")]
    NoListener(u16),
    /// An address of the other family.
    #[error("{to} cannot be reached from {from}: both must be IPv4 or both IPv6")]
    Family {
        /// This host.
        from: IpAddr,
        /// The other host.
        to: SocketAddr,
    },
    /// This host encrypts all services that are not excepted, and has no key for the other host.
    #[error(
        "there is no key for {0}, and this host encrypts its streams: add one to the keys, or except the service"
    )]
    NoKey(SocketAddr),
    /// No host on this network answers for the address.
    #[error("no Ethernet address is known for {0}")]
    Unreachable(IpAddr),
    /// It took longer than the caller allows.
    #[error("timed out")]
    TimedOut,
    /// The options contradict what can be done.
    #[error("{0}")]
    Options(String),
    /// The host is not running: it was shut down, or its interface is gone, or its daemon is gone or was never there.
    #[error("the host is not running: {0}")]
    Stopped(String),
}

impl StreamError {
    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Refused(_) => io::ErrorKind::ConnectionRefused,
            Self::Reset(_) => io::ErrorKind::ConnectionReset,
            Self::Silent | Self::Failed(_) | Self::Stopped(_) => io::ErrorKind::ConnectionAborted,
            Self::Full(_) => io::ErrorKind::ResourceBusy,
            Self::Closed => io::ErrorKind::NotConnected,
            Self::ServiceTaken(_) => io::ErrorKind::AddrInUse,
            Self::NoListener(_) => io::ErrorKind::NotFound,
            Self::Family { .. } | Self::Options(_) => io::ErrorKind::InvalidInput,
            Self::NoKey(_) => io::ErrorKind::PermissionDenied,
            Self::Unreachable(_) => io::ErrorKind::HostUnreachable,
            Self::TimedOut => io::ErrorKind::TimedOut,
        }
    }
}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        Self::new(error.kind(), error)
    }
}
