use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::error::Error;
use crate::sys;

/// Interrupts a `PacketIo::wait` from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Creates a waker.
    ///
    /// # Errors
    /// If the process has no file descriptor left.
    pub fn new() -> Result<Self, Error> {
        sys::event().map(|fd| Self(Arc::new(fd)))
    }

    /// Interrupts the current wait, or the next one if no thread is waiting.
    pub fn wake(&self) {
        sys::event_add(&self.0);
    }

    /// Clears earlier calls of [`Waker::wake`].
    pub fn clear(&self) {
        sys::event_clear(&self.0);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
