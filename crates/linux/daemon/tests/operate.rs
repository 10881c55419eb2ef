//! Operation of a daemon: metrics, log, reload, drain, service manager.

mod common;

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;
use std::sync::Arc;

use common::{Daemon, Installation, WATCHDOG, insist, is_root};
use pullnet_daemon::DaemonStack;
use pullnet_host::{NdpListener, NdpStream, Stack, StreamError};
use pullnet_wire::Reason;

const SERVICE: u16 = 7;

/// A stream between two daemons, seen from both ends.
fn open(from: &Arc<dyn Stack>, to: &Daemon, listener: &NdpListener) -> (NdpStream, NdpStream) {
    let stream = NdpStream::connect(from, to.address, SERVICE).unwrap();
    (&stream).write_all(b"x").unwrap();
    let (other, _) = listener.accept().unwrap();
    (&other).read_exact(&mut [0]).unwrap();
    [&stream, &other].into_iter().for_each(|stream| stream.set_read_timeout(Some(WATCHDOG)));
    (stream, other)
}

/// Bytes cross a stream.
fn crosses((from, to): &(NdpStream, NdpStream)) {
    let mut to = to;
    (&mut &*from).write_all(b"still there").unwrap();
    let mut heard = [0; 11];
    to.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"still there");
}

fn listen(daemon: &Daemon) -> (Arc<dyn Stack>, NdpListener) {
    let stack = daemon.stack();
    let listener = NdpListener::bind(&stack, SERVICE).unwrap();
    listener.set_accept_timeout(Some(WATCHDOG));
    (stack, listener)
}

fn fetch(mut stream: impl Read + Write) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The value of a sample.
fn value(text: &str, sample: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {sample} in\n{text}")).parse().unwrap()
}

#[test]
fn metrics_are_found_at_a_socket_and_at_a_loopback_address() {
    let place = Installation::new();
    let metrics = place.folder().join("metrics.sock");
    let a = place.start(&format!("metrics = {metrics:?}\n"));
    let b = Daemon::start("");
    let (_there, listener) = listen(&b);
    let pair = open(&a.stack(), &b, &listener);
    crosses(&pair);
    let text = insist(|| {
        let text = fetch(UnixStream::connect(&metrics).unwrap());
        (value(&text, "pullnet_host_acknowledged_bytes_total") == 12).then_some(text)
    });
    assert_eq!(value(&text, "pullnet_host_opened_total"), 1);
    assert_eq!(value(&text, "pullnet_daemon_applications"), 1);
    assert_eq!(value(&text, "pullnet_daemon_draining"), 0);
    assert_eq!(value(&text, "pullnet_daemon_turned_away_total{reason=\"stranger\"}"), 0);
    assert_eq!(
        value(&text, &format!("pullnet_daemon_build{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))),
        1
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mode = std::fs::metadata(&metrics).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    // The same as the command shows, but for what is the daemon's alone.
    let shown = DaemonStack::connect(&a.socket()).unwrap().prometheus().unwrap();
    assert_eq!(value(&shown, "pullnet_host_opened_total"), 1);
    let address = Installation::new().address();
    let c = Installation::new().start(&format!("metrics = \"{}:9464\"\n", address.ip()));
    assert_eq!(
        value(&fetch(TcpStream::connect((address.ip(), 9464)).unwrap()), "pullnet_host_opened_total"),
        0
    );
    c.signal("TERM");
    drop((a, pair));
}

#[test]
fn the_log_may_be_json() {
    let daemon = Daemon::start("log_form = \"json\"\n");
    let _application = daemon.stack();
    let line: serde_json::Value = serde_json::from_str(&daemon.logged("application connected")).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["fields"]["message"], "application connected");
    assert_eq!(line["fields"]["pid"], std::process::id());
    assert!(line["timestamp"].as_str().unwrap().contains('T'), "{line}");
    // Lines that are left out are JSON, too.
    insist(|| {
        drop(daemon.stack());
        (daemon.log_lines() > 45).then_some(())
    });
    let line: serde_json::Value =
        serde_json::from_str(&daemon.logged("lines like the next one were left out")).unwrap();
    assert!(line["fields"]["lines"].as_u64() > Some(0), "{line}");
}

#[test]
fn a_file_is_read_again_as_a_whole_or_not_at_all() {
    let place = Installation::new();
    let metrics = place.folder().join("metrics.sock");
    let start = format!("log = \"info\"\nmetrics = {metrics:?}\n");
    let daemon = place.start(&start);
    let stack = daemon.stack();
    // The list of users cannot be changed any more, and so nothing else is.
    std::fs::remove_file(daemon.socket()).unwrap();
    daemon.configure(&format!("{start}[limits]\nstreams = 1\nstreams_per_application = 1\n"));
    daemon.signal("HUP");
    daemon.logged("nothing changes");
    let told = fetch(UnixStream::connect(&metrics).unwrap());
    assert_eq!(value(&told, "pullnet_daemon_reloads_total{result=\"failed\"}"), 1);
    assert!(!daemon.has_logged("has read its file again"));
    let _streams = [1, 2].map(|service| NdpStream::connect(&stack, daemon.address, service).unwrap());
}

#[test]
fn keys_that_are_refused_change_nothing_even_for_a_moment() {
    let place = Installation::new();
    let keys = place.folder().with_extension("keys");
    let write = |digit: &str| {
        let secret = digit.repeat(31) + "aa";
        let text = format!("[[key]]\npeer = \"127.0.0.9\"\nnumber = 1\nsecret = \"{secret}\"\n");
        std::fs::write(&keys, text).unwrap();
        std::fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    };
    write("01");
    let table = format!("[keys]\nfile = {keys:?}\n");
    let daemon = place.start(&table);
    let socket = || {
        let found = std::fs::metadata(daemon.socket()).unwrap();
        (found.mode() & 0o777, found.ctime(), found.ctime_nsec())
    };
    let before = socket();
    daemon.configure(&format!("[socket]\nusers = \"root\"\n{table}"));
    write("02");
    daemon.signal("HUP");
    daemon.logged("keeps the keys from before, and nothing changes");
    // Its change time tells also of a mode that was set and set back.
    assert_eq!(socket(), before);
    write("01");
    daemon.signal("HUP");
    daemon.logged("has read its file again");
    assert_eq!(socket().0, 0o666);
    std::fs::remove_file(&keys).unwrap();
}

#[test]
fn a_socket_that_cannot_be_removed_at_the_end_is_told_and_replaced() {
    if !is_root() {
        return;
    }
    let place = Installation::new();
    // The folder belongs to root, and the daemon becomes another user.
    std::fs::create_dir_all(place.folder()).unwrap();
    let mut daemon = place.start("");
    daemon.signal("TERM");
    let told = daemon.logged("stays, since its folder belongs to another user");
    assert!(told.contains("host.sock"), "{told}");
    assert!(daemon.child.wait().unwrap().success());
    let error = DaemonStack::connect(&daemon.socket()).unwrap_err().to_string();
    assert!(error.contains("no daemon serves this socket any more"), "{error}");
    drop(place.start("").stack());
}

#[test]
fn a_file_is_read_again_without_losing_a_stream() {
    let (mut a, b) = (Daemon::start("log = \"info\"\n"), Daemon::start(""));
    let (_there, listener) = listen(&b);
    let here = a.stack();
    let pair = open(&here, &b, &listener);
    // Settings that can change do; the others are named.
    a.configure("log = \"debug\"\nport = 7\npaths = 2\n[limits]\nstreams = 1\n");
    a.signal("HUP");
    let told = a.logged("cannot change while the daemon runs");
    assert!(told.contains("stay as they were: port, paths; restart it"), "{told}");
    a.logged("has read its file again");
    crosses(&pair);
    let second = NdpStream::connect(&here, b.address, SERVICE).unwrap_err();
    assert_eq!(second, StreamError::Full("streams"));
    a.configure("log = \"debug\"\n[limits]\nstreams = 2\n");
    a.signal("HUP");
    let second = insist(|| NdpStream::connect(&here, b.address, SERVICE).ok());
    // At the level that was in force before, this is not logged.
    a.logged("DEBUG stream opened");
    crosses(&pair);
    // A file with errors changes nothing, and every error is told.
    a.configure("[limits]\nstreams = 0\nbacklog = 0\n");
    a.signal("HUP");
    a.logged("limits.streams");
    a.logged("limits.backlog");
    a.logged("has errors, and nothing changes");
    crosses(&pair);
    // So does one that names what this machine lacks: there is still room for two streams, not for one.
    a.configure("log = \"debug\"\n[limits]\nstreams = 1\n[socket]\nusers = \"nosuch\"\n");
    a.signal("HUP");
    assert!(a.logged("there is no user \"nosuch\"").contains("nothing changes"));
    drop(second);
    let second = insist(|| NdpStream::connect(&here, b.address, SERVICE).ok());
    crosses(&pair);
    drop((second, pair));
    a.signal("TERM");
    assert!(a.child.wait().unwrap().success());
}

#[test]
fn a_daemon_that_stops_lets_streams_go_on_and_refuses_new_ones() {
    let (a, mut b) = (Daemon::start(""), Daemon::start("farewell = \"1000 s\"\n"));
    let (here, (there, listener)) = (a.stack(), listen(&b));
    let pair = open(&here, &b, &listener);
    // One that is not accepted yet has begun, too.
    let waiting = NdpStream::connect(&here, b.address, SERVICE).unwrap();
    (&waiting).write_all(b"a request").unwrap();
    waiting.settle().unwrap();
    b.signal("TERM");
    b.logged("takes no new streams");
    let refused = here.call(b.address, SERVICE, b"x", Default::default(), Some(WATCHDOG)).unwrap_err();
    assert_eq!(refused, StreamError::Reset(Reason::SHUTDOWN));
    let own = NdpStream::connect(&there, a.address, SERVICE).unwrap_err();
    let why = "the host is not running: the daemon stops, and takes nothing new; \
               it waits for its open streams to end (2 left)";
    assert_eq!(own.to_string(), why);
    // An application that connects now, as `pullnet host status` does, learns the same.
    assert_eq!(DaemonStack::connect(&b.socket()).unwrap_err().to_string(), why);
    let (mut accepted, _) = listener.accept().unwrap();
    accepted.read_exact(&mut [0; 9]).unwrap();
    crosses(&pair);
    // It ends with its last stream, long before its farewell is over.
    drop((pair, waiting, accepted));
    assert!(b.child.wait().unwrap().success());
    b.logged("has stopped");
}

#[test]
fn a_second_signal_stops_at_once() {
    let (a, mut b) = (Daemon::start(""), Daemon::start("farewell = \"1000 s\"\n"));
    let (here, (_there, listener)) = (a.stack(), listen(&b));
    let (mut stream, _other) = open(&here, &b, &listener);
    b.signal("TERM");
    b.logged("takes no new streams");
    b.signal("TERM");
    assert!(b.child.wait().unwrap().success());
    let reset = stream.read(&mut [0]).unwrap_err().downcast::<StreamError>().unwrap();
    assert_eq!(reset, StreamError::Reset(Reason::SHUTDOWN));
}

#[test]
fn the_service_manager_is_told() {
    let place = Installation::new();
    std::fs::create_dir_all(place.folder()).unwrap();
    // The daemon is another user by the time that it speaks.
    let mode = Permissions::from_mode;
    std::fs::set_permissions(place.folder(), mode(0o777)).unwrap();
    let path = place.folder().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    std::fs::set_permissions(&path, mode(0o777)).unwrap();
    manager.set_read_timeout(Some(WATCHDOG)).unwrap();
    let heard = || {
        let mut bytes = [0; 256];
        let long = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..long].to_vec()).unwrap()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_pullnetd"));
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
    let mut daemon = place.start_by(command, "");
    assert_eq!(heard(), "READY=1\n");
    (0..3).for_each(|_| assert_eq!(heard(), "WATCHDOG=1\n"));
    let next = || loop {
        let told = heard();
        if told != "WATCHDOG=1\n" {
            return told;
        }
    };
    daemon.signal("HUP");
    let reloading = next();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(next(), "READY=1\n");
    daemon.signal("TERM");
    // After its `farewell` of 100 ms the daemon has ten seconds to end.
    assert_eq!(next(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=10100000\n");
    assert!(daemon.child.wait().unwrap().success());
}
