//! A bell wakes a sleeping thread of another process.
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

/// Result of listening to a bell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// The bell was rung.
    Rung,
    /// The bell was not rung.
    Silence,
    /// The other end is closed.
    Gone,
}

/// One end of a bell.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// Both ends of a new bell.
    pub fn pair() -> Result<[Self; 2], Error> {
        let made = UnixStream::pair();
        let (a, b) =
            made.map_err(|source| Error::Kernel { what: "cannot make a pair of sockets", source })?;
        Ok([Self(a.into()), Self(b.into())])
    }

    /// Rings at the other end. Never blocks: a full bell is ringing already.
    pub fn ring(&self) {
        let _ = sys::send(self.0.as_fd(), &[1]);
    }

    /// Takes the rings received so far, without waiting.
    pub fn hear(&self) -> Heard {
        let mut rung = [0; 64];
        match sys::receive(self.0.as_fd(), &mut rung) {
            Ok(0) => Heard::Gone,
            Ok(_) => Heard::Rung,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Heard::Silence
            }
            Err(_) => Heard::Gone,
        }
    }

    /// Another descriptor of this end, to wait for it elsewhere.
    pub fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Sleeps until the bell is rung or the other end is closed, for `timeout` at most.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Heard, Error> {
        sys::wait(self.0.as_fd(), timeout).map(|_| self.hear())
    }
}

impl From<OwnedFd> for Bell {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<Bell> for OwnedFd {
    fn from(bell: Bell) -> Self {
        bell.0
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_falls_silent_and_is_gone() {
        let [a, b] = Bell::pair().unwrap();
        assert_eq!(b.hear(), Heard::Silence);
        a.ring();
        a.ring();
        assert_eq!(b.wait(None).unwrap(), Heard::Rung);
        assert_eq!(b.wait(Some(Duration::ZERO)).unwrap(), Heard::Silence);
        drop(a);
        assert_eq!(b.wait(None).unwrap(), Heard::Gone);
    }

    #[test]
    fn a_full_bell_does_not_wait() {
        let [a, b] = Bell::pair().unwrap();
        (0..100_000).for_each(|_| a.ring());
        assert_eq!(b.hear(), Heard::Rung);
    }
}
