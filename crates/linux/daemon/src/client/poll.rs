//! Streams for programs with an event loop of their own: calls that never wait, and descriptors that become readable when it is
//! worth calling again.
//!
//! A stream is either polled or used by calls that wait, not both at a time.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pullnet_host::{Stack, StreamError, StreamId};

use super::channel::Client;
use super::control::of_kernel;
use super::{DaemonStack, lock};
use crate::sys;

/// Descriptors that become readable when a stream or a listener may have made progress.
///
/// When one is readable, silence it first, and then let every task that waits for it poll again. A poll takes no rings: a task
/// that writes a stream and one that settles it share a descriptor, so one task would take the ring of the other.
#[derive(Debug)]
pub struct Doorbells {
    /// After a poll that had nothing to read or to accept.
    pub readable: OwnedFd,
    /// After a poll that could not write, or had not settled.
    pub writable: OwnedFd,
}

impl Doorbells {
    /// Takes the rings so far, without waiting: [`Doorbells::readable`] becomes readable with the next one. It stays readable
    /// when the daemon is gone, which the next poll reports.
    pub fn silence_readable(&self) {
        silence(&self.readable);
    }

    /// As [`Doorbells::silence_readable`], for [`Doorbells::writable`].
    pub fn silence_writable(&self) {
        silence(&self.writable);
    }
}

/// Rings that are left over, because there were more than fit, make the descriptor readable once more. An error is one that
/// the next poll reports.
fn silence(doorbell: &OwnedFd) {
    let _ = sys::receive(doorbell.as_fd(), &mut [0; 64]);
}

/// Number of descriptors in [`Doorbells`].
const DOORBELLS: usize = 2;

fn doorbells(client: &Client) -> Result<Doorbells, StreamError> {
    let made = client.doorbells();
    let [readable, writable] = made.map_err(|error| of_kernel(&error, error.to_string()))?;
    Ok(Doorbells { readable, writable })
}

impl DaemonStack {
    /// The descriptors of a stream.
    ///
    /// # Errors
    /// If there is no such stream, or [`StreamError::Full`]: the process has no file descriptors left.
    pub fn doorbells(&self, id: StreamId) -> Result<Doorbells, StreamError> {
        doorbells(&*self.find(id)?)
    }

    /// The descriptors of the listener for `service`.
    ///
    /// # Errors
    /// If there is no listener, or [`StreamError::Full`]: the process has no file descriptors left.
    pub fn doorbells_of_listener(&self, service: u16) -> Result<Doorbells, StreamError> {
        doorbells(&*self.listener(service)?)
    }

    /// As [`Stack::read`]; `None`: nothing is there yet.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    pub fn poll_read(&self, id: StreamId, out: &mut [u8]) -> Result<Option<usize>, StreamError> {
        let client = self.find(id)?;
        if out.is_empty() {
            return Ok(Some(0));
        }
        client.poll_for_bytes(|| self.try_read(&client, out))
    }

    /// As [`Stack::write`]; `None`: there is no room yet.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    pub fn poll_write(&self, id: StreamId, bytes: &[u8], last: bool) -> Result<Option<usize>, StreamError> {
        let client = self.find(id)?;
        if bytes.is_empty() {
            return if last { self.finish(id).map(|()| Some(0)) } else { Ok(Some(0)) };
        }
        client.poll_for_room(|| self.try_write(&client, bytes, last))
    }

    /// Whether the other host has acknowledged everything that was written.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    pub fn poll_settle(&self, id: StreamId) -> Result<bool, StreamError> {
        let client = self.find(id)?;
        let settled = client.poll_settled(|| Ok(client.is_settled()?.then_some(())))?;
        Ok(settled.is_some())
    }

    /// As [`Stack::accept`]; `None`: no stream waits. The stream stays queued if the process has no file descriptors left
    /// for it and its [`Doorbells`].
    ///
    /// # Errors
    /// If the service has no listener, the daemon is gone, or [`StreamError::Full`], after which later calls may succeed.
    pub fn poll_accept(&self, service: u16) -> Result<Option<StreamId>, StreamError> {
        let listener = self.listener(service)?;
        listener.poll_for_bytes(|| self.try_accept(&listener, DOORBELLS))
    }

    pub(super) fn listener(&self, service: u16) -> Result<Arc<Client>, StreamError> {
        let listener = lock(&self.held).listeners.get(&service).cloned();
        listener.ok_or(StreamError::NoListener(service))
    }

    /// Accepts a stream if one is announced. The caller is going to make `more` file descriptors for it.
    pub(super) fn try_accept(&self, listener: &Client, more: usize) -> Result<Option<StreamId>, StreamError> {
        let announced =
            listener.owed.swap(false, Ordering::Relaxed) || listener.try_read(&mut [0])?.is_some();
        if announced { self.take(listener, more) } else { Ok(None) }
    }

    pub(super) fn try_write(
        &self,
        client: &Client,
        bytes: &[u8],
        last: bool,
    ) -> Result<Option<usize>, StreamError> {
        let long = client.try_write(bytes, last)?;
        if long > 0 {
            self.note(client);
        }
        Ok((long > 0).then_some(long))
    }

    pub(super) fn try_read(&self, client: &Client, out: &mut [u8]) -> Result<Option<usize>, StreamError> {
        let Some((long, told)) = client.try_read(out)? else { return Ok(None) };
        if told {
            self.note(client);
        }
        Ok(Some(long))
    }
}
