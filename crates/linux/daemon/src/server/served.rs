//! A stream or a listener of an application: moves bytes between its rings and the engine.

use std::collections::VecDeque;
use std::net::SocketAddr;

use pullnet_host::{Engine, Read, Source, StreamError, StreamId};
use pullnet_units::Instant;
use pullnet_wire::Reason;

use crate::failure;
use crate::ring::{Broken, Reader, Writer};
use crate::share::{OwnChannel, Verdict};

/// Maximum number of bytes moved in each direction in one turn of a stream.
const STRIDE: usize = 64 << 10;

/// Purpose of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Stream(StreamId),
    Listener { service: u16 },
}

/// Next step for a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Another turn now.
    Again,
    /// No turn until the next event.
    Rest,
    /// The engine has forgotten it, and the application has closed it.
    Over,
}

/// The reason why a stream stops.
enum Stop {
    Failed(StreamError),
    Broken,
}

impl From<StreamError> for Stop {
    fn from(error: StreamError) -> Self {
        Self::Failed(error)
    }
}

impl From<Broken> for Stop {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

/// A channel that is in use.
#[derive(Debug)]
pub(super) struct Served {
    pub role: Role,
    /// Its name in messages.
    pub name: u64,
    /// Number of its memory within the session.
    pub memory: usize,
    pub own: OwnChannel,
    up: Reader,
    down: Writer,
    /// Whether it is queued for a turn.
    queued: bool,
    /// The engine has been told that no more bytes follow.
    finished: bool,
    /// The application has been told that no more bytes follow.
    ended: bool,
    failed: bool,
    /// Only writing has failed.
    write_failed: bool,
    /// Its application is gone.
    orphan: bool,
    /// Bytes were written for a reader that sleeps until there are more.
    pub owes: bool,
}

/// The engine and the stream of a channel's turn.
struct Turn<'a> {
    engine: &'a mut Engine,
    now: Instant,
    id: StreamId,
}

impl Served {
    pub fn new(role: Role, name: u64, memory: usize, own: OwnChannel) -> Self {
        own.channel.clear();
        let (up, down) = own.channel.daemon();
        Self {
            role,
            name,
            memory,
            own,
            up,
            down,
            queued: false,
            finished: false,
            ended: false,
            failed: false,
            write_failed: false,
            orphan: false,
            owes: false,
        }
    }

    /// Adds it to `due`, once.
    pub fn queue(&mut self, place: (usize, usize), due: &mut VecDeque<(usize, usize)>) {
        if !std::mem::replace(&mut self.queued, true) {
            due.push_back(place);
        }
    }

    /// Moves as many bytes as possible, and carries out the application's wish.
    pub fn turn(&mut self, engine: &mut Engine, now: Instant) -> Next {
        self.queued = false;
        let verdict = self.verdict();
        let id = match self.role {
            Role::Stream(id) => id,
            Role::Listener { .. } if verdict == Verdict::Open => return Next::Rest,
            Role::Listener { service } => {
                engine.unlisten(now, service);
                return Next::Over;
            }
        };
        if verdict == Verdict::Aborted {
            engine.abort(now, id);
            return Next::Over;
        }
        match self.move_bytes(&mut Turn { engine, now, id }, verdict) {
            Ok(Next::Over) => {
                engine.close(now, id);
                Next::Over
            }
            Ok(next) => next,
            Err(Stop::Failed(error)) => {
                self.fail(failure::encode(&error));
                if verdict == Verdict::Open { Next::Rest } else { self.turn(engine, now) }
            }
            Err(Stop::Broken) => {
                tracing::warn!(?id, "an application broke the rules of its ring; its stream is aborted");
                engine.abort(now, id);
                self.fail(failure::encode(&StreamError::Reset(Reason::PROTOCOL)));
                Next::Over
            }
        }
    }

    fn move_bytes(&mut self, turn: &mut Turn<'_>, verdict: Verdict) -> Result<Next, Stop> {
        if self.failed {
            return Ok(if verdict == Verdict::Open { Next::Rest } else { Next::Over });
        }
        let more_up = match self.move_up(turn) {
            Err(Stop::Failed(error)) => {
                self.fail_writing(failure::encode(&error));
                Next::Rest
            }
            moved => moved?,
        };
        if verdict == Verdict::Closed {
            let over = self.write_failed || self.up.ready()? == 0;
            return Ok(if over { Next::Over } else { more_up });
        }
        let more_down = self.move_down(turn)?;
        Ok(if more_up == Next::Again { more_up } else { more_down })
    }

    /// Moves bytes from the application to the engine.
    fn move_up(&mut self, turn: &mut Turn<'_>) -> Result<Next, Stop> {
        let Turn { engine, now, id } = turn;
        if self.write_failed {
            return Ok(Next::Rest);
        }
        let ended = self.up.ended();
        let ready = self.up.peek(STRIDE)?;
        let long = ready.left();
        let taken = if long > 0 { engine.write_from(*now, *id, ready)? } else { 0 };
        if taken > 0 {
            self.up.consume(taken);
            self.ring_writer();
        }
        if taken < long {
            return Ok(Next::Rest);
        }
        if self.up.ready()? > 0 {
            return Ok(Next::Again);
        }
        if ended && !self.finished {
            self.finished = true;
            engine.finish(*now, *id)?;
        }
        Ok(Next::Rest)
    }

    /// Moves bytes from the engine to the application.
    fn move_down(&mut self, turn: &mut Turn<'_>) -> Result<Next, Stop> {
        let Turn { engine, now, id } = turn;
        if self.ended {
            return Ok(Next::Rest);
        }
        let mut room = self.down.room()?;
        if room == 0 {
            self.down.wait(1);
            room = self.down.room()?;
        }
        if room == 0 {
            return Ok(Next::Rest);
        }
        match engine.read_into(*now, *id, self.down.fill(STRIDE)?)? {
            Read::Nothing => return Ok(Next::Rest),
            Read::Bytes(long) => self.down.filled(long),
            Read::End => {
                self.down.end();
                self.ended = true;
            }
        }
        let wakes = if self.ended { self.down.reader_waits() } else { self.down.reader_has_enough() };
        if wakes {
            self.own.readable.ring();
        }
        self.owes |= self.down.reader_wants_more();
        Ok(if self.ended { Next::Rest } else { Next::Again })
    }

    /// Whether the application has closed or aborted it.
    pub fn is_closed(&self) -> bool {
        self.verdict() != Verdict::Open
    }

    /// Whether it is a stream that the application has closed and that still has bytes to send.
    pub fn is_closing(&self) -> bool {
        matches!(self.role, Role::Stream(_)) && self.verdict() == Verdict::Closed
    }

    /// Resets it, as if the application had, and lets no other channel have its memory. Returns its slot.
    pub fn discard(&self) -> usize {
        self.own.channel.retire();
        self.own.channel.set_verdict(Verdict::Aborted);
        self.name as u32 as usize
    }

    /// Handles the end of the application of a closing stream: bytes written so far are still sent. The application may
    /// still have the memory mapped; bytes that it writes from now on are ignored.
    pub fn orphan(&mut self) {
        self.orphan = true;
        // A violation of the ring's rules is noticed at the next turn.
        let _ = self.up.seal();
    }

    /// The application's wish for the channel. A departed application has closed everything.
    fn verdict(&self) -> Verdict {
        match self.own.channel.verdict() {
            Verdict::Open if self.orphan => Verdict::Closed,
            verdict => verdict,
        }
    }

    fn ring_writer(&self) {
        if self.up.writer_has_enough() {
            self.own.writable.ring();
        }
    }

    /// Wakes a reader that waits for more bytes than have come.
    pub fn ring_owed(&mut self) {
        self.owes = false;
        // It may have been woken since then, and may have read them all. A violation of the ring's rules is noticed at the next turn.
        let left = self.down.room().is_ok_and(|_| self.down.unread() > 0);
        if left && self.down.reader_waits() {
            self.own.readable.ring();
        }
    }

    /// Tells the application why its stream has failed.
    pub fn fail(&mut self, code: u32) {
        self.failed = true;
        self.own.channel.set_failure(code);
        self.own.readable.ring();
        self.own.writable.ring();
    }

    /// Tells the application why its data does not arrive. It can still read the data that it has received.
    pub fn fail_writing(&mut self, code: u32) {
        self.write_failed = true;
        self.own.channel.set_write_failure(code);
        self.own.writable.ring();
    }

    /// Notes that all bytes given to the engine are acknowledged.
    pub fn settle(&self) {
        self.own.channel.set_settled(self.up.taken(), self.finished);
        if self.up.writer_waits() {
            self.own.writable.ring();
        }
    }

    /// Announces a stream to this listener.
    pub fn incoming(&mut self) {
        // If the ring is full, earlier announcements are still unread.
        let _ = self.down.write(&[1]);
        if self.down.reader_waits() {
            self.own.readable.ring();
        }
    }

    /// The other host of a stream.
    pub fn peer(&self, engine: &Engine) -> Option<SocketAddr> {
        match self.role {
            Role::Stream(id) => engine.info(id).map(|info| info.peer),
            Role::Listener { .. } => None,
        }
    }
}
