//! The engine with its interface.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use pullnet_host::{Engine, Intake, Search};
use pullnet_netio::{Error as IoError, PacketIo, PortGuard};
use pullnet_units::{Instant, Picos};

/// Maximum number of frames sent between two polls of the applications.
const BURST: usize = 64;
/// Interval between two log lines about the interface.
const COMPLAINT: Picos = Picos::from_secs(10);

pub(super) struct EngineIo {
    intake: Intake,
    io: Box<dyn PacketIo + Send>,
    pub engine: Engine,
    search: Search,
    /// Keeps the kernel from answering packets to the port.
    _guard: Option<PortGuard>,
    complained: Option<Instant>,
    /// The error after which the interface was found to be gone.
    gone: Option<IoError>,
}

impl EngineIo {
    pub fn new(
        io: Box<dyn PacketIo + Send>,
        engine: Engine,
        search: Search,
        guard: Option<PortGuard>,
    ) -> Self {
        let intake = Intake::new(io.frame_room());
        Self { intake, io, engine, search, _guard: guard, complained: None, gone: None }
    }

    /// Receives frames. Returns whether there were any.
    pub fn receive(&mut self, now: Instant) -> bool {
        let received = self.intake.take(&mut self.io, &mut self.engine, now);
        self.told(now, received).is_some_and(|(frames, _)| frames > 0)
    }

    /// Sends frames. Returns whether there were any.
    pub fn send(&mut self, now: Instant) -> bool {
        self.resolve(now);
        let mut any = false;
        for _ in 0..BURST {
            let (engine, mut long) = (&mut self.engine, 0);
            let sent = self.io.send(&mut |frame| {
                long = engine.transmit(now, frame);
                long
            });
            let room = self.told(now, sent).unwrap_or(false);
            any |= long > 0;
            if !room || long == 0 {
                break;
            }
        }
        if any {
            let flushed = self.io.flush();
            self.told(now, flushed);
        }
        any
    }

    fn resolve(&mut self, now: Instant) {
        while let Some(address) = self.engine.poll_unresolved() {
            if let Some(answer) = self.search.begin(now, address) {
                self.engine.resolved(now, address, answer);
            }
        }
        while let Some(address) = self.engine.poll_stranger() {
            let mac = self.search.glance(now, address);
            self.engine.recognised(now, address, mac);
        }
        if self.search.due() <= now {
            for (address, mac) in self.search.look(now) {
                self.engine.resolved(now, address, mac);
            }
        }
    }

    /// Whether the interface was removed: nothing will arrive or leave any more.
    pub fn is_gone(&self) -> bool {
        self.gone.is_some()
    }

    /// The error by which it was found that the interface was removed, if it was.
    pub fn take_end(&mut self) -> Option<IoError> {
        self.gone.take()
    }

    /// Time of the next action that needs no input.
    pub fn due(&self) -> Instant {
        self.engine.deadline().unwrap_or(Instant::NEVER).min(self.search.due())
    }

    /// Sleeps until a frame arrives or `waker` becomes readable, for `time` at most.
    pub fn wait(&mut self, now: Instant, waker: BorrowedFd<'_>, time: Duration) {
        let waited = self.io.wait(Some(waker), time);
        if self.told(now, waited).is_none() {
            // If the interface cannot be polled, sleep anyway, so that the loop does not spin.
            let _ = crate::sys::wait(waker, Some(time.min(Duration::from_millis(10))));
        }
    }

    /// Takes a result of the interface and logs an error. Unless the interface was removed, the error may pass: an interface that was
    /// down is up again.
    fn told<T>(&mut self, now: Instant, result: Result<T, IoError>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if self.complained.is_none_or(|last| now.since(last) > COMPLAINT) {
            tracing::warn!(%error, "no frames at the moment");
            self.complained = Some(now);
        }
        if self.io.is_gone() {
            self.gone.get_or_insert(error);
        }
        None
    }
}
