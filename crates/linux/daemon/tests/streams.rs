//! Streams between applications of two daemons: bytes arrive, ends arrive, limits hold, and a peer crash is noticed.

mod common;

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Daemon, Installation, WATCHDOG, insist, pattern};
use pullnet_daemon::DaemonStack;
use pullnet_host::{NdpListener, NdpStream, Stack, StreamError};
use pullnet_wire::Reason;

const SERVICE: u16 = 7;

/// Sends back what every stream brings, for so many streams.
fn echo(daemon: &Daemon, streams: usize) -> thread::JoinHandle<()> {
    let listener = NdpListener::bind(&daemon.stack(), SERVICE).unwrap();
    listener.set_accept_timeout(Some(WATCHDOG));
    thread::spawn(move || {
        for _ in 0..streams {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(WATCHDOG));
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            stream.write_last(&all).unwrap();
            stream.settle().unwrap();
        }
    })
}

fn ask(stream: &mut NdpStream, request: &[u8]) -> Vec<u8> {
    stream.set_read_timeout(Some(WATCHDOG));
    stream.write_last(request).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    response
}

fn bytes_come_back(further: &str) {
    let (a, b) = (Daemon::start(further), Daemon::start(further));
    let sizes = [0, 1, 1000, 1 << 20, 300_000];
    let serving = echo(&b, sizes.len());
    let stack = a.stack();
    for long in sizes {
        let mut stream = NdpStream::connect(&stack, b.address, SERVICE).unwrap();
        let request = pattern(long);
        assert!(ask(&mut stream, &request) == request, "{long} B came back as others");
        assert_eq!(stream.peer_addr().unwrap(), b.address);
    }
    serving.join().unwrap();
}

#[test]
fn bytes_come_back_while_daemons_may_sleep() {
    bytes_come_back("wait = \"adaptive\"\n");
}

#[test]
fn bytes_come_back_while_daemons_spin() {
    bytes_come_back("wait = \"spin\"\n[limits]\nring = \"4096 B\"\nbacklog = 16\n");
}

#[test]
fn both_ends_can_be_at_one_daemon() {
    let daemon = Daemon::start("");
    let serving = echo(&daemon, 1);
    let mut stream = NdpStream::connect(&daemon.stack(), daemon.address, SERVICE).unwrap();
    assert_eq!(ask(&mut stream, b"to myself"), b"to myself");
    serving.join().unwrap();
}

#[test]
fn nobody_listens() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let mut stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    stream.set_read_timeout(Some(WATCHDOG));
    stream.write_all(b"anybody?").unwrap();
    let refused = stream.read(&mut [0; 8]).unwrap_err();
    let refused = refused.downcast::<StreamError>().unwrap();
    assert_eq!(refused, StreamError::Refused(Reason::NO_LISTENER));
}

#[test]
fn a_reader_that_is_slow_holds_its_sender() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    let stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    let sent = pattern(16 << 20);
    stream.set_write_timeout(Some(WATCHDOG));
    let writing = {
        let (stream, sent) = (stream.clone(), sent.clone());
        thread::spawn(move || stream.write_last(&sent).unwrap())
    };
    let (mut taken, _) = listener.accept().unwrap();
    taken.set_read_timeout(Some(WATCHDOG));
    let mut got = vec![0; 1000];
    taken.read_exact(&mut got).unwrap();
    // The rest does not fit anywhere: 1 MB at each end and the rings.
    assert!(!writing.is_finished());
    taken.read_to_end(&mut got).unwrap();
    assert!(got == sent);
    writing.join().unwrap();
    stream.settle().unwrap();
}

#[test]
fn a_late_answer_that_is_refused_is_not_settled() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    listener.set_accept_timeout(Some(WATCHDOG));
    let caller = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    caller.write_last(b"request").unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(WATCHDOG));
    stream.set_write_timeout(Some(WATCHDOG));
    let mut request = Vec::new();
    stream.read_to_end(&mut request).unwrap();
    assert_eq!(request, b"request");
    caller.settle().unwrap();
    caller.abort();
    let watch = DaemonStack::connect(&a.socket()).unwrap();
    insist(|| watch.status().unwrap().contains("\"streams\":[]").then_some(()));
    stream.write_last(b"late").unwrap();
    assert_eq!(stream.settle(), Err(StreamError::Reset(Reason::ABORTED)));
    assert_eq!(
        stream.write_all(b"more").unwrap_err().downcast().ok(),
        Some(StreamError::Reset(Reason::ABORTED))
    );
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the request stays complete");
}

#[test]
fn an_application_has_no_more_streams_than_it_may() {
    let daemon = Daemon::start("[limits]\nstreams_per_application = 2\n");
    let stack = daemon.stack();
    let connect = || NdpStream::connect(&stack, daemon.address, SERVICE);
    let (_first, second) = (connect().unwrap(), connect().unwrap());
    assert!(matches!(connect(), Err(StreamError::Full(_))));
    drop(second);
    // The daemon learns of it in its own time.
    let _again = insist(|| connect().ok());
    let _another = NdpStream::connect(&daemon.stack(), daemon.address, SERVICE).unwrap();
}

#[test]
fn a_service_has_one_listener_until_it_is_dropped() {
    let daemon = Daemon::start("");
    let (one, other) = (daemon.stack(), daemon.stack());
    let listener = NdpListener::bind(&one, SERVICE).unwrap();
    assert_eq!(NdpListener::bind(&other, SERVICE).unwrap_err(), StreamError::ServiceTaken(SERVICE));
    listener.set_accept_timeout(Some(Duration::from_millis(10)));
    assert_eq!(listener.accept().unwrap_err(), StreamError::TimedOut);
    drop(listener);
    insist(|| NdpListener::bind(&other, SERVICE).ok());
}

#[test]
fn what_was_written_before_a_close_arrives() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    let sent = pattern(700_000);
    // The whole application goes, at once.
    NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap().write_last(&sent).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(WATCHDOG));
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(got == sent, "{} B of {}", got.len(), sent.len());
}

/// Runs in a process of its own: opens a stream, says hello, and waits to be killed.
#[test]
fn child() {
    let (Ok(socket), Ok(to)) = (std::env::var("PULLNET_TEST_SOCKET"), std::env::var("PULLNET_TEST_TO"))
    else {
        return;
    };
    let stack = DaemonStack::connect(socket.as_ref()).unwrap();
    let stack: std::sync::Arc<dyn Stack> = std::sync::Arc::new(stack);
    let mut stream = NdpStream::connect(&stack, to.parse().unwrap(), SERVICE).unwrap();
    stream.write_all(b"hello").unwrap();
    let _ = stream.read(&mut [0]);
}

fn spawn_child(from: &Daemon, to: &Daemon) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env("PULLNET_TEST_SOCKET", from.socket())
        .env("PULLNET_TEST_TO", to.address.to_string())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_application_is_noticed_and_leaves_nothing_behind() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    let mut child = spawn_child(&a, &b);
    listener.set_accept_timeout(Some(WATCHDOG));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(WATCHDOG));
    let mut hello = [0; 5];
    stream.read_exact(&mut hello).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let reset = stream.read(&mut hello).unwrap_err().downcast::<StreamError>().unwrap();
    assert_eq!(reset, StreamError::Reset(Reason::ABORTED));
    drop((stream, listener));
    // The daemon lives, and serves others.
    let serving = echo(&b, 1);
    let mut stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    assert_eq!(ask(&mut stream, b"still there?"), b"still there?");
    serving.join().unwrap();
}

#[test]
fn memory_does_not_grow_with_the_streams_that_were() {
    const ROUND: usize = 200;
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let _serving = echo(&b, 4 * ROUND);
    let held = |daemon: &Daemon| daemon.kernel_says("VmRSS").trim_end_matches(" kB").parse::<u64>().unwrap();
    let round = || {
        let stack = a.stack();
        for _ in 0..ROUND {
            let mut stream = NdpStream::connect(&stack, b.address, SERVICE).unwrap();
            assert_eq!(ask(&mut stream, &[7; 3000]).len(), 3000);
        }
    };
    round();
    let before = [held(&a), held(&b)];
    (0..3).for_each(|_| round());
    for (before, after) in before.into_iter().zip([held(&a), held(&b)]) {
        // NDP keeps a few hundred bytes per ended connection for a while.
        assert!(after < before + 2000, "{before} kB before 600 streams, {after} kB after them");
    }
}

#[test]
fn a_killed_daemon_is_told_at_once_and_can_be_started_again() {
    let (place, b) = (Installation::new(), Daemon::start(""));
    let mut a = place.start("");
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    let stack = a.stack();
    let mut stream = NdpStream::connect(&stack, b.address, SERVICE).unwrap();
    stream.write_all(b"x").unwrap();
    let (_taken, _) = listener.accept().unwrap();
    let own = NdpListener::bind(&stack, SERVICE).unwrap();
    let (tell, told) = mpsc::channel();
    let (tell_too, mut reader) = (tell.clone(), stream.clone());
    thread::spawn(move || tell.send(reader.read(&mut [0]).unwrap_err().downcast::<StreamError>().unwrap()));
    thread::spawn(move || tell_too.send(own.accept().unwrap_err()));
    a.kill();
    for _ in 0..2 {
        let error = told.recv_timeout(WATCHDOG).expect("a call is blocked although the daemon is gone");
        assert!(error.to_string().contains("the daemon is gone"), "{error}");
    }
    assert!(matches!(NdpStream::connect(&stack, b.address, SERVICE), Err(StreamError::Stopped(_))));
    let refused = DaemonStack::connect(&a.socket()).unwrap_err().to_string();
    assert!(refused.contains("no daemon serves this socket any more; start pullnetd again"), "{refused}");
    // Its socket is still there; that does not hinder.
    let again = place.start("");
    let serving = echo(&again, 1);
    let mut stream = NdpStream::connect(&b.stack(), again.address, SERVICE).unwrap();
    assert_eq!(ask(&mut stream, b"back?"), b"back?");
    serving.join().unwrap();
}

#[test]
fn a_daemon_that_is_told_to_stop_says_so_to_everybody() {
    let (mut a, b) = (Daemon::start(""), Daemon::start(""));
    let listener = NdpListener::bind(&b.stack(), SERVICE).unwrap();
    let mut stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    stream.write_all(b"x").unwrap();
    let (mut taken, _) = listener.accept().unwrap();
    taken.read_exact(&mut [0]).unwrap();
    let stopped = Command::new("kill").arg(a.child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    taken.set_read_timeout(Some(WATCHDOG));
    let there = taken.read(&mut [0]).unwrap_err().downcast::<StreamError>().unwrap();
    assert_eq!(there, StreamError::Reset(Reason::SHUTDOWN));
    let here = stream.read(&mut [0]).unwrap_err().downcast::<StreamError>().unwrap();
    assert!(matches!(here, StreamError::Stopped(_)), "{here}");
    assert!(a.child.wait().unwrap().success());
    assert!(!a.socket().exists());
}

/// An event loop in miniature: waits at a doorbell between two polls.
fn when<T>(doorbell: &std::os::fd::OwnedFd, mut poll: impl FnMut() -> Option<T>) -> T {
    let mut doorbell = std::os::unix::net::UnixStream::from(doorbell.try_clone().unwrap());
    doorbell.set_read_timeout(Some(WATCHDOG)).unwrap();
    loop {
        if let Some(result) = poll() {
            return result;
        }
        // The end of the daemon is told by the next poll.
        doorbell.read(&mut [0; 64]).map(drop).expect("a doorbell that rings or is closed");
    }
}

#[test]
fn an_event_loop_polls_and_waits_at_bells() {
    let (a, b) = (Daemon::start(""), Daemon::start(""));
    let [here, there] = [&a, &b].map(|daemon| DaemonStack::connect(&daemon.socket()).unwrap());
    there.listen(SERVICE).unwrap();
    assert_eq!(there.poll_accept(SERVICE).unwrap(), None);
    let stream = here.connect(b.address, SERVICE, Default::default()).unwrap();
    let own = here.doorbells(stream).unwrap();
    assert_eq!(here.poll_read(stream, &mut [0]).unwrap(), None);
    assert_eq!(here.poll_write(stream, b"x", false).unwrap(), Some(1));
    when(&own.writable, || here.poll_settle(stream).unwrap().then_some(()));
    let listener = there.doorbells_of_listener(SERVICE).unwrap();
    let accepted = when(&listener.readable, || there.poll_accept(SERVICE).unwrap());
    let theirs = there.doorbells(accepted).unwrap();
    // More than all buffers hold: writer and reader have to wait for each other.
    let content = pattern(8 << 20);
    let sent = content.clone();
    let writing = thread::spawn(move || {
        let mut left = &sent[..];
        while !left.is_empty() {
            let taken = when(&own.writable, || here.poll_write(stream, left, true).unwrap());
            left = &left[taken..];
        }
        (here, own)
    });
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match when(&theirs.readable, || there.poll_read(accepted, &mut piece).unwrap()) {
            0 => break,
            long => all.extend_from_slice(&piece[..long]),
        }
    }
    assert!(all[0] == b'x' && all[1..] == content, "other bytes have arrived");
    let (here, own) = writing.join().unwrap();
    // The end of the daemon rings, too.
    drop(a);
    let error = when(&own.readable, || match here.poll_read(stream, &mut [0]) {
        Ok(None) => None,
        Ok(Some(long)) => panic!("{long} B from a daemon that is gone"),
        Err(error) => Some(error),
    });
    assert!(matches!(error, StreamError::Stopped(_)), "{error}");
}
