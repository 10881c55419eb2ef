//! How long a call takes between two hosts of one process over the loopback interface, each with a stream of its own; and
//! beside it a call over a new TCP connection.
//!
//! `cargo run --release --example rpc -p pullnet-host -- [CALLS [BYTES [spin]]]`

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use pullnet_host::{EngineOptions, Host, HostOptions, Wait};
use pullnet_netio::{UdpOptions, UdpSockets};

const SERVICE: u16 = 7;
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn start(wait: Wait) -> Result<Host, Box<dyn Error>> {
    let sockets = UdpSockets::open(&UdpOptions { port: 0, ..UdpOptions::new(ADDRESS) })?;
    let port = sockets.local().port();
    let engine = EngineOptions { port, ..EngineOptions::new(ADDRESS) };
    Ok(Host::start(sockets, HostOptions { wait, ..HostOptions::new(engine) })?)
}

/// Median and 99th percentile of how long `call` takes. Microseconds.
#[expect(clippy::disallowed_methods, reason = "it is measured how long a call takes")]
fn measure(
    calls: usize,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(f64, f64), Box<dyn Error>> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[calls / 2], times[calls * 99 / 100]))
}

fn ndp(calls: usize, request: &[u8], wait: Wait) -> Result<(f64, f64), Box<dyn Error>> {
    let (here, there) = (start(wait)?, start(wait)?);
    let listener = there.listen(SERVICE)?;
    let server = thread::spawn(move || {
        let mut all = Vec::new();
        for mut stream in listener.incoming().take(calls) {
            all.clear();
            if stream.read_to_end(&mut all).is_err() || stream.write_last(&all).is_err() {
                eprintln!("a call ended early");
            }
        }
    });
    let most = Some(Duration::from_secs(5));
    let times = measure(calls, || {
        let response = here.call(there.local(), SERVICE, request, most)?;
        assert_eq!(response.len(), request.len());
        Ok(())
    })?;
    server.join().map_err(|_| "the server panicked")?;
    Ok(times)
}

fn tcp(calls: usize, request: &[u8]) -> Result<(f64, f64), Box<dyn Error>> {
    let listener = TcpListener::bind((ADDRESS, 0))?;
    let to: SocketAddr = listener.local_addr()?;
    let server = thread::spawn(move || {
        let mut all = Vec::new();
        for mut stream in listener.incoming().take(calls).flatten() {
            all.clear();
            if stream.read_to_end(&mut all).is_err() || stream.write_all(&all).is_err() {
                eprintln!("a call ended early");
            }
        }
    });
    let mut response = Vec::new();
    let times = measure(calls, || {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        response.clear();
        stream.read_to_end(&mut response)?;
        assert_eq!(response.len(), request.len());
        Ok(())
    })?;
    server.join().map_err(|_| "the server panicked")?;
    Ok(times)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (calls, bytes) = (number(0, 2000)?, number(1, 1000)?);
    let wait = if arguments.iter().any(|word| word == "spin") { Wait::Spin } else { Wait::default() };
    let request = vec![1; bytes];
    for (name, (median, slow)) in [("NDP", ndp(calls, &request, wait)?), ("TCP", tcp(calls, &request)?)] {
        println!("{name}: {median:.1} us median, {slow:.1} us 99th percentile");
    }
    Ok(())
}
