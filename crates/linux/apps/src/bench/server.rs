//! The serving side: threads that accept streams and do what their heads ask.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_host::Stack;

use super::Failed;
use super::cpu::Cpu;
use super::head::{Head, LONG};
use super::load::{drain, pour, take_exactly};
use crate::gate::Gate;
use crate::line::Line;

/// A client that does nothing for so long is given up.
const STALL: Duration = Duration::from_secs(60);
/// Threads that wait for streams at least, and all threads at most. A stream beyond them waits in its backlog.
const SPARE: usize = 4;
const MOST: usize = 1024;

/// Serves benchmarks until it is dropped.
#[derive(Debug)]
pub struct Server(Vec<Arc<Pool>>);

#[derive(Debug)]
struct Pool {
    gate: Gate,
    daemon: Option<u32>,
    stop: AtomicBool,
    /// Threads that wait for a stream, and all of them.
    idle: AtomicUsize,
    all: AtomicUsize,
    problem: Mutex<Option<String>>,
}

impl Server {
    /// Serves at `service` of the host of `stack`, and with `tcp` at the TCP port of the same number of its address.
    ///
    /// # Errors
    /// If another application has the service or the port.
    pub fn start(stack: &Arc<DaemonStack>, service: u16, tcp: bool) -> Result<Self, Failed> {
        let daemon = stack.daemon_process();
        let own: Arc<dyn Stack> = Arc::<DaemonStack>::clone(stack);
        let taken = |error| Failed::Listen { what: format!("service {service}"), error };
        let mut gates = vec![Gate::ndp(&own, service).map_err(|error| taken(error.into()))?];
        if tcp {
            let at = SocketAddr::new(stack.address().ip(), service);
            let gate = Gate::tcp(at);
            gates.push(gate.map_err(|error| Failed::Listen { what: format!("TCP {at}"), error })?);
        }
        Ok(Self(gates.into_iter().map(|gate| Pool::start(gate, daemon)).collect()))
    }

    /// Why it no longer serves, if it does not.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let problem = |pool: &Arc<Pool>| pool.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.0.iter().find_map(problem)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The threads notice it at their next look; streams that they serve end with their clients.
        self.0.iter().for_each(|pool| pool.stop.store(true, Ordering::Relaxed));
    }
}

impl Pool {
    fn start(gate: Gate, daemon: Option<u32>) -> Arc<Self> {
        let (stop, idle, all) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let pool = Arc::new(Self { gate, daemon, stop, idle, all, problem: Mutex::default() });
        (0..SPARE).for_each(|_| pool.hire());
        pool
    }

    /// Starts another thread, if there may be one.
    fn hire(self: &Arc<Self>) {
        if self.all.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.all.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.idle.fetch_add(1, Ordering::Relaxed);
        let pool = Arc::clone(self);
        thread::spawn(move || {
            pool.work();
            pool.all.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Serves one stream after the other, as long as the pool has use for the thread. A thread that is waiting takes a
    /// stream sooner than one that has to be started.
    fn work(self: &Arc<Self>) {
        while !self.stop.load(Ordering::Relaxed) {
            let (line, _) = match self.gate.accept() {
                Ok(Some(accepted)) => accepted,
                Ok(None) => continue,
                Err(error) => {
                    *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                    break;
                }
            };
            if self.idle.fetch_sub(1, Ordering::Relaxed) <= SPARE / 2 {
                self.hire();
            }
            // The client learns of a failure by the stream's end.
            if attend(&line, self.daemon).is_err() {
                line.abort();
            }
            drop(line);
            if self.idle.fetch_add(1, Ordering::Relaxed) >= 2 * SPARE {
                break;
            }
        }
        self.idle.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does what the head of a stream asks.
fn attend(line: &Line, daemon: Option<u32>) -> io::Result<()> {
    line.set_timeout(Some(STALL))?;
    let mut head = [0; LONG];
    if !line.read_whole(&mut head)? {
        return Ok(());
    }
    match Head::decode(&head).ok_or(io::ErrorKind::InvalidData)? {
        Head::Standing => line.write_last(&serde_json::to_vec(&Cpu::now(daemon))?),
        Head::Stream { down } => {
            let received = thread::scope(|scope| {
                let sending = down.map(|amount| scope.spawn(move || pour(line, amount, &|| false)));
                let received = drain(line);
                sending.map_or(Ok(Ok(0)), thread::ScopedJoinHandle::join).unwrap_or(Ok(0))?;
                received
            })?;
            line.write_last(&received.to_le_bytes())
        }
        Head::Calls { request, answer, kept } => serve_calls(line, request, answer, kept),
    }
}

fn serve_calls(line: &Line, request: u64, answer: u64, kept: bool) -> io::Result<()> {
    while take_exactly(line, request)? {
        let (mut left, piece) = (answer, super::load::pattern());
        while left > 0 {
            let next = left.min(piece.len() as u64) as usize;
            left -= next as u64;
            if left == 0 && !kept {
                return line.write_last(&piece[..next]);
            }
            line.write_all(&piece[..next])?;
        }
    }
    line.finish()
}
