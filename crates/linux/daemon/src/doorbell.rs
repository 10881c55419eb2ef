//! A doorbell wakes a sleeping thread of another process.
//!
//! It is a pair of sockets and not an eventfd: whether a write to an eventfd blocks is a property of the eventfd itself,
//! which the other side could change and fill, so that the daemon would block; for a socket every call states it. Also, a
//! socket reports that its other end is closed.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::Error;
use crate::sys;

/// State of one end of a doorbell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// The doorbell was rung.
    Rung,
    /// The doorbell was not rung.
    None,
    /// The other end is closed.
    Closed,
}

/// One end of a doorbell.
#[derive(Debug)]
pub(crate) struct Doorbell(OwnedFd);

impl Doorbell {
    /// Both ends of a new doorbell.
    pub fn pair() -> Result<[Self; 2], Error> {
        let made = UnixStream::pair();
        let (a, b) =
            made.map_err(|source| Error::Kernel { what: "cannot make a pair of sockets", source })?;
        Ok([Self(a.into()), Self(b.into())])
    }

    /// Rings at the other end. Never blocks: a full doorbell is ringing already.
    pub fn ring(&self) {
        let _ = sys::send(self.0.as_fd(), &[1]);
    }

    /// Reads the rings received so far, without waiting.
    pub fn drain(&self) -> Signal {
        let mut rung = [0; 64];
        match sys::receive(self.0.as_fd(), &mut rung) {
            Ok(0) => Signal::Closed,
            Ok(_) => Signal::Rung,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Signal::None
            }
            Err(_) => Signal::Closed,
        }
    }

    /// Whether the other end is closed and all its rings have been read. Reads none.
    pub fn is_closed(&self) -> bool {
        match sys::peek(self.0.as_fd(), &mut [0]) {
            Ok(long) => long == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// Another descriptor of this end, to wait for it elsewhere.
    pub fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Sleeps until the doorbell is rung or the other end is closed, for `timeout` at most.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Signal, Error> {
        sys::wait(self.0.as_fd(), timeout).map(|_| self.drain())
    }
}

impl From<OwnedFd> for Doorbell {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<Doorbell> for OwnedFd {
    fn from(doorbell: Doorbell) -> Self {
        doorbell.0
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_falls_silent_and_closes() {
        let [a, b] = Doorbell::pair().unwrap();
        assert_eq!(b.drain(), Signal::None);
        a.ring();
        a.ring();
        assert_eq!(b.wait(None).unwrap(), Signal::Rung);
        assert_eq!(b.wait(Some(Duration::ZERO)).unwrap(), Signal::None);
        a.ring();
        drop(a);
        // A ring before the end is read first.
        assert!(!b.is_closed());
        assert_eq!([b.drain(), b.wait(None).unwrap()], [Signal::Rung, Signal::Closed]);
        assert!(b.is_closed());
    }

    #[test]
    fn a_full_doorbell_does_not_wait() {
        let [a, b] = Doorbell::pair().unwrap();
        (0..100_000).for_each(|_| a.ring());
        assert_eq!(b.drain(), Signal::Rung);
    }
}
