//! How long calls between two hosts take through two daemons, and beside it between the same hosts in one process; over the
//! kernel's UDP on loopback, each call on a stream of its own. Also how fast one long stream is.
//!
//! `cargo run --release --example served -p pullnet-daemon -- [CALLS [BYTES [spin|adaptive]]]`

use std::error::Error;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pullnet_daemon::config::HostFile;
use pullnet_daemon::{Daemon, DaemonStack};
use pullnet_host::{EngineOptions, Host, HostOptions, NdpListener, NdpStream, Stack, StreamOptions, Wait};
use pullnet_netio::{UdpOptions, UdpSockets};

const SERVICE: u16 = 7;
const STREAM: usize = 64 << 20;

type Done<T> = Result<T, Box<dyn Error>>;

/// A host: what its applications use, where it is, and what ends it.
struct End {
    stack: Arc<dyn Stack>,
    address: SocketAddr,
    _alive: Box<dyn std::any::Any>,
}

fn embedded(ip: [u8; 4], wait: &str) -> Done<End> {
    let sockets = UdpSockets::open(&UdpOptions::new(IpAddr::from(ip)))?;
    let wait = if wait == "spin" { Wait::Spin } else { Wait::default() };
    let host = Host::start(sockets, HostOptions { wait, ..HostOptions::new(EngineOptions::new(ip.into())) })?;
    Ok(End { stack: Arc::clone(host.stack()), address: host.local(), _alive: Box::new(host) })
}

/// Ends a daemon when it is dropped, for that closes the other end.
struct Running(#[expect(dead_code, reason = "its end is what counts")] UnixStream);

fn served(ip: [u8; 4], wait: &str) -> Done<End> {
    let socket = std::env::temp_dir().join(format!("pullnet-rpc-{}-{}", std::process::id(), ip[3]));
    let text = format!(
        "backend = \"udp\"\naddress = \"{}\"\nrate = \"10 Gbps\"\nwait = \"{wait}\"\nlog = \"warn\"\nfarewell = \"0 s\"\n\
         [socket]\npath = \"{}\"\n",
        IpAddr::from(ip),
        socket.display()
    );
    let file = HostFile::read("example", &text).map_err(|errors| errors[0].to_string())?;
    let daemon = Daemon::open(&file)?;
    let (stop, stopped) = UnixStream::pair()?;
    thread::spawn(move || daemon.run(stopped.as_fd()));
    let stack = DaemonStack::connect(&socket)?;
    let address = stack.address();
    Ok(End { stack: Arc::new(stack), address, _alive: Box::new(Running(stop)) })
}

#[expect(clippy::disallowed_methods, reason = "it is measured how long calls take")]
fn clock() -> Instant {
    Instant::now()
}

/// Median and 99th percentile of calls in microseconds, and the rate of a stream in Gb/s.
fn measure(here: &End, there: &End, calls: usize, bytes: usize) -> Done<(f64, f64, f64)> {
    let listener = NdpListener::bind(&there.stack, SERVICE)?;
    let server = thread::spawn(move || {
        for mut stream in listener.incoming().take(calls + 1) {
            let mut all = Vec::new();
            let long = stream.read_to_end(&mut all).unwrap_or(0);
            let answer = if long == STREAM { &all[..1] } else { &all[..] };
            stream.write_last(answer).and_then(|()| stream.settle()).unwrap_or(());
        }
    });
    let (request, patience) = (vec![7; bytes], Some(Duration::from_secs(10)));
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = clock();
        here.stack.call(there.address, SERVICE, &request, StreamOptions::default(), patience)?;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let (start, long) = (clock(), vec![7; STREAM]);
    let mut stream = NdpStream::connect(&here.stack, there.address, SERVICE)?;
    stream.write_last(&long)?;
    stream.read_exact(&mut [0])?;
    let rate = STREAM as f64 * 8.0 / start.elapsed().as_nanos() as f64;
    server.join().map_err(|_| "the server panicked")?;
    Ok((times[calls / 2], times[calls * 99 / 100], rate))
}

fn main() -> Done<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |word| word.parse());
    let (calls, bytes) = (number(0, 2000)?.max(1), number(1, 1000)?);
    let wait = words.get(2).map_or("adaptive", String::as_str);
    println!("{calls} calls of {bytes} B, {wait}: median, 99th percentile; a stream of {} MiB", STREAM >> 20);
    type Make = fn([u8; 4], &str) -> Done<End>;
    for (name, make, net) in [("in one process", embedded as Make, 1), ("through daemons", served as Make, 2)]
    {
        let (here, there) = (make([127, 9, net, 1], wait)?, make([127, 9, net, 2], wait)?);
        let (median, late, rate) = measure(&here, &there, calls, bytes)?;
        println!("{name:16} {median:8.1} us {late:8.1} us {rate:8.2} Gb/s");
    }
    Ok(())
}
