//! Frames through DPDK: between two processes over memif, and between two network namespaces.

mod common;
#[path = "common/crossing.rs"]
mod crossing;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Veth, carry, is_empty, send, take};
use crossing::{HOSTS, everything_crosses, frame as packet, macs};
use pullnet_netio::{
    Dpdk, DpdkOptions, DpdkPort, EalOptions, Error, PacketIo, PacketOptions, PacketSocket, PortGuard,
    Protocol, in_namespace,
};
use pullnet_wire::{Mac, PORT};

/// Environment variable with the memif socket of the other process and its MTU.
const SOCKET: &str = "PULLNET_TEST_MEMIF";
const MTU: &str = "PULLNET_TEST_MTU";
/// Frames of the other process: its greeting, the request to end, and its last frame.
const HELLO: [u8; 64] = [0xee; 64];
const END: [u8; 64] = [0xff; 64];
const ENDED: [u8; 64] = [0xdd; 64];
const OPTIONS: DpdkOptions = DpdkOptions { mtu: Some(LONG), frames: 1024, promiscuous: false };
/// Its MTU, and its longest frame.
const LONG: usize = 9000;
const LONGEST: usize = LONG + 14;

/// DPDK, shared by the tests of this process.
fn dpdk() -> Dpdk {
    Dpdk::start(&EalOptions::default()).unwrap()
}

fn open(device: &str, options: &DpdkOptions) -> Result<DpdkPort, Error> {
    dpdk().open(&device.parse().unwrap(), options)
}

/// The words of the error of a device that cannot be opened.
fn refusal(device: &str, options: &DpdkOptions) -> String {
    open(device, options).unwrap_err().to_string()
}

/// One end of memif; `socket` gives its name and number.
fn memif(role: &str, socket: &str, mtu: usize) -> DpdkPort {
    let device = format!("net_memif_{socket},role={role},id=0,socket=pullnet-{socket},bsize=10240");
    open(&device, &DpdkOptions { mtu: Some(mtu), ..OPTIONS }).unwrap()
}

/// A frame of `long` bytes; distinct for each `number` in a test.
fn frame(number: usize, long: usize) -> Vec<u8> {
    (0..long).map(|at| (at * 7 + number * 13 + at / 251) as u8 & 0x7f).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    let most = LONGEST;
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
    fn start(socket: &str, mtu: usize) -> Self {
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
    let mut port = memif("client", &socket, mtu);
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
    assert_eq!(missed, if mtu == LONG { 0 } else { 1 });
    assert!(put(&mut port, &ENDED));
    // The driver may crash the remaining end, so the test drops its end first and then kills this process.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A port with MTU `mtu`, answered by the other process.
fn with_peer(name: &str, mtu: usize) -> (DpdkPort, Peer) {
    let socket = format!("{name}-{}", std::process::id());
    let mut port = memif("server", &socket, LONG);
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
    let (mut port, peer) = with_peer("all", LONG);
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

/// Keeps the kernel of the other end from answering, which DPDK's drivers would hand over as well.
fn quiet(veth: &Veth) -> PortGuard {
    in_namespace(&veth.names[1], || PortGuard::take(HOSTS[1], PORT)).unwrap()
}

/// The addresses of frames from the other end.
fn back(veth: &Veth) -> [Mac; 2] {
    let [a, b] = macs(veth);
    [b, a]
}

/// Opens one interface through DPDK, and the other through AF_PACKET for all protocols.
fn beside_a_socket(veth: &Veth, arguments: &str, options: &DpdkOptions) -> (DpdkPort, PacketSocket) {
    let [name_a, name_b] = &veth.names;
    let device = format!("net_af_packet_{name_a},iface=eth{arguments}");
    let a = in_namespace(name_a, || open(&device, options)).unwrap();
    // A burst is longer than a slot of DPDK's ring.
    let everything = PacketOptions { protocol: Protocol::All, bursts: false, ..PacketOptions::default() };
    (a, in_namespace(name_b, || PacketSocket::open("eth", &everything)).unwrap())
}

/// Frames of every length pass between DPDK's AF_PACKET and ours in both directions.
#[test]
fn af_packet_by_dpdk_and_by_us_understand_each_other() {
    let Some(veth) = Veth::make(9000) else { return };
    let (mut a, mut b) = beside_a_socket(&veth, ",framesz=10240,blocksz=20480", &DpdkOptions::default());
    assert_eq!(a.mtu(), 9000);
    let frames: Vec<_> = lengths().enumerate().map(|(number, long)| frame(number, long)).collect();
    assert!(carry(&mut a, &mut b, &frames) == frames, "frames differ");
    assert!(carry(&mut b, &mut a, &frames) == frames, "frames differ on the way back");
    assert_eq!((a.counters().sent, a.counters().received, a.count_missed().unwrap()), (600, 600, 0));
}

/// Carries the frames of the other backends with DPDK at both ends.
fn crosses(driver: &str, mtu: usize, arguments: &str) {
    let Some(veth) = Veth::make(mtu) else { return };
    let _guard = quiet(&veth);
    let end = |name: &String| {
        let device = format!("{driver}_{name},iface=eth{arguments}");
        in_namespace(name, || open(&device, &DpdkOptions::default())).unwrap()
    };
    let [mut a, mut b] = veth.names.each_ref().map(end);
    assert_eq!([a.mac(), b.mac()], macs(&veth));
    everything_crosses(mtu, &veth, [&mut a, &mut b]);
    assert_eq!((b.count_missed().unwrap(), b.counters().refused), (0, 0));
    for (port, name) in [a, b].into_iter().zip(&veth.names) {
        in_namespace(name, || {
            drop(port);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn af_packet_carries_1500_bytes() {
    crosses("net_af_packet", 1500, "");
}

#[test]
fn af_packet_carries_9000_bytes() {
    crosses("net_af_packet", 9000, ",framesz=10240,blocksz=20480");
}

#[test]
fn af_xdp_carries_1500_bytes() {
    crosses("net_af_xdp", 1500, "");
}

#[test]
fn dpdk_starts_once_and_opens_a_device_once() {
    let _running = dpdk();
    let other = EalOptions { memory: 64 << 20, ..EalOptions::default() };
    let again = Dpdk::start(&other).unwrap_err().to_string();
    assert!(again.contains("starts once in a process, and runs with other settings already"), "{again}");
    assert!(Dpdk::start(&EalOptions::default()).is_ok(), "the same settings are no second start");
    let _first = open("net_null0", &DpdkOptions::default()).unwrap();
    let second = refusal("net_null0", &DpdkOptions::default());
    assert_eq!(
        second,
        "DPDK cannot open \"net_null0\": it is open already; give each port a device of its own"
    );
}

#[test]
fn a_device_that_cannot_be_opened_is_named_with_what_would_work() {
    let usual = DpdkOptions::default();
    for (device, options, words) in [
        ("net_nonsense0", usual, "DPDK has no driver of this name"),
        ("net_af_packet_x", usual, "its driver refuses it"),
        ("net_af_packet_x,iface=no-such-one", usual, "there is no interface \"no-such-one\""),
        (
            "net_af_packet_x,iface=lo,colour=red",
            DpdkOptions { mtu: Some(1500), ..usual },
            "its driver refuses it",
        ),
        (
            "net_af_packet_x,iface=lo",
            OPTIONS,
            "an MTU of 9000 B needs the arguments framesz=10240,blocksz=20480",
        ),
        ("net_af_packet_x,iface=lo,framesz=65536", OPTIONS, "use a smaller framesz"),
        ("net_null1", DpdkOptions { mtu: Some(65_000), ..usual }, "65000 B"),
        ("0000:03:00.0", usual, "`dpdk-devbind.py --status`"),
    ] {
        let told = refusal(device, &options);
        assert!(told.contains(words), "{told}");
    }
    // None of them stays behind.
    let Some(veth) = Veth::make(1500) else { return };
    let device = "net_af_packet_x,iface=eth";
    let port = in_namespace(&veth.names[0], || open(device, &usual)).unwrap();
    assert_eq!(port.mac(), macs(&veth)[0]);
}

#[test]
fn a_device_that_was_dropped_can_be_opened_again() {
    // All of them together would need more memory than there is.
    for _ in 0..100 {
        let mut port = open("net_null2", &DpdkOptions::default()).unwrap();
        assert!(put(&mut port, &[1; 64]));
        assert_eq!(next(&mut port).len(), 64);
    }
}

#[test]
fn a_port_is_dropped_with_frames_in_its_hands() {
    let Some(veth) = Veth::make(1500) else { return };
    for round in 0..50 {
        let (mut a, mut b) = beside_a_socket(&veth, "", &DpdkOptions::default());
        let frames: Vec<_> = (0..64).map(|seq| packet(back(&veth), PORT, seq, 100)).collect();
        // One of a burst is taken, and one is written that never leaves. DPDK opens sockets that child processes inherit: one
        // of another test may hold that of the last round for a moment, which then gets the frames of its flow.
        let arrived = (0..2000).any(|_| {
            send(&mut b, &frames);
            a.wait(None, Duration::from_millis(10)).unwrap();
            a.receive(1, &mut |frame| assert_eq!(frame, frames[0])).unwrap() > 0
        });
        assert!(arrived, "nothing has arrived in round {round}");
        assert!(a.send(&mut |room| room.len().min(64)).unwrap());
        in_namespace(&veth.names[0], || {
            drop(a);
            Ok(())
        })
        .unwrap();
    }
}

/// Receives until an error comes.
fn trouble(port: &mut DpdkPort) -> String {
    for _ in 0..6000 {
        match port.receive(64, &mut |_| ()) {
            Ok(_) => port.wait(None, Duration::from_millis(10)).unwrap(),
            Err(error) => return error.to_string(),
        }
    }
    panic!("no error for a minute");
}

#[test]
fn an_interface_that_goes_down_is_reported_and_works_again_afterwards() {
    let Some(veth) = Veth::make(1500) else { return };
    let _guard = quiet(&veth);
    let (mut a, mut b) = beside_a_socket(&veth, "", &DpdkOptions::default());
    let macs = macs(&veth);
    let frames: Vec<_> = (0..32).map(|seq| packet(macs, PORT, seq, 1000)).collect();
    veth.ip(0, "link set eth down");
    let told = trouble(&mut a);
    assert!(told.contains("interface \"eth\"") && told.contains("ip link set NAME up"), "{told}");
    // More than the driver's ring holds.
    for _ in 0..100 {
        for frame in &frames {
            put(&mut a, frame);
        }
    }
    veth.ip(0, "link set eth up");
    veth.wait_until_up();
    let now = packet(macs, PORT, 7000, 10);
    let arrives = (0..100).any(|_| {
        put(&mut a, &now);
        (0..20).any(|_| {
            let mut seen = false;
            b.receive(4096, &mut |frame| seen |= frame == now).unwrap();
            b.wait(None, Duration::from_millis(5)).unwrap();
            seen
        })
    });
    assert!(arrives, "no frame leaves any more");
    let back = packet(back(&veth), PORT, 7001, 10);
    send(&mut b, std::slice::from_ref(&back));
    assert_eq!(take(&mut a, 1), [back]);
}

#[test]
fn an_interface_that_disappears_is_reported_and_its_successor_can_be_opened() {
    let Some(veth) = Veth::make(1500) else { return };
    let (mut a, b) = beside_a_socket(&veth, "", &DpdkOptions::default());
    drop(b);
    veth.replace(1500);
    let told = trouble(&mut a);
    assert!(told.contains("there is no interface \"number "), "{told}");
    for _ in 0..2000 {
        put(&mut a, &[0xff; 64]);
    }
    in_namespace(&veth.names[0], || {
        drop(a);
        Ok(())
    })
    .unwrap();
    let (mut a, mut b) = beside_a_socket(&veth, "", &DpdkOptions::default());
    let _guard = quiet(&veth);
    everything_crosses(1500, &veth, [&mut a, &mut b]);
}

#[test]
fn a_changed_mtu_loses_frames_that_are_too_long_and_no_others() {
    let Some(veth) = Veth::make(1500) else { return };
    let _guard = quiet(&veth);
    let (mut a, mut b) = beside_a_socket(&veth, "", &DpdkOptions::default());
    let macs = macs(&veth);
    let (long, short) = (packet(macs, PORT, 1, 1300), packet(macs, PORT, 2, 100));
    // More of them than the driver's ring holds.
    veth.ip(0, "link set eth mtu 1000");
    for _ in 0..2000 {
        put(&mut a, &long);
    }
    // A refused frame may hold up later ones until the next flush.
    let got = (0..2000).find_map(|_| {
        put(&mut a, &short);
        let mut seen = None;
        b.receive(64, &mut |frame| seen = Some(frame.to_vec())).unwrap();
        seen
    });
    assert_eq!(got.as_ref(), Some(&short), "nothing leaves any more");
    // Frames that exceed the MTU with which the port was opened.
    for end in 0..2 {
        veth.ip(end, "link set eth mtu 9000");
    }
    let everything = PacketOptions { protocol: Protocol::All, bursts: false, ..PacketOptions::default() };
    let mut b = in_namespace(&veth.names[1], || PacketSocket::open("eth", &everything)).unwrap();
    send(&mut b, &[packet(back(&veth), PORT, 3, 8000), packet(back(&veth), PORT, 4, 100)]);
    assert_eq!(take(&mut a, 1), [packet(back(&veth), PORT, 4, 100)]);
    assert!(is_empty(&mut a));
    assert_eq!(a.count_missed().unwrap(), 1);
}

#[test]
fn dpdk_has_one_thread_and_it_can_be_used() {
    let name = || std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim().to_owned();
    assert_eq!(dpdk().in_its_thread(name).unwrap(), "eal-intr-thread");
    for _ in 0..100 {
        assert_eq!(dpdk().in_its_thread(|| 7).unwrap(), 7);
    }
}
