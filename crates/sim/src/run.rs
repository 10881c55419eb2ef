//! Runs: threads, windows, and the steps between two windows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pullnet_record::{RunRecord, StuckFlow};
use pullnet_session::{Director, Report};
use pullnet_transport::Words;
use pullnet_units::{HostId, Instant};
use pullnet_workload::Instruction;

use crate::barrier::Barrier;
use crate::clock::Window;
use crate::finish;
use crate::network::Network;
use crate::outbox::{Emission, Mail};
use crate::process::ProcessId;
use crate::series::HeldSum;
use crate::shard::Shard;

/// Number of windows by which early visits of hosts begin before the end of a flow may end the run.
const EARLY: u64 = 2;
/// Least number of windows without early visits, once these are switched off.
const LAZY: u64 = 64;

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Virtual time.
    pub now: Instant,
    /// Latest end of the run.
    pub end: Instant,
    /// Flows started.
    pub started: u64,
    /// Flows with all data received.
    pub received: u64,
    /// Flows that failed.
    pub failed: u64,
    /// Data packets delivered, weighted by the hop counts of their paths.
    pub packet_hops: u64,
    /// Whether the run is over.
    pub ended: bool,
}

/// A run that can be stepped.
pub trait Run: Send {
    /// Processes at most `windows` windows (about 1 us each if links have 1 us delay).
    fn advance(&mut self, windows: u64) -> Progress;
    /// Flows that have not moved since `since`, at most `most` of them, longest wait first.
    fn stuck(&self, since: Instant, most: usize) -> Vec<StuckFlow>;
    /// The record of the run so far.
    fn finish(self: Box<Self>) -> RunRecord;
}

/// Messages between threads, handed over between two windows.
struct Post<W> {
    /// Packets, by parity of the window and by receiving shard.
    packets: [Vec<Mutex<Mail<W>>>; 2],
    /// Flows that start, and flows that hosts start by themselves, by shard.
    instructions: Vec<Mutex<Vec<(ProcessId, Instruction)>>>,
    /// Hosts with one more watched flow (true), or one less (false); by shard.
    watched: Vec<Mutex<Vec<(ProcessId, bool)>>>,
    /// Reports of flows from all shards.
    reports: Mutex<Vec<Report>>,
    /// The earliest window in which any shard has an event.
    next_busy: AtomicU64,
}

impl<W> Post<W> {
    fn new(shards: usize) -> Self {
        let boxes = || (0..shards).map(|_| Mutex::default()).collect();
        Self {
            packets: [boxes(), boxes()],
            instructions: (0..shards).map(|_| Mutex::default()).collect(),
            watched: (0..shards).map(|_| Mutex::default()).collect(),
            reports: Mutex::default(),
            next_busy: AtomicU64::new(0),
        }
    }
}

/// Takes a lock, even if another thread panicked while holding it: that panic is reported elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes packets in a row for the same shard to `put` together: with two threads all of them, under one lock.
fn deliver<W>(
    packets: &mut Vec<Emission<W>>,
    owner: impl Fn(ProcessId) -> usize,
    mut put: impl FnMut(usize, &[Emission<W>]),
) {
    for some in packets.chunk_by(|one, next| owner(one.process) == owner(next.process)) {
        put(owner(some[0].process), some);
    }
    packets.clear();
}

/// State that the threads of a run share.
struct Shared<W> {
    net: Arc<Network<W>>,
    director: Mutex<Director>,
    post: Post<W>,
    /// Number of the next window.
    next: AtomicU64,
    ended: AtomicBool,
    /// Whether a report of a flow may end the run: then all hosts are visited early.
    eager: AtomicBool,
    /// Latest end of the run.
    end: Instant,
    /// The first host and the first port beyond each shard.
    bounds: Vec<(ProcessId, ProcessId)>,
}

impl<W: Words> Shared<W> {
    fn window(&self, index: u64) -> Window {
        self.net.grid.window(index, self.end)
    }

    /// Step between two windows: starts flows for window `next`, and finds the window that is really next.
    fn decide(&self, next: u64) {
        let (mut director, mut reports) = (lock(&self.director), lock(&self.post.reports));
        let busy = self.post.next_busy.swap(u64::MAX, Ordering::AcqRel);
        let start = director.next_start().map_or(u64::MAX, |at| self.net.grid.index(at));
        // Reports may cause starts, so no window is skipped after one; nor is the window in which the run ends.
        let last = self.net.grid.index(self.end).max(next);
        // Hosts are visited early from the window on in which the run may end.
        let eager_from = self.net.grid.index(director.may_end_from()).saturating_sub(EARLY);
        let last = if self.eager.load(Ordering::Acquire) { last } else { last.min(eager_from.max(next)) };
        let next = if reports.is_empty() { busy.min(start).clamp(next, last) } else { next };
        let Window { start, end, .. } = self.window(next);
        director.decide(start, end, &mut reports, |instruction| {
            if let (Instruction::Start(start), Some(groups)) = (&instruction, &self.net.groups) {
                groups.note(&self.net.scenario, start);
            }
            let process = self.net.numbering.of_host[instruction.host()];
            let owner = self.owner(|bound| process < bound.0);
            lock(&self.post.instructions[owner]).push((process, instruction));
        });
        director.watched().for_each(|(host, more)| self.tell_watched(host, more));
        self.next.store(next, Ordering::Release);
        self.ended.store(director.ended.is_some(), Ordering::Release);
        let eager_from = self.net.grid.index(director.may_end_from()).saturating_sub(EARLY);
        let was = self.eager.load(Ordering::Acquire);
        // Switching to early visits costs a check of every host, so they stay on through short breaks.
        let soon = eager_from.saturating_sub(if was { LAZY } else { 0 });
        self.eager.store(next >= soon, Ordering::Release);
    }

    /// Tells the shard of `host` that news of one more flow there must be known at once, or of one less.
    fn tell_watched(&self, host: HostId, more: bool) {
        let process = self.net.numbering.of_host[host];
        let owner = self.owner(|bound| process < bound.0);
        lock(&self.post.watched[owner]).push((process, more));
    }

    /// The shard that owns the process that `before` compares with the bounds.
    fn owner(&self, before: impl Fn(&(ProcessId, ProcessId)) -> bool) -> usize {
        self.bounds.iter().position(before).unwrap_or(0)
    }
}

/// The engine for packets of one size.
pub struct Engine<W: Words> {
    shared: Shared<W>,
    shards: Vec<Shard<W>>,
    held: HeldSum,
}

impl<W: Words> Engine<W> {
    /// A run at its beginning.
    pub fn new(net: Arc<Network<W>>, shards: Vec<Shard<W>>) -> Self {
        let signal = net.grid.length();
        let director = Director::new(Arc::clone(&net.scenario), net.framings.clone(), signal);
        let shared = Shared {
            end: director.end(),
            director: Mutex::new(director),
            post: Post::new(shards.len()),
            next: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            eager: AtomicBool::new(true),
            bounds: shards
                .iter()
                .map(|shard| (shard.hosts.range().end(), shard.ports.range().end()))
                .collect(),
            net,
        };
        shared.decide(0);
        Self { shared, shards, held: HeldSum::default() }
    }

    fn progress(&self) -> Progress {
        let director = lock(&self.shared.director);
        let hops = self.shards.iter().map(|shard| shard.hosts.packet_hops());
        let now = self.shared.window(self.shared.next.load(Ordering::Acquire)).start;
        Progress {
            now: director.ended.unwrap_or(now),
            end: self.shared.end,
            started: director.started(),
            received: director.received,
            failed: director.failed,
            packet_hops: hops.sum(),
            ended: director.ended.is_some(),
        }
    }
}

/// One thread of a run: processes window after window, in step with the other threads.
struct Worker<'a, W: Words> {
    shared: &'a Shared<W>,
    barrier: &'a Barrier,
    number: usize,
    shard: &'a mut Shard<W>,
}

impl<W: Words> Worker<'_, W> {
    fn work(&mut self, windows: u64) {
        let _guard = self.barrier.guard();
        for _ in 0..windows {
            if self.shared.ended.load(Ordering::Acquire) {
                return;
            }
            let index = self.shared.next.load(Ordering::Acquire);
            self.receive(index);
            self.shard.work(&self.shared.net, self.shared.window(index));
            self.hand_over(index);
            if !self.barrier.meet(|| self.shared.decide(index + 1)) {
                return;
            }
        }
    }

    /// Takes packets, starts and settings that other threads and the director have left for this window.
    fn receive(&mut self, index: u64) {
        let (net, shared) = (&self.shared.net, self.shared);
        if let Some(before) = index.checked_sub(1) {
            let before = shared.window(before);
            let mut mail = lock(&shared.post.packets[before.index as usize % 2][self.number]);
            self.shard.receive(net, before, &mut mail);
        }
        let window = shared.window(index);
        self.shard.hosts.set_eager(net, window, shared.eager.load(Ordering::Acquire));
        let mut watched = lock(&shared.post.watched[self.number]);
        watched.drain(..).for_each(|(process, more)| self.shard.hosts.watch(process, more));
        // Taken with its memory: at the beginning there may be an instruction for each host.
        let instructions = core::mem::take(&mut *lock(&shared.post.instructions[self.number]));
        for (process, instruction) in instructions {
            self.shard.tell(net, window, process, instruction);
        }
    }

    /// Hands over packets and reports for other threads.
    fn hand_over(&mut self, index: u64) {
        let (shared, post) = (self.shared, &self.shared.post);
        let (mail, remote) = (&post.packets[index as usize % 2], &mut self.shard.out.remote);
        let owner = |of: ProcessId| shared.owner(|bound| of < bound.1);
        deliver(&mut remote.ports, owner, |to, some| lock(&mail[to]).ports.extend_from_slice(some));
        let owner = |of: ProcessId| shared.owner(|bound| of < bound.0);
        deliver(&mut remote.hosts, owner, |to, some| lock(&mail[to]).hosts.extend_from_slice(some));
        let reports = self.shard.hosts.reports();
        if !reports.is_empty() {
            lock(&post.reports).append(reports);
        }
        let busy = if self.shard.worked { index + 1 } else { self.shard.next_busy(index + 1) };
        post.next_busy.fetch_min(busy, Ordering::AcqRel);
    }
}

impl<W: Words> Run for Engine<W> {
    fn advance(&mut self, windows: u64) -> Progress {
        let (shared, barrier) = (&self.shared, &Barrier::new(self.shards.len()));
        std::thread::scope(|scope| {
            let workers = self.shards.iter_mut().enumerate();
            let mut workers = workers.map(|(number, shard)| Worker { shared, barrier, number, shard });
            let own = workers.next();
            for mut worker in workers {
                scope.spawn(move || worker.work(windows));
            }
            own.into_iter().for_each(|mut worker| worker.work(windows));
        });
        if self.shared.net.probes().series.is_some() {
            self.held.take_in(&mut self.shards);
        }
        self.progress()
    }

    fn stuck(&self, since: Instant, most: usize) -> Vec<StuckFlow> {
        finish::stuck(&self.shared.net, &self.shards, &lock(&self.shared.director).flows, since, most)
    }

    fn finish(self: Box<Self>) -> RunRecord {
        let now = self.progress().now;
        let Self { shared, mut shards, mut held } = *self;
        for mail in shared.post.packets.iter().flatten() {
            shards[0].out.remote.append(&mut lock(mail));
        }
        let last =
            Window { end: now, ..shared.window(shared.net.grid.index(Instant(now.0.saturating_sub(1)))) };
        let director = shared.director.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut reports = shared.post.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        for shard in &mut shards {
            shard.catch_up(&shared.net, last);
            reports.append(shard.hosts.reports());
        }
        held.take_in(&mut shards);
        finish::record(&shared.net, shards, director, reports, &held, now)
    }
}
