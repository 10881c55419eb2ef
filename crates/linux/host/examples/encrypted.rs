//! Measures the cost of encryption: one stream, and calls of 1 kB, between two hosts on a veth, alternately with and without
//! keys; and the processor time of two engines without an interface, which other load on the machine hardly affects. Needs
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
use pullnet_host::{Engine, EngineOptions, Host, HostOptions, Neighbours, Read as Taken, StreamOptions};
use pullnet_netio::{Interface, PacketOptions, PacketSocket, PortGuard, in_namespace};
use pullnet_units::{BitsPerSec, Instant as VirtualTime, Picos};
use pullnet_wire::{Mac, PORT};

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
        let interface = Interface::find("eth")?;
        let guard = PortGuard::take_on(&interface, address(side), PORT)?;
        let (mac, io) = (interface.mac, PacketSocket::open("eth", &PacketOptions::default())?);
        let rate = BitsPerSec::gbps(40);
        let keys = encrypted.then_some(keys);
        let engine = EngineOptions { mac, mtu: MTU, rate, keys, ..EngineOptions::new(address(side)) }.sized();
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

/// An engine of its own, without an interface.
fn engine(side: usize, encrypted: bool) -> Result<Engine, Box<dyn Error>> {
    let mut keys = Keys::default();
    keys.add(SocketAddr::new(address(1 - side), PORT), 1, Key::new([0x5a; 32]));
    let options = EngineOptions {
        rate: BitsPerSec::gbps(40),
        keys: encrypted.then_some(keys),
        neighbours: vec![(address(1 - side), Mac::default())],
        ..EngineOptions::new(address(side))
    };
    Ok(Engine::new(options.started()?)?)
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or("0").parse()?)
}

/// Processor time of both engines for each data packet of a stream of `bytes`. Nanoseconds.
fn engines(encrypted: bool, bytes: usize) -> Result<f64, Box<dyn Error>> {
    let mut pair = [engine(0, encrypted)?, engine(1, encrypted)?];
    pair[1].listen(SERVICE)?;
    let mut now = VirtualTime::ZERO;
    let id = pair[0].connect(now, SocketAddr::new(address(1), PORT), SERVICE, StreamOptions::default())?;
    let (mut there, mut arrived, mut frame) = (None, 0, vec![0; MTU + 14]);
    let (mut piece, text) = (vec![0; PIECE], vec![0x77; PIECE]);
    let begin = processor_time()?;
    while arrived < bytes {
        pair[0].write(now, id, &text)?;
        for side in [0, 1] {
            pair[side].catch_up(now);
            loop {
                let long = pair[side].transmit(now, &mut frame);
                if long == 0 {
                    break;
                }
                pair[1 - side].receive(now, &frame[..long]);
            }
        }
        there = there.or_else(|| pair[1].accept(SERVICE));
        while let Some(id) = there
            && let Taken::Bytes(long) = pair[1].read(now, id, &mut piece)?
        {
            arrived += long;
        }
        now = now + Picos::from_micros(3);
    }
    Ok((processor_time()? - begin) / pair[1].status().totals.counts.received as f64)
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
    let mut packets = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for encrypted in [false, true] {
            let ((here, _kept), (there, _too)) = (start(&veth, 0, encrypted)?, start(&veth, 1, encrypted)?);
            rates[usize::from(encrypted)].push(stream(&here, &there, megabytes * 1_000_000)?);
            times[usize::from(encrypted)].push(calls(&here, &there, count)?);
            packets[usize::from(encrypted)].push(engines(encrypted, megabytes * 1_000_000)?);
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
    let [plain, encrypted] = packets.map(median);
    println!(
        "two engines alone: {plain:.0} ns for each packet, encrypted {encrypted:.0} ns ({:.2})",
        encrypted / plain
    );
    Ok(())
}
