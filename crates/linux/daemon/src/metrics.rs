//! An endpoint at which Prometheus finds counters: one thread that answers `GET /metrics` over HTTP/1.1, one request after the
//! other, in the format OpenMetrics 1.0.
//!
//! Clients are not checked: a socket has a mode, and a TCP address has to be a loopback address (`config::MetricsPlace`).

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

/// Time for a whole request, so that a slow client does not delay the others.
const PATIENCE: Duration = Duration::from_secs(1);
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

    /// Answers with what `text` returns, in a thread of its own; `None`: there is nothing at the moment.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn serve(self, mut text: impl FnMut() -> Option<String> + Send + 'static) -> Result<Serving, Error> {
        let [stop, stopped] = Doorbell::pair()?;
        let poll = Poll::new()?;
        poll.add(self.0.as_fd(), 0)?;
        poll.add(stopped.as_fd(), 1)?;
        let path = match &self.0 {
            Listener::Unix(_, path) => Some(path.clone()),
            Listener::Tcp(_) => None,
        };
        let work = move || {
            // Its other end is closed at the end.
            let _stopped = &stopped;
            let mut ready = Vec::new();
            while sys::wait(poll.as_fd(), None).is_ok() {
                poll.ready(&mut ready);
                if ready.drain(..).any(|number| number == 1) {
                    return;
                }
                self.0.answer(&mut text);
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
            // In a folder that is not ours it stays; the next daemon replaces it.
            let _ = std::fs::remove_file(path);
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

    /// Answers the next request. A client that is slow or gone is left alone.
    fn answer(&self, text: &mut impl FnMut() -> Option<String>) {
        let _ = match self {
            Self::Unix(listener, _) => listener.accept().and_then(|(stream, _)| converse(stream, text)),
            Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| converse(stream, text)),
        };
    }
}

/// A connection with timeouts.
trait Timed: Read + Write {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Timed for UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

impl Timed for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

#[expect(clippy::disallowed_methods, reason = "a client has so much time")]
fn clock() -> Clock {
    Clock::now()
}

fn converse(mut stream: impl Timed, text: &mut impl FnMut() -> Option<String>) -> io::Result<()> {
    let (start, mut head) = (clock(), Vec::new());
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = PATIENCE.saturating_sub(start.elapsed());
        if left.is_zero() || head.len() > LONGEST {
            return stream.write_all(&response("408 Request Timeout", "say a request, shorter and sooner\n"));
        }
        stream.limit(left)?;
        let mut piece = [0; 1024];
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            long => head.extend_from_slice(&piece[..long]),
        }
    }
    stream.limit(PATIENCE)?;
    stream.write_all(&answer(&head, text))
}

fn answer(head: &[u8], text: &mut impl FnMut() -> Option<String>) -> Vec<u8> {
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
        String::from_utf8(answer(head.as_bytes(), &mut || Some("# EOF\n".to_owned()))).unwrap()
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
        let silent = answer(b"GET /metrics HTTP/1.1\r\n\r\n", &mut || None);
        assert!(silent.starts_with(b"HTTP/1.1 503 "));
    }

    #[test]
    fn who_is_slow_does_not_keep_others_waiting_for_long_and_the_end_closes_it() {
        let endpoint = Endpoint::open(&MetricsPlace::Loopback(([127, 0, 0, 1], 0).into())).unwrap();
        let Listener::Tcp(listener) = &endpoint.0 else { panic!("a TCP endpoint") };
        let address = listener.local_addr().unwrap();
        let serving = endpoint.serve(|| Some("# EOF\n".to_owned())).unwrap();
        let mut slow = TcpStream::connect(address).unwrap();
        slow.write_all(b"GET /met").unwrap();
        let mut quick = TcpStream::connect(address).unwrap();
        quick.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        quick.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("# EOF\n"), "{text}");
        drop(serving);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
