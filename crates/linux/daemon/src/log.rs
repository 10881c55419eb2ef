//! What is logged, to the standard error output.

use tracing::level_filters::LevelFilter;

use crate::config::Level;

/// Logs what `level` says from now on, unless the program logs already.
pub(crate) fn start(level: Level) {
    let most = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(most).with_writer(std::io::stderr).with_target(false);
    // A program that logs in its own way keeps doing so.
    let _ = log.with_ansi(false).try_init();
}
