//! A gate at a host that can accept nothing now.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pullnet_apps::Gate;
use pullnet_host::{Stack, StreamError, StreamId, StreamInfo, StreamOptions, Timeout};

/// Counts the attempts to accept.
#[derive(Default)]
struct Full(AtomicU32);

type Done<T> = Result<T, StreamError>;

impl Stack for Full {
    fn listen(&self, _: u16) -> Done<()> {
        Ok(())
    }

    fn unlisten(&self, _: u16) {}

    fn accept(&self, _: u16, _: Timeout) -> Done<StreamId> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(StreamError::Full("of the daemon"))
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

    fn info(&self, _: StreamId) -> Option<StreamInfo> {
        None
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the number of attempts depends on the time")]
fn a_full_host_is_asked_every_ten_milliseconds() {
    let full = Arc::new(Full::default());
    let stack: Arc<dyn Stack> = Arc::<Full>::clone(&full);
    let (gate, start) = (Gate::ndp(&stack, 7).unwrap(), Instant::now());
    while start.elapsed() < Duration::from_millis(100) {
        assert!(gate.accept().unwrap().is_none());
    }
    let (attempts, longest) = (full.0.load(Ordering::Relaxed), start.elapsed().as_millis() / 10 + 1);
    assert!(u128::from(attempts) <= longest, "{attempts} attempts in {longest} times 10 ms");
}
