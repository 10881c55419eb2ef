//! An endpoint at which Prometheus finds counters: one thread that answers `GET /metrics` over HTTP/1.1 in the format OpenMetrics 1.0.
//! It waits for all clients at once, so that none keeps another waiting.
//!
//! Clients are not checked: a socket has a mode, and a TCP address has to be a loopback address (`config::MetricsPlace`).

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Clock};

use crate::config::MetricsPlace;
use crate::doorbell::Doorbell;
use crate::error::Error;
use crate::sys;
use crate::sys::Poll;

/// Time in which a client says its request, and time in which it takes the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Clients at a time. A further client replaces the oldest one, so that idle clients do not lock out others.
const MOST: usize = 64;
/// Interval at which a client is tried again that takes its answer slowly.
const RETRY: Duration = Duration::from_millis(10);
/// Numbers at which the listener and the end are waited for; clients come after them.
const LISTENS: u64 = 0;
const STOPS: u64 = 1;
/// Longest head of a request. Bytes.
const LONGEST: usize = 8 << 10;
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// An endpoint that is open, and does not answer yet.
#[derive(Debug)]
pub struct Endpoint(Listener);

/// An endpoint that answers until this value is dropped.
#[derive(Debug)]
pub struct Serving {
    thread: Option<JoinHandle<()>>,
    stop: Option<Doorbell>,
    path: Option<PathBuf>,
}

impl Endpoint {
    /// Opens `place`; a socket is for this process' user and group.
    ///
    /// # Errors
    /// If the address is taken, or the socket cannot be made.
    pub fn open(place: &MetricsPlace) -> Result<Self, Error> {
        let own = crate::process::own();
        Self::open_for(place, &own, own.gid)
    }

    /// The same with a socket for the user `daemon` and the group `gid`.
    pub(crate) fn open_for(
        place: &MetricsPlace,
        daemon: &crate::process::Account,
        gid: u32,
    ) -> Result<Self, Error> {
        match place {
            MetricsPlace::Socket(path) => {
                let listener = crate::control_socket::listen_for_group(path, daemon, gid)?;
                Ok(Self(Listener::Unix(listener, path.clone())))
            }
            MetricsPlace::Loopback(address) => {
                let listener = TcpListener::bind(address).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    Ok(listener)
                });
                listener
                    .map(|listener| Self(Listener::Tcp(listener)))
                    .map_err(|source| Error::Metrics { address: *address, source })
            }
        }
    }

    /// Where it is: the path of its socket, or its address with the port that the kernel has chosen for port 0.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.0 {
            Listener::Unix(_, path) => path.display().to_string(),
            Listener::Tcp(listener) => {
                listener.local_addr().map_or_else(|error| error.to_string(), |address| address.to_string())
            }
        }
    }

    /// Answers with what `text` returns, in a thread of its own; `None`: there is nothing at the moment.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn serve(self, mut text: impl FnMut() -> Option<String> + Send + 'static) -> Result<Serving, Error> {
        let [stop, stopped] = Doorbell::pair()?;
        let poll = Poll::new()?;
        poll.add(self.0.as_fd(), LISTENS)?;
        poll.add(stopped.as_fd(), STOPS)?;
        let path = match &self.0 {
            Listener::Unix(_, path) => Some(path.clone()),
            Listener::Tcp(_) => None,
        };
        let work = move || {
            let (mut clients, mut next, mut ready) = (BTreeMap::<u64, Client>::new(), STOPS, Vec::new());
            loop {
                let due = clients.values().map(|client| client.due(clock())).min();
                if sys::wait(poll.as_fd(), due).is_err() {
                    return;
                }
                poll.ready(&mut ready);
                if ready.contains(&STOPS) {
                    return;
                }
                if ready.drain(..).any(|number| number == LISTENS) {
                    loop {
                        match self.0.accept() {
                            Ok(client) => {
                                next += 1;
                                if poll.add(client.stream.as_fd(), next).is_ok() {
                                    clients.insert(next, client);
                                }
                            }
                            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                            // No descriptor is left, or the client is gone again. Until it is accepted a client keeps the listener
                            // readable: this thread would spin.
                            Err(_) if clients.pop_first().is_some() => {}
                            Err(_) => {
                                let _ = sys::wait(stopped.as_fd(), Some(RETRY));
                                break;
                            }
                        }
                        if clients.len() > MOST {
                            clients.pop_first();
                        }
                    }
                }
                clients.retain(|_, client| client.go_on(clock(), &mut text));
            }
        };
        Ok(Serving { thread: Some(thread::spawn(work)), stop: Some(stop), path })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of the thread was told by the panic itself.
        drop(self.thread.take().map(JoinHandle::join));
        if let Some(path) = &self.path {
            crate::control_socket::remove(path);
        }
    }
}

impl Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }

    /// The next client.
    fn accept(&self) -> io::Result<Client> {
        let stream: Box<dyn Stream> = match self {
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
        };
        Ok(Client { stream, head: Vec::new(), answer: Vec::new(), until: clock() + PATIENCE })
    }
}

/// A connection that never waits.
trait Stream: Read + Write + AsFd + Send {}

impl Stream for UnixStream {}

impl Stream for TcpStream {}

/// A client that says its request, or takes its answer.
struct Client {
    stream: Box<dyn Stream>,
    /// Bytes of the request so far.
    head: Vec<u8>,
    /// Bytes of the answer that are not sent yet; empty until the request is complete.
    answer: Vec<u8>,
    until: Clock,
}

impl Client {
    /// Time after which it has to be looked at, although it has said nothing.
    fn due(&self, now: Clock) -> Duration {
        let left = self.until.saturating_duration_since(now);
        if self.answer.is_empty() { left } else { left.min(RETRY) }
    }

    /// Takes what it says, and answers. False: it is done with, or gone.
    fn go_on(&mut self, now: Clock, text: &mut impl FnMut() -> Option<String>) -> bool {
        if self.answer.is_empty() {
            self.answer = match self.listen() {
                Ok(true) => reply(&self.head, text),
                Ok(false) if self.head.len() <= LONGEST && now < self.until => return true,
                Ok(false) => response("408 Request Timeout", "say a request, shorter and sooner\n"),
                Err(_) => return false,
            };
            self.until = now + PATIENCE;
        }
        self.tell() && now < self.until
    }

    /// Reads what has arrived. Returns whether the request is whole.
    fn listen(&mut self) -> io::Result<bool> {
        let mut piece = [0; 1024];
        while self.head.len() <= LONGEST {
            if self.head.windows(4).any(|end| end == b"\r\n\r\n") {
                return Ok(true);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(long) => self.head.extend_from_slice(&piece[..long]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Sends as much of the answer as it takes. False: that was all, or it is gone.
    fn tell(&mut self) -> bool {
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(long) => drop(self.answer.drain(..long)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "a client has so much time")]
fn clock() -> Clock {
    Clock::now()
}

fn reply(head: &[u8], text: &mut impl FnMut() -> Option<String>) -> Vec<u8> {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (method, target.split('?').next().unwrap_or_default()) {
        ("GET", "/metrics") => text().map_or_else(
            || response("503 Service Unavailable", "the daemon does not answer\n"),
            |text| with_type("200 OK", FORMAT, &text),
        ),
        ("GET", _) => response("404 Not Found", "there is only /metrics\n"),
        _ => response("405 Method Not Allowed", "use GET /metrics\n"),
    }
}

fn response(status: &str, words: &str) -> Vec<u8> {
    with_type(status, "text/plain; charset=utf-8", words)
}

fn with_type(status: &str, format: &str, body: &str) -> Vec<u8> {
    let long = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {format}\r\nContent-Length: {long}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &str) -> String {
        String::from_utf8(reply(head.as_bytes(), &mut || Some("# EOF\n".to_owned()))).unwrap()
    }

    #[test]
    fn requests_are_answered() {
        let good = said("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(
            good.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "),
            "{good}"
        );
        assert!(good.ends_with("\r\nContent-Length: 6\r\nConnection: close\r\n\r\n# EOF\n"), "{good}");
        for (head, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\r\n\r\n", "405"),
            ("\u{0}\u{ff}\r\n\r\n", "405"),
        ] {
            assert!(said(head).starts_with(&format!("HTTP/1.1 {status} ")), "{head:?}");
        }
        let silent = reply(b"GET /metrics HTTP/1.1\r\n\r\n", &mut || None);
        assert!(silent.starts_with(b"HTTP/1.1 503 "));
    }

    #[test]
    fn who_says_nothing_or_takes_nothing_keeps_nobody_waiting_and_the_end_closes_it() {
        let endpoint = Endpoint::open(&MetricsPlace::Loopback(([127, 0, 0, 1], 0).into())).unwrap();
        let Listener::Tcp(listener) = &endpoint.0 else { panic!("a TCP endpoint") };
        let address = listener.local_addr().unwrap();
        // More than a client that reads nothing has room for.
        let long = format!("{}# EOF\n", "x".repeat(20_000_000));
        let serving = endpoint.serve(move || Some(long.clone())).unwrap();
        let ask = |text: &[u8]| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(text).unwrap();
            client
        };
        let greedy: Vec<_> = (0..10).map(|_| ask(b"GET /metrics HTTP/1.1\r\n\r\n")).collect();
        let idle: Vec<_> = (0..300).map(|_| ask(b"GET /met")).collect();
        // Each of the idle ones alone would cost a second.
        let start = clock();
        for _ in 0..10 {
            let mut text = String::new();
            ask(b"GET / HTTP/1.1\r\n\r\n").read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 404 "), "{text}");
        }
        assert!(start.elapsed() < Duration::from_secs(100));
        let mut text = String::new();
        ask(b"GET /metrics HTTP/1.1\r\n\r\n").read_to_string(&mut text).unwrap();
        assert!(text.ends_with("# EOF\n"), "{} B", text.len());
        drop((greedy, idle, serving));
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
