//! A stream or a listener of the daemon, as the application sees it.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Clock};

use pullnet_host::StreamError;

use super::turn::{Turn, gone};
use crate::doorbell::Signal;
use crate::failure::{Asked, decode};
use crate::ring::{Broken, Reader, Writer};
use crate::share::{Channel, Verdict};

/// Memory and doorbells that the daemon gave for a channel; the daemon may reuse them for another channel later.
#[derive(Debug)]
pub(super) struct Given {
    pub channel: Channel,
    pub readable: Turn,
    pub writable: Turn,
}

/// An end of a ring; `None` once the channel is let go: its memory may belong to another channel.
type End<T> = Mutex<Option<T>>;

#[derive(Debug)]
struct Up {
    writer: Writer,
    ended: bool,
}

#[derive(Debug)]
struct Down {
    reader: Reader,
    /// Bytes read since a call last waited for some.
    since_wait: usize,
}

/// Number of bytes read without a wait from which on a reader counts as one of bulk data.
const BULK: usize = 32 << 10;

#[derive(Debug)]
pub(super) struct Client {
    pub name: u64,
    pub slot: usize,
    /// Number of its memory within the session.
    pub memory: usize,
    pub asked: Asked,
    /// For a listener: an announced stream could not be taken.
    pub owed: AtomicBool,
    given: Arc<Given>,
    up: End<Up>,
    down: End<Down>,
}

/// Timeout of a call, and the part of it spent spinning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub spin: Duration,
    pub most: Option<Duration>,
}

impl Patience {
    /// For calls that move much data: a thread that spins takes the processor from the daemon that it waits for.
    fn of_bulk(self) -> Self {
        Self { spin: Duration::ZERO, ..self }
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of calls that wait")]
fn clock() -> Clock {
    Clock::now()
}

fn lock<T>(end: &End<T>) -> MutexGuard<'_, Option<T>> {
    end.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(_: Broken) -> StreamError {
    StreamError::Stopped("the daemon broke the rules of a ring".to_owned())
}

impl Client {
    pub fn new((name, slot, memory): (u64, usize, usize), asked: Asked, given: Arc<Given>) -> Self {
        let (writer, reader) = given.channel.application();
        let up = Mutex::new(Some(Up { writer, ended: false }));
        let down = Mutex::new(Some(Down { reader, since_wait: 0 }));
        Self { name, slot, memory, asked, owed: AtomicBool::new(false), given, up, down }
    }

    fn failure(&self) -> Result<(), StreamError> {
        match self.given.channel.failure() {
            0 => Ok(()),
            code => Err(decode(code, "", &self.asked)),
        }
    }

    /// The reason why bytes that are written do not arrive.
    fn write_failure(&self) -> Result<(), StreamError> {
        self.failure()?;
        match self.given.channel.write_failure() {
            0 => Ok(()),
            code => Err(decode(code, "", &self.asked)),
        }
    }

    /// Writes as many bytes as there is room for, and the end behind them if all were written and `last`. 0: no room. In all
    /// other cases the daemon must be notified.
    pub fn try_write(&self, bytes: &[u8], last: bool) -> Result<usize, StreamError> {
        let mut up = lock(&self.up);
        let up = up.as_mut().ok_or(StreamError::Closed)?;
        self.write_failure()?;
        if up.ended {
            return Err(StreamError::Closed);
        }
        let long = up.writer.write(bytes).map_err(broken)?;
        if last && long == bytes.len() {
            up.ended = true;
            up.writer.end();
        }
        Ok(long)
    }

    /// Ends the writing half. The daemon must be notified.
    pub fn finish(&self) -> Result<(), StreamError> {
        let mut up = lock(&self.up);
        let up = up.as_mut().ok_or(StreamError::Closed)?;
        self.write_failure()?;
        up.ended = true;
        up.writer.end();
        Ok(())
    }

    /// Whether the other host has acknowledged everything that was written.
    pub fn is_settled(&self) -> Result<bool, StreamError> {
        let up = lock(&self.up);
        let up = up.as_ref().ok_or(StreamError::Closed)?;
        if self.given.channel.is_settled(up.writer.written(), up.ended) {
            return Ok(true);
        }
        self.write_failure().map(|()| false)
    }

    /// Reads the bytes that are there. `None`: none yet; 0: the end. Also returns whether the daemon must be notified.
    pub fn try_read(&self, out: &mut [u8]) -> Result<Option<(usize, bool)>, StreamError> {
        let mut down = lock(&self.down);
        let Down { reader, since_wait } = down.as_mut().ok_or(StreamError::Closed)?;
        let ended = reader.ended();
        let long = reader.read(out).map_err(broken)?;
        if long > 0 {
            *since_wait += long;
            return Ok(Some((long, reader.writer_has_enough())));
        }
        if ended {
            return Ok(Some((0, false)));
        }
        self.failure().map(|()| None)
    }

    /// Bytes that wait for the reader here.
    pub fn waiting(&self) -> usize {
        lock(&self.down).as_mut().and_then(|down| down.reader.ready().ok()).unwrap_or(0)
    }

    /// Waits until `attempt` gives a result, which depends on the daemon's writing.
    pub fn wait_for_bytes<T>(
        &self,
        patience: Patience,
        mut attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<T, StreamError> {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        let bulk = lock(&self.down).as_mut().is_some_and(|down| std::mem::take(&mut down.since_wait) >= BULK);
        let (patience, least) = if bulk { (patience.of_bulk(), self.part_of_ring(4)) } else { (patience, 1) };
        wait(patience, &self.given.readable, || self.wait_down(least), attempt)
    }

    /// Waits until `attempt` gives a result, which depends on the daemon's reading.
    pub fn wait_for_room<T>(
        &self,
        patience: Patience,
        attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<T, StreamError> {
        wait(patience.of_bulk(), &self.given.writable, || self.wait_up(self.part_of_ring(2)), attempt)
    }

    /// Waits until `attempt` gives a result, which depends on the other host's acknowledgement.
    pub fn wait_settled<T>(
        &self,
        patience: Patience,
        attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<T, StreamError> {
        wait(patience, &self.given.writable, || self.wait_up(1), attempt)
    }

    /// Tries `attempt`, which depends on the daemon's writing. If it gives nothing, the readable doorbell rings when it may.
    pub fn poll_for_bytes<T>(
        &self,
        attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<Option<T>, StreamError> {
        poll(&self.given.readable, || self.wait_down(1), attempt)
    }

    /// Tries `attempt`, which depends on the daemon's reading. If it gives nothing, the writable doorbell rings when it may.
    pub fn poll_for_room<T>(
        &self,
        attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<Option<T>, StreamError> {
        poll(&self.given.writable, || self.wait_up(self.part_of_ring(2)), attempt)
    }

    /// Tries `attempt`, which depends on the other host's acknowledgement. If it gives nothing, the writable doorbell rings when
    /// it may.
    pub fn poll_settled<T>(
        &self,
        attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<Option<T>, StreamError> {
        poll(&self.given.writable, || self.wait_up(1), attempt)
    }

    /// Bytes that are one of `parts` equal parts of a ring.
    fn part_of_ring(&self, parts: usize) -> u32 {
        (self.given.channel.ring() / parts) as u32
    }

    /// Announces that a writer waits for `least` bytes of room, or for the acknowledgement. `None`: the channel is let go.
    fn wait_up(&self, least: u32) -> Option<()> {
        lock(&self.up).as_ref().map(|up| up.writer.wait(least))
    }

    /// Announces that a reader waits for `least` bytes. `None`: the channel is let go.
    fn wait_down(&self, least: u32) -> Option<()> {
        lock(&self.down).as_ref().map(|down| down.reader.wait(least))
    }

    /// Descriptors of the readable and of the writable doorbell.
    pub fn doorbells(&self) -> std::io::Result<[OwnedFd; 2]> {
        let [readable, writable] = [&self.given.readable, &self.given.writable];
        Ok([readable.doorbell().duplicate()?, writable.doorbell().duplicate()?])
    }

    /// Closes the channel with `verdict`: calls that wait fail. The daemon must be notified. Returns whether the memory may
    /// not be used for another channel.
    pub fn let_go(&self, verdict: Verdict) -> bool {
        let (up, down) = (lock(&self.up).take(), lock(&self.down).take());
        if up.is_none() && down.is_none() {
            return false;
        }
        // A thread that sleeps at a doorbell might receive a wake-up meant for the next channel with the same doorbell.
        let listened = [&self.given.readable, &self.given.writable].map(Turn::end);
        let retired = listened.contains(&true);
        if retired {
            self.given.channel.retire();
        }
        self.given.channel.set_verdict(verdict);
        retired
    }
}

/// Tries, and announces by `waits` that the caller is going to wait for the doorbell of `turn`.
fn poll<T>(
    turn: &Turn,
    waits: impl Fn() -> Option<()>,
    mut attempt: impl FnMut() -> Result<Option<T>, StreamError>,
) -> Result<Option<T>, StreamError> {
    if let Some(done) = attempt()? {
        return Ok(Some(done));
    }
    // Before the attempt, so that data that arrived before the daemon ended is returned first.
    let closed = turn.doorbell().is_closed();
    waits().ok_or(StreamError::Closed)?;
    match attempt()? {
        None if closed => Err(gone()),
        done => Ok(done),
    }
}

/// Tries, spins, and then sleeps at `turn`, announcing the sleep by `waits`.
fn wait<T>(
    patience: Patience,
    turn: &Turn,
    waits: impl Fn() -> Option<()>,
    mut attempt: impl FnMut() -> Result<Option<T>, StreamError>,
) -> Result<T, StreamError> {
    if let Some(done) = attempt()? {
        return Ok(done);
    }
    let start = clock();
    let yields = turn.may_yield();
    loop {
        if yields {
            // The daemon may need this core.
            let before = clock();
            std::thread::yield_now();
            turn.yielded(clock().duration_since(before));
        }
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        let waited = clock().duration_since(start);
        if patience.most.is_some_and(|most| waited >= most) {
            return Err(StreamError::TimedOut);
        }
        if yields && waited < patience.spin {
            continue;
        }
        let epoch = turn.epoch();
        waits().ok_or(StreamError::Closed)?;
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        let left = patience.most.map(|most| most.saturating_sub(waited));
        let signal = turn.sleep(epoch, left).map_err(|error| StreamError::Stopped(error.to_string()))?;
        if signal == Signal::Closed {
            // Data that arrived before the daemon ended, or before the channel was let go, is returned first.
            return attempt()?.ok_or_else(gone);
        }
    }
}
