//! A proxy between TCP and NDP, so that programs that know only TCP work over NDP unchanged.
//!
//! One proxy listens at a TCP address and opens a stream to a service for each connection; another one, at the host of that
//! service, opens a TCP connection for each stream. Ends of either half are passed on, and errors as RST or RESET.
//!
//! A stream is opened by its first bytes, but a TCP client may wait for its server to speak first. Therefore a proxy begins
//! each stream with a greeting of 8 bytes, which its counterpart takes away. A `raw` proxy leaves it out and speaks with
//! programs that use NDP themselves.

mod relay;
mod route;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_daemon::metrics::{Endpoint, Serving};
use pullnet_host::metrics::{Metrics, text_of};
use pullnet_host::{Stack, StreamError};
use serde::Serialize;
use thiserror::Error;

use crate::clock::clock;
use crate::gate::Gate;
use crate::line::{Line, Road};
use relay::{NotCarried, Pair};
pub use route::Route;

/// Connections at a time, unless another limit is set: half of the streams that a daemon allows an application.
pub const LIMIT: usize = 512;
/// Stack of a thread, whose buffers are elsewhere. Bytes.
const STACK: usize = 128 << 10;
/// Interval between two looks at the last connections.
const LOOK: Duration = Duration::from_millis(10);

/// The reason why a proxy does not start, or ends.
#[derive(Debug, Error)]
pub enum Failed {
    /// An address cannot be read.
    #[error("{0}")]
    Route(String),
    /// A service or a port cannot be listened at.
    #[error("cannot listen at {what}: {error}; stop the program that does, or use another one")]
    Listen {
        /// The service or port.
        what: String,
        /// The error of the listener.
        error: io::Error,
    },
    /// It no longer accepts connections.
    #[error("{0}")]
    Gate(String),
}

/// How a proxy treats connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Connections at a time. More are reset.
    pub limit: usize,
    /// Whether the other side is not a proxy, but a program that uses NDP itself.
    pub raw: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { limit: LIMIT, raw: false }
    }
}

/// Counts of a proxy since its start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Counts {
    /// Connections at the moment.
    pub open: u64,
    /// Connections that were accepted and not refused.
    pub accepted: u64,
    /// Connections beyond the limit, which were reset.
    pub refused: u64,
    /// Connections that did not get to the other side.
    pub unreached: u64,
    /// Connections that ended with an error of either side, also before the other side was reached.
    pub reset: u64,
    /// Bytes from TCP to NDP.
    pub to_ndp_bytes: u64,
    /// Bytes from NDP to TCP.
    pub to_tcp_bytes: u64,
}

impl Counts {
    fn write(&self, out: &mut Metrics<'_>) -> std::fmt::Result {
        out.gauge("pullnet_proxy_open", "Connections at the moment", self.open)?;
        for (name, help, value) in [
            ("accepted", "Connections that were accepted", self.accepted),
            ("refused", "Connections beyond the limit", self.refused),
            ("unreached", "Connections that did not get to the other side", self.unreached),
            ("reset", "Connections that ended with an error", self.reset),
            ("to_ndp_bytes", "Bytes from TCP to NDP", self.to_ndp_bytes),
            ("to_tcp_bytes", "Bytes from NDP to TCP", self.to_tcp_bytes),
        ] {
            out.counter(&format!("pullnet_proxy_{name}"), help, value)?;
        }
        Ok(())
    }
}

#[derive(Default, Debug)]
struct Counters {
    accepted: AtomicU64,
    refused: AtomicU64,
    unreached: AtomicU64,
    reset: AtomicU64,
    to_ndp: AtomicU64,
    to_tcp: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    gate: Gate,
    road: Road,
    options: Options,
    counters: Counters,
    stop: AtomicBool,
    /// Connections at the moment, by number; without a pair until the other side is reached.
    open: Mutex<BTreeMap<u64, Option<Weak<Pair>>>>,
    problem: Mutex<Option<String>>,
}

/// A proxy at work. Dropping it stops it at once.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Begins to accept connections.
    ///
    /// # Errors
    /// If the service or the TCP address is taken, or cannot be used.
    pub fn start(stack: &Arc<DaemonStack>, route: &Route, options: Options) -> Result<Self, Failed> {
        let stack: Arc<dyn Stack> = Arc::<DaemonStack>::clone(stack);
        let (gate, road) = match *route {
            Route::ToNdp { listen, to, service } => {
                let failed = |error| Failed::Listen { what: format!("TCP {listen}"), error };
                (Gate::tcp(listen).map_err(failed)?, Road::Ndp { stack, to, service })
            }
            Route::ToTcp { service, to } => {
                let failed = |error: StreamError| Failed::Listen {
                    what: format!("service {service}"),
                    error: error.into(),
                };
                (Gate::ndp(&stack, service).map_err(failed)?, Road::Tcp { to })
            }
        };
        let (counters, stop, open, problem) = Default::default();
        let shared = Arc::new(Shared { gate, road, options, counters, stop, open, problem });
        let accepting = Arc::clone(&shared);
        let thread = Some(thread::spawn(move || accept(&accepting)));
        Ok(Self { shared, thread })
    }

    /// The TCP port or the service at which it listens.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn number(&self) -> io::Result<u16> {
        self.shared.gate.number()
    }

    /// Answers at `endpoint` with its counts, until the value that is returned is dropped.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn show(&self, endpoint: Endpoint) -> Result<Serving, pullnet_daemon::Error> {
        let shared = Arc::clone(&self.shared);
        endpoint.serve(move || {
            let counts = shared.counts();
            Some(text_of(move |out| counts.write(out)))
        })
    }

    /// Why it no longer accepts connections, if it does not.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        lock(&self.shared.problem).clone()
    }

    /// Its counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Accepts no more connections, waits up to `farewell` for open ones to end, and resets the others. `hurry` cuts the
    /// wait short.
    pub fn stop(&mut self, farewell: Duration, mut hurry: impl FnMut() -> bool) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let start = clock();
        while self.counts().open > 0 && start.elapsed() < farewell && !hurry() {
            thread::park_timeout(LOOK);
        }
        let left: Vec<_> = lock(&self.shared.open).values().cloned().collect();
        left.into_iter().flatten().filter_map(|pair| pair.upgrade()).for_each(|pair| pair.abort());
        // A panic of the thread was told by the panic itself.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop(Duration::ZERO, || true);
    }
}

impl Shared {
    fn counts(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { accepted, refused, unreached, reset, to_ndp, to_tcp } = &self.counters;
        Counts {
            open: lock(&self.open).len() as u64,
            accepted: get(accepted),
            refused: get(refused),
            unreached: get(unreached),
            reset: get(reset),
            to_ndp_bytes: get(to_ndp),
            to_tcp_bytes: get(to_tcp),
        }
    }
}

/// Accepts connections until the proxy is told to stop.
fn accept(shared: &Arc<Shared>) {
    let mut number = 0;
    while !shared.stop.load(Ordering::Relaxed) && lock(&shared.problem).is_none() {
        let line = match shared.gate.accept() {
            Ok(Some((line, _))) => line,
            Ok(None) => continue,
            Err(error) => {
                lock(&shared.problem).get_or_insert(error.to_string());
                return;
            }
        };
        if lock(&shared.open).len() >= shared.options.limit {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            line.abort();
            continue;
        }
        number += 1;
        shared.counters.accepted.fetch_add(1, Ordering::Relaxed);
        lock(&shared.open).insert(number, None);
        let serving = Arc::clone(shared);
        let work = move || {
            serve(&serving, number, line);
            lock(&serving.open).remove(&number);
        };
        if thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
            // The connection went with the closure.
            shared.counters.unreached.fetch_add(1, Ordering::Relaxed);
            lock(&shared.open).remove(&number);
        }
    }
}

/// Carries one connection to its end.
fn serve(shared: &Shared, number: u64, line: Line) {
    let Counters { reset, to_ndp, to_tcp, .. } = &shared.counters;
    let reached = match line {
        Line::Tcp(_) => relay::to_ndp(&line, &shared.road, shared.options.raw, to_ndp),
        Line::Ndp(_) => relay::to_tcp(&line, &shared.road, shared.options.raw),
    };
    let other = match reached {
        Ok(other) => other,
        Err(NotCarried::Reset) => {
            line.abort();
            reset.fetch_add(1, Ordering::Relaxed);
            return;
        }
        Err(NotCarried::Unreached(error)) => {
            line.abort();
            shared.counters.unreached.fetch_add(1, Ordering::Relaxed);
            let stopped = error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>());
            if let Some(StreamError::Stopped(_)) = stopped {
                lock(&shared.problem).get_or_insert(error.to_string());
            }
            return;
        }
    };
    let pair = Arc::new(Pair::new(line, other));
    lock(&shared.open).insert(number, Some(Arc::downgrade(&pair)));
    if !pair.carry(to_ndp, to_tcp) {
        reset.fetch_add(1, Ordering::Relaxed);
    }
}
