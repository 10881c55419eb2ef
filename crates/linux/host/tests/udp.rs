//! Hosts with real threads over UDP sockets on the loopback interface: no privilege is needed.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;
use std::time::Duration;

use pullnet_host::{EngineOptions, Host, HostOptions, StreamError, Wait};
use pullnet_netio::{UdpOptions, UdpSockets};
use pullnet_units::Picos;
use pullnet_wire::Reason;

const SERVICE: u16 = 7;
const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Nothing here takes this long: a longer wait would never end.
const LONG: Duration = Duration::from_secs(300);
/// A host that the machine has no time for is not given up.
const GIVE_UP: Picos = Picos::from_secs(120);
const WATCHDOG: Option<Duration> = Some(LONG);

fn host_at(address: IpAddr, wait: Wait, change: impl FnOnce(&mut EngineOptions)) -> Host {
    let sockets = UdpSockets::open(&UdpOptions { port: 0, ..UdpOptions::new(address) }).unwrap();
    let port = sockets.local().port();
    let mut engine = EngineOptions { port, ..EngineOptions::new(address) };
    engine.transport.give_up = GIVE_UP;
    change(&mut engine);
    Host::start(sockets, HostOptions { wait, ..HostOptions::new(engine) }).unwrap()
}

fn host() -> Host {
    host_at(V4, Wait::default(), |_| ())
}

fn content(long: usize) -> Vec<u8> {
    (0..long).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Answers every stream with what it says.
fn echo(host: &Host, streams: usize) -> impl FnOnce() + use<> {
    let listener = host.listen(SERVICE).unwrap();
    listener.set_accept_timeout(WATCHDOG);
    move || {
        let handlers: Vec<_> = (0..streams)
            .map(|_| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(WATCHDOG);
                thread::spawn(move || {
                    let mut all = Vec::new();
                    stream.read_to_end(&mut all).unwrap();
                    stream.write_last(&all).unwrap();
                    stream.settle().unwrap();
                })
            })
            .collect();
        handlers.into_iter().for_each(|handler| handler.join().unwrap());
    }
}

fn echoes(here: &Host, there: &Host, streams: usize, long: usize) {
    let server = thread::spawn(echo(there, streams));
    let to = there.local();
    thread::scope(|scope| {
        for at in 0..streams {
            scope.spawn(move || {
                let (mut stream, bytes) = (here.connect(to, SERVICE).unwrap(), content(long + at));
                stream.set_read_timeout(WATCHDOG);
                stream.set_write_timeout(WATCHDOG);
                for piece in bytes.chunks(10_000) {
                    stream.write_all(piece).unwrap();
                }
                stream.finish().unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).unwrap();
                assert!(back == bytes, "{} of {} bytes", back.len(), bytes.len());
            });
        }
    });
    server.join().unwrap();
}

#[test]
fn streams_echo_from_several_threads() {
    let (here, there) = (host(), host());
    echoes(&here, &there, 4, 300_000);
    assert!(here.shutdown(LONG) && there.shutdown(LONG));
    assert_eq!(here.status().totals.failed + there.status().totals.failed, 0);
}

#[test]
fn streams_echo_over_ipv6() {
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let (here, there) = (host_at(v6, Wait::default(), |_| ()), host_at(v6, Wait::default(), |_| ()));
    echoes(&here, &there, 2, 50_000);
}

#[test]
fn streams_echo_between_hosts_that_spin() {
    let (here, there) = (host_at(V4, Wait::Spin, |_| ()), host_at(V4, Wait::Spin, |_| ()));
    echoes(&here, &there, 2, 50_000);
}

#[test]
fn calls_follow_each_other() {
    let (here, there) = (host(), host());
    let server = thread::spawn(echo(&there, 200));
    for at in 0..200 {
        let request = content(at * 37 % 5000 + 1);
        assert_eq!(here.call(there.local(), SERVICE, &request, WATCHDOG).unwrap(), request);
    }
    server.join().unwrap();
}

#[test]
fn errors_arrive_as_what_they_are() {
    let (here, there) = (host(), host());
    let refused = here.call(there.local(), SERVICE, b"?", WATCHDOG);
    assert_eq!(refused, Err(StreamError::Refused(Reason::NO_LISTENER)));
    let listener = there.listen(SERVICE).unwrap();
    assert_eq!(there.listen(SERVICE).unwrap_err(), StreamError::ServiceTaken(SERVICE));
    listener.set_accept_timeout(Some(Duration::from_millis(20)));
    assert_eq!(listener.accept().unwrap_err(), StreamError::TimedOut);
    let short = Some(Duration::from_millis(20));
    assert_eq!(here.call(there.local(), SERVICE, b"?", short), Err(StreamError::TimedOut));
    let mut stream = here.connect(there.local(), SERVICE).unwrap();
    stream.write_all(b"to nobody for long").unwrap();
    listener.set_accept_timeout(WATCHDOG);
    let accepted = loop {
        let (mut accepted, _) = listener.accept().unwrap();
        let mut first = [0; 2];
        if accepted.read_exact(&mut first).is_ok() && &first == b"to" {
            break accepted;
        }
    };
    there.shutdown(LONG);
    stream.set_read_timeout(WATCHDOG);
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "the writing half was ended");
    drop(accepted);
    let stopped = there.listen(SERVICE).unwrap_err();
    assert!(matches!(stopped, StreamError::Stopped(_)), "{stopped}");
}

#[test]
fn a_host_that_is_dropped_ends_its_streams_and_the_calls_on_them() {
    let (here, there) = (host(), host());
    let listener = there.listen(SERVICE).unwrap();
    let mut stream = here.connect(there.local(), SERVICE).unwrap();
    stream.write_all(b"hello").unwrap();
    listener.set_accept_timeout(WATCHDOG);
    let (mut accepted, _) = listener.accept().unwrap();
    let waits = thread::spawn(move || accepted.read_to_end(&mut Vec::new()).unwrap_err().to_string());
    stream.set_read_timeout(WATCHDOG);
    drop(there);
    assert!(waits.join().unwrap().contains("the host is not running"));
    let error = stream.read(&mut [0; 8]).unwrap_err();
    assert!(error.to_string().contains("the other host is shutting down"), "{error}");
}

#[test]
fn small_buffers_and_a_slow_reader_lose_nothing() {
    let small = |options: &mut EngineOptions| {
        options.limits.send_buffer = 5000;
        options.limits.receive_buffer = 20_000;
    };
    let (here, there) = (host_at(V4, Wait::default(), small), host_at(V4, Wait::default(), small));
    let listener = there.listen(SERVICE).unwrap();
    let bytes = content(400_000);
    let mut stream = here.connect(there.local(), SERVICE).unwrap();
    stream.set_write_timeout(WATCHDOG);
    let expected = bytes.clone();
    let writer = thread::spawn(move || stream.write_all(&bytes).and_then(|()| Ok(stream.finish()?)));
    let (mut accepted, _) = listener.accept().unwrap();
    accepted.set_read_timeout(WATCHDOG);
    let (mut all, mut piece) = (Vec::new(), [0; 700]);
    loop {
        match accepted.read(&mut piece).unwrap() {
            0 => break,
            long => all.extend_from_slice(&piece[..long]),
        }
    }
    assert!(all == expected);
    writer.join().unwrap().unwrap();
}

#[test]
fn a_host_that_is_started_anew_is_not_taken_for_the_one_before() {
    let there = host();
    let server = thread::spawn(echo(&there, 20));
    // An address of its own: at that of all, another test may have been given the port meanwhile.
    let pid = std::process::id();
    let own = IpAddr::from([127, 1 + (pid >> 8) as u8 % 250, pid as u8, 1]);
    for _ in 0..20 {
        let sockets = UdpSockets::open(&UdpOptions::new(own)).unwrap();
        let engine = EngineOptions { port: sockets.local().port(), ..EngineOptions::new(own) };
        let here = Host::start(sockets, HostOptions::new(engine)).unwrap();
        assert_eq!(here.call(there.local(), SERVICE, b"hello", WATCHDOG).unwrap(), b"hello");
    }
    server.join().unwrap();
}
