//! The same soak between real processes over the kernel's UDP on loopback; kills some of them.

mod carry;
mod child;
mod stage;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::{NdpStream, Stack, StreamError, StreamOptions};
use pullnet_rng::Seed;
use pullnet_units::Instant;

use crate::condition::Condition;
use crate::ledger::Ledger;
use crate::memory::Looks;
use crate::message::{Head, Sink, Source};
use crate::options::Options;
use crate::report::Report;

use child::SERVICE;
use stage::Stage;

pub use child::child;

/// The process that is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Killed {
    /// The called process, including its host.
    Peer,
    /// The called application; its daemon survives.
    Application,
    /// Alternately the caller's daemon and that of the called application.
    Daemon,
}

impl Killed {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Peer, Self::Application, Self::Daemon];

    /// Name on the command line, and description of the fault.
    #[must_use]
    pub const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Peer => ("peer-process", "a process that serves calls is killed, with its host in it"),
            Self::Application => {
                ("application-process", "an application that serves calls by a daemon is killed")
            }
            Self::Daemon => ("daemon-process", "the daemon of the caller, or of the called, is killed"),
        }
    }
}

/// Options of a soak with real processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KillOptions {
    /// The process to kill.
    pub killed: Killed,
    /// Number of calls.
    pub rpcs: u64,
    /// Bytes carried by streams, both directions together.
    pub bytes: u64,
    /// Number of kills, spread evenly over the calls and streams.
    pub kills: u32,
    /// Seed of sizes and contents.
    pub seed: u64,
    /// Whether the hosts share keys, and encrypt all streams.
    pub encrypted: bool,
    /// Program that passes the arguments after `--child` to [`child`].
    pub program: PathBuf,
}

/// Threads that make calls, and threads that each have a stream open.
const CALLERS: usize = 4;
const STREAMERS: usize = 2;
/// A call or stream without progress for this long counts as hung.
const WATCHDOG: Duration = Duration::from_secs(60);
/// Pause between an error and the next attempt.
const PAUSE: Duration = Duration::from_millis(5);
/// The killed process's number in the ledger.
const THERE: u32 = 0;

/// State shared by the calling threads.
struct Callers {
    ledger: Mutex<Ledger>,
    /// The stack that calls currently use.
    stack: Mutex<Arc<dyn Stack>>,
    to: SocketAddr,
}

/// Runs a soak with real processes. Reports its progress, 0 to 1, to `told`.
///
/// # Errors
/// If processes or files cannot be created, or a started process does not begin to serve.
pub fn kill(options: &KillOptions, mut told: impl FnMut(f64)) -> io::Result<Report> {
    let KillOptions { rpcs, bytes, seed, encrypted, .. } = *options;
    let asked = Options { condition: Condition::Fine, rpcs, bytes, seed, encrypted };
    let (mut stage, stack) = Stage::new(options)?;
    let (ledger, stack) = (Mutex::new(Ledger::new(&asked)), Mutex::new(stack));
    let callers = Callers { ledger, stack, to: stage.to };
    let resident = std::thread::scope(|scope| {
        (0..CALLERS).for_each(|_| drop(scope.spawn(|| callers.ask(Ledger::next_call, call))));
        (0..STREAMERS).for_each(|_| drop(scope.spawn(|| callers.ask(Ledger::next_stream, stream))));
        let directed = direct(&callers, &mut stage, options.kills, &mut told);
        callers.ledger().ask_no_more();
        directed
    })?;
    let mut ledger = callers.ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    for id in stage.journal()? {
        ledger.carried_out(&Head { id, long: 0, answer: 0, both_ways: false });
    }
    Ok(ledger.report(options.killed.described().0, &asked, resident))
}

/// Kills processes, evenly over the progress of the soak. Returns memory at 10%, 50% and at the end.
fn direct(
    callers: &Callers,
    stage: &mut Stage,
    kills: u32,
    told: &mut impl FnMut(f64),
) -> io::Result<[Option<u64>; 3]> {
    let mut next = (0..kills).map(|at| (f64::from(at) + 0.5) / f64::from(kills)).peekable();
    let mut looks = Looks::default();
    loop {
        let done = callers.ledger().progress();
        let over = callers.ledger().is_over();
        looks.look(done, || stage.resident());
        if over {
            return Ok(looks.end(stage.resident()));
        }
        if next.next_if(|at| *at <= done).is_none() {
            std::thread::park_timeout(PAUSE);
            continue;
        }
        told(done);
        callers.ledger().died_at(THERE);
        if let Some(stack) = stage.kill()? {
            *lock(&callers.stack) = stack;
        }
        callers.ledger().back_at(THERE);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Callers {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Carries out one request after another from `next`, until it has no more.
    fn ask(&self, next: fn(&mut Ledger) -> Option<Head>, exchange: Exchange) {
        loop {
            let Some(head) = next(&mut self.ledger()) else { return };
            let (partner, stack) = (self.ledger().partner(THERE), Arc::clone(&lock(&self.stack)));
            match exchange(&stack, self.to, &head) {
                Ok(answer) => self.judge(&head, &answer),
                Err(error) => {
                    self.ledger().failed(Instant::ZERO, Some(&head), &partner, &error);
                    std::thread::park_timeout(PAUSE);
                }
            }
        }
    }

    fn judge(&self, asked: &Head, answer: &Sink) {
        let mut ledger = self.ledger();
        match answer.end() {
            Ok(got) => ledger.answered(Instant::ZERO, asked, &got),
            Err(wrong) => {
                ledger.complain(&format!("an answer {wrong}"));
                ledger.died(asked);
            }
        }
    }
}

/// Sends a request and receives the answer.
type Exchange = fn(&Arc<dyn Stack>, SocketAddr, &Head) -> Result<Sink, StreamError>;

fn call(stack: &Arc<dyn Stack>, to: SocketAddr, head: &Head) -> Result<Sink, StreamError> {
    let request = Source::new(Seed(head.id), head).all();
    let answer = stack.call(to, SERVICE, &request, StreamOptions::default(), Some(WATCHDOG))?;
    let mut sink = Sink::new();
    sink.take(&answer);
    Ok(sink)
}

/// Writes and reads at the same time.
fn stream(stack: &Arc<dyn Stack>, to: SocketAddr, head: &Head) -> Result<Sink, StreamError> {
    let (stream, mut sink) = (NdpStream::connect(stack, to, SERVICE)?, Sink::new());
    stream.set_read_timeout(Some(WATCHDOG));
    stream.set_write_timeout(Some(WATCHDOG));
    let write = || {
        carry::write(&stream, Source::new(Seed(head.id), head))?;
        stream.finish()
    };
    std::thread::scope(|scope| {
        let written = scope.spawn(write);
        // If reading has failed, writing must not continue either.
        carry::read_all(&stream, &mut sink).inspect_err(|_| stream.abort())?;
        written.join().unwrap_or_else(|_| Err(StreamError::Stopped("a thread panicked".to_owned())))
    })?;
    Ok(sink)
}
