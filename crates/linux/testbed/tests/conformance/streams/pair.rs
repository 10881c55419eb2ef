//! Two hosts with their applications and sockets.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use pullnet_host::{Engine, EngineOptions, Notice, Read, StreamId, StreamOptions};
use pullnet_testbed::{Clock, Socket};
use pullnet_units::Instant;

use super::Dialogue;
use super::dialogue::Act;
use crate::frames::Hosts;

/// Most frames received from a socket in one turn.
const BURST: usize = 32;
/// Bytes per read.
const READ: usize = 4096;

/// Byte number `at` of the data that a host writes to a stream.
fn content(host: u32, stream: u16, at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    mixed as u8 ^ (2 * stream as u8 + host as u8)
}

/// A stream from the view of the application at one end.
struct End {
    id: StreamId,
    written: u64,
    read: u64,
    ended: bool,
    /// State at which the application closed it; `None` while it is open.
    left: Option<&'static str>,
}

struct Host {
    number: u32,
    engine: Engine,
    io: Socket,
    reads: bool,
    streams: BTreeMap<u16, End>,
}

impl Host {
    fn new(number: u32, options: EngineOptions, services: impl Iterator<Item = u16>, io: Socket) -> Self {
        let mut engine = Engine::new(options).expect("options of ours");
        services.for_each(|service| engine.listen(service).expect("nobody else listens"));
        Self { number, engine, io, reads: true, streams: BTreeMap::new() }
    }

    fn turn(&mut self, now: Instant) {
        let Self { engine, io, .. } = self;
        io.receive(BURST, &mut |frame| engine.receive(now, frame)).expect("a socket of ours");
        engine.catch_up(now);
        self.deliver_notices(now);
        self.send(now);
    }

    fn send(&mut self, now: Instant) {
        let Self { engine, io, .. } = self;
        let mut long = 1;
        while long > 0 {
            let fits = io.send(&mut |room| {
                long = engine.transmit(now, room);
                long
            });
            assert!(fits.expect("a socket of ours"), "no room for what a host sends");
        }
        io.flush().expect("a socket of ours");
    }

    /// Delivers the engine's notices to the application.
    fn deliver_notices(&mut self, now: Instant) {
        while let Some(notice) = self.engine.poll_notice() {
            if let Notice::Incoming { service } = notice
                && let Some(id) = self.engine.accept(service)
            {
                self.streams.insert(service, End::new(id));
            }
        }
        if self.reads {
            self.read(now);
        }
    }

    fn read(&mut self, now: Instant) {
        let mut room = [0; READ];
        for (stream, end) in self.streams.iter_mut().filter(|(_, end)| end.left.is_none()) {
            while let Ok(read) = self.engine.read(now, end.id, &mut room) {
                match read {
                    Read::Bytes(long) => end.take(1 - self.number, *stream, &room[..long]),
                    Read::End => end.ended = true,
                    Read::Nothing => {}
                }
                if !matches!(read, Read::Bytes(_)) {
                    break;
                }
            }
        }
    }

    fn open(&mut self, now: Instant, stream: u16, priority: u8) {
        let to = Dialogue::other(self.engine.options());
        let id = self.engine.connect(now, to, stream, StreamOptions { priority });
        self.streams.insert(stream, End::new(id.expect("the other host is a neighbour")));
    }

    fn write(&mut self, now: Instant, stream: u16, bytes: u64) {
        let end = self.streams.get_mut(&stream).expect("a stream that is here");
        let content: Vec<u8> =
            (end.written..end.written + bytes).map(|at| content(self.number, stream, at)).collect();
        // A failed stream reports its error at the end.
        let taken = self.engine.write(now, end.id, &content).unwrap_or(0);
        end.written += taken as u64;
    }

    /// Performs an operation after which the application no longer has the stream.
    fn leave(&mut self, stream: u16, how: &'static str, what: impl FnOnce(&mut Engine, StreamId)) {
        let end = self.streams.get_mut(&stream).expect("a stream that is here");
        end.left = Some(how);
        what(&mut self.engine, end.id);
    }

    fn id(&self, stream: u16) -> StreamId {
        self.streams[&stream].id
    }

    /// A line for each stream.
    fn ends(&self) -> String {
        let name = ["A", "B"][self.number as usize];
        self.streams
            .iter()
            .map(|(stream, end)| format!("{stream} at {name}: {}\n", end.text(&self.engine)))
            .collect()
    }
}

impl End {
    fn new(id: StreamId) -> Self {
        Self { id, written: 0, read: 0, ended: false, left: None }
    }

    fn take(&mut self, from: u32, stream: u16, bytes: &[u8]) {
        for (at, byte) in (self.read..).zip(bytes) {
            assert_eq!(*byte, content(from, stream, at), "byte {at} of stream {stream}");
        }
        self.read += bytes.len() as u64;
    }

    fn text(&self, engine: &Engine) -> String {
        let info = engine.info(self.id);
        let mut text = format!("{} B written", self.written);
        if self.written > 0 && info.as_ref().is_some_and(|info| info.settled && info.error.is_none()) {
            text += " acknowledged";
        }
        let _ = write!(text, ", {} B read", self.read);
        if self.ended {
            text += " to the end";
        }
        if let Some(error) = info.and_then(|info| info.error) {
            let _ = write!(text, ", {error}");
        }
        self.left.into_iter().for_each(|how| {
            let _ = write!(text, ", {how}");
        });
        text
    }
}

/// Both hosts, and the remaining actions of their applications.
pub struct Pair<'a> {
    dialogue: &'a Dialogue,
    number: u32,
    hosts: Vec<Host>,
    acts: VecDeque<Act>,
    /// Number of streams opened so far.
    opened: u16,
    /// No action before this time.
    rests_until: Instant,
    over: bool,
    now: Instant,
}

impl<'a> Pair<'a> {
    /// The hosts of conversation `number` on these sockets.
    pub fn new(dialogue: &'a Dialogue, sockets: Vec<Socket>, number: u32) -> Self {
        let host = |(host, io)| Host::new(host, dialogue.options(host, number, 0), services(dialogue), io);
        Self {
            dialogue,
            number,
            hosts: (0..).zip(sockets).map(host).collect(),
            acts: dialogue.all_acts().collect(),
            opened: 0,
            rests_until: Instant::ZERO,
            over: false,
            now: Instant::ZERO,
        }
    }

    /// Final states of all streams, and the sockets.
    pub fn finish(self) -> (String, Vec<Socket>) {
        let ends = self.hosts.iter().map(Host::ends).collect();
        (ends, self.hosts.into_iter().map(|host| host.io).collect())
    }

    fn act(&mut self, now: Instant, act: Act) {
        let hosts = &mut self.hosts;
        match act {
            Act::Open { host, priority } => {
                hosts[host as usize].open(now, self.opened, priority);
                self.opened += 1;
            }
            Act::Write { host, stream, bytes } => hosts[host as usize].write(now, stream, bytes),
            Act::Finish { host, stream } => {
                let host = &mut hosts[host as usize];
                host.engine.finish(now, host.id(stream)).expect("a stream that has not failed");
            }
            Act::Close { host, stream } => {
                hosts[host as usize].leave(stream, "closed", |engine, id| engine.close(now, id));
            }
            Act::Abort { host, stream } => {
                hosts[host as usize].leave(stream, "aborted", |engine, id| engine.abort(now, id));
            }
            Act::Prefer { host, stream, priority } => {
                let host = &mut hosts[host as usize];
                host.engine.prefer(host.id(stream), priority);
            }
            Act::Read { host, reads } => {
                hosts[host as usize].reads = reads;
                hosts[host as usize].deliver_notices(now);
            }
            Act::Replace { host } => self.replace(host),
            Act::Rest(long) => self.rests_until = now.after(long),
            Act::Then => {}
        }
    }

    fn replace(&mut self, host: u32) {
        let options = self.dialogue.options(host, self.number, 1);
        let engine = Engine::new(options).expect("options of ours");
        let place = &mut self.hosts[host as usize];
        place.engine = engine;
        place.streams.clear();
        services(self.dialogue)
            .for_each(|service| place.engine.listen(service).expect("nobody else listens"));
    }
}

/// Services with listeners: one for each stream.
fn services(dialogue: &Dialogue) -> impl Iterator<Item = u16> {
    let opened = dialogue.acts.iter().filter(|act| matches!(act, Act::Open { .. })).count();
    (0..opened as u16).filter(|service| !dialogue.deaf.contains(service))
}

impl Hosts for Pair<'_> {
    fn turn(&mut self, clock: &impl Clock) -> bool {
        self.hosts.iter_mut().for_each(|host| host.turn(clock.now()));
        self.now = clock.now();
        self.over
    }

    fn next_due(&self) -> Instant {
        let due = self.hosts.iter().filter_map(|host| host.engine.deadline());
        let rest = if self.rests_until > self.now { self.rests_until } else { Instant::NEVER };
        due.fold(rest, Instant::min)
    }

    fn begin(&mut self, now: Instant) -> bool {
        if now < self.rests_until {
            return false;
        }
        self.over = self.acts.is_empty();
        while let Some(act) = self.acts.pop_front() {
            self.act(now, act);
            if matches!(act, Act::Then | Act::Rest(_)) {
                break;
            }
        }
        true
    }
}
