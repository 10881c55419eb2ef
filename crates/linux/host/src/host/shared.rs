//! Chooses the thread that drives: one that waits for something, or the background thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use pullnet_netio::{PacketIo, Waker};
use pullnet_units::{Instant, Picos};

use super::HostOptions;
use super::core::{Core, Interest, Sleeper};
use super::signals::Signals;
use crate::engine::Engine;
use crate::error::StreamError;
use crate::handle::{Read, StreamId, StreamInfo};
use crate::options::StreamOptions;
use crate::stack::{Stack, Timeout};
use crate::status::Status;

/// Sleep of the background thread while others drive. It bounds how long the host is not driven after one of them has left,
/// and how long an ACK waits for an answer that can carry it. Well below the timeout of a sender.
const SHORT: Duration = Duration::from_micros(300);
/// The same while one caller drives for long; that caller wakes the background thread when it leaves.
const LONG: Duration = Duration::from_millis(50);
/// Interval between two checks of conditions that no notice announces.
const LOOK: Duration = Duration::from_millis(2);

const NOBODY: u8 = 0;
const BACKGROUND: u8 = 1;
const CALLER: u8 = 2;

pub(crate) struct Shared {
    core: Mutex<Core>,
    signals: Signals,
    /// The current driver; changed only with the lock held.
    driver: AtomicU8,
    /// Number of times that a caller began to drive.
    terms: AtomicU32,
    /// Whether the background thread is in its long sleep.
    dozes: AtomicBool,
    background: OnceLock<Thread>,
}

type Guard<'a> = MutexGuard<'a, Core>;

impl Shared {
    pub fn new(io: Box<dyn PacketIo + Send>, options: HostOptions) -> Result<Self, StreamError> {
        let waker = Waker::new().map_err(|error| StreamError::Options(error.to_string()))?;
        Ok(Self {
            core: Mutex::new(Core::new(io, options)?),
            signals: Signals { wanting: AtomicU32::new(0), asleep: AtomicBool::new(false), waker },
            driver: AtomicU8::new(NOBODY),
            terms: AtomicU32::new(0),
            dozes: AtomicBool::new(false),
            background: OnceLock::new(),
        })
    }

    pub fn has_background(&self, thread: Thread) {
        self.background.get_or_init(|| thread);
    }

    fn lock(&self) -> Guard<'_> {
        // After a panic within the engine (a bug of ours), its state is used as it is.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock; the driver gives way.
    pub(super) fn enter(&self) -> Guard<'_> {
        self.signals.wanting.fetch_add(1, Ordering::SeqCst);
        if self.signals.asleep.load(Ordering::SeqCst) {
            self.signals.waker.wake();
        }
        let mut core = self.lock();
        self.signals.wanting.fetch_sub(1, Ordering::SeqCst);
        core.tick();
        core
    }

    fn drives(&self, who: u8) -> bool {
        self.driver.load(Ordering::SeqCst) == who
    }

    /// One turn of driving: the network, then waiting threads, or a rest.
    fn turn<'a>(&'a self, mut core: Guard<'a>, until: Option<Instant>) -> Guard<'a> {
        let moved = core.round();
        if self.signals.wanting.load(Ordering::SeqCst) > 0 {
            drop(core);
            while self.signals.wanting.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            return self.lock();
        }
        if !moved && core.stopped.is_none() {
            core.rest(until, &self.signals);
        }
        core
    }

    /// Waits until `attempt` has a result, and drives meanwhile unless another caller does.
    fn wait_for<T>(
        &self,
        interest: Interest,
        timeout: Timeout,
        mut attempt: impl FnMut(&mut Engine, Instant) -> Option<Result<T, StreamError>>,
    ) -> Result<T, StreamError> {
        let mut core = self.enter();
        core.call_begins();
        let nanos = |most: Duration| u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        let until = timeout.map(|most| core.now().after(Picos(nanos(most).saturating_mul(1000))));
        let mut leads = false;
        let result = loop {
            if let Some(why) = &core.stopped {
                break Err(StreamError::Stopped(why.clone()));
            }
            let now = core.now();
            if let Some(result) = attempt(&mut core.engine, now) {
                break result;
            }
            if until.is_some_and(|until| until <= now) {
                break Err(StreamError::TimedOut);
            }
            if leads || !self.drives(CALLER) {
                leads = leads || self.begin();
                core = self.turn(core, until);
            } else {
                core = self.stand_by(core, interest, until);
            }
        };
        core.send_made();
        core.tick();
        let returns = core.call_ends();
        if leads {
            self.end(&core, returns);
        }
        result
    }

    /// Makes the calling thread the driver.
    fn begin(&self) -> bool {
        self.driver.store(CALLER, Ordering::SeqCst);
        self.terms.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Ends the driving of this thread: another waiter takes over, or the background thread if work is due soon and this thread is
    /// not likely to be back by then. Otherwise the background thread notices by itself, after [`SHORT`] at most, so that a short
    /// call needs no wake-up. In a bulk transfer something is always due soon; to wake the background thread after every read
    /// or write took a fifth of all processor time.
    fn end(&self, core: &Core, returns: bool) {
        self.driver.store(NOBODY, Ordering::SeqCst);
        if let Some(other) = core.other_driver() {
            return other.unpark();
        }
        let short = Picos(SHORT.as_nanos() as u64 * 1000);
        if self.dozes.load(Ordering::SeqCst) || (!returns && core.is_pressing(short)) {
            self.background.get().into_iter().for_each(Thread::unpark);
        }
    }

    /// While another caller drives: sleeps until that caller reports that `interest` is met, or leaves.
    fn stand_by<'a>(&'a self, mut core: Guard<'a>, interest: Interest, until: Option<Instant>) -> Guard<'a> {
        let ticket = core.join(interest, Sleeper::Thread(std::thread::current()));
        let left = until.map(|until| Duration::from_nanos(until.since(core.now()).0 / 1000));
        let left = if interest == Interest::Drain { Some(left.unwrap_or(LOOK).min(LOOK)) } else { left };
        drop(core);
        match left {
            Some(left) => std::thread::park_timeout(left),
            None => std::thread::park(),
        }
        let mut core = self.enter();
        core.leave(ticket);
        core
    }

    /// Loop of the background thread: drives while no caller does.
    pub fn drive_when_nobody_does(&self) {
        let (mut nap, mut term) = (SHORT, 0);
        loop {
            if !self.drives(CALLER) {
                self.dozes.store(false, Ordering::SeqCst);
                if self.drive_in_background() {
                    return;
                }
                nap = SHORT;
            }
            let terms = self.terms.load(Ordering::SeqCst);
            nap = if terms == term { (2 * nap).min(LONG) } else { SHORT };
            term = terms;
            self.dozes.store(nap > SHORT, Ordering::SeqCst);
            if self.drives(CALLER) {
                std::thread::park_timeout(nap);
            }
        }
    }

    /// Drives until a caller takes over. True: the host has stopped.
    fn drive_in_background(&self) -> bool {
        let mut core = self.enter();
        if self.drives(NOBODY) {
            self.driver.store(BACKGROUND, Ordering::SeqCst);
        }
        while self.drives(BACKGROUND) && core.stopped.is_none() {
            core = self.turn(core, None);
        }
        core.stopped.is_some()
    }

    /// Makes one call that does not wait.
    fn once<R>(&self, call: impl FnOnce(&mut Engine, Instant) -> R) -> Result<R, StreamError> {
        let mut core = self.enter();
        if let Some(why) = &core.stopped {
            return Err(StreamError::Stopped(why.clone()));
        }
        let now = core.now();
        let result = call(&mut core.engine, now);
        core.send_made();
        Ok(result)
    }

    /// Makes one call after which other waiters must check their conditions again.
    fn end_something(&self, call: impl FnOnce(&mut Engine, Instant)) {
        let mut core = self.enter();
        let now = core.now();
        call(&mut core.engine, now);
        if core.stopped.is_none() {
            core.send_made();
        }
        core.wake_all();
    }

    pub fn status(&self) -> Status {
        self.enter().engine.status()
    }

    /// Finishes all streams and waits until everything is acknowledged.
    pub fn drain(&self, timeout: Duration) -> bool {
        let begun = self.once(|engine, now| engine.drain(now));
        let settled = |engine: &mut Engine, _| (engine.unsettled() == 0).then_some(Ok(()));
        begun.is_ok() && self.wait_for(Interest::Drain, Some(timeout), settled).is_ok()
    }

    /// Ends all streams, notifies the other hosts, and stops the host.
    pub fn stop(&self, why: &str) {
        let mut core = self.enter();
        if core.stopped.is_none() {
            let now = core.now();
            core.engine.stop(now);
            core.send_all();
            core.stop(why.to_string());
        }
        drop(core);
        self.background.get().into_iter().for_each(Thread::unpark);
    }
}

impl Stack for Shared {
    fn listen(&self, service: u16) -> Result<(), StreamError> {
        self.once(|engine, _| engine.listen(service))?
    }

    fn unlisten(&self, service: u16) {
        self.end_something(|engine, now| engine.unlisten(now, service));
    }

    fn accept(&self, service: u16, timeout: Timeout) -> Result<StreamId, StreamError> {
        self.wait_for(Interest::Accept(service), timeout, |engine, _| match engine.accept(service) {
            Some(id) => Some(Ok(id)),
            None => (!engine.listens(service)).then_some(Err(StreamError::NoListener(service))),
        })
    }

    fn connect(&self, to: SocketAddr, service: u16, options: StreamOptions) -> Result<StreamId, StreamError> {
        self.once(|engine, now| engine.connect(now, to, service, options))?
    }

    fn write(&self, id: StreamId, bytes: &[u8], last: bool, timeout: Timeout) -> Result<usize, StreamError> {
        self.wait_for(Interest::Write(id), timeout, |engine, now| engine.put(now, id, bytes, last))
    }

    fn finish(&self, id: StreamId) -> Result<(), StreamError> {
        self.once(|engine, now| engine.finish(now, id))?
    }

    fn read(&self, id: StreamId, out: &mut [u8], timeout: Timeout) -> Result<usize, StreamError> {
        if out.is_empty() {
            return Ok(0);
        }
        self.wait_for(Interest::Read(id), timeout, |engine, now| match engine.read(now, id, out) {
            Ok(Read::Nothing) => None,
            Ok(Read::Bytes(long)) => Some(Ok(long)),
            Ok(Read::End) => Some(Ok(0)),
            Err(error) => Some(Err(error)),
        })
    }

    fn settle(&self, id: StreamId, timeout: Timeout) -> Result<(), StreamError> {
        self.wait_for(Interest::Settle(id), timeout, |engine, _| match engine.info(id) {
            None => Some(Err(StreamError::Closed)),
            Some(StreamInfo { error: Some(error), .. }) => Some(Err(error)),
            Some(info) => info.settled.then_some(Ok(())),
        })
    }

    fn close(&self, id: StreamId) {
        self.end_something(|engine, now| engine.close(now, id));
    }

    fn abort(&self, id: StreamId) {
        self.end_something(|engine, now| engine.abort(now, id));
    }

    fn prefer(&self, id: StreamId, priority: u8) {
        drop(self.once(|engine, _| engine.prefer(id, priority)));
    }

    fn info(&self, id: StreamId) -> Option<StreamInfo> {
        self.enter().engine.info(id)
    }
}
