//! A gate at a host that can accept nothing now.

#[path = "../../host/tests/common/accepting.rs"]
mod accepting;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use accepting::Accepting;
use pullnet_apps::Gate;
use pullnet_host::{Stack, StreamError};

#[test]
#[expect(clippy::disallowed_methods, reason = "the number of attempts depends on the time")]
fn a_full_host_is_asked_every_ten_milliseconds() {
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    let full = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(StreamError::Full("of the daemon"))
    };
    let stack: Arc<dyn Stack> = Arc::new(Accepting(full));
    let (gate, start) = (Gate::ndp(&stack, 7).unwrap(), Instant::now());
    while start.elapsed() < Duration::from_millis(100) {
        assert!(gate.accept().unwrap().is_none());
    }
    let (attempts, longest) = (attempts.load(Ordering::Relaxed), start.elapsed().as_millis() / 10 + 1);
    assert!(u128::from(attempts) <= longest, "{attempts} attempts in {longest} times 10 ms");
}
