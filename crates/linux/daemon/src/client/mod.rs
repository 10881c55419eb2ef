//! The application's side: streams of a daemon that owns the interface.

mod channel;
mod control;
mod poll;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pullnet_host::{Stack, StreamError, StreamId, StreamInfo, StreamOptions, Timeout};

use crate::doorbell::Doorbell;
use crate::failure::{Asked, decode};
use crate::message::{Answer, Form, Request};
use crate::share::{Channel, Session, Verdict};
use crate::sys;
use channel::{Client, Given, Patience};
use control::{Control, Welcome, of_kernel};
pub use poll::Doorbells;
use turn::Turn;

/// Time that a call spins before it sleeps, unless [`DaemonStack::set_spin`] sets another.
const SPIN: Duration = Duration::from_micros(50);

/// The streams of an application that a daemon serves.
///
/// Calls spin for a while and then sleep, unless they move much data. If the daemon ends, every call fails at once with
/// [`StreamError::Stopped`]. Dropping it resets the streams that are still open.
#[derive(Debug)]
pub struct DaemonStack {
    control: Mutex<Control>,
    welcome: Welcome,
    session: Session,
    doorbell: Doorbell,
    spin: Duration,
    held: Mutex<Held>,
}

/// Resources held by the application.
#[derive(Default, Debug)]
struct Held {
    /// Streams by slot.
    streams: Vec<Option<Arc<Client>>>,
    listeners: BTreeMap<u16, Arc<Client>>,
    /// Memories by number, used or not; `None`: no other channel gets it.
    given: Vec<Option<Arc<Given>>>,
}

/// Number of file descriptors that come with a new memory.
const OF_MEMORY: usize = 3;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DaemonStack {
    /// Connects to the daemon whose socket is at `path`.
    ///
    /// # Errors
    /// If there is no daemon, it does not let this user in, or it is of another version.
    pub fn connect(path: &Path) -> Result<Self, StreamError> {
        let (control, welcome, memory, doorbell) = Control::open(path)?;
        if !sys::is_sealed(&memory, Session::long(welcome.channels)) {
            return Err(control.nonsense());
        }
        let session = Session::map(&memory, welcome.channels);
        let session = session.map_err(|error| StreamError::Stopped(error.to_string()))?;
        let control = Mutex::new(control);
        Ok(Self { control, welcome, session, doorbell: doorbell.into(), spin: SPIN, held: Mutex::default() })
    }

    /// Sets the time that calls spin before they sleep: longer is faster and costs more processor time. Writes that find no room,
    /// and reads after much data, sleep at once all the same.
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// The host's address and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.welcome.address
    }

    /// The process of the daemon; `None`: this process cannot see it.
    #[must_use]
    pub fn daemon_process(&self) -> Option<u32> {
        lock(&self.control).daemon()
    }

    /// Returns the status of the daemon as JSON: its totals, its streams, and its users.
    ///
    /// # Errors
    /// If the daemon is gone.
    pub fn status(&self) -> Result<String, StreamError> {
        lock(&self.control).status(Form::Json, &self.asked(None, 0))
    }

    /// The daemon's totals in the text format that Prometheus reads.
    ///
    /// # Errors
    /// If the daemon is gone.
    pub fn prometheus(&self) -> Result<String, StreamError> {
        lock(&self.control).status(Form::Prometheus, &self.asked(None, 0))
    }

    fn asked(&self, peer: Option<SocketAddr>, service: u16) -> Asked {
        Asked { own: self.welcome.address.ip(), peer, service }
    }

    fn patience(&self, most: Timeout) -> Patience {
        Patience { spin: self.spin, most }
    }

    /// Requests a channel. `None`: no channel is available now.
    fn channel(&self, request: &Request, asked: Asked) -> Result<Option<Arc<Client>>, StreamError> {
        let mut control = lock(&self.control);
        let (name, slot, memory, peer) = match control.ask(request, &asked)? {
            Answer::Channel { channel, slot, memory, peer } => (channel, slot, memory, peer),
            Answer::Nothing => return Ok(None),
            _ => return Err(control.nonsense()),
        };
        let given = self.given(&mut control, memory).inspect_err(|_| {
            // An error means that the daemon is gone, which the next request reports as well.
            let _ = control.ask(&Request::Discard { channel: name }, &asked);
        })?;
        let asked = Asked { peer: asked.peer.or(peer), ..asked };
        Ok(Some(Arc::new(Client::new((name, slot, memory), asked, given))))
    }

    /// Returns the memory and doorbells with this number: known from before, or received just now.
    fn given(&self, control: &mut Control, number: usize) -> Result<Arc<Given>, StreamError> {
        let mut held = lock(&self.held);
        if let Some(Some(given)) = held.given.get(number) {
            return Ok(Arc::clone(given));
        }
        if number != held.given.len() {
            return Err(control.nonsense());
        }
        // The daemon counts it, also if it cannot be used.
        held.given.push(None);
        let [memory, readable, writable] = [control.fd()?, control.fd()?, control.fd()?];
        if !sys::is_sealed(&memory, Channel::long(self.welcome.ring)) {
            return Err(control.nonsense());
        }
        let channel = Channel::map(&memory, self.welcome.ring);
        let channel = channel.map_err(|error| StreamError::Stopped(error.to_string()))?;
        let [readable, writable] = [readable, writable].map(|doorbell| Turn::new(doorbell.into()));
        let given = Arc::new(Given { channel, readable, writable });
        held.given[number] = Some(Arc::clone(&given));
        Ok(given)
    }

    /// Enters a stream in the table, and returns its id.
    fn keep(&self, client: Arc<Client>) -> StreamId {
        let id = StreamId::from_bits(client.name);
        let mut held = lock(&self.held);
        let slot = client.slot;
        if held.streams.len() <= slot {
            held.streams.resize(slot + 1, None);
        }
        held.streams[slot] = Some(client);
        id
    }

    fn find(&self, id: StreamId) -> Result<Arc<Client>, StreamError> {
        let (name, held) = (id.bits(), lock(&self.held));
        let found = held.streams.get(name as u32 as usize).and_then(Option::as_ref);
        found.filter(|client| client.name == name).cloned().ok_or(StreamError::Closed)
    }

    /// Notifies the daemon that a counter of the channel has moved.
    fn note(&self, client: &Client) {
        if self.session.note(client.slot) {
            self.doorbell.ring();
        }
    }

    fn let_go(&self, client: &Client, verdict: Verdict) {
        if client.let_go(verdict)
            && let Some(given) = lock(&self.held).given.get_mut(client.memory)
        {
            *given = None;
        }
        self.note(client);
    }

    fn let_stream_go(&self, id: StreamId, verdict: Verdict) {
        let Ok(client) = self.find(id) else { return };
        if let Some(slot) = lock(&self.held).streams.get_mut(client.slot) {
            *slot = None;
        }
        self.let_go(&client, verdict);
    }

    /// Takes a stream that was announced to `listener`. `None`: the stream is gone again. The caller is going to make `more`
    /// file descriptors for it.
    fn take(&self, listener: &Client, more: usize) -> Result<Option<StreamId>, StreamError> {
        let taken = self.request_stream(listener, more);
        listener.owed.store(taken.is_err(), Ordering::Relaxed);
        Ok(taken?.map(|client| self.keep(client)))
    }

    /// Requests the next stream of `listener`. It stays queued while the process has no room for its file descriptors: a
    /// stream whose descriptors do not arrive would be lost.
    fn request_stream(&self, listener: &Client, more: usize) -> Result<Option<Arc<Client>>, StreamError> {
        let request = |new| self.channel(&Request::Accept { channel: listener.name, new }, listener.asked);
        self.check_room(more)?;
        // Most streams get a memory of an earlier one. The check for a new one takes several microseconds.
        match request(false) {
            Err(StreamError::Full(_)) => {
                self.check_room(OF_MEMORY + more)?;
                request(true)
            }
            answer => answer,
        }
    }

    /// Checks that the process has room for `count` more file descriptors.
    fn check_room(&self, count: usize) -> Result<(), StreamError> {
        sys::check_room(self.doorbell.as_fd(), count).map_err(|error| of_kernel(&error, error.to_string()))
    }
}

impl Stack for DaemonStack {
    fn listen(&self, service: u16) -> Result<(), StreamError> {
        let listener = self.channel(&Request::Listen { service }, self.asked(None, service))?;
        let listener = listener.ok_or_else(|| lock(&self.control).nonsense())?;
        lock(&self.held).listeners.insert(service, listener);
        Ok(())
    }

    fn unlisten(&self, service: u16) {
        let Some(listener) = lock(&self.held).listeners.remove(&service) else { return };
        self.let_go(&listener, Verdict::Closed);
    }

    fn accept(&self, service: u16, timeout: Timeout) -> Result<StreamId, StreamError> {
        let listener = self.listener(service)?;
        listener.wait_for_bytes(self.patience(timeout), || self.try_accept(&listener, 0))
    }

    fn connect(&self, to: SocketAddr, service: u16, options: StreamOptions) -> Result<StreamId, StreamError> {
        let request = Request::Connect { to, service, priority: options.priority };
        let client = self.channel(&request, self.asked(Some(to), service))?;
        client.map(|client| self.keep(client)).ok_or_else(|| lock(&self.control).nonsense())
    }

    fn write(&self, id: StreamId, bytes: &[u8], last: bool, timeout: Timeout) -> Result<usize, StreamError> {
        let client = self.find(id)?;
        if bytes.is_empty() {
            return if last { self.finish(id).map(|()| 0) } else { Ok(0) };
        }
        client.wait_for_room(self.patience(timeout), || self.try_write(&client, bytes, last))
    }

    fn finish(&self, id: StreamId) -> Result<(), StreamError> {
        let client = self.find(id)?;
        client.finish()?;
        self.note(&client);
        Ok(())
    }

    fn read(&self, id: StreamId, out: &mut [u8], timeout: Timeout) -> Result<usize, StreamError> {
        let client = self.find(id)?;
        if out.is_empty() {
            return Ok(0);
        }
        client.wait_for_bytes(self.patience(timeout), || self.try_read(&client, out))
    }

    fn settle(&self, id: StreamId, timeout: Timeout) -> Result<(), StreamError> {
        let client = self.find(id)?;
        client.wait_settled(self.patience(timeout), || Ok(client.is_settled()?.then_some(())))
    }

    fn close(&self, id: StreamId) {
        self.let_stream_go(id, Verdict::Closed);
    }

    fn abort(&self, id: StreamId) {
        self.let_stream_go(id, Verdict::Aborted);
    }

    fn prefer(&self, id: StreamId, priority: u8) {
        let Ok(client) = self.find(id) else { return };
        // An error means that the daemon is gone, which the next waiting call reports as well.
        let _ = lock(&self.control).ask(&Request::Prefer { channel: client.name, priority }, &client.asked);
    }

    fn info(&self, id: StreamId) -> Option<StreamInfo> {
        let client = self.find(id).ok()?;
        let answer = lock(&self.control).ask(&Request::Info { channel: client.name }, &client.asked).ok()?;
        let Answer::Info { peer, service, ours, waiting, counts, error } = answer else { return None };
        let error = error.map(|(code, text)| decode(code, &text, &client.asked));
        let settled = client.is_settled().unwrap_or(false);
        Some(StreamInfo { peer, service, ours, waiting: waiting + client.waiting(), settled, counts, error })
    }
}
