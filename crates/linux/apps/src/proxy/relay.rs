//! One connection: two lines, and the bytes between them.

use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

use super::STACK;
use crate::line::{Line, Road};

/// Begins a stream between two proxies; the last byte is the version.
const GREETING: [u8; 8] = *b"pnproxy\x01";
/// A stream that does not begin with a greeting in this time is reset.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes moved at a time: as many as a ring of the daemon holds.
const PIECE: usize = 256 << 10;
/// A TCP write that waits looks so often whether the connection was aborted.
const LOOK: Duration = Duration::from_millis(250);
/// A TCP peer that is silent for so long is asked whether it is still there, so often, and so many times.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(10))
    .with_retries(6);

/// Reason for which a connection is not carried.
#[derive(Debug)]
pub(super) enum NotCarried {
    /// The side that opened it has reset it.
    Reset,
    /// The other side was not reached.
    Unreached(io::Error),
}

impl From<io::Error> for NotCarried {
    fn from(error: io::Error) -> Self {
        Self::Unreached(error)
    }
}

/// The error of a read from the side that opened the connection.
fn of_opener(error: io::Error) -> NotCarried {
    if error.kind() == ErrorKind::ConnectionReset { NotCarried::Reset } else { error.into() }
}

/// Opens a stream for a TCP connection. Bytes that the client has sent already travel in the first
/// packet, and are counted.
pub(super) fn to_ndp(line: &Line, road: &Road, raw: bool, count: &AtomicU64) -> Result<Line, NotCarried> {
    let first = if raw { Vec::new() } else { [&GREETING[..], &sent_already(line)?].concat() };
    let other = road.connect()?;
    if !raw {
        count.fetch_add((first.len() - GREETING.len()) as u64, Ordering::Relaxed);
        other.write_all(&first)?;
    }
    Ok(other)
}

/// Reads the bytes that the client has sent, without waiting. The kernel reports a reset to one read only: a later read
/// finds the end, as if the client had sent all.
fn sent_already(line: &Line) -> Result<Vec<u8>, NotCarried> {
    let Line::Tcp(client) = line else { return Ok(Vec::new()) };
    let mut piece = vec![0; PIECE];
    client.set_nonblocking(true)?;
    let read = (&*client).read(&mut piece);
    client.set_nonblocking(false)?;
    let long = match read {
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        read => read.map_err(of_opener)?,
    };
    piece.truncate(long);
    Ok(piece)
}

/// Opens a TCP connection for a stream.
pub(super) fn to_tcp(line: &Line, road: &Road, raw: bool) -> Result<Line, NotCarried> {
    if !raw {
        let mut greeting = [0; GREETING.len()];
        line.set_timeout(Some(PATIENCE))?;
        if !line.read_whole(&mut greeting).map_err(of_opener)? || greeting != GREETING {
            return Err(io::Error::from(ErrorKind::InvalidData).into());
        }
        line.set_timeout(None)?;
    }
    Ok(road.connect()?)
}

/// The two lines of a connection.
#[derive(Debug)]
pub(super) struct Pair {
    lines: [Line; 2],
    aborted: AtomicBool,
}

impl Pair {
    pub fn new(line: Line, other: Line) -> Self {
        Self { lines: [line, other], aborted: AtomicBool::new(false) }
    }

    /// Carries the bytes of both directions to their ends. Returns whether both ended well.
    pub fn carry(&self, to_ndp: &AtomicU64, to_tcp: &AtomicU64) -> bool {
        self.lines.iter().for_each(prepare);
        let [a, b] = &self.lines;
        let counter = |to: &Line| if matches!(to, Line::Ndp(_)) { to_ndp } else { to_tcp };
        thread::scope(|scope| {
            let back = thread::Builder::new().stack_size(STACK);
            // A connection for which there is no thread ends.
            match back.spawn_scoped(scope, || self.copy(b, a, counter(a))) {
                Ok(_) => self.copy(a, b, counter(b)),
                Err(_) => self.abort(),
            }
        });
        !self.aborted.load(Ordering::Relaxed)
    }

    /// Ends both lines at once.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
        self.lines.iter().for_each(Line::abort);
    }

    /// Carries one direction to its end. An error of either line ends both.
    fn copy(&self, from: &Line, to: &Line, count: &AtomicU64) {
        if self.try_copy(from, to, count).is_err() {
            self.abort();
        }
    }

    fn try_copy(&self, from: &Line, to: &Line, count: &AtomicU64) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let long = from.read(&mut piece)?;
            // The end of an aborted line is none.
            if self.aborted.load(Ordering::Relaxed) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if long == 0 {
                return to.finish();
            }
            let mut left = &piece[..long];
            while !left.is_empty() {
                match to.write(left) {
                    Ok(taken) => left = &left[taken..],
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error)
                        if error.kind() == ErrorKind::TimedOut && !self.aborted.load(Ordering::Relaxed) => {}
                    Err(error) => return Err(error),
                }
            }
            count.fetch_add(long as u64, Ordering::Relaxed);
        }
    }
}

/// Sets the options of a TCP connection. Where the kernel does not take one, the connection is gone.
fn prepare(line: &Line) {
    if let Line::Tcp(stream) = line {
        let _ = stream.set_write_timeout(Some(LOOK));
        let _ = SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE);
    }
}
