//! TCP through two proxies and two live daemons.

#[path = "../../daemon/tests/common/running.rs"]
mod running;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pullnet_apps::proxy::{Counts, Options, Proxy, Route};
use pullnet_daemon::DaemonStack;
use pullnet_host::{NdpListener, NdpStream, Stack};
use running::Running;
use socket2::SockRef;

const SERVICE: u16 = 80;
/// Time after which a test is stuck. Nothing is measured by it.
const WATCHDOG: Option<Duration> = Some(Duration::from_secs(300));

fn stack(daemon: &Running) -> Arc<DaemonStack> {
    Arc::new(DaemonStack::connect(&daemon.socket()).unwrap())
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Two daemons with a proxy each, and a TCP server behind them.
struct Path {
    near: Proxy,
    far: Proxy,
    server: TcpListener,
    _daemons: [Running; 2],
}

impl Path {
    fn make(number: u8, options: Options) -> Self {
        let daemons = [Running::start(number), Running::start(number + 1)];
        let server = TcpListener::bind(loopback(0)).unwrap();
        let far = Route::ToTcp { service: SERVICE, to: server.local_addr().unwrap() };
        let far = Proxy::start(&stack(&daemons[1]), &far, options).unwrap();
        let to = daemons[1].address.parse().unwrap();
        let near = Route::ToNdp { listen: loopback(0), to, service: SERVICE };
        let near = Proxy::start(&stack(&daemons[0]), &near, options).unwrap();
        Self { near, far, server, _daemons: daemons }
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(loopback(self.near.number().unwrap())).unwrap())
    }

    fn accept(&self) -> TcpStream {
        patient(self.server.accept().unwrap().0)
    }

    /// A connection, seen from both ends.
    fn open(&self) -> (TcpStream, TcpStream) {
        let client = self.connect();
        (client, self.accept())
    }
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(WATCHDOG).unwrap();
    stream
}

fn insist(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..300_000 {
        if done() {
            return;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    panic!("{what} never came");
}

fn pattern(long: usize) -> Vec<u8> {
    (0..long).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

/// How a connection ends for its reader.
fn end(mut stream: &TcpStream) -> Result<usize, ErrorKind> {
    stream.read(&mut [0; 16]).map_err(|error| error.kind())
}

#[test]
fn bytes_go_both_ways_and_each_half_ends_by_itself() {
    let path = Path::make(20, Options::default());
    let (client, server) = path.open();
    let (sent, back) = (pattern(3_000_000), pattern(2_000_001));
    let request = sent.clone();
    let writer = {
        let client = client.try_clone().unwrap();
        thread::spawn(move || {
            (&client).write_all(&request).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        })
    };
    assert!(read_all(&server) == sent, "other bytes have arrived");
    writer.join().unwrap();
    // The client's half has ended; the server's goes on.
    (&server).write_all(&back).unwrap();
    drop(server);
    assert!(read_all(&client) == back, "other bytes came back");
    drop(client);
    insist("the end of the connection", || path.near.counts().open + path.far.counts().open == 0);
    let (near, far) = (path.near.counts(), path.far.counts());
    let expected =
        Counts { accepted: 1, to_ndp_bytes: 3_000_000, to_tcp_bytes: 2_000_001, ..Counts::default() };
    // The bytes that travelled with the greeting are counted, too.
    assert_eq!(near, expected);
    assert_eq!(far, Counts { to_ndp_bytes: 2_000_001, to_tcp_bytes: 3_000_000, ..expected });
}

#[test]
fn a_server_may_speak_first_and_end_first() {
    let path = Path::make(22, Options::default());
    let (client, server) = path.open();
    (&server).write_all(b"220 ready\r\n").unwrap();
    let mut line = [0; 11];
    (&client).read_exact(&mut line).unwrap();
    assert_eq!(&line, b"220 ready\r\n");
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(end(&client), Ok(0));
    (&client).write_all(b"quit").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&server), b"quit");
}

#[test]
fn a_silent_connection_stays_open() {
    let path = Path::make(36, Options::default());
    let (client, server) = path.open();
    // Longer than any time after which a proxy looks whether it is to stop.
    thread::park_timeout(Duration::from_secs(1));
    for (from, to) in [(&client, &server), (&server, &client)] {
        let mut to = to;
        (&mut &*from).write_all(b"still there").unwrap();
        to.read_exact(&mut [0; 11]).unwrap();
    }
    assert_eq!(path.near.counts().reset, 0);
}

#[test]
fn errors_are_passed_on_as_resets() {
    let path = Path::make(24, Options::default());
    let reset = |stream: TcpStream| {
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
    };
    // A byte shows that both proxies carry the connection.
    let carried = || {
        let (client, server) = path.open();
        (&client).write_all(b"?").unwrap();
        (&server).read_exact(&mut [0]).unwrap();
        (client, server)
    };
    let (client, server) = carried();
    (&server).write_all(b"half of an answ").unwrap();
    reset(server);
    // Bytes before the reset may be lost, but a part never looks complete.
    insist("the reset", || match end(&client) {
        Ok(0) => panic!("a reset arrived as an end"),
        Ok(_) => false,
        Err(kind) => kind == ErrorKind::ConnectionReset,
    });
    let (client, server) = carried();
    reset(client);
    assert_eq!(end(&server), Err(ErrorKind::ConnectionReset));
    insist("both errors", || path.near.counts().reset + path.far.counts().reset == 4);
}

#[test]
fn who_cannot_be_reached_is_a_reset() {
    let path = Path::make(26, Options::default());
    let Path { near, far, server, _daemons } = path;
    drop(server);
    let client = patient(TcpStream::connect(loopback(near.number().unwrap())).unwrap());
    assert_eq!(end(&client), Err(ErrorKind::ConnectionReset));
    insist("its count", || far.counts().unreached == 1);
    // Without the other proxy the service has no listener.
    drop(far);
    let client = patient(TcpStream::connect(loopback(near.number().unwrap())).unwrap());
    assert_eq!(end(&client), Err(ErrorKind::ConnectionReset));
    assert_eq!(near.problem(), None);
    // Without its daemon a proxy ends.
    drop(_daemons);
    let client = patient(TcpStream::connect(loopback(near.number().unwrap())).unwrap());
    assert_eq!(end(&client), Err(ErrorKind::ConnectionReset));
    insist("the end of the proxy", || near.problem().is_some_and(|problem| problem.contains("daemon")));
}

#[test]
fn connections_beyond_the_limit_are_reset_and_come_in_later() {
    let path = Path::make(28, Options { limit: 2, ..Options::default() });
    let (first, second) = (path.open(), path.open());
    let third = path.connect();
    assert_eq!(end(&third), Err(ErrorKind::ConnectionReset));
    insist("its count", || path.near.counts().refused == 1);
    drop(first);
    insist("room for one", || path.near.counts().open == 1 && path.far.counts().open == 1);
    let (client, server) = path.open();
    (&client).write_all(b"in").unwrap();
    drop(client);
    assert_eq!(read_all(&server), b"in");
    drop(second);
}

#[test]
fn a_raw_proxy_speaks_with_programs_that_use_ndp() {
    let daemons = [Running::start(30), Running::start(31)];
    let stacks = daemons.each_ref().map(|daemon| stack(daemon) as Arc<dyn Stack>);
    let raw = Options { raw: true, ..Options::default() };
    let to = daemons[1].address.parse().unwrap();
    let near = Route::ToNdp { listen: loopback(0), to, service: SERVICE };
    let near = Proxy::start(&stack(&daemons[0]), &near, raw).unwrap();
    let listener = NdpListener::bind(&stacks[1], SERVICE).unwrap();
    let client = patient(TcpStream::connect(loopback(near.number().unwrap())).unwrap());
    (&client).write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"hello");
    stream.write_last(b"world").unwrap();
    assert_eq!(read_all(&client), b"world");
    drop(listener);
    let server = TcpListener::bind(loopback(0)).unwrap();
    let far = Route::ToTcp { service: SERVICE, to: server.local_addr().unwrap() };
    let _far = Proxy::start(&stack(&daemons[1]), &far, raw).unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        got.reverse();
        stream.write_all(&got).unwrap();
    });
    let answer = stacks[0].call(to, SERVICE, b"abc", Default::default(), WATCHDOG).unwrap();
    serving.join().unwrap();
    assert_eq!(answer, b"cba");
}

#[test]
fn what_does_not_greet_is_reset() {
    let path = Path::make(32, Options::default());
    let here: Arc<dyn Stack> = stack(&path._daemons[0]);
    let to = path._daemons[1].address.parse().unwrap();
    let mut stream = NdpStream::connect(&here, to, SERVICE).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let error = stream.read(&mut [0; 16]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    insist("its count", || path.far.counts().unreached == 1);
}

#[test]
fn a_reset_before_the_other_side_is_reached_counts_as_a_reset() {
    let path = Path::make(40, Options::default());
    let here: Arc<dyn Stack> = stack(&path._daemons[0]);
    let to = path._daemons[1].address.parse().unwrap();
    let mut stream = NdpStream::connect(&here, to, SERVICE).unwrap();
    stream.write_all(b"pnp").unwrap();
    insist("half a greeting", || path.far.counts().accepted == 1);
    stream.abort();
    insist("its count", || path.far.counts().reset == 1);
    // The near proxy finds the reset where it looks for first bytes, or in the connection that it has opened.
    let client = path.connect();
    SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    insist("its count", || path.near.counts().reset == 1);
    insist("the end of both", || path.near.counts().open + path.far.counts().open == 0);
    assert_eq!((path.near.counts().unreached, path.far.counts().unreached), (0, 0));
}

#[test]
fn a_proxy_that_stops_lets_connections_end_and_resets_the_others() {
    let mut path = Path::make(34, Options::default());
    let (client, server) = path.open();
    let (idle, _other) = path.open();
    let ending = thread::spawn(move || {
        (&client).write_all(b"last words").unwrap();
        drop(client);
        read_all(&server)
    });
    let heard = ending.join().unwrap();
    assert_eq!(heard, b"last words");
    insist("the end of one", || path.near.counts().open == 1);
    path.near.stop(Duration::from_millis(50), || false);
    assert_eq!(end(&idle), Err(ErrorKind::ConnectionReset));
    insist("the end of the other", || path.near.counts().open == 0);
}

#[test]
fn the_program_carries_connections_shows_its_counts_and_stops() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let daemons = [Running::start(38), Running::start(39)];
    let server = TcpListener::bind(loopback(0)).unwrap();
    let metrics = daemons[1].folder.join("proxy.sock");
    let run = |daemon: &Running, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pullnet-proxy"));
        command.args(arguments).arg("--socket").arg(daemon.socket()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let to = server.local_addr().unwrap().to_string();
    let mut far = run(&daemons[1], &["--serve", "80", "--to", &to, "--metrics", metrics.to_str().unwrap()]);
    let mut said = BufReader::new(far.stderr.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), format!("carries service 80 to TCP {to}"));
    let near = Route::ToNdp { listen: loopback(0), to: daemons[1].address.parse().unwrap(), service: 80 };
    let near = Proxy::start(&stack(&daemons[0]), &near, Options::default()).unwrap();
    let client = patient(TcpStream::connect(loopback(near.number().unwrap())).unwrap());
    (&client).write_all(b"hello").unwrap();
    let mut served = patient(server.accept().unwrap().0);
    served.read_exact(&mut [0; 5]).unwrap();
    let mut asking = std::os::unix::net::UnixStream::connect(&metrics).unwrap();
    asking.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    asking.read_to_string(&mut text).unwrap();
    for line in ["pullnet_proxy_open 1", "pullnet_proxy_accepted_total 1", "pullnet_proxy_reset_total 0"] {
        assert!(text.contains(&format!("\n{line}\n")), "{text}");
    }
    drop((client, served));
    insist("the end of the connection", || near.counts().open == 0);
    assert!(Command::new("kill").arg(far.id().to_string()).status().unwrap().success());
    assert!(far.wait().unwrap().success());
    let counts: serde_json::Value = serde_json::from_str(&said.next().unwrap().unwrap()).unwrap();
    assert_eq!((&counts["accepted"], &counts["to_tcp_bytes"]), (&1.into(), &5.into()));
    for (arguments, words) in [
        (&["--serve", "x", "--to", "127.0.0.1:1"][..], "--serve x: write the number of a service"),
        (&["--serve", "7"], "where do connections lead? Say --to"),
        (
            &["--serve", "7", "--to", "a", "--metrics", "10.0.0.1:1"],
            "--metrics 10.0.0.1:1: is no loopback address",
        ),
        (&["--fast"], "--fast: there is no such option"),
    ] {
        let output = run(&daemons[0], arguments).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with(&format!("error: {words}")), "{told}");
    }
}

#[test]
fn a_proxy_raises_its_limit_of_file_descriptors() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let daemon = Running::start(52);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 40; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_pullnet-proxy")]);
    command.args(["--serve", "80", "--to", "127.0.0.1:80", "--socket"]).arg(daemon.socket());
    let mut proxy = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(proxy.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("carries"));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", proxy.id())).unwrap();
    let files: Vec<&str> =
        limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split_whitespace().collect();
    assert_eq!(files[3], files[4], "{limits}");
    assert!(Command::new("kill").arg(proxy.id().to_string()).status().unwrap().success());
    assert!(proxy.wait().unwrap().success());
}

#[test]
fn a_proxy_that_has_used_up_its_file_descriptors_goes_on_when_some_are_closed() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let daemons = [Running::start(50), Running::start(51)];
    let server = TcpListener::bind(loopback(0)).unwrap();
    let far = Route::ToTcp { service: SERVICE, to: server.local_addr().unwrap() };
    let _far = Proxy::start(&stack(&daemons[1]), &far, Options::default()).unwrap();
    thread::spawn(move || {
        server.incoming().flatten().for_each(|mut stream| drop(stream.write_all(b"hello")))
    });
    // A port that is free.
    let listen = TcpListener::bind(loopback(0)).unwrap().local_addr().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_pullnet-proxy")]);
    command.args([
        "--listen",
        &listen.to_string(),
        "--to",
        &format!("{}:{SERVICE}", daemons[1].address.rsplit_once(':').unwrap().0),
    ]);
    command.arg("--socket").arg(daemons[0].socket()).stderr(Stdio::piped());
    let mut near = command.spawn().unwrap();
    let mut said = BufReader::new(near.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("carries TCP"));
    let crowd: Vec<_> = (0..200).map(|_| TcpStream::connect(listen).unwrap()).collect();
    // Those beyond are reset, or wait until others have ended.
    thread::park_timeout(Duration::from_millis(500));
    drop(crowd);
    insist("a connection that is carried", || {
        assert!(near.try_wait().unwrap().is_none(), "{:?}", said.next());
        let client = TcpStream::connect(listen).map(patient);
        client.is_ok_and(|mut client| client.read_exact(&mut [0; 5]).is_ok())
    });
    assert!(Command::new("kill").arg(near.id().to_string()).status().unwrap().success());
    assert!(near.wait().unwrap().success());
}
