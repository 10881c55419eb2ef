use std::net::SocketAddr;
use std::time::Duration;

use crate::error::StreamError;
use crate::handle::{StreamId, StreamInfo};
use crate::options::StreamOptions;

/// Longest time that a call may wait; `None`: without limit.
pub type Timeout = Option<Duration>;

/// Streams for applications: of a [`crate::Host`] in this process, or of a daemon that owns the interface.
///
/// Calls wait for `timeout` at most (`None`: without limit), and then fail with [`StreamError::TimedOut`]. All calls are
/// thread-safe.
pub trait Stack: Send + Sync {
    /// Accepts streams for `service` from now on.
    ///
    /// # Errors
    /// If the service has a listener already, or the host has stopped.
    fn listen(&self, service: u16) -> Result<(), StreamError>;

    /// Stops listening, and resets the streams that have not been accepted.
    fn unlisten(&self, service: u16);

    /// Returns the oldest stream for `service` that is not accepted yet.
    ///
    /// # Errors
    /// If it takes too long, the service has no listener, or the host has stopped.
    fn accept(&self, service: u16, timeout: Timeout) -> Result<StreamId, StreamError>;

    /// Opens a stream, without waiting. The first packet leaves when data or the end is written.
    ///
    /// # Errors
    /// If the address is of the wrong family, or the host is full or has stopped.
    fn connect(&self, to: SocketAddr, service: u16, options: StreamOptions) -> Result<StreamId, StreamError>;

    /// Writes at least one byte of `bytes` and returns the number of bytes; waits for room. With `last`, the stream ends
    /// behind them if all of them were taken; the end then travels with the data.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed, or it takes too long.
    fn write(&self, id: StreamId, bytes: &[u8], last: bool, timeout: Timeout) -> Result<usize, StreamError>;

    /// Ends the writing half.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed.
    fn finish(&self, id: StreamId) -> Result<(), StreamError>;

    /// Reads at least one byte into `out` and returns the number of bytes; 0: the stream has ended, or `out` is empty.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed, or it takes too long.
    fn read(&self, id: StreamId, out: &mut [u8], timeout: Timeout) -> Result<usize, StreamError>;

    /// Waits until the other host has acknowledged everything that was written.
    ///
    /// # Errors
    /// If the stream is refused, reset, silent or closed, or it takes too long.
    fn settle(&self, id: StreamId, timeout: Timeout) -> Result<(), StreamError>;

    /// Releases the stream: data written already is still delivered, and data that arrives is refused.
    fn close(&self, id: StreamId);

    /// Ends the stream at once, at both ends; unacknowledged data may be lost.
    fn abort(&self, id: StreamId);

    /// Sets the priority at which data of this stream is pulled; it overrides the sender's request.
    fn prefer(&self, id: StreamId, priority: u8);

    /// Returns the status of the stream; `None` if there is no such stream any more.
    fn info(&self, id: StreamId) -> Option<StreamInfo>;

    /// Sends `request` to `service` at `to` on a stream of its own, and returns everything that comes back up to the end. A
    /// short one takes a packet each way. At most once: after an error it is unknown whether the request was carried out.
    /// `timeout` is for all of it.
    ///
    /// # Errors
    /// If the stream is refused, reset or silent, or it takes too long.
    fn call(
        &self,
        to: SocketAddr,
        service: u16,
        request: &[u8],
        options: StreamOptions,
        timeout: Timeout,
    ) -> Result<Vec<u8>, StreamError> {
        let id = self.connect(to, service, options)?;
        let response = exchange(self, id, request, timeout);
        match response {
            Ok(_) => self.close(id),
            Err(_) => self.abort(id),
        }
        response
    }
}

/// Minimum size of a read. Bytes.
const PIECE: usize = 4096;

#[expect(clippy::disallowed_methods, reason = "a time-out for several calls together")]
fn exchange<S: Stack + ?Sized>(
    stack: &S,
    id: StreamId,
    mut request: &[u8],
    timeout: Timeout,
) -> Result<Vec<u8>, StreamError> {
    let start = std::time::Instant::now();
    let left = || timeout.map(|most| most.saturating_sub(start.elapsed()));
    if request.is_empty() {
        stack.finish(id)?;
    }
    while !request.is_empty() {
        request = &request[stack.write(id, request, true, left())?..];
    }
    let mut response = vec![0; PIECE];
    let mut long = 0;
    loop {
        if response.len() - long < PIECE {
            response.resize(2 * response.len(), 0);
        }
        match stack.read(id, &mut response[long..], left())? {
            0 => break,
            got => long += got,
        }
    }
    response.truncate(long);
    Ok(response)
}
