//! Frames through DPDK: between two processes over memif, and between two network namespaces.

mod common;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use common::{Veth, carry};
use pullnet_netio::{
    Dpdk, DpdkOptions, DpdkPort, PacketIo, PacketOptions, PacketSocket, Protocol, in_namespace,
};

/// Environment variable with the memif socket of the other process and its MTU.
const SOCKET: &str = "PULLNET_TEST_MEMIF";
const MTU: &str = "PULLNET_TEST_MTU";
/// Frames of the other process: its greeting, the request to end, and its last frame.
const HELLO: [u8; 64] = [0xee; 64];
const END: [u8; 64] = [0xff; 64];
const ENDED: [u8; 64] = [0xdd; 64];
const OPTIONS: DpdkOptions = DpdkOptions { mtu: 9000, frames: 1024 };

fn start() -> Dpdk {
    Dpdk::start(&["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=error"])
        .unwrap()
}

/// DPDK, shared by the tests of this process.
fn dpdk() -> &'static Dpdk {
    static RUNNING: OnceLock<Dpdk> = OnceLock::new();
    RUNNING.get_or_init(start)
}

/// One end of memif; `socket` gives its name and number.
fn memif(dpdk: &Dpdk, role: &str, socket: &str, mtu: u16) -> DpdkPort {
    let device = format!("net_memif_{socket},role={role},id=0,socket=pullnet-{socket},bsize=10240");
    dpdk.open(&device, &DpdkOptions { mtu, ..OPTIONS }).unwrap()
}

/// A frame of `long` bytes; distinct for each `number` in a test.
fn frame(number: usize, long: usize) -> Vec<u8> {
    (0..long).map(|at| (at * 7 + number * 13 + at / 251) as u8 & 0x7f).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    let most = usize::from(OPTIONS.mtu) + 14;
    (0..600).map(move |at| match at % 4 {
        0 => most,
        1 => 64 + at % 100,
        2 => most - at % 50,
        _ => 64 + at * (most - 64) / 600,
    })
}

/// The other process's answer to a frame.
fn answer(frame: &[u8]) -> Vec<u8> {
    frame.iter().rev().map(|byte| byte ^ 0x55).collect()
}

fn put(port: &mut DpdkPort, frame: &[u8]) -> bool {
    let fill = &mut |room: &mut [u8]| {
        room[..frame.len()].copy_from_slice(frame);
        frame.len()
    };
    let had_room = port.send(fill).unwrap();
    port.flush().unwrap();
    had_room
}

/// The other process; ends with the test.
struct Peer(Child);

impl Peer {
    fn start(socket: &str, mtu: u16) -> Self {
        let test = std::env::current_exe().unwrap();
        let arguments = ["--ignored", "--exact", "the_other_process", "--nocapture"];
        Self(
            Command::new(test)
                .args(arguments)
                .env(SOCKET, socket)
                .env(MTU, mtu.to_string())
                .stdin(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a port is up, at most a minute.
fn up(port: &mut DpdkPort) {
    for _ in 0..6000 {
        if port.is_up() {
            return;
        }
        port.wait(None, Duration::from_millis(10)).unwrap();
    }
    panic!("memif has not connected");
}

#[test]
#[ignore = "the other process of memif_carries_frames_between_processes, which starts it"]
fn the_other_process() {
    let Ok(socket) = std::env::var(SOCKET) else { return };
    let mtu = std::env::var(MTU).unwrap().parse().unwrap();
    let dpdk = start();
    let mut port = memif(&dpdk, "client", &socket, mtu);
    up(&mut port);
    assert!(put(&mut port, &HELLO));
    let (mut seen, mut idle) = (Vec::new(), 0);
    while !seen.iter().any(|frame| frame == &END) {
        seen.clear();
        let got = port.receive(64, &mut |frame| seen.push(frame.to_vec())).unwrap();
        idle = if got == 0 { idle + 1 } else { 0 };
        assert!(idle < 600, "nothing has come for a minute");
        for frame in &seen {
            assert!(put(&mut port, &answer(frame)), "no room for an answer");
        }
        port.wait(None, Duration::from_millis(100)).unwrap();
    }
    let missed = port.count_missed().unwrap();
    assert_eq!(missed, if mtu == OPTIONS.mtu { 0 } else { 1 });
    assert!(put(&mut port, &ENDED));
    // The driver may crash the remaining end, so the test drops its end first and then kills this process.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A port with MTU `mtu`, answered by the other process.
fn with_peer(name: &str, mtu: u16) -> (DpdkPort, Peer) {
    let socket = format!("{name}-{}", std::process::id());
    let mut port = memif(dpdk(), "server", &socket, OPTIONS.mtu);
    let peer = Peer::start(&socket, mtu);
    assert_eq!(next(&mut port), HELLO);
    (port, peer)
}

/// Ends both, after the other process has reported success.
fn end(mut port: DpdkPort, peer: Peer) {
    assert!(put(&mut port, &END));
    assert_eq!([next(&mut port), next(&mut port)], [answer(&END), ENDED.to_vec()]);
    drop(port);
    drop(peer);
}

#[test]
fn memif_carries_frames_between_processes() {
    let (mut port, peer) = with_peer("all", OPTIONS.mtu);
    for (number, long) in lengths().enumerate() {
        let sent = frame(number, long);
        assert!(put(&mut port, &sent));
        assert!(next(&mut port) == answer(&sent), "frame {number} of {long} B");
    }
    assert_eq!((port.counters().sent, port.counters().received, port.count_missed().unwrap()), (600, 601, 0));
    end(port, peer);
}

#[test]
fn a_frame_that_is_too_long_for_the_other_end_is_passed_over_and_counted() {
    let (mut port, peer) = with_peer("short", 1500);
    assert!(put(&mut port, &frame(0, 9014)) && put(&mut port, &frame(1, 1514)));
    assert_eq!(next(&mut port), answer(&frame(1, 1514)));
    end(port, peer);
}

/// The next frame that arrives, within a minute.
fn next(port: &mut DpdkPort) -> Vec<u8> {
    let mut seen = Vec::new();
    for _ in 0..600 {
        if port.receive(1, &mut |frame| seen.extend_from_slice(frame)).unwrap() == 1 {
            return seen;
        }
        port.wait(None, Duration::from_millis(100)).unwrap();
    }
    panic!("nothing has arrived for a minute");
}

/// Frames of every length pass between DPDK's AF_PACKET and ours in both directions.
#[test]
fn af_packet_by_dpdk_and_by_us_understand_each_other() {
    let Some(veth) = Veth::make(9000) else { return };
    let [name_a, name_b] = &veth.names;
    let device = "net_af_packet0,iface=eth,framesz=10240,blocksz=20480,qdisc_bypass=1";
    let mut a = in_namespace(name_a, || dpdk().open(device, &OPTIONS)).unwrap();
    let everything = PacketOptions { protocol: Protocol::All, ..PacketOptions::default() };
    let mut b = in_namespace(name_b, || PacketSocket::open("eth", &everything)).unwrap();
    let frames: Vec<_> = lengths().enumerate().map(|(number, long)| frame(number, long)).collect();
    assert!(carry(&mut a, &mut b, &frames) == frames, "frames differ");
    assert!(carry(&mut b, &mut a, &frames) == frames, "frames differ on the way back");
    assert_eq!((a.counters().sent, a.counters().received, a.count_missed().unwrap()), (600, 600, 0));
}

#[test]
fn dpdk_starts_once_and_opens_a_device_once() {
    let running = dpdk();
    let again = Dpdk::start(&["--no-huge"]).unwrap_err().to_string();
    assert!(again.contains("starts once in a process"), "{again}");
    let _first = running.open("net_null0", &DpdkOptions::default()).unwrap();
    let second = running.open("net_null0", &DpdkOptions::default()).unwrap_err().to_string();
    assert!(second.contains("DPDK cannot open \"net_null0\"") && second.contains("another"), "{second}");
    let unknown = running.open("net_nonsense0", &DpdkOptions::default()).unwrap_err().to_string();
    assert!(unknown.contains("net_nonsense0"), "{unknown}");
    let long = running.open("net_null1", &DpdkOptions { mtu: 65_000, frames: 64 }).unwrap_err().to_string();
    assert!(long.contains("65000 B"), "{long}");
}

#[test]
fn a_device_that_was_dropped_can_be_opened_again() {
    for _ in 0..3 {
        let mut port = dpdk().open("net_null2", &DpdkOptions::default()).unwrap();
        assert!(put(&mut port, &[1; 64]));
        assert_eq!(next(&mut port).len(), 64);
    }
}
