//! All applications: connections, requests, and turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use pullnet_host::{Engine, Notice, StreamError, StreamId};
use pullnet_units::{Instant, Picos};
use serde_json::{Value, json};

use super::application::{Application, Disconnect, Reply};
use super::served::{Next, Role};
use super::standing::{Happened, Standing};
use crate::control_socket::{Attempt, ControlSocket, PeerCred};
use crate::doorbell::Signal;
use crate::error::Error;
use crate::message::{Answer, Form, Request, encode};
use crate::process::Account;
use crate::quota::User;
use crate::sys::Poll;
use crate::{config, failure, sys};

/// Turns of streams between two polls of the network.
const TURNS: usize = 32;
/// Requests of one application before the others have their turn.
const REQUESTS: usize = 32;

/// Maximum time for which a reader that waits for many bytes is left waiting while there are some.
pub(super) const OWED: Picos = Picos::from_micros(50);
/// Time within which a new connection must send its greeting.
const GREETING: Picos = Picos::from_secs(1);
/// Pause of the control socket after the kernel failed to accept a connection.
const TROUBLE: Picos = Picos::from_millis(100);
/// Maximum number of streams in a status, so that its cost does not depend on the number of streams.
const LISTED: usize = 500;

/// Number of the control socket in [`Poll`]; application `n` is `FIRST + 2 n`, and its doorbell the number after that.
const CONTROL: u64 = 0;
const STOP: u64 = 1;
const HANGUP: u64 = 2;
const QUESTION: u64 = 3;
const FIRST: u64 = 4;

/// Long: the tables of one loop, which every request needs several of.
pub(super) struct Server {
    control: ControlSocket,
    poll: Poll,
    applications: Vec<Option<Application>>,
    users: BTreeMap<u32, Rc<User>>,
    most: usize,
    most_per_user: usize,
    limits: config::ApplicationLimits,
    /// Connections that may not have greeted yet: deadline, place, and serial number.
    silent: VecDeque<(Instant, usize, u64)>,
    /// Applications that exceeded their request rate, and the time until which they wait.
    paused: Vec<(Instant, usize)>,
    /// Serial number of the application at each place; `came` is the latest one.
    serials: Vec<u64>,
    came: u64,
    /// The control socket is not polled until this time.
    shut: Option<Instant>,
    /// Readable when the keys must be read again.
    hangup: Option<OwnedFd>,
    /// Whether `hangup` has become readable.
    hung_up: bool,
    /// Whether the endpoint of the metrics has rung.
    asked: bool,
    /// Connections that were refused or ended, by cause.
    happened: Happened,
    /// Whether the daemon is about to end.
    locked: bool,
    /// Application and slot of each stream.
    homes: BTreeMap<u64, (usize, usize)>,
    /// Application and slot of each service's listener.
    listeners: BTreeMap<u16, (usize, usize)>,
    /// Channels with work to do.
    due: VecDeque<(usize, usize)>,
    /// Channels whose readers may wait for more bytes than have come.
    owed: Vec<(usize, usize)>,
    /// Time since when the first of them waits.
    owed_since: Instant,
    ready: Vec<u64>,
}

impl Server {
    /// Creates a server of the applications that connect to `control`. The daemon ends when `stop` becomes readable.
    pub fn new(
        control: ControlSocket,
        settings: &config::Access,
        stop: BorrowedFd<'_>,
    ) -> Result<Self, Error> {
        let poll = Poll::new()?;
        poll.add(control.as_fd(), CONTROL)?;
        poll.add(stop, STOP)?;
        Ok(Self {
            control,
            poll,
            applications: Vec::new(),
            users: BTreeMap::new(),
            most: settings.applications,
            most_per_user: settings.applications_per_user,
            silent: VecDeque::new(),
            paused: Vec::new(),
            serials: Vec::new(),
            came: 0,
            shut: None,
            limits: settings.limits,
            hangup: None,
            hung_up: false,
            asked: false,
            happened: Happened::default(),
            locked: false,
            homes: BTreeMap::new(),
            listeners: BTreeMap::new(),
            due: VecDeque::new(),
            owed: Vec::new(),
            owed_since: Instant::ZERO,
            ready: Vec::new(),
        })
    }

    /// Polls `hangup` from now on.
    pub fn listen_for_hangup(&mut self, hangup: OwnedFd) -> Result<(), Error> {
        self.poll.add(hangup.as_fd(), HANGUP)?;
        self.hangup = Some(hangup);
        Ok(())
    }

    /// Whether `hangup` has become readable since the last call.
    pub fn take_hangup(&mut self) -> bool {
        std::mem::take(&mut self.hung_up)
    }

    /// Polls `questions`, the doorbell of the metrics' endpoint, from now on.
    pub fn listen_for_questions(&self, questions: BorrowedFd<'_>) -> Result<(), Error> {
        self.poll.add(questions, QUESTION)
    }

    /// Whether the endpoint of the metrics has rung since the last call.
    pub fn take_question(&mut self) -> bool {
        std::mem::take(&mut self.asked)
    }

    /// Replaces the users that may connect, and the limits of applications that connect later.
    ///
    /// # Errors
    /// If a user does not exist, or the socket is gone. Nothing changes then.
    pub fn set_access(&mut self, access: &config::Access, daemon: &Account) -> Result<(), Error> {
        self.control.set_users(access, daemon)?;
        (self.most, self.most_per_user) = (access.applications, access.applications_per_user);
        self.limits = access.limits;
        Ok(())
    }

    /// Divides the limits of waiting streams among the services of each application.
    pub fn share_backlogs(&self, engine: &mut Engine) {
        self.applications.iter().flatten().for_each(|application| application.share_backlog(engine));
    }

    /// Returns a descriptor that becomes readable on any event here.
    pub fn waker(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    /// Handles new connections, requests, rings and disconnects. Returns whether the daemon is told to stop.
    pub fn look(&mut self, engine: &mut Engine, now: Instant) -> bool {
        self.disconnect_silent(engine, now);
        self.resume(engine, now);
        let mut ready = std::mem::take(&mut self.ready);
        self.poll.ready(&mut ready);
        let mut stop = false;
        for number in ready.drain(..) {
            match number {
                STOP => stop = true,
                HANGUP => {
                    self.hangup.iter().for_each(|fd| sys::take(fd.as_fd()));
                    self.hung_up = true;
                }
                QUESTION => self.asked = true,
                CONTROL => self.accept_all(now),
                _ => self.attend(engine, now, number - FIRST),
            }
        }
        self.ready = ready;
        stop
    }

    fn accept_all(&mut self, now: Instant) {
        while let Some(attempt) = self.control.accept_peer() {
            match attempt {
                Attempt::Admitted(socket, peer) => match self.refusal(&peer) {
                    None => self.add(now, socket, peer),
                    Some(why) => {
                        self.happened.beyond_limits += 1;
                        tracing::warn!(uid = peer.uid, pid = peer.pid, "connection refused: {why}");
                        turn_away(&socket, &StreamError::Stopped(why));
                    }
                },
                Attempt::Forbidden(PeerCred { uid, pid }) => {
                    self.happened.forbidden += 1;
                    tracing::warn!(
                        uid,
                        pid,
                        "connection refused: the user is not in the group of the socket, and not named in [socket] users"
                    );
                }
                Attempt::NoDescriptor(socket) => {
                    self.happened.no_descriptor += 1;
                    tracing::warn!("connection refused: no file descriptor is left; raise LimitNOFILE");
                    turn_away(&socket, &failure::NO_DESCRIPTORS);
                    drop(socket);
                    self.control.restore_reserve();
                }
                Attempt::Failed(error) => {
                    tracing::warn!(%error, "cannot accept connections; trying again in 100 ms");
                    let shut = self.poll.change(self.control.as_fd(), CONTROL, false);
                    self.shut = shut.is_ok().then(|| now.after(TROUBLE));
                    return;
                }
            }
        }
    }

    /// The place of the next application.
    fn place(&self) -> usize {
        self.applications.iter().position(Option::is_none).unwrap_or(self.applications.len())
    }

    /// The reason for rejecting an application of `peer`.
    fn refusal(&self, peer: &PeerCred) -> Option<String> {
        if self.place() >= self.most {
            let most = self.most;
            return Some(format!("the daemon serves {most} applications already (limits.applications)"));
        }
        let most = self.most_per_user;
        let crowded = self.users.get(&peer.uid).is_some_and(|user| user.applications.get() >= most);
        crowded.then(|| {
            let uid = peer.uid;
            format!("user {uid} has {most} applications here already (limits.applications_per_user)")
        })
    }

    /// Adds an application.
    fn add(&mut self, now: Instant, socket: UnixStream, peer: PeerCred) {
        let number = self.place();
        if let Err(error) = self.poll.add(socket.as_fd(), FIRST + 2 * number as u64) {
            return tracing::warn!(%error, "cannot poll the socket of an application");
        }
        self.users.retain(|_, user| !user.is_gone());
        let (uid, messages) = (peer.uid, self.limits.messages);
        let user = Rc::clone(self.users.entry(uid).or_insert_with(|| Rc::new(User::new(messages))));
        let application = Application::new(socket, peer, self.limits, user);
        tracing::info!(application = number, uid = peer.uid, pid = peer.pid, "application connected");
        if number == self.applications.len() {
            self.applications.push(None);
        }
        self.applications[number] = Some(application);
        self.came += 1;
        self.serials.resize(self.applications.len(), 0);
        self.serials[number] = self.came;
        self.silent.push_back((now.after(GREETING), number, self.came));
    }

    /// Disconnects applications that have not greeted in time: they hold places that others need.
    fn disconnect_silent(&mut self, engine: &mut Engine, now: Instant) {
        while let Some((_, number, serial)) = self.silent.pop_front_if(|(until, ..)| *until <= now) {
            let same = self.serials.get(number) == Some(&serial);
            let here = self.applications.get(number).and_then(Option::as_ref);
            if same && here.is_some_and(|application| application.session.is_none() && !application.is_over())
            {
                self.leave(
                    engine,
                    now,
                    number,
                    &Disconnect::ProtocolViolation("it has not greeted within a second".to_owned()),
                );
            }
        }
    }

    /// Resumes applications that had exceeded their request rate, and polls the control socket again.
    fn resume(&mut self, engine: &mut Engine, now: Instant) {
        if self.shut.take_if(|until| *until <= now).is_some() {
            // If the control socket cannot be polled again, no application can connect any more; that cannot be repaired here.
            let _ = self.poll.change(self.control.as_fd(), CONTROL, true);
        }
        let (due, still): (Vec<_>, Vec<_>) = self.paused.drain(..).partition(|(until, _)| *until <= now);
        self.paused = still;
        for (_, number) in due {
            self.listen_to(number, true);
            self.attend(engine, now, 2 * number as u64);
        }
    }

    /// Stops reading the requests of an application until then.
    fn pause(&mut self, number: usize, until: Instant) {
        self.listen_to(number, false);
        if self.paused.iter().all(|(_, paused)| *paused != number) {
            self.paused.push((until, number));
        }
    }

    fn listen_to(&self, number: usize, waits: bool) {
        let application = self.applications.get(number).and_then(Option::as_ref);
        if let Some(socket) = application.and_then(Application::socket) {
            let _ = self.poll.change(socket.as_fd(), FIRST + 2 * number as u64, waits);
        }
    }

    /// Time of the next action that no event announces.
    pub fn due(&self) -> Instant {
        let silent = self.silent.front().map_or(Instant::NEVER, |(until, ..)| *until);
        let paused = self.paused.iter().map(|(until, _)| *until).min().unwrap_or(Instant::NEVER);
        silent.min(paused).min(self.shut.unwrap_or(Instant::NEVER))
    }

    /// Reads the requests or the ring of an application.
    fn attend(&mut self, engine: &mut Engine, now: Instant, event: u64) {
        let number = (event / 2) as usize;
        let Some(Some(application)) = self.applications.get_mut(number) else { return };
        if event % 2 == 1 {
            // Its channels are checked in every turn; a closed doorbell is noticed at the socket.
            let gone = application.session.as_ref().is_some_and(|own| own.doorbell.drain() == Signal::Closed);
            if gone {
                self.leave(engine, now, number, &Disconnect::Gone);
            }
            return;
        }
        for _ in 0..REQUESTS {
            match self.serve(engine, now, number) {
                Ok(true) => {}
                Ok(false) => break,
                Err(why) => return self.leave(engine, now, number, &why),
            }
        }
    }

    /// Answers the next request of an application. Returns whether there was one.
    fn serve(&mut self, engine: &mut Engine, now: Instant, number: usize) -> Result<bool, Disconnect> {
        let Some(Some(application)) = self.applications.get_mut(number) else { return Ok(false) };
        let Some(request) = application.request()? else { return Ok(false) };
        let request = match application.admit(now, request) {
            Ok(request) => request,
            Err(until) => {
                self.pause(number, until);
                return Ok(false);
            }
        };
        let Some(Some(application)) = self.applications.get_mut(number) else { return Ok(false) };
        let greets = matches!(request, Request::Hello { .. });
        if greets == application.session.is_some() {
            return Err(Disconnect::ProtocolViolation(
                "its first message, and no other, has to be a greeting".to_owned(),
            ));
        }
        let reply = self.reply(engine, now, number, request).unwrap_or_else(|error| {
            (Answer::Failed { code: failure::encode(&error), text: failure::text(&error) }, Vec::new())
        });
        match &self.applications[number] {
            Some(application) => application.answer(&reply).map(|()| true),
            None => Ok(false),
        }
    }

    fn reply(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        number: usize,
        request: Request,
    ) -> Result<Reply, StreamError> {
        self.release_for(engine, now, number, &request);
        let Some(application) = &mut self.applications[number] else { return Err(StreamError::Closed) };
        let done = |answer| Ok((answer, Vec::new()));
        if self.locked && request.begins() {
            let streams = engine.streams();
            return Err(StreamError::Stopped(format!(
                "the daemon stops, and takes nothing new; it waits for its open streams to end ({streams} left)"
            )));
        }
        match request {
            Request::Hello { version } => self.greet(engine, number, version),
            Request::Connect { to, service, priority } => {
                let (slot, reply) = application.connect(engine, now, (to, service), priority)?;
                self.settle_in(number, slot);
                Ok(reply)
            }
            Request::Listen { service } => {
                let (slot, reply) = application.listen(engine, now, service)?;
                self.listeners.insert(service, (number, slot));
                Ok(reply)
            }
            Request::Accept { channel, new } => {
                let Some((slot, _, reply)) = application.accept(engine, now, channel, new)? else {
                    return done(Answer::Nothing);
                };
                self.settle_in(number, slot);
                Ok(reply)
            }
            Request::Discard { channel } => {
                let slot = application.named(channel)?.discard();
                self.turn(engine, now, number, slot);
                done(Answer::Done)
            }
            Request::Prefer { channel, priority } => {
                engine.prefer(stream(application, channel)?, priority);
                done(Answer::Done)
            }
            Request::Info { channel } => {
                let info = engine.info(stream(application, channel)?).ok_or(StreamError::Closed)?;
                done(Answer::info(&info))
            }
            Request::Status { form } => text(&match form {
                Form::Json => self.status(engine).to_string(),
                Form::Prometheus => engine.status_of(0).prometheus(),
            }),
        }
    }

    /// Carries out closes that came before `request` and that it may depend on: those of a listener of the same service,
    /// and those of streams whose memory it may have.
    fn release_for(&mut self, engine: &mut Engine, now: Instant, number: usize, request: &Request) {
        if let Request::Listen { service } = request
            && let Some((holder, _)) = self.listeners.get(service).copied()
        {
            self.release_closed(engine, now, holder);
        }
        let spares = self.applications[number].as_ref().is_none_or(Application::has_spares);
        if !spares && request.needs_channel() {
            self.release_closed(engine, now, number);
        }
    }

    /// Serves the channels that an application has closed, ahead of the others that are due.
    fn release_closed(&mut self, engine: &mut Engine, now: Instant, number: usize) {
        let Some(Some(application)) = self.applications.get_mut(number) else { return };
        application.news(number, &mut self.due);
        let due = self.due.iter().filter(|(of, _)| *of == number).map(|(_, slot)| *slot);
        let closed: Vec<_> = due.filter(|slot| application.is_closed(*slot)).collect();
        closed.into_iter().for_each(|slot| self.turn(engine, now, number, slot));
    }

    fn greet(&mut self, engine: &Engine, number: usize, version: u32) -> Result<Reply, StreamError> {
        let Some(application) = &mut self.applications[number] else { return Err(StreamError::Closed) };
        let reply = application.hello(version, engine).and_then(|reply| match &application.session {
            Some(session) => self.poll.add(session.as_fd(), FIRST + 2 * number as u64 + 1).map(|()| reply),
            None => Ok(reply),
        });
        reply.map_err(|error| failure::of_daemon(&error))
    }

    /// Registers a stream in its slot, and queues it: it may have bytes already.
    fn settle_in(&mut self, number: usize, slot: usize) {
        let Some(Role::Stream(id)) = self.served(number, slot).map(|served| served.role) else { return };
        self.homes.insert(id.bits(), (number, slot));
        self.queue(number, slot);
    }

    fn served(&mut self, number: usize, slot: usize) -> Option<&mut super::served::Served> {
        self.applications.get_mut(number)?.as_mut()?.channel(slot)
    }

    fn queue(&mut self, number: usize, slot: usize) {
        let Some(Some(application)) = self.applications.get_mut(number) else { return };
        if let Some(served) = application.channel(slot) {
            served.queue((number, slot), &mut self.due);
        }
    }

    /// Collects the progress of applications and the notices of the engine.
    pub fn news(&mut self, engine: &mut Engine) {
        for (number, application) in self.applications.iter_mut().enumerate() {
            if let Some(application) = application {
                application.news(number, &mut self.due);
            }
        }
        while let Some(notice) = engine.poll_notice() {
            self.notice(engine, notice);
        }
    }

    fn notice(&mut self, engine: &Engine, notice: Notice) {
        match notice {
            Notice::Incoming { service } => {
                let home = self.listeners.get(&service).copied();
                if let Some(served) = home.and_then(|(number, slot)| self.served(number, slot)) {
                    served.incoming();
                }
            }
            Notice::Readable { id } | Notice::Writable { id } => {
                if let Some((number, slot)) = self.homes.get(&id.bits()).copied() {
                    self.queue(number, slot);
                }
            }
            Notice::Settled { id } => {
                let settled = engine.info(id).is_some_and(|info| info.settled);
                let failed = engine.write_error(id).map(failure::encode);
                let Some((number, slot)) = self.homes.get(&id.bits()).copied() else { return };
                if let Some(served) = self.served(number, slot).filter(|_| settled) {
                    match failed {
                        Some(code) => served.fail_writing(code),
                        None => served.settle(),
                    }
                }
                // Reading may have failed, too.
                self.queue(number, slot);
            }
        }
    }

    /// Serves some of the channels that are due. Returns whether there were any.
    pub fn turns(&mut self, engine: &mut Engine, now: Instant) -> bool {
        let count = self.due.len().min(TURNS);
        for _ in 0..count {
            let Some((number, slot)) = self.due.pop_front() else { break };
            self.turn(engine, now, number, slot);
        }
        count > 0
    }

    /// Serves a channel.
    fn turn(&mut self, engine: &mut Engine, now: Instant, number: usize, slot: usize) {
        let Some(Some(application)) = self.applications.get_mut(number) else { return };
        let Some(served) = application.channel(slot) else { return };
        let owed = served.owes;
        let next = served.turn(engine, now);
        if served.owes && !owed {
            if self.owed.is_empty() {
                self.owed_since = now;
            }
            self.owed.push((number, slot));
        }
        match next {
            Next::Again => self.queue(number, slot),
            Next::Rest => {}
            Next::Over => {
                let role = application.release(slot);
                if application.is_over() {
                    self.applications[number] = None;
                }
                role.into_iter().for_each(|role| self.forget(role));
            }
        }
    }

    /// Wakes readers that wait for more bytes than have come, if nothing more is about to come (`idle`), or after a while.
    pub fn ring_owed(&mut self, now: Instant, idle: bool) {
        if self.owed.is_empty() || !idle && now.since(self.owed_since) < OWED {
            return;
        }
        for (number, slot) in std::mem::take(&mut self.owed) {
            if let Some(served) = self.served(number, slot) {
                served.ring_owed();
            }
        }
    }

    /// Whether a channel has work to do.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    fn forget(&mut self, role: Role) {
        match role {
            Role::Stream(id) => drop(self.homes.remove(&id.bits())),
            Role::Listener { service } => drop(self.listeners.remove(&service)),
        }
    }

    /// Handles the end of an application: its streams are reset.
    fn leave(&mut self, engine: &mut Engine, now: Instant, number: usize, why: &Disconnect) {
        let Some(Some(application)) = self.applications.get_mut(number) else { return };
        match why {
            Disconnect::Gone => tracing::info!(application = number, "application disconnected"),
            Disconnect::ProtocolViolation(text) => {
                self.happened.violations += 1;
                tracing::warn!(
                    application = number,
                    "application disconnected for a protocol violation: {text}"
                );
            }
        }
        let gone = application.leave(engine, now);
        // Its last action may have been to close a channel.
        application.all_due(number, &mut self.due);
        if application.is_over() {
            self.applications[number] = None;
        }
        gone.into_iter().for_each(|role| self.forget(role));
    }

    /// Announces to all sessions that the daemon is about to sleep, or awake again.
    pub fn sleep(&mut self, asleep: bool) {
        for application in self.applications.iter().flatten() {
            if let Some(own) = &application.session {
                own.session.sleep(asleep);
            }
        }
    }

    /// Rejects new connections and new work.
    pub fn lock(&mut self) {
        self.locked = true;
    }

    /// Whether no application is connected, and nothing of earlier ones is left.
    #[cfg(any(test, feature = "hostile"))]
    pub fn is_empty(&self) -> bool {
        self.applications.iter().all(Option::is_none) && self.homes.is_empty() && self.listeners.is_empty()
    }

    /// Ends the sessions, and tells every application the reason.
    pub fn close(&mut self) {
        let code = failure::encode(&StreamError::Stopped(String::new()));
        self.applications.iter_mut().flatten().for_each(|application| application.fail_all(code));
        self.applications.clear();
    }

    /// Copies the counts for the metrics.
    pub fn standing(&self, engine: &Engine) -> Standing {
        let seated =
            || self.applications.iter().flatten().filter(|application| application.socket().is_some());
        let users: BTreeSet<_> = seated().map(|application| application.peer.uid).collect();
        Standing {
            totals: engine.status_of(0).totals,
            happened: self.happened,
            applications: seated().count() as u64,
            users: users.len() as u64,
            listeners: self.listeners.len() as u64,
            draining: self.locked,
            uptime_s: 0,
        }
    }

    fn status(&self, engine: &Engine) -> Value {
        let one = |(number, application): (usize, &Option<Application>)| {
            let application = application.as_ref()?;
            let roles = || application.roles();
            let streams = roles().filter(|role| matches!(role, Role::Stream(_))).count();
            Some(json!({
                "application": number,
                "pid": application.peer.pid,
                "uid": application.peer.uid,
                "streams": streams,
                "listeners": roles().count() - streams,
            }))
        };
        let options = engine.options();
        json!({
            "address": std::net::SocketAddr::from((options.address, options.port)).to_string(),
            "applications": self.applications.iter().enumerate().filter_map(one).collect::<Vec<_>>(),
            "host": engine.status_of(LISTED),
        })
    }
}

/// Tells an application that connects why it is turned away. A full socket is not waited for: the reason is lost.
fn turn_away(socket: &UnixStream, error: &StreamError) {
    let answer = Answer::Failed { code: failure::encode(error), text: failure::text(error) };
    let _ = sys::send(socket.as_fd(), &encode(&answer));
}

/// The stream of the channel that an application names `channel`.
fn stream(application: &mut Application, channel: u64) -> Result<StreamId, StreamError> {
    match application.named(channel)?.role {
        Role::Stream(id) => Ok(id),
        Role::Listener { .. } => Err(StreamError::Closed),
    }
}

/// Makes a reply with a text of any length, in a file.
fn text(text: &str) -> Result<Reply, StreamError> {
    let mut file = File::from(sys::memory_file(text.len()).map_err(|error| failure::of_daemon(&error))?);
    file.write_all(text.as_bytes()).map_err(|error| StreamError::Stopped(error.to_string()))?;
    Ok((Answer::Text { long: text.len() }, vec![OwnedFd::from(file)]))
}
