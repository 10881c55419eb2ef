//! The state of the daemon for its metrics.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant as Clock};

use pullnet_host::Totals;
use pullnet_host::metrics::{Metrics, text_of};

use crate::doorbell::Doorbell;
use crate::error::Error;
use crate::log;
use crate::metrics::{Endpoint, Serving};

/// Time for the daemon's thread to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval in which the thread is asked once at most: adding up all streams takes it time.
const OFTEN: Duration = Duration::from_millis(50);

/// Refused connections, protocol violations and reloads.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Happened {
    /// Refused connections: of other users, beyond a limit, without a free file descriptor.
    pub forbidden: u64,
    pub beyond_limits: u64,
    pub no_descriptor: u64,
    /// Applications disconnected for a protocol violation.
    pub violations: u64,
    /// Times that the file was read again, with and without errors.
    pub reloads: u64,
    pub failed_reloads: u64,
}

/// Copy of what is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub totals: Totals,
    pub happened: Happened,
    pub applications: u64,
    pub users: u64,
    pub listeners: u64,
    pub draining: bool,
    pub uptime_s: u64,
}

impl Standing {
    fn write(&self, out: &mut Metrics<'_>) -> fmt::Result {
        self.totals.write(out)?;
        let version = ("version", env!("CARGO_PKG_VERSION"));
        out.labelled("pullnet_daemon_build", "Version of the daemon", version, 1)?;
        let Happened { forbidden, beyond_limits, no_descriptor, violations, reloads, failed_reloads } =
            self.happened;
        for (name, help, value) in [
            ("uptime_seconds", "Time since the daemon started", self.uptime_s),
            ("applications", "Applications at the moment", self.applications),
            ("users", "Users of these applications", self.users),
            ("listeners", "Services with a listener", self.listeners),
            ("draining", "1 if the daemon is about to stop, and takes no new streams", self.draining.into()),
        ] {
            out.gauge(&format!("pullnet_daemon_{name}"), help, value)?;
        }
        out.counters(
            "pullnet_daemon_turned_away",
            "Connections that were refused, or ended for a protocol violation",
            "reason",
            &[
                ("stranger", forbidden),
                ("limit", beyond_limits),
                ("no_descriptor", no_descriptor),
                ("misbehaviour", violations),
            ],
        )?;
        let reloads = [("done", reloads), ("failed", failed_reloads)];
        out.counters(
            "pullnet_daemon_reloads",
            "Times that the host file was read again",
            "result",
            &reloads,
        )?;
        let help = "Lines that were left out of the log because there were too many of their kind";
        out.counter("pullnet_daemon_log_lines_left_out", help, log::left_out())
    }
}

/// The end of the metrics in the daemon's thread.
#[derive(Debug)]
pub(super) struct Teller {
    doorbell: Doorbell,
    standings: SyncSender<Standing>,
    _serving: Serving,
}

/// The other end, in the thread of the endpoint.
struct Asker {
    doorbell: Doorbell,
    standings: Receiver<Standing>,
    last: Option<(Clock, String)>,
}

impl Teller {
    /// Lets `endpoint` answer with what the daemon's thread tells.
    pub fn start(endpoint: Endpoint) -> Result<Self, Error> {
        let [doorbell, other] = Doorbell::pair()?;
        let (standings, told) = sync_channel(1);
        let mut asker = Asker { doorbell: other, standings: told, last: None };
        let serving = endpoint.serve(move || asker.ask())?;
        Ok(Self { doorbell, standings, _serving: serving })
    }

    /// Answers the question that the doorbell was rung for.
    pub fn tell(&self, standing: Standing) {
        self.doorbell.drain();
        // A question that was answered too late has an answer here already.
        let _ = self.standings.try_send(standing);
    }
}

impl AsFd for Teller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }
}

impl Asker {
    #[expect(clippy::disallowed_methods, reason = "the daemon is asked so often")]
    fn ask(&mut self) -> Option<String> {
        let now = Clock::now();
        if let Some((_, text)) = self.last.as_ref().filter(|(then, _)| now.duration_since(*then) < OFTEN) {
            return Some(text.clone());
        }
        // An answer that came too late for the question before.
        let _ = self.standings.try_recv();
        self.doorbell.ring();
        let standing = self.standings.recv_timeout(PATIENCE).ok()?;
        let text = text_of(move |out| standing.write(out));
        self.last = Some((now, text.clone()));
        Some(text)
    }
}
