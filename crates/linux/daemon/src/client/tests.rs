//! Hostile applications: they talk to a daemon without the library, and corrupt the shared memory.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pullnet_host::{NdpListener, NdpStream, Stack, StreamError};
use pullnet_wire::Reason;

use super::*;
use crate::config::HostFile;
use crate::failure;
use crate::message::{VERSION, encode};
use crate::server::Daemon;

const SERVICE: u16 = 9;
const WATCHDOG: Duration = Duration::from_secs(300);

/// A daemon in a thread of this process.
struct Running {
    thread: Option<JoinHandle<()>>,
    stop: UnixStream,
    socket: PathBuf,
    address: SocketAddr,
}

impl Running {
    fn start(number: u8) -> Self {
        Self::with_rings(number, 4096)
    }

    fn with_rings(number: u8, ring: usize) -> Self {
        let pid = std::process::id();
        let folder = std::env::temp_dir().join(format!("pullnet-hostile-{pid}-{number}"));
        let socket = folder.join("host.sock");
        let ip = [127, 1 + (pid >> 8) as u8 % 250, pid as u8, 200 + number];
        let text = format!(
            "backend = \"udp\"\naddress = \"{}\"\nrate = \"1 Gbps\"\nfarewell = \"0 s\"\n[socket]\npath = \"{}\"\n\
             [limits]\nring = \"{ring} B\"\n[ndp]\ngive_up = \"120 s\"\n",
            std::net::IpAddr::from(ip),
            socket.display()
        );
        let file = HostFile::read("test", &text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let daemon = Daemon::open(&file).unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let thread = thread::spawn(move || daemon.run(stopped.as_fd()).unwrap());
        Self { thread: Some(thread), stop, socket, address: (ip, file.port).into() }
    }

    fn application(&self) -> Arc<dyn Stack> {
        Arc::new(DaemonStack::connect(&self.socket).unwrap())
    }

    /// An honest application gets an answer from another one.
    fn still_serves(&self) {
        let listener = NdpListener::bind(&self.application(), SERVICE + 1).unwrap();
        let mut stream = NdpStream::connect(&self.application(), self.address, SERVICE + 1).unwrap();
        stream.write_last(b"well?").unwrap();
        let (mut taken, _) = listener.accept().unwrap();
        let mut text = String::new();
        taken.set_read_timeout(Some(WATCHDOG));
        taken.read_to_string(&mut text).unwrap();
        taken.write_last(b"well!").unwrap();
        stream.set_read_timeout(Some(WATCHDOG));
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "well?well!");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.write_all(&[1]).unwrap();
        let ended = self.thread.take().map(JoinHandle::join);
        let _ = std::fs::remove_dir_all(self.socket.parent().unwrap());
        assert!(matches!(ended, Some(Ok(()))) || thread::panicking());
    }
}

const NOBODY: Asked =
    Asked { own: std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), peer: None, service: 0 };

/// An application that uses the protocol directly.
struct Evil {
    control: Control,
    session: Session,
    doorbell: Doorbell,
    memories: Vec<Channel>,
}

impl Evil {
    fn new(daemon: &Running) -> Self {
        let (control, welcome, memory, doorbell) = Control::open(&daemon.socket).unwrap();
        let session = Session::map(&memory, welcome.channels).unwrap();
        Self { control, session, doorbell: doorbell.into(), memories: Vec::new() }
    }

    fn open(&mut self, to: SocketAddr) -> (usize, Channel) {
        let answer =
            self.control.ask(&Request::Connect { to, service: SERVICE, priority: 0 }, &NOBODY).unwrap();
        let Answer::Channel { slot, memory, .. } = answer else { panic!("{answer:?}") };
        if memory == self.memories.len() {
            let fds: Vec<_> = (0..3).map(|_| self.control.fd().unwrap()).collect();
            self.memories.push(Channel::map(&fds[0], 4096).unwrap());
        }
        (slot, self.memories[memory].clone())
    }

    fn note(&self, slot: usize) {
        if self.session.note(slot) {
            self.doorbell.ring();
        }
    }
}

/// Waits until a condition of another thread holds, with a time limit.
#[expect(clippy::disallowed_methods, reason = "a watchdog")]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < WATCHDOG, "never: {what}");
        thread::yield_now();
    }
}

#[test]
fn impossible_counters_end_their_own_stream_only() {
    let daemon = Running::start(0);
    let _listener = NdpListener::bind(&daemon.application(), SERVICE).unwrap();
    let mut evil = Evil::new(&daemon);
    let broken = failure::encode(&StreamError::Reset(Reason::PROTOCOL));
    for (word, value) in [(0, u64::MAX), (0, 4097), (192, u64::MAX), (192, 1), (0, 1 << 63), (192, 5000)] {
        let (slot, channel) = evil.open(daemon.address);
        channel.spoil(word, value);
        evil.note(slot);
        until("the stream is ended", || channel.failure() == broken);
    }
    daemon.still_serves();
}

#[test]
fn nonsense_in_shared_memory_harms_no_other_application() {
    let daemon = Running::start(1);
    let _listener = NdpListener::bind(&daemon.application(), SERVICE).unwrap();
    let mut evil = Evil::new(&daemon);
    for seed in 0..200u64 {
        let (slot, channel) = evil.open(daemon.address);
        for word in (0..384).step_by(8) {
            channel.spoil(word, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(word as u32));
        }
        evil.note(slot);
        // Slots that it does not own.
        (900..1024).for_each(|slot| evil.note(slot));
    }
    daemon.still_serves();
}

#[test]
fn an_application_cannot_name_channels_of_another() {
    let daemon = Running::start(2);
    let honest = daemon.application();
    let listener = NdpListener::bind(&honest, SERVICE).unwrap();
    let id = honest.connect(daemon.address, SERVICE, StreamOptions::default()).unwrap();
    honest.write(id, b"private", false, None).unwrap();
    let (mut taken, _) = listener.accept().unwrap();
    let mut evil = Evil::new(&daemon);
    // The names of the listener and of the streams.
    let names =
        (0..4).flat_map(|count| (0..4).map(move |slot| count << 32 | slot)).chain([id.bits(), u64::MAX]);
    for channel in names {
        for request in [
            Request::Info { channel },
            Request::Accept { channel, new: true },
            Request::Discard { channel },
            Request::Prefer { channel, priority: 9 },
        ] {
            assert_eq!(evil.control.ask(&request, &NOBODY), Err(StreamError::Closed), "{request:?}");
        }
    }
    (0..64).for_each(|slot| evil.note(slot));
    let mut text = [0; 7];
    taken.read_exact(&mut text).unwrap();
    assert_eq!((&text, honest.info(id).map(|info| info.error)), (b"private", Some(None)));
}

/// Sends raw bytes of an application over the control socket until the daemon disconnects it.
fn is_disconnected(daemon: &Running, says: &[u8]) {
    let mut socket = UnixStream::connect(&daemon.socket).unwrap();
    socket.set_read_timeout(Some(WATCHDOG)).unwrap();
    // The daemon may close the socket before all bytes are written.
    let _ = socket.write_all(says);
    let mut answers = Vec::new();
    let end = socket.read_to_end(&mut answers);
    assert!(end.is_ok() || end.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
}

#[test]
fn a_protocol_violation_ends_the_connection() {
    let daemon = Running::start(3);
    let hello = encode(&Request::Hello { version: VERSION });
    is_disconnected(&daemon, b"GET / HTTP/1.1\r\n\r\n");
    is_disconnected(&daemon, &[0xff; 10_000]);
    is_disconnected(&daemon, &encode(&Request::Listen { service: 1 }));
    is_disconnected(&daemon, &[hello.clone(), hello.clone()].concat());
    // Answers that the application never reads.
    let status = encode(&Request::Status { form: Form::Json }).repeat(20_000);
    let mut socket = UnixStream::connect(&daemon.socket).unwrap();
    socket.set_write_timeout(Some(WATCHDOG)).unwrap();
    socket.write_all(&hello).unwrap();
    assert!(socket.write_all(&status).is_err(), "20000 answers that nobody reads");
    daemon.still_serves();
}

#[test]
fn another_version_is_told() {
    let daemon = Running::start(4);
    let mut socket = UnixStream::connect(&daemon.socket).unwrap();
    socket.write_all(&encode(&Request::Hello { version: VERSION + 1 })).unwrap();
    let mut answer = vec![0; 300];
    let long = socket.read(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer[..long]).into_owned();
    assert!(text.contains("use the same release of both"), "{text}");
}

/// A stream that is closed while another thread sleeps in it: the sleeper wakes, and the memory is not reused.
#[test]
fn a_close_wakes_who_sleeps() {
    let daemon = Running::start(5);
    let stack = Arc::new(DaemonStack::connect(&daemon.socket).unwrap());
    let _listener = NdpListener::bind(&daemon.application(), SERVICE).unwrap();
    for _ in 0..50 {
        let id = stack.connect(daemon.address, SERVICE, StreamOptions::default()).unwrap();
        let sleeps = Arc::clone(&stack);
        let sleeper = thread::spawn(move || sleeps.read(id, &mut [0], Some(WATCHDOG)));
        thread::yield_now();
        stack.close(id);
        assert_eq!(sleeper.join().unwrap(), Err(StreamError::Closed));
    }
    daemon.still_serves();
}

/// The listener is closed in shared memory, and the next one is requested over the socket.
#[test]
fn a_service_can_have_its_next_listener_at_once() {
    let daemon = Running::start(6);
    let applications = [daemon.application(), daemon.application()];
    for application in applications.iter().flat_map(|one| [one, one]).cycle().take(400) {
        drop(NdpListener::bind(application, SERVICE).unwrap());
    }
}

/// Its descriptors did not arrive, so that the application cannot close it in shared memory.
#[test]
fn a_channel_that_is_discarded_ends_with_its_memory() {
    let daemon = Running::start(7);
    let mut evil = Evil::new(&daemon);
    let mut given = |request: Request| match evil.control.ask(&request, &NOBODY).unwrap() {
        Answer::Channel { channel, memory, .. } => {
            assert_eq!(evil.control.ask(&Request::Discard { channel }, &NOBODY), Ok(Answer::Done));
            assert_eq!(evil.control.ask(&Request::Info { channel }, &NOBODY), Err(StreamError::Closed));
            memory
        }
        answer => panic!("{answer:?}"),
    };
    let connect = || Request::Connect { to: daemon.address, service: SERVICE, priority: 0 };
    let listen = || Request::Listen { service: SERVICE };
    assert_eq!([connect(), listen(), listen(), connect()].map(&mut given), [0, 1, 2, 3]);
    daemon.still_serves();
}

/// An application that has no file descriptors left accepts with a memory that it has, and loses no stream.
#[test]
fn a_stream_stays_queued_while_its_descriptors_have_no_room() {
    let daemon = Running::start(8);
    let mut evil = Evil::new(&daemon);
    let Ok(Answer::Channel { channel, .. }) =
        evil.control.ask(&Request::Listen { service: SERVICE }, &NOBODY)
    else {
        panic!("no listener")
    };
    let stream = NdpStream::connect(&daemon.application(), daemon.address, SERVICE).unwrap();
    stream.write_last(b"x").unwrap();
    let mut accept = |new| evil.control.ask(&Request::Accept { channel, new }, &NOBODY);
    let looks = DaemonStack::connect(&daemon.socket).unwrap();
    until("the stream waits", || looks.status().unwrap().contains("\"incoming\":1"));
    assert_eq!(accept(false), Err(StreamError::Full("file descriptors of the application")));
    assert!(matches!(accept(true), Ok(Answer::Channel { memory: 1, .. })));
}

/// A reader of much data waits for more than a few bytes; those must reach it all the same, as soon as nothing follows them.
#[test]
fn a_few_bytes_wake_a_reader_of_many() {
    let daemon = Running::with_rings(9, 1 << 18);
    let listener = NdpListener::bind(&daemon.application(), SERVICE).unwrap();
    let (many_read, goes_on) = std::sync::mpsc::channel();
    let reading = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(WATCHDOG));
        for _ in 0..50 {
            let mut first = [0];
            stream.read_exact(&mut first).unwrap();
            stream.read_exact(&mut [0; 100_000]).unwrap();
            many_read.send(()).unwrap();
            stream.read_exact(&mut [0; 3]).unwrap();
            many_read.send(()).unwrap();
        }
    });
    let mut stream = NdpStream::connect(&daemon.application(), daemon.address, SERVICE).unwrap();
    for _ in 0..50 {
        stream.write_all(&[0; 100_001]).unwrap();
        goes_on.recv_timeout(WATCHDOG).expect("many bytes are read");
        stream.write_all(&[0; 3]).unwrap();
        goes_on.recv_timeout(WATCHDOG).expect("a few bytes are read");
    }
    reading.join().unwrap();
}

/// Two threads read one stream. Each byte wakes a sleeping one, even while the other falls asleep or wakes up.
#[test]
fn two_readers_of_a_stream_miss_no_byte() {
    let daemon = Running::start(10);
    let mut stack = DaemonStack::connect(&daemon.socket).unwrap();
    stack.set_spin(Duration::ZERO);
    let stack = Arc::new(stack);
    stack.listen(SERVICE).unwrap();
    let mut stream = NdpStream::connect(&daemon.application(), daemon.address, SERVICE).unwrap();
    stream.write_all(b"x").unwrap();
    let id = stack.accept(SERVICE, Some(WATCHDOG)).unwrap();
    assert_eq!(stack.read(id, &mut [0], Some(WATCHDOG)), Ok(1));
    let (has_read, hears) = std::sync::mpsc::channel();
    let both = Arc::new(std::sync::Barrier::new(2));
    let readers = [0, 1].map(|_| {
        let (stack, has_read, both) = (Arc::clone(&stack), has_read.clone(), Arc::clone(&both));
        thread::spawn(move || {
            while stack.read(id, &mut [0], None) == Ok(1) {
                has_read.send(()).unwrap();
                both.wait();
            }
        })
    });
    for _ in 0..2000 {
        for _ in 0..2 {
            stream.write_all(b"x").unwrap();
            hears.recv_timeout(Duration::from_secs(10)).expect("every byte is read");
        }
    }
    stack.close(id);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}
