//! Engine and interface, driven by the thread that holds the lock.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Duration;

use pullnet_netio::PacketIo;
use pullnet_units::{Instant, Picos};

use super::HostOptions;
use super::intake::{BURST, Intake};
use super::neighbours::{Neighbours, Search};
use super::signals::Signals;
use super::wait::Wait;
use super::yielding::Yielding;
use crate::engine::Engine;
use crate::error::StreamError;
use crate::handle::{Notice, StreamId};
use crate::options::EngineOptions;

/// Worst wake-up latency of the kernel.
const LATE: Picos = Picos::from_micros(60);
/// A spinning driver keeps the processor for this time after the last activity.
const EAGER: Picos = Picos::from_micros(50);
/// A program that calls again within this time moves data and does nothing else. Waking a thread costs about as much.
const SOON: Picos = Picos::from_micros(20);
/// Longest sleep.
const NAP: Picos = Picos::from_secs(1);

/// Writes the next frame that an engine has to send, and returns its length.
type NextFrame = fn(&mut Engine, Instant, &mut [u8]) -> usize;

/// Condition that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interest {
    Accept(u16),
    Read(StreamId),
    Write(StreamId),
    Settle(StreamId),
    /// All streams are settled. No notice announces this.
    Drain,
}

impl Interest {
    fn is_met_by(self, notice: Notice) -> bool {
        match notice {
            Notice::Incoming { service } => self == Self::Accept(service),
            Notice::Readable { id } => self == Self::Read(id),
            Notice::Writable { id } => self == Self::Write(id),
            Notice::Settled { id } => self == Self::Settle(id),
        }
    }
}

/// Waiter that is woken when its condition holds.
#[derive(Debug)]
pub(super) enum Sleeper {
    Thread(Thread),
    #[cfg(feature = "tokio")]
    Task(std::task::Waker),
}

impl Sleeper {
    fn wake(&self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            #[cfg(feature = "tokio")]
            Self::Task(task) => task.wake_by_ref(),
        }
    }

    fn thread(&self) -> Option<&Thread> {
        match self {
            Self::Thread(thread) => Some(thread),
            #[cfg(feature = "tokio")]
            Self::Task(_) => None,
        }
    }
}

/// A thread or task that waits while another thread drives.
#[derive(Debug)]
pub(super) struct Waiting {
    pub ticket: u64,
    pub interest: Interest,
    pub sleeper: Sleeper,
}

pub(super) struct Core {
    pub engine: Engine,
    io: Box<dyn PacketIo + Send>,
    start: std::time::Instant,
    now: Instant,
    wait: Wait,
    yielding: Yielding,
    intake: Intake,
    search: Search,
    waiting: Vec<Waiting>,
    tickets: u64,
    /// The reason why the host has stopped.
    pub stopped: Option<String>,
    /// Time of the latest activity.
    busy: Instant,
    /// End of the latest call that may wait.
    left: Instant,
    /// Whether the latest such call followed the previous one within [`SOON`].
    returns: bool,
}

#[expect(clippy::disallowed_methods, reason = "a running host has to know the time")]
fn clock() -> std::time::Instant {
    std::time::Instant::now()
}

/// Polls again at once; after an idle period, yields the processor to other threads.
fn spin_on(idle: Picos) {
    if idle < EAGER { std::hint::spin_loop() } else { std::thread::yield_now() }
}

impl Core {
    pub fn new(io: Box<dyn PacketIo + Send>, options: HostOptions) -> Result<Self, StreamError> {
        let needed = options.engine.mtu + pullnet_wire::ETHERNET;
        if io.frame_room() < needed {
            let (mtu, room) = (options.engine.mtu, io.frame_room());
            let text = format!("mtu = {mtu}: its frames have {needed} B, and the interface carries {room} B");
            return Err(StreamError::Options(text));
        }
        let neighbours = options.neighbours;
        let learn_macs = options.engine.learn_macs || neighbours == Neighbours::Given;
        let engine = EngineOptions { learn_macs, ..options.engine }.started()?;
        let intake = Intake::new(io.frame_room());
        Ok(Self {
            engine: Engine::new(engine)?,
            io,
            intake,
            start: clock(),
            now: Instant::ZERO,
            wait: options.wait,
            yielding: Yielding::default(),
            search: Search::new(neighbours)?,
            waiting: Vec::new(),
            tickets: 0,
            stopped: None,
            busy: Instant::ZERO,
            left: Instant::ZERO,
            returns: false,
        })
    }

    /// Reads the clock.
    pub fn tick(&mut self) -> Instant {
        self.now = Instant((clock().duration_since(self.start).as_nanos() as u64).saturating_mul(1000));
        self.yielding.begin_turn(self.now);
        self.now
    }

    /// Time from the start of the host to the latest clock reading: 213 days at most.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sends what the round before has left, takes what has arrived, and does what is due. True: there was something.
    ///
    /// Frames made in this round leave with the next one, or with those of an application that the round woke: an answer and
    /// the ACK of its request then cost one system call.
    pub fn round(&mut self) -> bool {
        let moved = self.send(Engine::transmit).and_then(|sent| Ok(self.take()? || sent));
        self.tell();
        moved.unwrap_or_else(|error| {
            self.failed(&error);
            false
        })
    }

    fn take(&mut self) -> Result<bool, pullnet_netio::Error> {
        let now = self.tick();
        let (got, did) = self.intake.take(&mut self.io, &mut self.engine, now)?;
        let moved = self.resolve(now) || did || got > 0;
        if moved {
            self.busy = now;
        }
        Ok(moved)
    }

    /// Polls the search for Ethernet addresses. True: one was found, or its lookup failed.
    fn resolve(&mut self, now: Instant) -> bool {
        let mut found = false;
        while let Some(address) = self.engine.poll_unresolved() {
            if let Some(answer) = self.search.begin(now, address) {
                self.engine.resolved(now, address, answer);
                found = true;
            }
        }
        while let Some(address) = self.engine.poll_stranger() {
            let mac = self.search.glance(now, address);
            self.engine.recognised(now, address, mac);
            found = true;
        }
        if self.search.due() <= now {
            for (address, mac) in self.search.look(now) {
                self.engine.resolved(now, address, mac);
                found = true;
            }
        }
        found
    }

    /// Sends the frame that `first` writes and everything after it, up to a burst.
    fn send(&mut self, first: NextFrame) -> Result<bool, pullnet_netio::Error> {
        let now = self.now();
        let (engine, mut sent) = (&mut self.engine, 0);
        while sent < BURST {
            let mut long = 0;
            let fill = &mut |room: &mut [u8]| {
                let next = if sent == 0 { first } else { Engine::transmit };
                long = next(engine, now, room);
                long
            };
            if !self.io.send(fill)? || long == 0 {
                break;
            }
            sent += 1;
        }
        if sent > 0 {
            self.io.flush()?;
        }
        Ok(sent > 0)
    }

    /// Sends the frames that an application's call has made. ACKs go along with them; without other frames, they wait for
    /// the next call, or for the background thread.
    pub fn send_made(&mut self) {
        self.send_from(Engine::transmit_urgent);
    }

    /// Sends everything.
    pub fn send_all(&mut self) {
        self.send_from(Engine::transmit);
    }

    /// Stops the host, unless the error may pass: then frames are lost, as in a network.
    fn failed(&mut self, error: &pullnet_netio::Error) {
        if !error.may_pass() || self.io.is_gone() {
            self.stop(error.to_string());
        }
    }

    fn send_from(&mut self, first: NextFrame) {
        let now = self.now();
        self.resolve(now);
        loop {
            match self.send(first) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed(&error);
                    break;
                }
            }
        }
        self.tell();
    }

    /// Registers a waiter. Returns the ticket for [`Core::leave`].
    pub fn join(&mut self, interest: Interest, sleeper: Sleeper) -> u64 {
        let ticket = self.tickets;
        self.tickets += 1;
        self.waiting.push(Waiting { ticket, interest, sleeper });
        ticket
    }

    /// Removes the waiter with this ticket.
    pub fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// Another waiting thread that could drive.
    pub fn other_driver(&self) -> Option<&Thread> {
        self.waiting.iter().find_map(|waiting| waiting.sleeper.thread())
    }

    /// Wakes the waiters whose condition holds.
    fn tell(&mut self) {
        while let Some(notice) = self.engine.poll_notice() {
            let meant = self.waiting.iter().filter(|waiting| waiting.interest.is_met_by(notice));
            meant.for_each(|waiting| waiting.sleeper.wake());
        }
    }

    /// Stops the host.
    pub fn stop(&mut self, why: String) {
        if self.stopped.is_none() {
            tracing::info!(why, "host stopped");
            self.stopped = Some(why);
        }
        self.wake_all();
    }

    /// Wakes every thread to check its condition again.
    pub fn wake_all(&self) {
        self.waiting.iter().for_each(|waiting| waiting.sleeper.wake());
    }

    /// Time of the next action that needs no input.
    fn due(&self) -> Instant {
        self.engine.deadline().unwrap_or(Instant::NEVER).min(self.search.due())
    }

    /// Notes that a call which may wait begins.
    pub fn call_begins(&mut self) {
        self.returns = self.now().since(self.left) < SOON;
    }

    /// Notes that the call ends. True: its caller is likely to be back soon, as it was the last time.
    pub fn call_ends(&mut self) -> bool {
        self.left = self.now();
        self.returns
    }

    /// Whether an action falls due earlier than a sleeping thread could wake up.
    pub fn is_pressing(&self, within: Picos) -> bool {
        self.due() < self.now().after(within)
    }

    /// Waits while there is nothing to do: polls again soon, or sleeps until there is work, at most until `until`.
    pub fn rest(&mut self, until: Option<Instant>, signals: &Signals) {
        let now = self.now();
        let Wait::Adaptive(spin) = self.wait else { return spin_on(now.since(self.busy)) };
        let spin = Picos(u64::try_from(spin.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000));
        let wake = self.due().min(until.unwrap_or(Instant::NEVER)).min(now.after(NAP));
        let wary = self.yielding.is_wary(now);
        let early = if wary { Picos::ZERO } else { LATE };
        if !wary && (now.since(self.busy) < spin || wake <= now.after(early)) {
            return self.yielding.give_way(now);
        }
        let most = Duration::from_nanos(wake.since(now).0.saturating_sub(early.0) / 1000);
        // Pairs with `Shared::enter`: each side stores its own flag before loading the other's, so a wake-up cannot be lost.
        signals.asleep.store(true, Ordering::SeqCst);
        let slept = match signals.wanting.load(Ordering::SeqCst) {
            0 => self.io.wait(Some(signals.waker.as_fd()), most),
            _ => Ok(()),
        };
        signals.asleep.store(false, Ordering::SeqCst);
        signals.waker.clear();
        if let Err(error) = slept {
            self.failed(&error);
        }
    }
}
