//! Frames per second between two network namespaces over veth, one core sending and one receiving.
//!
//! `chrt -f 10 cargo run --release -p pullnet-netio --example pps -- [BACKEND [SIZE [BATCH [ROUNDS]]]]`: BACKEND is
//! `xdp`, `xdp-inline`, `xdp-generic` or `packet`, and with the feature `dpdk` also `dpdk-af_packet` or `dpdk-af_xdp` (frames of at most
//! 1518 B); SIZE is the length of a frame in bytes (64); BATCH is how many frames one flush
//! sends (64). Prints one line per round of 0.2 s, then the median. Rounds are short so that a real-time scheduler (`chrt
//! -f`) does not throttle the process within one.
//!
//! On veth the kernel receives on the sender's core, unless the interface is `threaded` (drivers with NAPI), as it is set
//! for the `xdp` backends. That kernel thread needs the receiver's core, so the receiver sleeps when idle; with the other
//! backends it spins.
#![expect(clippy::disallowed_methods, reason = "this measures time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::Veth;
use pullnet_netio::{
    Attach, Dpdk, DpdkOptions, EalOptions, Error, Filter, PacketIo, PacketOptions, PacketSocket, Protocol,
    XdpOptions, XdpSocket,
};

const ROUND: Duration = Duration::from_millis(200);

fn open(backend: &str) -> Result<Box<dyn PacketIo + Send>, Error> {
    let xdp = |attach| XdpOptions { attach, filter: Filter::Everything, ..XdpOptions::default() };
    Ok(match backend {
        "packet" => {
            let options =
                PacketOptions { protocol: Protocol::Other(0x88b5), frames: 2048, ..PacketOptions::default() };
            Box::new(PacketSocket::open("eth", &options)?)
        }
        "xdp" | "xdp-inline" => Box::new(XdpSocket::open("eth", &xdp(Attach::Native))?),
        "xdp-generic" => Box::new(XdpSocket::open("eth", &xdp(Attach::Generic))?),
        other => open_dpdk(other)?,
    })
}

/// Opens the interface through DPDK, with the driver named after `dpdk-`.
fn open_dpdk(backend: &str) -> Result<Box<dyn PacketIo + Send>, Error> {
    static OPENED: AtomicU32 = AtomicU32::new(0);
    let Some(driver) = backend.strip_prefix("dpdk-") else {
        panic!(
            "there is no backend \"{backend}\"; use xdp, xdp-inline, xdp-generic or packet, or with the feature dpdk also \
             dpdk-af_packet or dpdk-af_xdp"
        );
    };
    let dpdk = Dpdk::start(&EalOptions::default())?;
    let device = format!("net_{driver}{},iface=eth", OPENED.fetch_add(1, Ordering::Relaxed));
    Ok(Box::new(dpdk.open(&device.parse().unwrap(), &DpdkOptions::default())?))
}

/// Sends as fast as possible for one round; returns the number of frames that the kernel accepted and the elapsed time.
fn send(io: &mut dyn PacketIo, size: usize, batch: usize, stop: &AtomicBool) -> (u64, f64) {
    let (start, mut sent) = (Instant::now(), 0);
    while start.elapsed() < ROUND {
        for _ in 0..batch {
            let room = io.send(&mut |frame| {
                frame[..size].fill(0xff);
                frame[12..14].copy_from_slice(&[0x88, 0xb5]);
                size
            });
            sent += u64::from(room.unwrap());
        }
        io.flush().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    (sent, start.elapsed().as_secs_f64())
}

/// Receives until the round ends. With `nap`, an idle receiver sleeps for at most that long or until a frame arrives.
fn receive(io: &mut dyn PacketIo, nap: Option<Duration>, stop: &AtomicBool) -> u64 {
    let mut all = 0;
    while !stop.load(Ordering::Relaxed) {
        let got = io.receive(64, &mut |_| ()).unwrap();
        all += got as u64;
        nap.filter(|_| got == 0).into_iter().for_each(|nap| io.wait(None, nap).unwrap());
    }
    all
}

/// Enables threaded NAPI on both interfaces. The sockets must be open: without one, veth has no NAPI context.
fn let_threads_receive(veth: &Veth) {
    for name in &veth.names {
        let arguments = ["netns", "exec", name, "sh", "-c", "echo 1 > /sys/class/net/eth/threaded"];
        assert!(Command::new("ip").args(arguments).status().is_ok_and(|done| done.success()));
    }
}

/// Frames per second sent and received in one round.
fn round(
    ends: &mut [Box<dyn PacketIo + Send>; 2],
    size: usize,
    batch: usize,
    nap: Option<Duration>,
) -> [f64; 2] {
    let stop = AtomicBool::new(false);
    let [a, b] = ends;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(b.as_mut(), nap, &stop));
        let sender = scope.spawn(|| send(a.as_mut(), size, batch, &stop));
        let ((sent, seconds), got) = (sender.join().unwrap(), receiver.join().unwrap());
        [sent, got].map(|count| count as f64 / seconds)
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(usual, |text| text.parse().unwrap());
    let backend = arguments.first().map_or("xdp", String::as_str);
    let (size, batch, rounds) = (number(1, 64), number(2, 64), number(3, 5));
    let Some(veth) = Veth::make(if size > 1514 { 9000 } else { 1500 }) else { return };
    let mut ends = veth.open(|| open(backend)).unwrap();
    let nap = (backend == "xdp").then_some(Duration::from_millis(1));
    if nap.is_some() {
        let_threads_receive(&veth);
    }
    let mut received = Vec::new();
    for _ in 0..rounds {
        let [sent, got] = round(&mut ends, size, batch, nap);
        println!(
            "{backend}, {size} B, {batch} at a time: {:.3} M/s sent, {:.3} M/s received",
            sent / 1e6,
            got / 1e6
        );
        received.push(got);
        thread::sleep(Duration::from_millis(100));
    }
    received.sort_by(f64::total_cmp);
    println!("median received: {:.3} M/s", received[received.len() / 2] / 1e6);
}
