//! Signals that are read instead of ending the process.

use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{checked, is_ready, owned};
use crate::error::Error;

/// Reads one signal, if there is one.
fn take(fd: &OwnedFd) {
    let mut taken = [0u8; 128];
    // SAFETY: the kernel writes at most the length of `taken`. The result does not matter.
    let _ = unsafe { libc::read(fd.as_raw_fd(), taken.as_mut_ptr().cast(), taken.len()) };
}

/// SIGINT and SIGTERM, which no longer end the process but can be read, as long as this value lives. SIGHUP, which also
/// comes when a terminal is closed, is blocked and only read.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks them in this thread and its later child threads.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn block() -> Result<Self, Error> {
        // SAFETY: sets of signals are integers; these calls write to them alone.
        let (set, before, result) = unsafe {
            let (mut set, mut before): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::sigaddset(&mut set, libc::SIGTERM);
            let mut blocked = set;
            libc::sigaddset(&mut blocked, libc::SIGHUP);
            (set, before, libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, &mut before))
        };
        checked(-result, "cannot wait for signals")?;
        // SAFETY: the kernel reads the set.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        Ok(Self { fd: owned(fd, "cannot wait for signals")?, before })
    }

    /// Waits for SIGINT or SIGTERM, for `time` at most. Returns whether there was one.
    ///
    /// # Errors
    /// If the kernel does not wait.
    pub fn wait(&self, time: Duration) -> Result<bool, Error> {
        let came = is_ready(&[self.fd.as_fd()], time)?;
        if came {
            take(&self.fd);
        }
        Ok(came)
    }

    /// Returns a descriptor that becomes readable after a SIGHUP.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn hangup(&self) -> Result<OwnedFd, Error> {
        // SAFETY: a set of signals is integers; the calls write to it, and the kernel reads it.
        let fd = unsafe {
            let mut set: libc::sigset_t = zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGHUP);
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        owned(fd, "cannot wait for signals")
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the kernel reads the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}
