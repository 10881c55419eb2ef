//! One application: its control socket, its session, its channels.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use pullnet_host::{Engine, StreamError, StreamId, StreamOptions};
use pullnet_units::Instant;

use super::served::{Role, Served};
use crate::config::ApplicationLimits;
use crate::control_socket::PeerCred;
use crate::error::Error;
use crate::message::{Answer, Decoder, Request, VERSION, encode};
use crate::quota::{Rate, User, change};
use crate::share::{Channel, OwnChannel, OwnSession};
use crate::{failure, sys};

/// An answer with the file descriptors that go with it.
pub(super) type Reply = (Answer, Vec<OwnedFd>);

/// The reason why an application is disconnected.
#[derive(Debug)]
pub(super) enum Disconnect {
    /// It has disconnected or ended.
    Gone,
    /// It violated the protocol.
    ProtocolViolation(String),
}

#[derive(Debug)]
pub(super) struct Application {
    /// `None` after a disconnect; data written before is still sent.
    socket: Option<UnixStream>,
    pub peer: PeerCred,
    decoder: Decoder,
    /// A request that was read and must wait for the rate limit.
    postponed: Option<Request>,
    /// Set by the first message.
    pub session: Option<OwnSession>,
    channels: Vec<Option<Served>>,
    free: Vec<usize>,
    /// Unused memories that the application still has mapped.
    spare: Vec<(usize, OwnChannel)>,
    memories: usize,
    /// Bytes of its shared memory.
    memory: usize,
    /// Number of channels so far; part of each name.
    count: u32,
    limits: ApplicationLimits,
    user: Rc<User>,
    rate: Rate,
}

/// Maximum number of unused memories that keep their pages.
const WARM: usize = 16;

impl Application {
    pub fn new(socket: UnixStream, peer: PeerCred, limits: ApplicationLimits, user: Rc<User>) -> Self {
        change(&user.applications, 1);
        Self {
            user,
            rate: Rate::new(limits.messages.into()),
            memory: 0,
            socket: Some(socket),
            peer,
            decoder: Decoder::default(),
            postponed: None,
            session: None,
            channels: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            memories: 0,
            count: 0,
            limits,
        }
    }

    /// Returns the next request, if a complete one has arrived.
    pub fn request(&mut self) -> Result<Option<Request>, Disconnect> {
        if self.postponed.is_some() {
            return Ok(self.postponed.take());
        }
        loop {
            let next =
                self.decoder.next().map_err(|error| Disconnect::ProtocolViolation(error.to_string()))?;
            if next.is_some() || !self.receive()? {
                return Ok(next);
            }
        }
    }

    /// Reads from the socket. Returns whether anything has arrived.
    fn receive(&mut self) -> Result<bool, Disconnect> {
        let mut bytes = [0; 4096];
        let Some(socket) = &self.socket else { return Ok(false) };
        match sys::receive(socket.as_fd(), &mut bytes) {
            Ok(0) => Err(Disconnect::Gone),
            Ok(long) => {
                self.decoder.add(&bytes[..long]);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(_) => Err(Disconnect::Gone),
        }
    }

    /// Whether `request` may be answered now; otherwise it is kept, and the error is the time until then.
    pub fn admit(&mut self, now: Instant, request: Request) -> Result<Request, Instant> {
        let status = matches!(request, Request::Status { .. });
        let (user, status) = (&self.user, status.then(|| self.user.status.borrow_mut()));
        let costly = status.as_ref().map_or(now, |status| status.ready(now));
        let ready = self.rate.ready(now).max(user.rate.borrow().ready(now)).max(costly);
        if ready > now {
            drop(status);
            self.postponed = Some(request);
            return Err(ready);
        }
        status.into_iter().for_each(|mut status| status.spend(now));
        user.rate.borrow_mut().spend(now);
        self.rate.spend(now);
        Ok(request)
    }

    /// Its control socket, while it is connected.
    pub fn socket(&self) -> Option<&UnixStream> {
        self.socket.as_ref()
    }

    /// Sends an answer, without waiting for an application that does not read its answers.
    pub fn answer(&self, (answer, fds): &Reply) -> Result<(), Disconnect> {
        let bytes = encode(answer);
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        let Some(socket) = &self.socket else { return Ok(()) };
        match sys::send_with(socket.as_fd(), &bytes, &fds) {
            Ok(long) if long == bytes.len() => Ok(()),
            Ok(_) => Err(Disconnect::ProtocolViolation("it does not read its answers".to_owned())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                Err(Disconnect::ProtocolViolation("it does not read its answers".to_owned()))
            }
            Err(_) => Err(Disconnect::Gone),
        }
    }

    /// Handles the first message, which makes the session.
    pub fn hello(&mut self, version: u32, engine: &Engine) -> Result<Reply, Error> {
        if version != VERSION {
            let text = format!(
                "the daemon speaks version {VERSION} of its protocol, the application {version}; use the same release of both"
            );
            return Ok((
                Answer::Failed { code: failure::encode(&StreamError::Stopped(String::new())), text },
                Vec::new(),
            ));
        }
        let ApplicationLimits { channels, ring, .. } = self.limits;
        let (session, fds) = OwnSession::make(channels)?;
        self.session = Some(session);
        let options = engine.options();
        let address = (options.address, options.port).into();
        Ok((Answer::Welcome { version, address, channels, ring }, fds.into()))
    }

    /// Opens a stream. Returns its slot too.
    pub fn connect(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        (to, service): (std::net::SocketAddr, u16),
        priority: u8,
    ) -> Result<(usize, Reply), StreamError> {
        self.room()?;
        let id = engine.connect(now, to, service, StreamOptions { priority })?;
        self.take(engine, now, id)
    }

    /// Makes a listener. Returns its slot too.
    pub fn listen(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        service: u16,
    ) -> Result<(usize, Reply), StreamError> {
        self.room()?;
        engine.listen(service)?;
        let added =
            self.add(engine, Role::Listener { service }).inspect_err(|_| engine.unlisten(now, service))?;
        self.share_backlog(engine);
        Ok(added)
    }

    /// Divides the limit of waiting streams among its services.
    pub fn share_backlog(&self, engine: &mut Engine) {
        let services = || {
            self.roles().filter_map(|role| match role {
                Role::Listener { service } => Some(service),
                Role::Stream(_) => None,
            })
        };
        let each = (self.limits.pending / services().count().max(1)).clamp(1, self.limits.backlog);
        services().for_each(|service| engine.set_backlog(service, each));
    }

    /// Accepts a stream of a listener. `None`: no stream waits. Without `new` it does so only with a spare memory.
    pub fn accept(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        listener: u64,
        new: bool,
    ) -> Result<Option<(usize, StreamId, Reply)>, StreamError> {
        let Role::Listener { service } = self.named(listener)?.role else { return Err(StreamError::Closed) };
        self.room()?;
        if !new && !self.has_spares() {
            return Err(StreamError::Full("file descriptors of the application"));
        }
        let Some(id) = engine.accept(service) else { return Ok(None) };
        let (slot, reply) = self.take(engine, now, id)?;
        Ok(Some((slot, id, reply)))
    }

    /// Makes a channel for a stream of the engine.
    fn take(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        id: StreamId,
    ) -> Result<(usize, Reply), StreamError> {
        self.add(engine, Role::Stream(id)).inspect_err(|_| engine.abort(now, id))
    }

    fn room(&self) -> Result<(), StreamError> {
        let used = self.channels.len() - self.free.len();
        let needed = if self.spare.is_empty() { Channel::long(self.limits.ring) } else { 0 };
        let ApplicationLimits { channels, channels_per_user, memory, memory_per_user, .. } = self.limits;
        if used >= channels {
            return Err(StreamError::Full("streams_per_application"));
        }
        if self.user.channels.get() >= channels_per_user {
            return Err(StreamError::Full("streams_per_user"));
        }
        if self.memory + needed > memory {
            return Err(StreamError::Full("memory_per_application"));
        }
        if self.user.memory.get() + needed > memory_per_user {
            return Err(StreamError::Full("memory_per_user"));
        }
        Ok(())
    }

    /// Makes a channel, with a spare memory of the application or a new one.
    fn add(&mut self, engine: &Engine, role: Role) -> Result<(usize, Reply), StreamError> {
        let (memory, own, fds) = match self.spare.pop() {
            Some((memory, own)) => (memory, own, Vec::new()),
            None => {
                let (own, fds) = OwnChannel::make(self.limits.ring).map_err(|error| {
                    tracing::warn!(%error, "no memory for a stream");
                    match failure::of_daemon(&error) {
                        full @ StreamError::Full(_) => full,
                        _ => StreamError::Full("of shared memory"),
                    }
                })?;
                self.memories += 1;
                self.memory += Channel::long(self.limits.ring);
                change(&self.user.memory, Channel::long(self.limits.ring) as isize);
                (self.memories - 1, own, fds.into())
            }
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.channels.push(None);
            self.channels.len() - 1
        });
        self.count = self.count.wrapping_add(1);
        let name = u64::from(self.count) << 32 | slot as u64;
        let served = Served::new(role, name, memory, own);
        let peer = served.peer(engine);
        self.channels[slot] = Some(served);
        change(&self.user.channels, 1);
        Ok((slot, (Answer::Channel { channel: name, slot, memory, peer }, fds)))
    }

    /// The channel at `slot`.
    pub fn channel(&mut self, slot: usize) -> Option<&mut Served> {
        self.channels.get_mut(slot)?.as_mut()
    }

    /// Whether the application has closed the channel at `slot`.
    pub fn is_closed(&self, slot: usize) -> bool {
        self.channels.get(slot).and_then(Option::as_ref).is_some_and(Served::is_closed)
    }

    /// Whether it has an unused memory for the next channel.
    pub fn has_spares(&self) -> bool {
        !self.spare.is_empty()
    }

    /// The channel with `name`. An application can name only its own channels.
    pub fn named(&mut self, name: u64) -> Result<&mut Served, StreamError> {
        let found = self.channel(name as u32 as usize).filter(|served| served.name == name);
        found.ok_or(StreamError::Closed)
    }

    /// Releases the channel at `slot`; its memory may serve another one.
    pub fn release(&mut self, slot: usize) -> Option<Role> {
        let served = self.channels.get_mut(slot)?.take()?;
        self.free.push(slot);
        change(&self.user.channels, -1);
        let retired = served.own.channel.is_retired();
        if retired || self.spare.len() >= WARM {
            // The application may keep it mapped; the pages are freed nevertheless.
            served.own.channel.discard();
        }
        if retired {
            self.memory -= Channel::long(self.limits.ring);
            change(&self.user.memory, -(Channel::long(self.limits.ring) as isize));
        } else {
            self.spare.push((served.memory, served.own));
        }
        Some(served.role)
    }

    /// Ends a departed application: closes its listeners, and resets the streams that it had not closed. Returns the roles
    /// of these channels.
    pub fn leave(&mut self, engine: &mut Engine, now: Instant) -> Vec<Role> {
        if self.socket.take().is_some() {
            change(&self.user.applications, -1);
        }
        self.session = None;
        self.spare.clear();
        let gone =
            self.channels.iter_mut().filter_map(|channel| channel.take_if(|served| !served.is_closing()));
        let roles: Vec<_> = gone
            .map(|served| {
                served.own.channel.discard();
                served.role
            })
            .collect();
        change(&self.user.channels, -(roles.len() as isize));
        self.channels.iter_mut().flatten().for_each(Served::orphan);
        for role in &roles {
            match *role {
                Role::Stream(id) => engine.abort(now, id),
                Role::Listener { service } => engine.unlisten(now, service),
            }
        }
        roles
    }

    /// Whether it has disconnected, and has no channel left.
    pub fn is_over(&self) -> bool {
        self.socket.is_none() && self.channels.iter().all(Option::is_none)
    }

    /// Roles of the channels that it has at its end.
    pub fn roles(&self) -> impl Iterator<Item = Role> + '_ {
        self.channels.iter().flatten().map(|served| served.role)
    }

    /// Tells every channel that the daemon ends.
    pub fn fail_all(&mut self, code: u32) {
        self.channels.iter_mut().flatten().for_each(|served| served.fail(code));
    }

    /// Adds to `due` the channels in which the application has moved a counter.
    pub fn news(&mut self, number: usize, due: &mut VecDeque<(usize, usize)>) {
        let Self { session: Some(session), channels, .. } = self else { return };
        session.session.news(|slot| {
            if let Some(Some(served)) = channels.get_mut(slot) {
                served.queue((number, slot), due);
            }
        });
    }

    /// Adds every channel to `due`.
    pub fn all_due(&mut self, number: usize, due: &mut VecDeque<(usize, usize)>) {
        for (slot, channel) in self.channels.iter_mut().enumerate() {
            if let Some(served) = channel {
                served.queue((number, slot), due);
            }
        }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        if self.socket.is_some() {
            change(&self.user.applications, -1);
        }
        change(&self.user.channels, -(self.channels.iter().flatten().count() as isize));
        change(&self.user.memory, -(self.memory as isize));
    }
}
