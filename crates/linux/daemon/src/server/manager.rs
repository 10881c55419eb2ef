//! Messages to the service manager (`sd_notify`): the daemon is ready, reads its file again, stops, and lives.

use pullnet_units::{Instant, Picos};
use sd_notify::NotifyState;

/// Longest time that a daemon needs to end after its last stream.
const AFTER_FAREWELL: Picos = Picos::from_millis(10_000);

/// A connection to the service manager, if there is one.
pub(super) struct Manager {
    /// Interval of the watchdog's signs of life: half of the time after which the manager would kill the daemon.
    every: Option<Picos>,
    next: Instant,
}

impl Manager {
    pub fn find() -> Self {
        let limit = sd_notify::watchdog_enabled();
        let nanos = |limit: std::time::Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self { every: limit.map(|limit| Picos(nanos(limit).saturating_mul(1000) / 2)), next: Instant::ZERO }
    }

    fn tell(states: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(states) {
            tracing::warn!(%error, "the service manager cannot be told");
        }
    }

    pub fn ready(&self) {
        Self::tell(&[NotifyState::Ready]);
    }

    /// The manager wants to know when: it may have asked before.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => Self::tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "the service manager cannot be told the time"),
        }
    }

    /// Stopping takes as long as streams may go on; the manager would kill a daemon that outlasts its own limit.
    pub fn stopping(&self, farewell: Picos) {
        let micros = u32::try_from((farewell + AFTER_FAREWELL).0 / 1_000_000).unwrap_or(u32::MAX);
        Self::tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
    }

    /// Gives the watchdog a sign of life, if it is time for one.
    pub fn live(&mut self, now: Instant) {
        if let Some(every) = self.every.filter(|_| now >= self.next) {
            self.next = now.after(every);
            Self::tell(&[NotifyState::Watchdog]);
        }
    }

    /// Time of the next sign of life.
    pub fn due(&self) -> Instant {
        self.every.map_or(Instant::NEVER, |_| self.next)
    }
}
