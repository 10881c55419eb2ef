use std::time::Duration;

/// Behaviour of the thread that drives a host when it is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Polls again at once: the shortest latency, at the price of a processor. It yields to other threads that want to run.
    Spin,
    /// Polls for this long, and then lets the kernel wake it. While pulls are scheduled it keeps polling: the wake-up
    /// latency of the kernel exceeds the time between two pulls.
    Adaptive(Duration),
}

impl Default for Wait {
    /// 50 us: about the cost of a wake-up.
    fn default() -> Self {
        Self::Adaptive(Duration::from_micros(50))
    }
}
