use std::time::Duration;

/// Behaviour of the thread that drives a host when it is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Looks again at once: the shortest latency, at the price of a processor. It gives way to other threads that want to
    /// run.
    Spin,
    /// Looks again for so long, and then lets the kernel wake it. While pulls wait for their time it keeps looking: the
    /// kernel is late by more than the time between two of them.
    Adaptive(Duration),
}

impl Default for Wait {
    /// 50 us: about what it costs to be woken.
    fn default() -> Self {
        Self::Adaptive(Duration::from_micros(50))
    }
}
