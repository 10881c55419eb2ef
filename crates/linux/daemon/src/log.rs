//! Log to the standard error output.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level as Severity, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Level;

/// Interval between two lines of one kind, and the number of lines that may come at once.
const EACH: Duration = Duration::from_millis(200);
const AT_ONCE: u32 = 20;

/// Logs what `level` says from now on, unless the program logs already.
pub(crate) fn start(level: Level) {
    let most = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(false);
    // A program with a logger of its own keeps it.
    let _ = tracing_subscriber::registry().with(lines.with_filter(Rationed::new(most))).try_init();
}

/// Lines of one kind so far.
#[derive(Debug)]
struct Kind {
    /// Time at which all of them would have been written at that rate.
    spent: Instant,
    left_out: u64,
}

impl Kind {
    fn take(&mut self, now: Instant) -> bool {
        let after = self.spent.max(now) + EACH;
        let allowed = after.duration_since(now) <= EACH * AT_ONCE;
        if allowed {
            self.spent = after;
        } else {
            self.left_out += 1;
        }
        allowed
    }
}

/// Limits each kind of message to five lines per second, so that a hostile application cannot fill the disk through the log.
/// Suppressed lines are counted. Debug and trace messages are not limited.
struct Rationed {
    most: LevelFilter,
    /// A short list: one entry for each place in the program that logs.
    kinds: Mutex<Vec<(Identifier, Kind)>>,
}

impl Rationed {
    fn new(most: LevelFilter) -> Self {
        Self { most, kinds: Mutex::default() }
    }

    /// Returns whether a line passes, and how many of its kind were suppressed before it.
    #[expect(clippy::disallowed_methods, reason = "lines are counted by the time that passes")]
    fn take(&self, kind: Identifier) -> Option<u64> {
        let now = Instant::now();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            kinds.push((kind, Kind { spent: now, left_out: 0 }));
            kinds.len() - 1
        });
        let (_, kind) = &mut kinds[place];
        kind.take(now).then(|| std::mem::take(&mut kind.left_out))
    }
}

impl<S: Subscriber> Filter<S> for Rationed {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        *metadata.level() <= self.most
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        if *event.metadata().level() > Severity::INFO {
            return true;
        }
        let taken = self.take(event.metadata().callsite());
        if let Some(left_out @ 1..) = taken {
            eprintln!("{left_out} lines like the next one were left out");
        }
        taken.is_some()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_kind_are_rationed_and_those_left_out_are_counted() {
        let mut kind = Kind { spent: reference(), left_out: 0 };
        let at = |millis| reference() + Duration::from_millis(millis);
        let now = at(1000);
        let passed = (0..1000).filter(|_| kind.take(now)).count();
        assert_eq!((passed, kind.left_out), (20, 980));
        let passed = (0..100).filter(|_| kind.take(at(2000))).count();
        assert_eq!((passed, kind.left_out), (5, 1075));
    }

    fn reference() -> Instant {
        use std::sync::OnceLock;
        static START: OnceLock<Instant> = OnceLock::new();
        #[expect(clippy::disallowed_methods, reason = "some time, from which others are counted")]
        *START.get_or_init(Instant::now)
    }
}
