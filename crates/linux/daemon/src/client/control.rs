//! The control socket, as the application sees it.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use pullnet_host::StreamError;

use super::turn::gone;
use crate::failure::{Asked, decode, is_without_descriptors};
use crate::message::{Answer, Decoder, Form, Request, VERSION, encode};
use crate::sys::{self, Received};

/// Timeout of an answer. The daemon answers within microseconds unless it is stopped, or the machine is overloaded.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of polls for an answer before sleeping.
const LOOKS: usize = 200;

/// Properties that the daemon announces at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Welcome {
    pub address: SocketAddr,
    pub channels: usize,
    pub ring: usize,
}

#[derive(Debug)]
pub(super) struct Control {
    socket: UnixStream,
    decoder: Decoder,
    received: Received,
    /// An answer may be missing, so that the next one would be taken for it.
    broken: bool,
}

fn stopped(text: String) -> StreamError {
    StreamError::Stopped(text)
}

impl Control {
    /// Connects, and sends the greeting. Returns the memory and the doorbell of the session too.
    pub fn open(path: &Path) -> Result<(Self, Welcome, OwnedFd, OwnedFd), StreamError> {
        let socket = UnixStream::connect(path).map_err(|error| of_kernel(&error, why(path, &error)))?;
        let (decoder, received) = (Decoder::default(), Received::default());
        let mut control = Self { socket, decoder, received, broken: false };
        let nobody = Asked { own: [0, 0, 0, 0].into(), peer: None, service: 0 };
        let answer = control.ask(&Request::Hello { version: VERSION }, &nobody);
        let answer = answer.map_err(|error| match control.broken {
            true => stopped(format!(
                "{}: the daemon lets nobody else in, or not you: its log says why",
                path.display()
            )),
            false => error,
        })?;
        let Answer::Welcome { address, channels, ring, .. } = answer else { return Err(control.nonsense()) };
        let (memory, doorbell) = (control.fd()?, control.fd()?);
        Ok((control, Welcome { address, channels, ring }, memory, doorbell))
    }

    /// The process of the daemon, by the kernel's account of who listens; `None`: it is in another PID namespace.
    pub fn daemon(&self) -> Option<u32> {
        let peer = sys::peer(self.socket.as_fd()).ok()?;
        u32::try_from(peer.pid).ok().filter(|pid| *pid > 0)
    }

    /// Sends a request and waits for its answer; an answer that reports a failure becomes an error.
    pub fn ask(&mut self, request: &Request, asked: &Asked) -> Result<Answer, StreamError> {
        if self.broken {
            return Err(gone());
        }
        self.broken = true;
        // Descriptors of an earlier answer that could not be used.
        self.received = Received::default();
        // A daemon that rejects the connection may have sent the reason and closed before reading the request.
        let sent = self.socket.write_all(&encode(request));
        let answer = self.answer()?;
        if !matches!(answer, Answer::Failed { .. }) {
            sent.map_err(|_| gone())?;
        }
        self.broken = false;
        match answer {
            Answer::Failed { code, text } => Err(decode(code, &text, asked)),
            answer => Ok(answer),
        }
    }

    fn answer(&mut self) -> Result<Answer, StreamError> {
        let mut looks = 0;
        loop {
            if let Some(answer) = self.decoder.next().map_err(|error| stopped(error.to_string()))? {
                return Ok(answer);
            }
            let mut bytes = [0; 4096];
            match sys::receive_with(self.socket.as_fd(), &mut bytes, &mut self.received) {
                Ok(0) => return Err(gone()),
                Ok(long) => self.decoder.add(&bytes[..long]),
                Err(error) if error.kind() == ErrorKind::WouldBlock && looks < LOOKS => looks += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(gone()),
            }
        }
    }

    fn wait(&self) -> Result<(), StreamError> {
        let answered = sys::wait(self.socket.as_fd(), Some(PATIENCE));
        match answered.map_err(|error| stopped(error.to_string()))? {
            true => Ok(()),
            false => Err(stopped("the daemon does not answer".to_owned())),
        }
    }

    /// Returns the next file descriptor of the latest answer.
    ///
    /// # Errors
    /// [`StreamError::Full`] if this process had no room for it.
    pub fn fd(&mut self) -> Result<OwnedFd, StreamError> {
        self.received.fds.pop_front().ok_or_else(|| match self.received.truncated {
            true => NO_DESCRIPTORS,
            false => self.nonsense(),
        })
    }

    /// The error for an answer that does not fit the request.
    pub fn nonsense(&self) -> StreamError {
        stopped("the daemon's answer makes no sense; use the same release of both".to_owned())
    }

    /// Returns the status of the daemon.
    pub fn status(&mut self, form: Form, asked: &Asked) -> Result<String, StreamError> {
        let Answer::Text { long } = self.ask(&Request::Status { form }, asked)? else {
            return Err(self.nonsense());
        };
        let (mut bytes, file) = (vec![0; long], File::from(self.fd()?));
        file.read_exact_at(&mut bytes, 0).map_err(|error| stopped(error.to_string()))?;
        String::from_utf8(bytes).map_err(|_| self.nonsense())
    }
}

/// The error for a process that can open no more files. It passes when some are closed.
const NO_DESCRIPTORS: StreamError = StreamError::Full(
    "the process has no file descriptors left: close streams, or raise RLIMIT_NOFILE, as `ulimit -n` does",
);

/// The error for a file descriptor that the kernel did not make; `text` unless there was no room for it.
pub(super) fn of_kernel(error: &std::io::Error, text: String) -> StreamError {
    if is_without_descriptors(error) { NO_DESCRIPTORS } else { stopped(text) }
}

/// The reason why no daemon answers at `path`.
fn why(path: &Path, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        ErrorKind::NotFound => {
            "there is no such socket; start pullnetd, or name the socket that its file names"
        }
        ErrorKind::ConnectionRefused => "no daemon serves this socket any more; start pullnetd again",
        ErrorKind::PermissionDenied => {
            "only members of the socket's group may use the daemon; `ls -l` shows which"
        }
        ErrorKind::InvalidInput => {
            "a socket's path has at most 107 bytes; state a shorter one in the daemon's file"
        }
        _ => "name the socket of a daemon",
    };
    format!("{}: {error}: {hint}", path.display())
}
