//! Sends one object to several stores.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};

use blake3::Hash;
use pullnet_units::{Instant, Picos};

use crate::driver::Task;
use crate::engine::{Engine, Notice};
use crate::message::Message;
use crate::report::{HostReport, Report, Way};

/// Time that the first host that is ready waits for the others to answer: then the session starts, and hosts that answer
/// later get sessions of their own.
const GATHER: Picos = Picos::from_millis(1000);
/// Time in which members of a group have to receive a first message by it.
const REACH: Picos = Picos::from_millis(500);
/// Time in which a store answers a request, and begins to report what it stored.
const ANSWER: Picos = Picos::from_secs(15);
/// Least rate at which a store is expected to write to its disk. Bytes per second.
const DISK: u64 = 10_000_000;

/// Where the object comes from.
#[derive(Debug)]
pub struct Object {
    /// The open file.
    pub file: File,
    /// Name under which it is stored.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its content.
    pub blake3: Hash,
}

/// How far a host is.
#[derive(Clone, PartialEq, Debug)]
enum State {
    /// The request is on its way, under this session number.
    Asked(u32),
    Ready,
    Sending,
    /// It has all symbols, and writes.
    Writes,
    Over(Result<(), String>),
}

struct Receiver {
    host: SocketAddr,
    state: State,
    way: Option<Way>,
    /// When the state is given up.
    until: Instant,
    over_at: Option<Instant>,
}

/// The event that the command waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Answers, until this time.
    Gathering(Instant),
    /// Members of the group to receive the message of this session, until this time.
    Checking(u32, Instant),
    Sending,
}

/// A put: a task for a driver.
pub struct Put {
    object: Object,
    group: Option<(Ipv4Addr, u16)>,
    receivers: Vec<Receiver>,
    stage: Stage,
    /// Number of the sessions that carry the object.
    session: u32,
    /// Receivers that the group has reached.
    reached: Vec<SocketAddr>,
    /// Receivers of the group in the order of their numbers.
    members: Vec<SocketAddr>,
    began: Instant,
    now: Instant,
}

impl Put {
    /// Sends `object` to `hosts`, by the multicast group if there is one. Hosts in `missing` are not reachable.
    pub fn new(
        object: Object,
        hosts: &[SocketAddr],
        missing: &[SocketAddr],
        group: Option<(Ipv4Addr, u16)>,
    ) -> Self {
        let receiver = |host: &SocketAddr| {
            let unreachable = || "no host on this network answers for the address".to_owned();
            let gone = missing.contains(host);
            let state = if gone { State::Over(Err(unreachable())) } else { State::Asked(0) };
            Receiver { host: *host, state, way: None, until: Instant::NEVER, over_at: None }
        };
        Self {
            object,
            group,
            receivers: hosts.iter().map(receiver).collect(),
            stage: Stage::Gathering(Instant::NEVER),
            session: 0,
            reached: Vec::new(),
            members: Vec::new(),
            began: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    fn ends(&mut self, now: Instant, at: usize, result: Result<(), String>) {
        let receiver = &mut self.receivers[at];
        if !matches!(receiver.state, State::Over(_)) {
            (receiver.state, receiver.over_at, receiver.until) =
                (State::Over(result), Some(now), Instant::NEVER);
        }
    }

    fn of_host(&self, host: SocketAddr) -> Option<usize> {
        self.receivers.iter().position(|receiver| receiver.host == host)
    }

    /// Receivers that are ready for the object and do not get it yet.
    fn ready(&self) -> Vec<usize> {
        (0..self.receivers.len()).filter(|at| self.receivers[*at].state == State::Ready).collect()
    }

    fn asked(&self) -> bool {
        self.receivers.iter().any(|receiver| matches!(receiver.state, State::Asked(_)))
    }

    fn on_message(&mut self, now: Instant, engine: &mut Engine, from: SocketAddr, message: &Message) {
        let ticket = match message {
            Message::Ready { ticket } | Message::Stored { ticket } | Message::Refused { ticket, .. } => {
                *ticket
            }
            _ => return,
        };
        let at = ticket as usize;
        if self.receivers.get(at).is_none_or(|receiver| receiver.host != from) {
            return;
        }
        match message {
            Message::Ready { .. } if matches!(self.receivers[at].state, State::Asked(_)) => {
                (self.receivers[at].state, self.receivers[at].until) = (State::Ready, Instant::NEVER);
                match self.stage {
                    Stage::Gathering(until) => {
                        self.stage = Stage::Gathering(until.min(now.after(GATHER)));
                    }
                    Stage::Checking(..) => {}
                    Stage::Sending => self.copy_to(now, engine, at),
                }
            }
            Message::Stored { .. } => self.ends(now, at, Ok(())),
            Message::Refused { why, .. } => self.ends(now, at, Err(why.clone())),
            _ => {}
        }
    }

    /// Starts a session of its own with one receiver.
    fn copy_to(&mut self, now: Instant, engine: &mut Engine, at: usize) {
        match self.object.file.try_clone() {
            Ok(file) => {
                let receiver = &mut self.receivers[at];
                (receiver.state, receiver.way) = (State::Sending, Some(Way::Copy));
                engine.send(now, receiver.host, self.session, self.object.bytes, Box::new(file));
            }
            Err(error) => self.ends(now, at, Err(format!("the file cannot be opened again: {error}"))),
        }
    }

    /// Starts the sessions: that of the group, and those of receivers that it does not reach.
    fn start(&mut self, now: Instant, engine: &mut Engine) {
        self.stage = Stage::Sending;
        let by_group = |at: &usize| self.reached.contains(&self.receivers[*at].host);
        let (group, alone): (Vec<_>, Vec<_>) = self.ready().into_iter().partition(by_group);
        if let (Some(address), true) = (self.group, group.len() > 1)
            && let Ok(file) = self.object.file.try_clone()
        {
            self.members = group.iter().map(|at| self.receivers[*at].host).collect();
            for at in group {
                (self.receivers[at].state, self.receivers[at].way) = (State::Sending, Some(Way::Group));
            }
            let (session, bytes) = (self.session, self.object.bytes);
            engine.send_to_group(now, address, &self.members, (session, bytes), Box::new(file));
        } else {
            group.into_iter().for_each(|at| self.copy_to(now, engine, at));
        }
        alone.into_iter().for_each(|at| self.copy_to(now, engine, at));
    }

    /// Goes on when all hosts have answered, or have had the time to.
    fn gathered(&mut self, now: Instant, engine: &mut Engine) {
        let ready = self.ready();
        match self.group {
            Some(group) if ready.len() > 1 => {
                let hosts: Vec<_> = ready.iter().map(|at| self.receivers[*at].host).collect();
                let (session, message) = (engine.new_session(), Message::Check { ticket: 0 }.write());
                let long = message.len() as u64;
                engine.send_to_group(now, group, &hosts, (session, long), Box::new(message));
                self.stage = Stage::Checking(session, now.after(REACH));
            }
            _ => self.start(now, engine),
        }
    }

    /// The session `session` to `host` has ended, in a number of its own for each receiver of a group.
    fn on_end(&mut self, now: Instant, host: SocketAddr, session: u32, result: Result<(), String>) {
        let Some(at) = self.of_host(host) else { return };
        let row = self.members.iter().position(|member| *member == host).map_or(0, |row| row as u32);
        let checked = match self.stage {
            Stage::Checking(check, _) => session.wrapping_sub(check) < self.receivers.len() as u32,
            _ => false,
        };
        match (&self.receivers[at].state, result) {
            (_, Ok(())) if checked => self.reached.push(host),
            (State::Asked(asked), result) if *asked == session => match result {
                Ok(()) => self.receivers[at].until = now.after(ANSWER),
                Err(why) => self.ends(now, at, Err(format!("it does not answer: {why}"))),
            },
            (State::Sending, result) if session == self.session || session == self.session + row => {
                match result {
                    Ok(()) => {
                        let patience = Picos::from_secs(self.object.bytes / DISK).saturating_add(ANSWER);
                        (self.receivers[at].state, self.receivers[at].until) =
                            (State::Writes, now.after(patience));
                    }
                    Err(why) => self.ends(now, at, Err(why)),
                }
            }
            _ => {}
        }
    }

    /// The group no longer waits for the receiver `to`.
    fn on_apart(&mut self, to: SocketAddr) {
        if let Some(at) = self.of_host(to) {
            self.receivers[at].way = Some(Way::GroupThenCopy);
        }
    }

    /// Gives up hosts that do not answer.
    fn expire(&mut self, now: Instant) {
        for at in 0..self.receivers.len() {
            if self.receivers[at].until > now {
                continue;
            }
            let why = match self.receivers[at].state {
                State::Asked(_) => "it took the request and did not answer",
                State::Writes => "it received everything and did not report that it is stored",
                _ => continue,
            };
            self.ends(now, at, Err(why.to_owned()));
        }
    }

    /// The report, when the task is over.
    pub fn report(&self, engine: &Engine) -> Report {
        let seconds = |at: Instant| at.since(self.began).0 as f64 / 1e12;
        let host = |receiver: &Receiver| HostReport {
            host: receiver.host,
            ok: receiver.state == State::Over(Ok(())),
            way: receiver.way,
            seconds: receiver.over_at.map(seconds),
            error: match &receiver.state {
                State::Over(result) => result.clone().err().map(|why| engine.with_mtu(why)),
                _ => Some("the command was ended before".to_owned()),
            },
        };
        let counts = engine.counts();
        Report {
            name: self.object.name.clone(),
            bytes: self.object.bytes,
            blake3: self.object.blake3.to_string(),
            seconds: seconds(self.now),
            symbols_sent: counts.symbols_sent,
            symbols_received: counts.symbols_received,
            trimmed: counts.trimmed,
            hosts: self.receivers.iter().map(host).collect(),
            error: None,
            is_put: true,
        }
    }
}

impl Task for Put {
    fn begin(&mut self, now: Instant, engine: &mut Engine) {
        (self.began, self.session) = (now, engine.new_session());
        for (ticket, receiver) in (0..).zip(&mut self.receivers) {
            if matches!(receiver.state, State::Over(_)) {
                receiver.over_at = Some(now);
                continue;
            }
            let message = Message::Put {
                ticket,
                name: self.object.name.clone(),
                bytes: self.object.bytes,
                blake3: self.object.blake3.to_string(),
                session: self.session,
                group: self.group.map(|group| group.0),
            };
            receiver.state = State::Asked(engine.send_message(now, receiver.host, &message));
        }
    }

    fn notice(&mut self, now: Instant, engine: &mut Engine, notice: Notice) {
        match notice {
            Notice::Message { from, message } => self.on_message(now, engine, from, &message),
            Notice::Sent { to, session, .. } => self.on_end(now, to, session, Ok(())),
            Notice::Failed { to, session, why } => self.on_end(now, to, session, Err(why)),
            Notice::Apart { to, session } if session == self.session => self.on_apart(to),
            Notice::Apart { .. } | Notice::Block { .. } | Notice::Received { .. } | Notice::Lost { .. } => {}
        }
    }

    fn tick(&mut self, now: Instant, engine: &mut Engine) {
        self.now = now;
        self.expire(now);
        match self.stage {
            Stage::Gathering(until) if !self.asked() || until <= now => self.gathered(now, engine),
            Stage::Checking(_, until) if until <= now || self.reached.len() >= self.ready().len() => {
                self.start(now, engine);
            }
            _ => {}
        }
    }

    fn due(&self) -> Instant {
        let stage = match self.stage {
            Stage::Gathering(until) | Stage::Checking(_, until) => until,
            Stage::Sending => Instant::NEVER,
        };
        self.receivers.iter().map(|receiver| receiver.until).fold(stage, Instant::min)
    }

    fn is_over(&self) -> bool {
        self.receivers.iter().all(|receiver| matches!(receiver.state, State::Over(_)))
    }

    fn progress(&self, engine: &Engine) -> (u64, u64) {
        let mut done = 0;
        for receiver in &self.receivers {
            if matches!(receiver.state, State::Over(_) | State::Writes) {
                done += self.object.bytes;
            }
        }
        let open = engine.acknowledged();
        let of_object = |(_, session, _): &&(SocketAddr, u32, u64)| session.wrapping_sub(self.session) < 256;
        done += open.iter().filter(of_object).map(|(.., bytes)| bytes).sum::<u64>();
        (done, self.object.bytes.saturating_mul(self.receivers.len() as u64))
    }
}
