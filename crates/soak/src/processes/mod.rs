//! The same with real processes over the kernel's UDP on loopback addresses, some of which are killed.

mod child;
mod stage;

use std::io::Result;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::{Stack, StreamOptions};
use pullnet_rng::Seed;
use pullnet_units::Instant;

use crate::ledger::Ledger;
use crate::memory::Looks;
use crate::message::{Head, Sink, Source};
use crate::report::Report;
use crate::{Condition, Options};

use child::SERVICE;
use stage::Stage;

pub use child::child;

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Killed {
    /// The process that is called, with its host.
    Peer,
    /// The application that is called; its daemon lives.
    Application,
    /// In turn the daemon of the caller, and that of the called.
    Daemon,
}

impl Killed {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Peer, Self::Application, Self::Daemon];

    const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Peer => ("peer-process", "a process that serves calls is killed, with its host in it"),
            Self::Application => {
                ("application-process", "an application that serves calls by a daemon is killed")
            }
            Self::Daemon => ("daemon-process", "the daemon of the caller, or of the called, is killed"),
        }
    }

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// What happens.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.described().1
    }
}

/// What is soaked with processes, and how much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KillOptions {
    /// Who is killed.
    pub killed: Killed,
    /// Calls.
    pub rpcs: u64,
    /// How often, evenly over the calls.
    pub kills: u32,
    /// Chance of lengths and contents.
    pub seed: u64,
    /// The program that calls [`child`] with what follows `--child` on its command line.
    pub program: PathBuf,
}

/// Threads that call.
const CALLERS: usize = 4;
/// Whoever waits longer waits for ever.
const WATCHDOG: Duration = Duration::from_secs(60);
/// After an error, before the next call.
const PAUSE: Duration = Duration::from_millis(5);
/// Whoever dies, in the ledger.
const THERE: u32 = 0;

/// What callers share.
struct Callers {
    ledger: Mutex<Ledger>,
    /// What they call with at the moment.
    stack: Mutex<Arc<dyn Stack>>,
    to: SocketAddr,
}

/// Soaks with processes. `told` is told from time to time how much is done, 0 to 1.
///
/// # Errors
/// If processes or files cannot be had, or one that was started does not begin to serve.
pub fn kill(options: &KillOptions, mut told: impl FnMut(f64)) -> Result<Report> {
    let asked = Options { condition: Condition::Fine, rpcs: options.rpcs, bytes: 0, seed: options.seed };
    let (mut stage, stack) = Stage::new(options)?;
    let (ledger, stack) = (Mutex::new(Ledger::new(&asked)), Mutex::new(stack));
    let callers = Callers { ledger, stack, to: stage.to };
    let resident = std::thread::scope(|scope| {
        (0..CALLERS).for_each(|_| drop(scope.spawn(|| callers.call_all())));
        let directed = direct(&callers, &mut stage, options.kills, &mut told);
        callers.ledger().ask_no_more();
        directed
    })?;
    let mut ledger = callers.ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    for id in stage.journal()? {
        ledger.carried_out(&Head { id, long: 0, answer: 0, both_ways: false });
    }
    Ok(ledger.report(options.killed.name(), options.seed, resident))
}

/// Kills so many times, evenly over the calls. Returns memory at 10%, 50% and at the end.
fn direct(callers: &Callers, stage: &mut Stage, kills: u32, told: &mut impl FnMut(f64)) -> Result<[u64; 3]> {
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

    /// Calls until there were enough calls.
    fn call_all(&self) {
        loop {
            let Some(head) = self.ledger().next_call() else { return };
            let (partner, stack) = (self.ledger().partner(THERE), Arc::clone(&lock(&self.stack)));
            let request = Source::new(Seed(head.id), &head).all();
            let answer = stack.call(self.to, SERVICE, &request, StreamOptions::default(), Some(WATCHDOG));
            if let Err(error) = &answer {
                self.ledger().failed(Instant::ZERO, Some(&head), &partner, error);
                std::thread::park_timeout(PAUSE);
            }
            answer.into_iter().for_each(|answer| self.judge(&head, &answer));
        }
    }

    fn judge(&self, asked: &Head, answer: &[u8]) {
        let mut sink = Sink::new();
        sink.take(answer);
        match sink.end() {
            Ok(got) => self.ledger().answered(Instant::ZERO, asked, &got),
            Err(wrong) => {
                let mut ledger = self.ledger();
                ledger.complain(&format!("an answer {wrong}"));
                ledger.died(asked);
            }
        }
    }
}
