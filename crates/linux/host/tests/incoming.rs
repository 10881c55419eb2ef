//! Streams one after the other, from a stack that cannot accept each at once.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use pullnet_host::{Counts, NdpListener, Stack, StreamError, StreamId, StreamInfo, StreamOptions, Timeout};

const SERVICE: u16 = 7;

/// Accepts what a list says.
struct Scripted(Mutex<VecDeque<Result<StreamId, StreamError>>>);

type Done<T> = Result<T, StreamError>;

impl Stack for Scripted {
    fn listen(&self, _: u16) -> Done<()> {
        Ok(())
    }

    fn unlisten(&self, _: u16) {}

    fn accept(&self, _: u16, _: Timeout) -> Done<StreamId> {
        self.0.lock().unwrap().pop_front().expect("the end of the list ends the iterator")
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

    /// Stream 3 is gone.
    fn info(&self, id: StreamId) -> Option<StreamInfo> {
        (id.bits() != 3).then(|| StreamInfo {
            peer: ([10, 0, 0, 2], 61199).into(),
            service: SERVICE,
            ours: false,
            waiting: 0,
            settled: true,
            counts: Counts::default(),
            error: None,
        })
    }
}

/// Number of streams that `incoming` gives before it ends, and what is left of the list then.
fn given(list: impl IntoIterator<Item = Result<u64, StreamError>>) -> (usize, usize) {
    let list = list.into_iter().map(|one| one.map(StreamId::from_bits)).collect();
    let scripted = Arc::new(Scripted(Mutex::new(list)));
    let stack: Arc<dyn Stack> = Arc::<Scripted>::clone(&scripted);
    let streams = NdpListener::bind(&stack, SERVICE).unwrap().incoming().count();
    (streams, scripted.0.lock().unwrap().len())
}

#[test]
fn a_full_host_does_not_end_the_streams() {
    let full = || Err(StreamError::Full("of the daemon"));
    let stopped = || Err(StreamError::Stopped("why".to_owned()));
    assert_eq!(given([Ok(1), full(), full(), Ok(2), stopped(), Ok(4)]), (2, 1));
}

#[test]
fn a_stream_that_is_gone_again_does_not_end_the_streams() {
    assert_eq!(given([Ok(3), Ok(1), Err(StreamError::NoListener(SERVICE)), Ok(4)]), (1, 1));
}

#[test]
fn the_accept_timeout_ends_the_streams() {
    assert_eq!(given([Ok(1), Err(StreamError::TimedOut), Ok(2)]), (1, 1));
}
