//! A stack of which only accepting is of interest.

use std::net::SocketAddr;

use pullnet_host::{Counts, Stack, StreamError, StreamId, StreamInfo, StreamOptions, Timeout};

/// Accepts what a function says. A stream is known unless its number is [`GONE`].
pub struct Accepting<F>(pub F);

/// Number of a stream that is gone before anybody can look at it.
pub const GONE: u64 = 3;

type Done<T> = Result<T, StreamError>;

impl<F: Fn() -> Done<StreamId> + Send + Sync> Stack for Accepting<F> {
    fn listen(&self, _: u16) -> Done<()> {
        Ok(())
    }

    fn unlisten(&self, _: u16) {}

    fn accept(&self, _: u16, _: Timeout) -> Done<StreamId> {
        self.0()
    }

    fn connect(&self, _: SocketAddr, _: u16, _: StreamOptions) -> Done<StreamId> {
        Err(StreamError::Closed)
    }

    fn write(&self, _: StreamId, _: &[u8], _: bool, _: Timeout) -> Done<usize> {
        Err(StreamError::Closed)
    }

    fn finish(&self, _: StreamId) -> Done<()> {
        Err(StreamError::Closed)
    }

    fn read(&self, _: StreamId, _: &mut [u8], _: Timeout) -> Done<usize> {
        Err(StreamError::Closed)
    }

    fn settle(&self, _: StreamId, _: Timeout) -> Done<()> {
        Err(StreamError::Closed)
    }

    fn close(&self, _: StreamId) {}

    fn abort(&self, _: StreamId) {}

    fn prefer(&self, _: StreamId, _: u8) {}

    fn info(&self, id: StreamId) -> Option<StreamInfo> {
        (id.bits() != GONE).then(|| StreamInfo {
            peer: ([10, 0, 0, 2], 61199).into(),
            service: 7,
            ours: false,
            waiting: 0,
            settled: true,
            counts: Counts::default(),
            error: None,
        })
    }
}
