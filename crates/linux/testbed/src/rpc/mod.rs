//! Calls between two hosts over NDP, TCP, TCP Fast Open or MPTCP, each call on a connection of its own.
//!
//! A call is a request and a response of equal length. Its time runs from before the connection is opened, with the socket
//! already created, to the last byte of the response.

mod ndp;
#[expect(unsafe_code, reason = "system calls")]
mod sys;
mod tcp;

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pullnet_host::StreamError;
use pullnet_netio::{Error, in_namespace};
use thiserror::Error as ThisError;

/// The protocol that carries the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Our host stack over AF_PACKET, with both hosts in this process.
    Ndp,
    /// The kernel's TCP, with a handshake before each call.
    Tcp,
    /// The kernel's TCP, with the request in the first packet.
    FastOpen,
    /// The kernel's MPTCP.
    Mptcp,
}

/// One of the two hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Its network namespace.
    pub namespace: String,
    /// Its address in that namespace.
    pub address: Ipv4Addr,
    /// Core of the end's thread.
    pub core: usize,
}

/// Parameters of a series of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calls {
    /// Number of timed calls.
    pub count: usize,
    /// Number of untimed calls before them.
    pub before: usize,
    /// Length of request and response. Bytes.
    pub bytes: usize,
    /// Congestion control of the kernel's protocols; always set explicitly.
    pub congestion_control: CongestionControl,
    /// Whether both ends spin while they wait; otherwise they sleep.
    pub spin: bool,
}

/// A congestion control algorithm of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionControl {
    /// CUBIC.
    Cubic,
    /// NewReno.
    Reno,
}

/// Measured times of a series of calls.
#[derive(Clone, PartialEq, Debug)]
pub struct CallTimes {
    /// Time of each call, in order. Unit: microseconds.
    pub times_us: Vec<f64>,
    /// Processor time of both ends per call. Unit: microseconds.
    pub cpu_us: f64,
}

/// Reasons why calls failed.
#[derive(Debug, ThisError)]
pub enum CallError {
    /// A namespace or an interface is unusable.
    #[error(transparent)]
    Interface(#[from] Error),
    /// A kernel socket failed.
    #[error("{what}: {error}")]
    Socket {
        /// The attempted operation.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
    /// The host stack failed.
    #[error("NDP: {0}")]
    Ndp(#[from] StreamError),
    /// The other end stopped before all calls were made.
    #[error("the other end of the calls has ended")]
    Ended,
}

/// Timeout of a call: detects a stuck end, but tolerates an end that waits for its core.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "it is measured how long calls take")]
fn clock() -> Instant {
    Instant::now()
}

/// Set when an end has failed, so that the other end stops waiting. Not set by an end that has finished, because its last
/// bytes may still be in flight.
#[derive(Debug, Default)]
struct Over(AtomicBool);

impl Over {
    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets [`Over`] when dropped; forgotten after success.
struct Leaving<'a>(&'a Over);

impl<'a> Leaving<'a> {
    fn after<T>(over: &'a Over, work: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
        let leaving = Self(over);
        let result = work();
        if result.is_ok() {
            std::mem::forget(leaving);
        }
        result
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Makes calls from the first of `ends` to the second, in two threads.
///
/// # Errors
/// If namespaces or sockets cannot be used, or a call takes longer than 60 s.
pub fn calls(carrier: Carrier, ends: &[End; 2], calls: Calls) -> Result<CallTimes, CallError> {
    let (over, (ready, is_ready)) = (Over::default(), mpsc::channel());
    let (over, [caller, server]) = (&over, ends);
    thread::scope(|scope| {
        let serve = scope.spawn(move || {
            let serve = || match carrier {
                Carrier::Ndp => ndp::serve(server, calls, &ready, over),
                other => tcp::serve(other, calls, &ready, over),
            };
            Leaving::after(over, || at(server, serve))
        });
        // A server that fails early drops its end of the channel.
        if is_ready.recv_timeout(PATIENCE).is_err() {
            drop(Leaving(over));
            return serve.join().unwrap_or(Err(CallError::Ended)).and(Err(CallError::Ended));
        }
        let call = scope.spawn(move || {
            let call = || match carrier {
                Carrier::Ndp => ndp::call(caller, server, calls, over),
                other => tcp::call(other, server, calls, over),
            };
            Leaving::after(over, || at(caller, call))
        });
        // If the caller only stopped waiting, the server's error is the cause.
        match (call.join(), serve.join()) {
            (Ok(Ok(times)), _) => Ok(times),
            (_, Ok(Err(error))) | (Ok(Err(error)), _) => Err(error),
            (Err(panic), _) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs `work` in the namespace and on the core of an end.
fn at<T: Send>(end: &End, work: impl FnOnce() -> Result<T, CallError> + Send) -> Result<T, CallError> {
    in_namespace(&end.namespace, || {
        sys::stay_on(end.core);
        Ok(work())
    })?
}

/// Times `calls` calls of `one`; the time of `prepare` before each is excluded.
fn time<S>(
    calls: Calls,
    mut prepare: impl FnMut() -> Result<S, CallError>,
    mut one: impl FnMut(S) -> Result<(), CallError>,
) -> Result<CallTimes, CallError> {
    for _ in 0..calls.before {
        one(prepare()?)?;
    }
    let mut times = Vec::with_capacity(calls.count);
    let cpu = sys::processor_time();
    for _ in 0..calls.count {
        let prepared = prepare()?;
        let start = clock();
        one(prepared)?;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    let cpu = sys::processor_time().saturating_sub(cpu);
    Ok(CallTimes { times_us: times, cpu_us: cpu.as_secs_f64() * 1e6 / calls.count.max(1) as f64 })
}
