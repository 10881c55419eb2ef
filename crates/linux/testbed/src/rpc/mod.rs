//! Calls between two hosts, each on a connection of its own: by NDP, TCP, TCP Fast Open and MPTCP.
//!
//! A call is a request and a response of the same length. Its time counts from before the connection is opened, with a
//! socket that is there, until the last byte of the response is.

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

/// What carries the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Our host stack over AF_PACKET, both hosts within this process.
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
    /// Its address there.
    pub address: Ipv4Addr,
    /// The core on which its thread runs.
    pub core: usize,
}

/// How calls are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calls {
    /// How many are timed.
    pub count: usize,
    /// How many come before them.
    pub before: usize,
    /// Length of request and response. Bytes.
    pub bytes: usize,
    /// Congestion control of the kernel's protocols, named always.
    pub congestion_control: CongestionControl,
    /// Whether both ends look again at once for what they wait for; else they sleep.
    pub spin: bool,
}

/// A congestion control of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionControl {
    /// CUBIC.
    Cubic,
    /// NewReno.
    Reno,
}

/// What calls took.
#[derive(Clone, PartialEq, Debug)]
pub struct CallTimes {
    /// Each of them, in order. Unit: microseconds.
    pub times_us: Vec<f64>,
    /// Processor time of both ends for each call. Unit: microseconds.
    pub cpu_us: f64,
}

/// Why calls could not be made.
#[derive(Debug, ThisError)]
pub enum CallError {
    /// A namespace or an interface cannot be used.
    #[error(transparent)]
    Interface(#[from] Error),
    /// The kernel's sockets say so.
    #[error("{what}: {error}")]
    Socket {
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        error: io::Error,
    },
    /// Our host stack says so.
    #[error("NDP: {0}")]
    Ndp(#[from] StreamError),
    /// The other end has ended before all calls were made.
    #[error("the other end of the calls has ended")]
    Ended,
}

/// Longest time that a call may take: an end that is stuck is noticed, one that has to wait for its core is not.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "it is measured how long calls take")]
fn clock() -> Instant {
    Instant::now()
}

/// Whether an end has failed, so that the other one waits in vain. One that has done its part may have left while its last
/// words are on their way.
#[derive(Debug, Default)]
struct Over(AtomicBool);

impl Over {
    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lets the other end leave too, unless all went well here.
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
        // A server that fails before it is ready lets go of its end of the channel.
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
        // What went wrong at the server is the cause where the caller only waited in vain.
        match (call.join(), serve.join()) {
            (Ok(Ok(times)), _) => Ok(times),
            (_, Ok(Err(error))) | (Ok(Err(error)), _) => Err(error),
            (Err(panic), _) => std::panic::resume_unwind(panic),
        }
    })
}

/// Does something at an end: in its namespace, on its core.
fn at<T: Send>(end: &End, work: impl FnOnce() -> Result<T, CallError> + Send) -> Result<T, CallError> {
    in_namespace(&end.namespace, || {
        sys::stay_on(end.core);
        Ok(work())
    })?
}

/// Times `calls` of `one`, each after what `prepare` does, which does not count.
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
