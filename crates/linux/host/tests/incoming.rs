//! Streams one after the other, from a stack that cannot accept each at once.

#[path = "common/accepting.rs"]
mod accepting;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use accepting::{Accepting, GONE};
use pullnet_host::{NdpListener, Stack, StreamError, StreamId};

const SERVICE: u16 = 7;

/// Number of streams that `incoming` gives before it ends, and what is left of the list then.
fn given(list: impl IntoIterator<Item = Result<u64, StreamError>>) -> (usize, usize) {
    let list: VecDeque<_> = list.into_iter().map(|one| one.map(StreamId::from_bits)).collect();
    let left = Arc::new(Mutex::new(list));
    let list = Arc::clone(&left);
    let next = move || list.lock().unwrap().pop_front().expect("the end of the list ends the iterator");
    let stack: Arc<dyn Stack> = Arc::new(Accepting(next));
    let streams = NdpListener::bind(&stack, SERVICE).unwrap().incoming().count();
    (streams, left.lock().unwrap().len())
}

#[test]
fn a_full_host_does_not_end_the_streams() {
    let full = || Err(StreamError::Full("of the daemon"));
    let stopped = || Err(StreamError::Stopped("why".to_owned()));
    assert_eq!(given([Ok(1), full(), full(), Ok(2), stopped(), Ok(4)]), (2, 1));
}

#[test]
fn a_stream_that_is_gone_again_does_not_end_the_streams() {
    assert_eq!(given([Ok(GONE), Ok(1), Err(StreamError::NoListener(SERVICE)), Ok(4)]), (1, 1));
}

#[test]
fn the_accept_timeout_ends_the_streams() {
    assert_eq!(given([Ok(1), Err(StreamError::TimedOut), Ok(2)]), (1, 1));
}
