use std::sync::atomic::{AtomicBool, AtomicU32};

use pullnet_netio::Waker;

/// Flags by which threads coordinate without the lock.
#[derive(Debug)]
pub(super) struct Signals {
    /// Number of threads that want the lock; the driver lets them in.
    pub wanting: AtomicU32,
    /// Whether the driver sleeps in the kernel while it holds the lock.
    pub asleep: AtomicBool,
    pub waker: Waker,
}
