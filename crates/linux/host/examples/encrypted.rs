//! What encryption costs: one stream, and calls of 1 kB, between two hosts on a veth with and without keys, by turns. Needs
//! root and `ip`.
//!
//! `cargo run --release --example encrypted -p pullnet-host -- [ROUNDS [MEGABYTES [CALLS]]]`

#[path = "../../netio/tests/common/mod.rs"]
mod namespaces;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use namespaces::Veth;
use pullnet_host::seal::{Key, Keys};
use pullnet_host::{EngineOptions, Host, HostOptions, Neighbours};
use pullnet_netio::{Interface, PacketOptions, PacketSocket, PortGuard, in_namespace};
use pullnet_units::BitsPerSec;
use pullnet_wire::PORT;

const SERVICE: u16 = 7;
const MTU: usize = 1500;
const PIECE: usize = 1 << 17;
const REQUEST: usize = 1000;
const MOST: Option<Duration> = Some(Duration::from_secs(60));

fn address(side: usize) -> IpAddr {
    Ipv4Addr::new(10, 77, 0, 1 + side as u8).into()
}

fn start(veth: &Veth, side: usize, encrypted: bool) -> Result<(Host, PortGuard), Box<dyn Error>> {
    let mut keys = Keys::default();
    keys.add(SocketAddr::new(address(1 - side), PORT), 1, Key::new([0x5a; 32]));
    let open = || {
        let guard = PortGuard::take(address(side), PORT)?;
        let (mac, io) = (Interface::find("eth")?.mac, PacketSocket::open("eth", &PacketOptions::default())?);
        let rate = BitsPerSec::gbps(40);
        let keys = encrypted.then_some(keys);
        let engine = EngineOptions { mac, mtu: MTU, rate, keys, ..EngineOptions::new(address(side)) };
        let neighbours = Neighbours::Kernel("eth".to_string());
        Ok((Host::start(io, HostOptions { neighbours, ..HostOptions::new(engine) }), guard))
    };
    let (host, guard) = in_namespace(&veth.names[side], open)?;
    Ok((host?, guard))
}

#[expect(clippy::disallowed_methods, reason = "it is measured how long things take")]
fn clock() -> Instant {
    Instant::now()
}

/// Gb/s of one stream that carries `bytes`.
fn stream(here: &Host, there: &Host, bytes: usize) -> Result<f64, Box<dyn Error>> {
    let listener = there.listen(SERVICE)?;
    let server = thread::spawn(move || -> Result<usize, std::io::Error> {
        let (mut stream, _) = listener.accept()?;
        let (mut piece, mut all) = (vec![0; PIECE], 0);
        loop {
            match stream.read(&mut piece)? {
                0 => return Ok(all),
                long => all += long,
            }
        }
    });
    let (mut stream, piece) = (here.connect(there.local(), SERVICE)?, vec![0x77; PIECE]);
    let begin = clock();
    (0..bytes / PIECE).try_for_each(|_| stream.write_all(&piece))?;
    stream.finish()?;
    let arrived = server.join().map_err(|_| "the server panicked")??;
    Ok(arrived as f64 * 8.0 / begin.elapsed().as_secs_f64() / 1e9)
}

/// Median time of a call of 1 kB that is answered by as much. Microseconds.
fn calls(here: &Host, there: &Host, calls: usize) -> Result<f64, Box<dyn Error>> {
    let listener = there.listen(SERVICE)?;
    let server = thread::spawn(move || -> Result<(), std::io::Error> {
        let mut all = Vec::new();
        for mut stream in listener.incoming().take(calls) {
            all.clear();
            stream.read_to_end(&mut all)?;
            stream.write_last(&all)?;
        }
        Ok(())
    });
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begin = clock();
        here.call(there.local(), SERVICE, &[0x33; REQUEST], MOST)?;
        times.push(begin.elapsed().as_nanos() as f64 / 1000.0);
    }
    server.join().map_err(|_| "the server panicked")??;
    times.sort_by(f64::total_cmp);
    Ok(times[calls / 2])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let numbers = numbers?;
    let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual).max(1);
    let (rounds, megabytes, count) = (number(0, 7), number(1, 200), number(2, 2000));
    let Some(veth) = Veth::make(MTU) else { return Ok(()) };
    let (mut rates, mut times) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        for encrypted in [false, true] {
            let ((here, _kept), (there, _too)) = (start(&veth, 0, encrypted)?, start(&veth, 1, encrypted)?);
            rates[usize::from(encrypted)].push(stream(&here, &there, megabytes * 1_000_000)?);
            times[usize::from(encrypted)].push(calls(&here, &there, count)?);
            here.shutdown(Duration::from_secs(5));
            there.shutdown(Duration::from_secs(5));
        }
    }
    let [plain, encrypted] = rates.map(median);
    println!(
        "one stream, {MTU} B packets: {plain:.2} Gb/s, encrypted {encrypted:.2} Gb/s ({:.2})",
        encrypted / plain
    );
    let [plain, encrypted] = times.map(median);
    println!("calls of {REQUEST} B: {plain:.1} us, encrypted {encrypted:.1} us ({:.2})", encrypted / plain);
    Ok(())
}
