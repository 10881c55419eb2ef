//! Log to the standard error output.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tracing::callsite::Identifier;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level as Severity, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, LogForm};

/// Interval between two lines of one kind, and the number of lines that may come at once.
const EACH: Duration = Duration::from_millis(200);
const AT_ONCE: u32 = 20;

/// The most verbose level that is logged, as a number of [`Level`].
static MOST: AtomicU8 = AtomicU8::new(Level::Info as u8);
/// Lines that were left out.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Logs what `level` says from now on, unless the program logs already.
pub(crate) fn start(level: Level, form: LogForm) {
    MOST.store(level as u8, Ordering::Relaxed);
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(false);
    let rationed = Rationed { form, kinds: Mutex::default() };
    let lines = match form {
        LogForm::Text => lines.with_filter(rationed).boxed(),
        LogForm::Json => lines.json().with_filter(rationed).boxed(),
    };
    // A program with a logger of its own keeps it.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}

/// Logs what `level` says from now on.
pub(crate) fn set_level(level: Level) {
    if MOST.swap(level as u8, Ordering::Relaxed) != level as u8 {
        tracing::callsite::rebuild_interest_cache();
    }
}

/// Number of lines that were left out because there were too many of their kind.
pub(crate) fn left_out() -> u64 {
    LEFT_OUT.load(Ordering::Relaxed)
}

fn most() -> LevelFilter {
    const LEVELS: [LevelFilter; 5] =
        [LevelFilter::ERROR, LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    LEVELS[usize::from(MOST.load(Ordering::Relaxed)).min(LEVELS.len() - 1)]
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
            LEFT_OUT.fetch_add(1, Ordering::Relaxed);
        }
        allowed
    }
}

/// Limits each kind of message to five lines per second, so that a hostile application cannot fill the disk through the log.
/// Suppressed lines are counted. Debug and trace messages are not limited.
struct Rationed {
    form: LogForm,
    /// A short list: one entry for each place in the program that logs.
    kinds: Mutex<Vec<(Identifier, Kind)>>,
}

impl Rationed {
    /// Says that lines were left out. The event that is being filtered cannot be joined by another one.
    fn confess(&self, left_out: u64) {
        match self.form {
            LogForm::Text => eprintln!("{left_out} lines like the next one were left out"),
            LogForm::Json => {
                let mut time = String::new();
                // Without a clock the line has no time.
                let _ = SystemTime.format_time(&mut Writer::new(&mut time));
                let fields = json!({"message": "lines like the next one were left out", "lines": left_out});
                eprintln!("{}", json!({"timestamp": time, "level": "WARN", "fields": fields}));
            }
        }
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
        *metadata.level() <= most()
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        if *event.metadata().level() > Severity::INFO {
            return true;
        }
        let taken = self.take(event.metadata().callsite());
        if let Some(left_out @ 1..) = taken {
            self.confess(left_out);
        }
        taken.is_some()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most())
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
