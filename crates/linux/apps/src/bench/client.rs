//! The measuring side: one part after the other, each a load over one transport.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pullnet_daemon::DaemonStack;

use super::Failed;
use super::cpu::Cpu;
use super::head::{Head, LONG};
use super::load::{drain_with_count, pattern, pour, take_exactly};
use super::plan::{Direction, Load, Plan};
use super::report::{Calls, Latency, OneStream, Part, Sides, Streams, Transport};
use crate::clock::clock;
use crate::line::{Line, Road};

/// A side that does nothing for so long is given up.
const STALL: Duration = Duration::from_secs(30);
/// Latencies are kept with this many significant digits.
const DIGITS: u8 = 3;

/// A benchmark under way: an iterator over its parts.
#[derive(Debug)]
pub struct Bench {
    plan: Plan,
    roads: Vec<(Transport, Road)>,
    daemon: Option<u32>,
    /// Number of the next part.
    next: usize,
    stop: Arc<AtomicBool>,
}

impl Bench {
    /// Begins what `plan` says, through the daemon of `stack`.
    ///
    /// # Errors
    /// If the plan contradicts itself.
    pub fn new(stack: &Arc<DaemonStack>, plan: Plan) -> Result<Self, Failed> {
        plan.check()?;
        let (to, service) = (plan.to, plan.service);
        let mut roads =
            vec![(Transport::Ndp, Road::Ndp { stack: Arc::<DaemonStack>::clone(stack), to, service })];
        if plan.tcp {
            roads.push((Transport::Tcp, Road::Tcp { to: SocketAddr::new(to.ip(), service) }));
        }
        let (daemon, stop) = (stack.daemon_process(), Arc::default());
        Ok(Self { plan, roads, daemon, next: 0, stop })
    }

    /// A flag that ends the part under way early, as if its time were over.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn part(&self, round: u32, load: Load, transport: Transport, road: &Road) -> Result<Part, Failed> {
        let failed =
            |error: io::Error| Failed::Stream { remedy: road.remedy(&error), road: road.to_string(), error };
        // The first contact of two hosts costs a round trip, which no part should pay for.
        let there = standing(road).map_err(failed)?;
        let here = Cpu::now(self.daemon);
        let part = match load {
            Load::Streams => self.streams(road).map(|(seconds, each)| Measured::Streams(seconds, each)),
            Load::Calls => self.calls(road).map(|(seconds, times)| Measured::Calls(seconds, times)),
        };
        let part = part.map_err(failed)?;
        let here = Cpu::now(self.daemon).since(here);
        let there = standing(road).map_err(failed)?.since(there);
        let cpu = Sides { here, there };
        Ok(match part {
            Measured::Streams(seconds, each) => {
                Part::Streams(Streams::of(transport, round, seconds, each, cpu))
            }
            Measured::Calls(seconds, times) => {
                let latency_us = Latency::of(&times);
                Part::Calls(Calls {
                    transport,
                    round,
                    callers: self.plan.callers,
                    request_bytes: self.plan.request,
                    answer_bytes: self.plan.answer,
                    kept: self.plan.kept,
                    calls: times.len(),
                    seconds,
                    calls_per_second: times.len() as f64 / seconds,
                    latency_us,
                    cpu,
                })
            }
        })
    }

    /// Sends and receives by all streams at once. Returns the time from the first byte until everything has arrived and been
    /// counted.
    fn streams(&self, road: &Road) -> io::Result<(f64, Vec<OneStream>)> {
        let work = |_: usize, start: Instant| one_stream(road, &self.plan, start, &self.stop);
        together(self.plan.streams, work)
    }

    fn calls(&self, road: &Road) -> io::Result<(f64, Histogram<u64>)> {
        let work = |_: usize, start: Instant| caller(road, &self.plan, start, &self.stop);
        let (seconds, each) = together(self.plan.callers, work)?;
        let mut times = histogram();
        for one in each {
            times.add(one).expect("an automatic histogram grows");
        }
        Ok((seconds, times))
    }
}

impl Iterator for Bench {
    type Item = Result<Part, Failed>;

    /// Runs the next part. In each round every load is carried over all transports in turn.
    fn next(&mut self) -> Option<Self::Item> {
        let loads = self.plan.loads();
        let (number, each) = (self.next, loads.len() * self.roads.len());
        let round = number / each;
        if round >= self.plan.rounds as usize || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.next += 1;
        let (load, road) = (number % each / self.roads.len(), number % self.roads.len());
        let (transport, road) = &self.roads[road];
        Some(self.part(round as u32 + 1, loads[load], *transport, road))
    }
}

enum Measured {
    Streams(f64, Vec<OneStream>),
    Calls(f64, Histogram<u64>),
}

fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("a valid number of digits")
}

/// Asks the other side how much processor time it has used.
fn standing(road: &Road) -> io::Result<Cpu> {
    let line = road.connect()?;
    line.set_timeout(Some(STALL))?;
    line.write_last(&Head::Standing.encode())?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
    // The answer of anything else than a server may not end.
    while bytes.len() < 4 * piece.len() {
        match line.read(&mut piece)? {
            0 => break,
            long => bytes.extend_from_slice(&piece[..long]),
        }
    }
    serde_json::from_slice(&bytes).map_err(|_| io::Error::other("who answers is no server of this benchmark"))
}

/// Runs `work` in `count` threads that start together. Returns the seconds until the last of them is done.
fn together<T: Send>(
    count: usize,
    work: impl Fn(usize, Instant) -> io::Result<T> + Sync,
) -> io::Result<(f64, Vec<T>)> {
    let (barrier, work) = (Barrier::new(count + 1), &work);
    let (start, done) = thread::scope(|scope| {
        let begin = |at| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let done = work(at, clock());
                (done, clock())
            })
        };
        let threads: Vec<_> = (0..count).map(begin).collect();
        let start = clock();
        barrier.wait();
        (start, threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>())
    });
    let mut last = start;
    let each = done.into_iter().map(|joined| {
        let (result, end) = joined.map_err(|_| io::Error::other("a thread of the benchmark has panicked"))?;
        last = last.max(end);
        result
    });
    let each = each.collect::<io::Result<Vec<T>>>()?;
    Ok((last.duration_since(start).as_secs_f64(), each))
}

fn one_stream(road: &Road, plan: &Plan, start: Instant, stop: &AtomicBool) -> io::Result<OneStream> {
    let line = &road.connect()?;
    line.set_timeout(Some(STALL))?;
    let down = (plan.direction != Direction::Out).then_some(plan.amount);
    let head = Head::Stream { down }.encode();
    if plan.direction == Direction::In {
        line.write_last(&head)?;
        let (in_bytes, _) = drain_with_count(line)?;
        return Ok(OneStream { out_bytes: 0, in_bytes, seconds: start.elapsed().as_secs_f64() });
    }
    line.write_all(&head)?;
    let (sent, (in_bytes, counted)) = thread::scope(|scope| {
        let receiving = scope.spawn(|| drain_with_count(line));
        let sent = pour(line, plan.amount, &|| stop.load(Ordering::Relaxed))
            .and_then(|sent| line.finish().map(|()| sent));
        let received = receiving.join().map_err(|_| io::Error::other("a receiving thread has panicked"))?;
        // A refusal is told by the read; the write fails with it.
        received.and_then(|received| sent.map(|sent| (sent, received)))
    })?;
    if counted != sent {
        let text = format!("{sent} B were sent, and the other side counts {counted} B");
        return Err(io::Error::other(text));
    }
    Ok(OneStream { out_bytes: sent, in_bytes, seconds: start.elapsed().as_secs_f64() })
}

/// One caller: makes one call after the other, and returns their times in nanoseconds.
fn caller(road: &Road, plan: &Plan, start: Instant, stop: &AtomicBool) -> io::Result<Histogram<u64>> {
    let (mut times, mut line) = (histogram(), None);
    let over = |times: &Histogram<u64>| match plan.amount_of_calls() {
        Ok(count) => times.len() >= count,
        Err(time) => start.elapsed() >= time,
    };
    while !over(&times) && !stop.load(Ordering::Relaxed) {
        let begun = clock();
        if plan.kept {
            let line = match &line {
                Some(line) => line,
                None => line.insert(kept_line(road, plan)?),
            };
            send(line, &[], plan.request, false)?;
            complete(line, plan.answer)?;
        } else {
            let line = road.connect()?;
            line.set_timeout(Some(STALL))?;
            let request = plan.request - LONG as u64;
            let head = Head::Calls { request, answer: plan.answer, kept: false }.encode();
            send(&line, &head, request, true)?;
            complete(&line, plan.answer)?;
            if take_exactly(&line, 1)? {
                return Err(io::Error::other("an answer is too long"));
            }
        }
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        times.record(nanos).expect("an automatic histogram grows");
    }
    line.iter().try_for_each(Line::finish)?;
    Ok(times)
}

/// A stream on which calls follow each other.
fn kept_line(road: &Road, plan: &Plan) -> io::Result<Line> {
    let line = road.connect()?;
    line.set_timeout(Some(STALL))?;
    let head = Head::Calls { request: plan.request, answer: plan.answer, kept: true };
    line.write_all(&head.encode())?;
    Ok(line)
}

/// Sends `head` and `long` bytes behind it, in as few writes as possible; with `last` the stream ends behind them.
fn send(line: &Line, head: &[u8], long: u64, last: bool) -> io::Result<()> {
    let piece = pattern();
    let write = |bytes: &[u8], end| if end { line.write_last(bytes) } else { line.write_all(bytes) };
    let mut first = head.to_vec();
    let short = long.min((piece.len() - head.len()) as u64);
    first.extend_from_slice(&piece[..short as usize]);
    let mut left = long - short;
    write(&first, last && left == 0)?;
    while left > 0 {
        let next = left.min(piece.len() as u64) as usize;
        left -= next as u64;
        write(&piece[..next], last && left == 0)?;
    }
    Ok(())
}

/// Receives an answer.
fn complete(line: &Line, long: u64) -> io::Result<()> {
    if take_exactly(line, long)? { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
