//! The daemon: one thread that polls the network, the rings of all streams and the control sockets in turn. There is no
//! lock, and nothing in it waits for an application.

mod application;
mod clients;
mod engine_io;
#[cfg(any(test, feature = "hostile"))]
pub(crate) mod hostile;
mod manager;
mod open;
mod served;
mod standing;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant as Clock};

use pullnet_host::Yielding;
use pullnet_host::seal::Keys;
use pullnet_netio::{Dpdk, Signals};
use pullnet_switch::config::Wait;
use pullnet_units::{Instant, Picos};

use crate::config::{HostFile, KeyFile, fixed};
use crate::control_socket::ControlSocket;
use crate::error::Error;
use crate::metrics::Endpoint;
use crate::process::Account;
use crate::{log, privileges, process, sys};
use clients::Server;
use engine_io::EngineIo;
use manager::Manager;
use standing::{Happened, Standing, Teller};

/// Interval between two polls of the control sockets while frames and rings keep the loop busy.
const LOOK: Picos = Picos::from_micros(5);
/// Worst wake-up latency of the kernel.
const LATE: Picos = Picos::from_micros(60);
/// Longest sleep.
const NAP: Duration = Duration::from_secs(1);
/// Time for the last packets to leave.
const LAST_WORDS: Picos = Picos::from_millis(100);

/// A daemon whose sockets are open.
pub struct Daemon {
    network: EngineIo,
    control: ControlSocket,
    file: HostFile,
    account: Account,
    keys: Option<KeyFile>,
    hangup: Option<OwnedFd>,
    metrics: Option<Endpoint>,
    dpdk: Option<Dpdk>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("file", &self.file).finish_non_exhaustive()
    }
}

/// The time since the daemon started.
struct Time(Clock);

impl Time {
    #[expect(clippy::disallowed_methods, reason = "the one clock of a daemon")]
    fn start() -> Self {
        Self(Clock::now())
    }

    #[expect(clippy::disallowed_methods, reason = "the one clock of a daemon")]
    fn now(&self) -> Instant {
        Instant((Clock::now().duration_since(self.0).as_nanos() as u64).saturating_mul(1000))
    }
}

impl Daemon {
    /// Opens the interface and the socket named in `file`.
    ///
    /// # Errors
    /// If the interface cannot be used, the socket cannot be made, or an account does not exist.
    pub fn open(file: &HostFile) -> Result<Self, Error> {
        process::raise_descriptors();
        file.check_names()?;
        let account = privileges::account(&file.user)?;
        let opened = |keys| KeyFile::open(keys, file.address, account.uid);
        let mut keys = file.keys.as_ref().map(opened).transpose()?;
        let known = keys.as_mut().map(KeyFile::read).transpose()?;
        let (network, dpdk) = open::network(file, known)?;
        let control = ControlSocket::open(&file.access, &account)?;
        let open = |place| Endpoint::open_for(place, &account, control.group());
        let metrics = file.metrics.as_ref().map(open).transpose()?;
        Ok(Self { network, control, file: file.clone(), account, keys, hangup: None, metrics, dpdk })
    }

    /// Reads its file and its keys again each time that `hangup` becomes readable.
    #[must_use]
    pub fn with_hangup(self, hangup: OwnedFd) -> Self {
        Self { hangup: Some(hangup), ..self }
    }

    /// Gives up every privilege, for this thread and its later child threads, and for DPDK's. Call it before any other thread is
    /// started.
    ///
    /// # Errors
    /// If the kernel does not let go of one.
    pub fn drop_privileges(&self) -> Result<(), Error> {
        privileges::drop_all(&self.account, self.dpdk)
    }

    /// Serves until `stop` becomes readable; then refuses new streams, lets the others go on for as long as the file allows,
    /// and resets the rest. A second readable event on `stop` cuts the wait short.
    ///
    /// # Errors
    /// If the core that the file names does not exist, or the process has no file descriptors left at the start.
    pub fn run(self, stop: BorrowedFd<'_>) -> Result<(), Error> {
        if let Some(core) = self.file.core {
            process::run_on(core)?;
        }
        let mut server = Server::new(self.control, &self.file.access, stop)?;
        self.hangup.into_iter().try_for_each(|fd| server.listen_for_hangup(fd))?;
        if let Some(metrics) = &self.metrics {
            tracing::info!(at = metrics.place(), "has metrics");
        }
        let teller = self.metrics.map(Teller::start).transpose()?;
        teller.iter().try_for_each(|teller| server.listen_for_questions(teller.as_fd()))?;
        tracing::info!(address = %self.file.address, port = self.file.port, socket = %self.file.access.path.display(), "serves");
        let (network, file, keys, account) = (self.network, self.file, self.keys, self.account);
        let mut serving = Loop {
            network,
            server,
            file,
            keys,
            account,
            teller,
            manager: Manager::find(),
            reloads: Happened::default(),
            time: Time::start(),
            looked: Instant::ZERO,
            busy: Instant::ZERO,
            yielding: Yielding::default(),
        };
        serving.run(stop);
        match serving.network.take_end() {
            Some(error) => Err(Error::Gone(error)),
            None => Ok(()),
        }
    }
}

/// Does everything that `pullnetd` does with a file: logs, opens, gives up privileges, and serves until SIGINT or SIGTERM.
///
/// # Errors
/// Those of [`Daemon::open`], [`Daemon::drop_privileges`] and [`Daemon::run`].
pub fn serve(file: &HostFile) -> Result<(), Error> {
    log::start(file.log, file.log_form);
    let signals = Signals::block()?;
    let daemon = Daemon::open(file)?;
    daemon.drop_privileges()?;
    daemon.with_hangup(signals.hangup()?).run(signals.as_fd())
}

struct Loop {
    network: EngineIo,
    server: Server,
    file: HostFile,
    keys: Option<KeyFile>,
    account: Account,
    teller: Option<Teller>,
    manager: Manager,
    /// Its counts of reloads.
    reloads: Happened,
    time: Time,
    /// Time of the latest poll of the control sockets.
    looked: Instant,
    /// Time of the latest activity.
    busy: Instant,
    yielding: Yielding,
}

impl Loop {
    fn run(&mut self, stop: BorrowedFd<'_>) {
        self.manager.ready();
        while !self.turn() {}
        sys::take(stop);
        self.manager.stopping(self.file.farewell);
        let (streams, farewell) = (self.network.engine.streams(), self.file.farewell);
        tracing::info!(streams, %farewell, "stops, and takes no new streams");
        self.server.lock();
        self.network.engine.refuse_new();
        let end = self.time.now().after(farewell);
        let mut hurried = false;
        while self.network.engine.streams() > 0
            && self.time.now() < end
            && !hurried
            && !self.network.is_gone()
        {
            hurried = self.turn();
        }
        if hurried {
            // A second signal that is not read would end the process as soon as signals are no longer blocked.
            sys::take(stop);
        }
        tracing::info!(reset = self.network.engine.streams(), "has stopped");
        self.say_farewell();
    }

    /// Polls everything once. Returns whether the daemon is told to stop, or has to, because its interface is gone.
    fn turn(&mut self) -> bool {
        let now = self.time.now();
        self.yielding.begin_turn(now);
        let mut busy = self.network.receive(now);
        let mut stop = false;
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            stop = self.server.look(&mut self.network.engine, now);
            if self.server.take_hangup() {
                self.reload();
            }
            if self.server.take_question() {
                self.tell(now);
            }
        }
        self.manager.live(now);
        self.server.news(&mut self.network.engine);
        busy |= self.server.turns(&mut self.network.engine, now);
        busy |= self.network.send(now);
        self.server.ring_owed(now, !busy);
        if busy {
            self.busy = now;
        } else {
            self.rest(now);
        }
        stop || self.network.is_gone()
    }

    /// Answers the question of the metrics.
    fn tell(&self, now: Instant) {
        let Some(teller) = &self.teller else { return };
        let standing = self.server.standing(&self.network.engine);
        let Happened { reloads, failed_reloads, .. } = self.reloads;
        let happened = Happened { reloads, failed_reloads, ..standing.happened };
        teller.tell(Standing { happened, uptime_s: now.0 / Picos::from_secs(1).0, ..standing });
    }

    /// Reads the file and the keys again. Settings that cannot change stay and are named, and so do all if there are errors.
    fn reload(&mut self) {
        self.manager.reloading();
        match self.take_over() {
            true => self.reloads.reloads += 1,
            false => self.reloads.failed_reloads += 1,
        }
        self.manager.ready();
    }

    /// Takes over what has changed in the file. Returns whether that is all of it.
    fn take_over(&mut self) -> bool {
        let path = self.file.path.display().to_string();
        let text = match std::fs::read_to_string(&self.file.path) {
            Ok(text) => text,
            Err(error) => {
                let uid = self.account.uid;
                tracing::error!(
                    %error,
                    "{path} cannot be read again, and nothing changes; user {uid} has to be able to read it and its folder"
                );
                return false;
            }
        };
        let new = match HostFile::read(&path, &text) {
            Ok(new) => new,
            Err(errors) => {
                errors.iter().for_each(|error| tracing::error!("{error}"));
                tracing::error!(errors = errors.len(), "{path} has errors, and nothing changes");
                return false;
            }
        };
        let stay = fixed(&self.file, &new);
        if !stay.is_empty() {
            tracing::error!(
                "cannot change while the daemon runs, and stay as they were: {}; restart it",
                stay.join(", ")
            );
        }
        let now = self.file.with_changes_of(&new);
        if let Err(error) = now.check_names() {
            tracing::error!(%error, "nothing changes");
            return false;
        }
        let Some(keys) = self.keys_again(&now) else { return false };
        // The last step that can fail, and the first that changes anything.
        if let Err(error) = self.server.set_access(&now.access, &self.account) {
            tracing::error!(%error, "nothing changes");
            return false;
        }
        if let Some(keys) = keys {
            // They were checked.
            let _ = self.network.engine.set_keys(keys);
            tracing::info!("has read its keys again");
        }
        log::set_level(now.log);
        self.network.engine.set_limits(now.limits);
        self.server.share_backlogs(&mut self.network.engine);
        self.file = now;
        tracing::info!("has read its file again");
        stay.is_empty()
    }

    /// Reads the keys again and checks them: `Some(None)` if there is no file of keys, `None` if they are no good.
    fn keys_again(&mut self, now: &HostFile) -> Option<Option<Keys>> {
        let (Some(file), Some(table)) = (&mut self.keys, &now.keys) else { return Some(None) };
        let engine = &self.network.engine;
        let read = file.read_again(table);
        match read.and_then(|keys| engine.check_keys(&keys).map(|()| keys).map_err(Error::Engine)) {
            Ok(keys) => Some(Some(keys)),
            Err(error) => {
                tracing::error!(%error, "keeps the keys from before, and nothing changes");
                None
            }
        }
    }

    /// Handles an idle turn: sleeps after a while, or yields the processor before the next turn. With few cores, an
    /// application that is to answer must run first.
    fn rest(&mut self, now: Instant) {
        let wary = self.yielding.is_wary(now);
        let idle = now.since(self.busy) > self.file.idle;
        if (idle || wary) && self.file.wait == Wait::Adaptive {
            return self.nap(now, if wary { Picos::ZERO } else { LATE });
        }
        self.yielding.give_way(now);
    }

    /// Sleeps until the next event, or until `early` before work is due.
    fn nap(&mut self, now: Instant, early: Picos) {
        self.server.sleep(true);
        self.server.news(&mut self.network.engine);
        let due = self.network.due().min(self.server.due()).min(self.manager.due());
        let time = Duration::from_nanos(due.since(now).0.saturating_sub(early.0) / 1000);
        if !self.server.is_due() && !time.is_zero() {
            self.network.wait(now, self.server.waker(), time.min(NAP));
        }
        self.server.sleep(false);
        self.looked = Instant::ZERO;
    }

    /// Resets the streams that are left, and tells the applications.
    fn say_farewell(&mut self) {
        self.network.engine.stop(self.time.now());
        let end = self.time.now().after(LAST_WORDS);
        while self.network.send(self.time.now()) && self.time.now() < end {}
        self.server.close();
    }
}
