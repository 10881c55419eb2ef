//! A hostile application and its daemon, in one thread and without a clock, for a fuzz target.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use pullnet_host::{Engine, EngineOptions, Limits};
use pullnet_units::{Instant, Picos};
use pullnet_wire::{ETHERNET, Mac};

use super::clients::Server;
use crate::config;
use crate::control_socket::ControlSocket;
use crate::doorbell::Doorbell;
use crate::message::{Answer, Decoder, Form, Request, VERSION, encode};
use crate::share::{Channel, Session};
use crate::sys::{self, Received};

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const LIMITS: Limits = Limits {
    connections: 64,
    connections_per_peer: 64,
    tokens_per_second: 1000,
    remembered: 1000,
    send_memory: 100_000,
    resets_per_second: 1000,
    send_buffer: 5000,
    receive_buffer: 4000,
    memory: 40_000,
    backlog: 8,
};
const CHANNELS: usize = 8;
const RING: usize = 4096;
/// Time after which a host has forgotten everything. Seconds.
const FORGOTTEN: u64 = 60;
/// Maximum number of turns of the daemon at one time; it must be idle by then.
const TURNS: usize = 10_000;

/// An action of the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Writes any bytes into its control socket.
    Say(Vec<u8>),
    /// Sends a well-formed request; the numbers choose its kind and channel.
    Ask(u8, u16),
    /// Writes a word of the memory of a channel: its counters, flags and bytes.
    Spoil(u8, u16, u64),
    /// Writes a word of the memory of its session.
    SpoilSession(u16, u64),
    /// Writes bytes into the ring of a channel, as the library does.
    Write(u8, Vec<u8>),
    /// Rings the doorbell of its session.
    Ring,
    /// Tries to shrink shared memory under the daemon.
    Shrink(u8),
    /// Closes its control socket, and keeps the memory.
    HangUp,
    /// Lets the daemon work for this time. Microseconds.
    Wait(u16),
}

/// Number of words at the start of a channel's memory that have a meaning: its counters and flags.
const WORDS: u16 = 48;

impl Action {
    /// Maps any numbers and bytes to an action.
    #[must_use]
    pub fn of((kind, which, at, value): (u8, u8, u16, u64), bytes: Vec<u8>) -> Self {
        match kind % 16 {
            0 => Self::Say(bytes),
            1..=5 => Self::Ask(which, at),
            6 => Self::Spoil(which, at % WORDS, value),
            7 => Self::Spoil(which, at % WORDS, value % 8192),
            8 => Self::Spoil(which, at, value),
            9 => Self::SpoilSession(at, value),
            10 => Self::Write(which, bytes),
            11 => Self::Ring,
            12 => Self::Shrink(which),
            13 if at % 16 == 0 => Self::HangUp,
            _ => Self::Wait(at),
        }
    }
}

/// The memory of a channel as mapped by the application.
struct Taken {
    fd: OwnedFd,
    channel: Channel,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests listen to it"))]
    readable: Doorbell,
}

/// The application and the daemon. The daemon's frames come back to it, so that the application has streams to itself.
pub struct Hostile {
    server: Server,
    engine: Engine,
    now: Instant,
    frame: Vec<u8>,
    socket: Option<UnixStream>,
    answers: Decoder,
    fds: VecDeque<OwnedFd>,
    session: Option<(Session, Doorbell)>,
    taken: Vec<Taken>,
    /// Names of its channels.
    names: Vec<u64>,
    /// Kept open, so that this daemon is not stopped.
    _stop: [UnixStream; 2],
}

impl Default for Hostile {
    fn default() -> Self {
        Self::new()
    }
}

impl Hostile {
    /// An application that has connected, and has sent nothing yet.
    ///
    /// # Panics
    /// If the process may have no more file descriptors.
    #[must_use]
    pub fn new() -> Self {
        let stop = <[_; 2]>::from(UnixStream::pair().expect("descriptors are left"));
        let usual = config::Access::default();
        let settings = config::Access {
            path: std::path::PathBuf::new(),
            applications: 2,
            limits: config::ApplicationLimits { channels: CHANNELS, ring: RING, ..usual.limits },
            ..usual
        };
        let (control, socket) = ControlSocket::without_a_file();
        socket.set_nonblocking(true).expect("a socket of ours");
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        let options =
            EngineOptions { mac, limits: LIMITS, neighbours: vec![(HOST, mac)], ..EngineOptions::new(HOST) };
        Self {
            server: Server::new(control, &settings, stop[0].as_fd()).expect("descriptors are left"),
            frame: vec![0; options.mtu + ETHERNET],
            engine: Engine::new(options).expect("these options work"),
            now: Instant::ZERO,
            socket: Some(socket),
            answers: Decoder::default(),
            fds: VecDeque::new(),
            session: None,
            taken: Vec::new(),
            names: vec![0],
            _stop: stop,
        }
    }

    /// Carries out an action, and reads the answers so far.
    pub fn does(&mut self, action: Action) {
        match action {
            Action::Say(bytes) => self.say(&bytes),
            Action::Ask(what, of) => self.say(&encode(&self.request(what, of))),
            Action::Spoil(memory, at, value) => {
                if let Some(taken) = self.memory(memory) {
                    taken.channel.spoil(usize::from(at) * 8 % Channel::long(RING), value);
                }
            }
            Action::SpoilSession(at, value) => {
                if let Some((session, _)) = &self.session {
                    session.spoil(usize::from(at) * 8 % Session::long(CHANNELS), value);
                }
            }
            Action::Write(memory, bytes) => {
                if let Some(taken) = self.memory(memory) {
                    let _ = taken.channel.application().0.write(&bytes);
                }
            }
            Action::Ring => self.session.iter().for_each(|(_, doorbell)| doorbell.ring()),
            Action::Shrink(memory) => {
                if let Some(taken) = self.memory(memory) {
                    let file = taken.fd.try_clone().map(std::fs::File::from);
                    assert!(file.is_ok_and(|file| file.set_len(0).is_err()), "memory can be taken away");
                }
            }
            Action::HangUp => self.socket = None,
            Action::Wait(micros) => self.pass(Picos::from_micros(micros.into())),
        }
        self.receive();
    }

    fn say(&self, bytes: &[u8]) {
        // A daemon that ended the connection has closed the socket.
        let _ = self.socket.as_ref().map(|socket| sys::send(socket.as_fd(), bytes));
    }

    fn memory(&self, which: u8) -> Option<&Taken> {
        self.taken.get(usize::from(which) % self.taken.len().max(1))
    }

    fn request(&self, what: u8, of: u16) -> Request {
        let channel = self.names[usize::from(of) % self.names.len()];
        let (service, priority) = (of % 4, (of >> 8) as u8);
        match what % 10 {
            0 | 1 => Request::Hello { version: VERSION },
            2 | 3 => {
                let to = if of & 0x80 == 0 { HOST } else { IpAddr::from([10, 0, 0, 2]) };
                Request::Connect { to: SocketAddr::new(to, self.engine.options().port), service, priority }
            }
            4 => Request::Listen { service },
            5 | 6 => Request::Accept { channel, new: of & 0x20 == 0 },
            7 if of & 0x40 == 0 => Request::Prefer { channel, priority },
            7 => Request::Discard { channel },
            8 => Request::Info { channel },
            _ => Request::Status { form: if of & 1 == 0 { Form::Json } else { Form::Prometheus } },
        }
    }

    /// Reads the answers, and keeps their descriptors.
    fn receive(&mut self) {
        let (mut bytes, mut received) = ([0; 4096], Received::default());
        while let Some(socket) = &self.socket
            && let Ok(long @ 1..) = sys::receive_with(socket.as_fd(), &mut bytes, &mut received)
        {
            self.answers.add(&bytes[..long]);
            self.fds.extend(received.fds.drain(..));
        }
        while let Some(answer) = self.answers.next::<Answer>().expect("a daemon says what can be read") {
            self.take(&answer);
        }
    }

    fn take(&mut self, answer: &Answer) {
        let mut fd = || self.fds.pop_front().expect("what an answer speaks of comes with it");
        match *answer {
            Answer::Welcome { channels, .. } => {
                let session = Session::map(&fd(), channels).expect("memory of the daemon");
                self.session = Some((session, fd().into()));
            }
            Answer::Channel { channel, memory, slot, .. } => {
                assert!(slot < CHANNELS, "more channels than are allowed");
                self.names.push(channel);
                if memory == self.taken.len() {
                    let [fd, readable, _] = [fd(), fd(), fd()];
                    let channel = Channel::map(&fd, RING).expect("memory of the daemon");
                    self.taken.push(Taken { fd, channel, readable: readable.into() });
                }
            }
            Answer::Text { .. } => drop(fd()),
            Answer::Nothing | Answer::Done | Answer::Info { .. } | Answer::Failed { .. } => {}
        }
    }

    /// Lets the daemon work for this time.
    fn pass(&mut self, time: Picos) {
        let until = self.now + time;
        self.work();
        while let Some(at) = self.engine.deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.engine.timeout(self.now);
            self.work();
        }
        self.now = until;
    }

    /// Lets the daemon do all work that is due.
    fn work(&mut self) {
        for _ in 0..TURNS {
            if !self.turn() && !self.server.is_due() {
                break;
            }
        }
        let totals = self.engine.status().totals;
        assert!(
            totals.streams <= 2 * CHANNELS as u64 + LIMITS.backlog as u64 * 4,
            "{} streams",
            totals.streams
        );
    }

    /// A turn of the daemon. Returns whether it was busy.
    fn turn(&mut self) -> bool {
        assert!(!self.server.look(&mut self.engine, self.now), "nobody stops the daemon");
        self.server.news(&mut self.engine);
        let busy = self.server.turns(&mut self.engine, self.now) | self.carry();
        self.server.ring_owed(self.now, !busy);
        busy
    }

    /// Carries a frame to its destination. Returns whether there was one.
    fn carry(&mut self) -> bool {
        let long = self.engine.transmit(self.now, &mut self.frame);
        self.engine.receive(self.now, &self.frame[..long]);
        while let Some(address) = self.engine.poll_unresolved() {
            self.engine.resolved(self.now, address, None);
        }
        long > 0
    }

    /// The application has ended, and its memory with it: nothing of it is left in the daemon after a while.
    ///
    /// # Panics
    /// If something is.
    pub fn end(mut self) {
        self.socket = None;
        self.taken.clear();
        for _ in 0..FORGOTTEN {
            self.pass(Picos::from_secs(1));
        }
        assert!(
            self.server.is_empty(),
            "the daemon still has something of an application that has disconnected"
        );
        let totals = self.engine.status().totals;
        assert_eq!((totals.streams, totals.waiting_bytes, totals.peers), (0, 0, 0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::doorbell::Signal;
    use crate::ring::Writer;
    use crate::server::clients::OWED;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_that_an_application_does_is_left_in_the_daemon(
            steps in prop::collection::vec((any::<(u8, u8, u16, u64)>(), prop::collection::vec(any::<u8>(), 0..50)), 0..80)
        ) {
            let mut hostile = Hostile::new();
            hostile.does(Action::Ask(0, 0));
            steps.into_iter().for_each(|(step, bytes)| hostile.does(Action::of(step, bytes)));
            hostile.end();
        }
    }

    /// A word of a channel's memory, by its place.
    const VERDICT: u16 = 32;
    const CLOSED: u64 = 1;

    /// An application with a stream to itself that has bytes to send.
    fn with_a_stream() -> Hostile {
        let mut hostile = Hostile::new();
        let (hello, connect, listen) = (0, 2, 4);
        for what in [hello, listen, connect] {
            hostile.does(Action::Ask(what, 0));
            hostile.does(Action::Wait(1));
        }
        assert_eq!(hostile.taken.len(), 2);
        hostile.does(Action::Write(1, vec![7; 3000]));
        hostile
    }

    #[test]
    fn what_an_application_has_closed_stays_closed_when_it_has_gone() {
        let mut hostile = with_a_stream();
        hostile.does(Action::Spoil(1, VERDICT, CLOSED));
        hostile.does(Action::HangUp);
        let memory = hostile.taken[1].channel.clone();
        assert!(!hostile.server.look(&mut hostile.engine, hostile.now));
        memory.spoil(usize::from(VERDICT) * 8, 0);
        hostile.end();
    }

    #[test]
    fn what_an_application_writes_when_it_has_gone_does_not_leave() {
        let mut hostile = with_a_stream();
        hostile.does(Action::Spoil(1, VERDICT, CLOSED));
        hostile.does(Action::HangUp);
        assert!(!hostile.server.look(&mut hostile.engine, hostile.now));
        let memory = hostile.taken[1].channel.clone();
        let written = 4000;
        memory.spoil(0, written);
        hostile.pass(Picos::from_millis(10));
        let counts = hostile.engine.status().totals.counts;
        assert_eq!(counts.written_bytes, 3000);
        hostile.end();
    }

    /// A reader that waits for many bytes is woken for a few within [`OWED`] and a turn, even if more come in each turn.
    #[test]
    fn bytes_that_trickle_in_wake_a_reader_of_many() {
        let mut hostile = Hostile::new();
        let (hello, connect, listen, accept) = (0, 2, 4, 5);
        for (what, of) in [(hello, 0), (listen, 0), (connect, 0)] {
            hostile.does(Action::Ask(what, of));
            hostile.does(Action::Wait(1));
        }
        let (mut up, _) = hostile.taken[1].channel.application();
        let send = |hostile: &mut Hostile, up: &mut Writer| {
            up.write(&[7; 10]).unwrap();
            hostile.session.as_ref().unwrap().0.note(1);
        };
        send(&mut hostile, &mut up);
        hostile.does(Action::Wait(1000));
        hostile.does(Action::Ask(accept, 1));
        hostile.does(Action::Wait(1000));
        let (_, mut down) = hostile.taken[2].channel.application();
        down.read(&mut [0; 100]).unwrap();
        hostile.taken[2].readable.drain();
        down.wait(RING as u32 / 4);
        let turn = Picos::from_micros(10);
        let most = OWED + turn + turn;
        let mut waited = Picos::ZERO;
        while hostile.taken[2].readable.drain() == Signal::None {
            waited = if down.ready().unwrap() > 0 { waited + turn } else { waited };
            assert!(waited <= most, "{} B wait for a reader", down.ready().unwrap());
            send(&mut hostile, &mut up);
            hostile.turn();
            while hostile.carry() {}
            hostile.now = hostile.now + turn;
        }
        assert!(down.ready().unwrap() < RING / 4);
    }
}
