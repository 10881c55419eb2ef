//! Frames between two network namespaces, over every backend that needs them.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

mod common;
#[path = "common/crossing.rs"]
mod crossing;

use common::{Veth, carry, is_empty, send, take};
use crossing::{HOSTS, everything_crosses, frame, macs};
use pullnet_netio::{
    Attach, Copying, Filter, Interface, PacketIo, PacketOptions, PacketSocket, PortGuard, Protocol,
    XdpOptions, XdpSocket, in_namespace,
};
use pullnet_wire::{Marks, PORT, parse};

fn packets(mtu: usize) {
    let Some(veth) = Veth::make(mtu) else { return };
    let [mut a, mut b] = veth.open(|| PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    everything_crosses(mtu, &veth, [&mut a, &mut b]);
    assert_eq!(b.count_missed().unwrap(), 0);
}

fn xdp(mtu: usize, attach: Attach) {
    let Some(veth) = Veth::make(mtu) else { return };
    let options = XdpOptions { attach, ..XdpOptions::default() };
    let [mut a, mut b] = veth.open(|| XdpSocket::open("eth", &options)).unwrap();
    everything_crosses(mtu, &veth, [&mut a, &mut b]);
    assert_eq!(b.count_missed().unwrap(), 0);
}

/// Full frames of one flow, and a shorter one behind every tenth.
fn bulk(mtu: usize, veth: &Veth) -> Vec<Vec<u8>> {
    let (macs, most) = (macs(veth), pullnet_wire::payload_room(mtu, false));
    (0..640).map(|seq| frame(macs, PORT, seq, if seq % 11 == 10 { 700 } else { most })).collect()
}

fn bursts(mtu: usize, sends: bool, receives: bool) {
    let Some(veth) = Veth::make(mtu) else { return };
    let open = |name: &str, bursts| {
        let options = PacketOptions { bursts, ..PacketOptions::default() };
        in_namespace(name, || PacketSocket::open("eth", &options)).unwrap()
    };
    let (mut a, mut b) = (open(&veth.names[0], sends), open(&veth.names[1], receives));
    let frames = bulk(mtu, &veth);
    let seen = carry(&mut a, &mut b, &frames);
    assert!(seen == frames, "{} of {} frames, or others", seen.len(), frames.len());
    let (sent, received) = (a.counters(), b.counters());
    assert_eq!((sent.sent_bursts > 0, received.received_bursts), (sends, sent.sent_bursts));
    assert_eq!((sent.refused, received.received, b.count_missed().unwrap()), (0, 640, 0));
    if sends {
        // Flushes of 32 frames. An IP packet holds 43 frames of 1500 B, or 7 of 9000 B.
        let most = if mtu == 1500 { 20 * 4 } else { 20 * 8 };
        assert!((20..=most).contains(&sent.sent_bursts), "{} bursts", sent.sent_bursts);
    }
}

#[test]
fn frames_of_one_flow_leave_in_bursts_and_arrive_as_they_were() {
    bursts(1500, true, true);
    bursts(9000, true, true);
}

#[test]
fn hosts_with_and_without_bursts_understand_each_other() {
    bursts(1500, true, false);
    bursts(1500, false, true);
}

#[test]
fn frames_leave_one_by_one_where_the_interface_splits_no_bursts() {
    let Some(veth) = Veth::make(1500) else { return };
    let [name_a, name_b] = &veth.names;
    // As long as AF_XDP is attached in the driver, veth takes no bursts for it.
    let mut b = in_namespace(name_b, || XdpSocket::open("eth", &XdpOptions::default())).unwrap();
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let frames = bulk(1500, &veth);
    assert!(carry(&mut a, &mut b, &frames) == frames, "frames differ");
    assert_eq!((a.counters().sent_bursts, a.counters().refused), (0, 0));
    drop(b);
    let mut b = in_namespace(name_b, || PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    // The pause after a refusal ends.
    let sent = (0..50).any(|_| {
        assert!(carry(&mut a, &mut b, &frames) == frames, "frames differ");
        a.counters().sent_bursts > 0
    });
    assert!(sent, "bursts do not come back");
}

#[test]
fn control_frames_and_data_of_several_paths_keep_their_order_within_each() {
    let Some(veth) = Veth::make(1500) else { return };
    let [mut a, mut b] = veth.open(|| PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let macs = macs(&veth);
    let frames: Vec<_> = (0..320u32)
        .map(|seq| {
            let mut one = frame(macs, PORT, seq, 1000);
            // The low byte of the UDP source port: a path.
            one[35] = (seq % 5) as u8;
            one
        })
        .collect();
    let seen = carry(&mut a, &mut b, &frames);
    let of =
        |all: &[Vec<u8>], path: u8| all.iter().filter(|one| one[35] == path).cloned().collect::<Vec<_>>();
    assert!((0..5).all(|path| of(&seen, path) == of(&frames, path)), "the order of a path has changed");
    assert_eq!((seen.len(), a.counters().sent_bursts), (320, 50));
}

#[test]
fn af_packet_carries_1500_bytes() {
    packets(1500);
}

#[test]
fn af_packet_carries_9000_bytes() {
    packets(9000);
}

#[test]
fn af_xdp_in_the_driver_carries_1500_bytes() {
    xdp(1500, Attach::Native);
}

#[test]
fn af_xdp_in_the_driver_carries_9000_bytes_in_three_pieces() {
    xdp(9000, Attach::Native);
}

#[test]
fn af_xdp_behind_the_driver_carries_1500_bytes() {
    xdp(1500, Attach::Generic);
}

#[test]
fn af_xdp_behind_the_driver_carries_9000_bytes_in_three_pieces() {
    xdp(9000, Attach::Generic);
}

#[test]
fn different_backends_understand_each_other() {
    let Some(veth) = Veth::make(1500) else { return };
    let [name_a, name_b] = &veth.names;
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let mut b = in_namespace(name_b, || XdpSocket::open("eth", &XdpOptions::default())).unwrap();
    everything_crosses(1500, &veth, [&mut a, &mut b]);
}

#[test]
fn af_xdp_leaves_other_traffic_to_the_kernel() {
    let Some(veth) = Veth::make(1500) else { return };
    let [name_a, name_b] = &veth.names;
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let mut b = in_namespace(name_b, || XdpSocket::open("eth", &XdpOptions::default())).unwrap();
    let mut rest = in_namespace(name_b, || PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let macs = macs(&veth);
    let ours = frame(macs, PORT, 0, 100);
    let other = frame(macs, PORT + 1, 1, 100);
    send(&mut a, &[other.clone(), ours.clone()]);
    // Frames stay in order: when ours arrives, the earlier foreign frame was already passed on.
    assert_eq!(take(&mut b, 1), [ours]);
    assert_eq!(take(&mut rest, 1), [other]);
    assert!(is_empty(&mut b) && is_empty(&mut rest));
}

#[test]
fn a_switch_is_given_everything() {
    let Some(veth) = Veth::make(1500) else { return };
    let everything = PacketOptions { protocol: Protocol::All, ..PacketOptions::default() };
    let options = XdpOptions { filter: Filter::Everything, ..XdpOptions::default() };
    let [name_a, name_b] = &veth.names;
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &everything)).unwrap();
    let mut b = in_namespace(name_b, || XdpSocket::open("eth", &options)).unwrap();
    let mut strange = frame(macs(&veth), PORT, 0, 50);
    strange[12..14].copy_from_slice(&[0x88, 0xb5]);
    assert_eq!(carry(&mut a, &mut b, std::slice::from_ref(&strange)), [strange.clone()]);
    assert_eq!(carry(&mut b, &mut a, std::slice::from_ref(&strange)), [strange]);
}

/// Sum of the addresses and all of UDP, as RFC 768 has it. Right checksums make it 0xffff.
fn udp_sum(frame: &[u8]) -> u32 {
    let words =
        frame[26..].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + 17 + (frame.len() - 34) as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[test]
fn a_switch_is_given_finished_checksums_where_the_kernel_leaves_them_to_a_card() {
    let Some(veth) = Veth::make(1500) else { return };
    let everything = PacketOptions { protocol: Protocol::All, ..PacketOptions::default() };
    let [name_a, name_b] = &veth.names;
    let mut b = in_namespace(name_b, || PacketSocket::open("eth", &everything)).unwrap();
    let sender = in_namespace(name_a, || Ok(UdpSocket::bind("10.77.0.1:0").unwrap())).unwrap();
    for long in [60, 61, 1400] {
        sender.send_to(&vec![0x5a; long], "10.77.0.2:9").unwrap();
        // Address resolution comes first.
        let is_data = |frame: &[u8]| frame.len() == 42 + long && frame[12..14] == [8, 0] && frame[23] == 17;
        let data = loop {
            if let Some(data) = take(&mut b, 1).into_iter().find(|frame| is_data(frame)) {
                break data;
            }
        };
        assert_eq!(udp_sum(&data), 0xffff, "{long} B");
    }
}

#[test]
fn a_socket_takes_its_protocol_only_and_none_of_another_vlan() {
    let Some(veth) = Veth::make(1500) else { return };
    let open = |name: &str, protocol| {
        let options = PacketOptions { protocol, ..PacketOptions::default() };
        in_namespace(name, || PacketSocket::open("eth", &options)).unwrap()
    };
    let [name_a, name_b] = &veth.names;
    let mut a = open(name_a, Protocol::Other(0x88b5));
    let (mut strange, mut ipv4) = (open(name_b, Protocol::Other(0x88b5)), open(name_b, Protocol::Ipv4));
    let ours = frame(macs(&veth), PORT, 0, 100);
    let mut other = ours.clone();
    other[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut tagged = ours.clone();
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
    assert_eq!(carry(&mut a, &mut strange, std::slice::from_ref(&other)), [other]);
    send(&mut a, &[tagged, ours.clone()]);
    assert_eq!(take(&mut ipv4, 1), [ours]);
    assert!(is_empty(&mut ipv4) && is_empty(&mut strange));
}

#[test]
fn veth_cannot_do_without_copying_and_says_so() {
    let Some(veth) = Veth::make(1500) else { return };
    let options = XdpOptions { copying: Copying::Never, ..XdpOptions::default() };
    let refused = in_namespace(&veth.names[0], || XdpSocket::open("eth", &options)).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("cannot bind an AF_XDP socket on interface \"eth\""), "{text}");
}

#[test]
fn a_queue_can_be_opened_again() {
    let Some(veth) = Veth::make(1500) else { return };
    for _ in 0..3 {
        in_namespace(&veth.names[0], || XdpSocket::open("eth", &XdpOptions::default())).unwrap();
    }
}

#[test]
fn a_guarded_port_answers_nothing() {
    let Some(veth) = Veth::make(1500) else { return };
    let [name_a, name_b] = &veth.names;
    let _guard = in_namespace(name_b, || PortGuard::take(HOSTS[1], PORT)).unwrap();
    let everything = PacketOptions { protocol: Protocol::Ipv4, ..PacketOptions::default() };
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &everything)).unwrap();
    let mut b = in_namespace(name_b, || PacketSocket::open("eth", &everything)).unwrap();
    let macs = macs(&veth);
    let frames: Vec<_> = (0..20).map(|seq| frame(macs, PORT, seq, 10)).collect();
    assert_eq!(carry(&mut a, &mut b, &frames).len(), 20);
    let mut answers = 0;
    a.receive(64, &mut |frame| answers += usize::from(parse(frame, &Marks::default(), PORT).is_err()))
        .unwrap();
    assert_eq!(answers, 0, "the kernel has answered");
    let taken = in_namespace(name_b, || PortGuard::take(HOSTS[1], PORT)).unwrap_err().to_string();
    assert!(taken.contains("another program uses it") || taken.contains("in use"), "{taken}");
}

/// IP packets that the kernel of a namespace has received.
fn ip_packets(namespace: &str) -> u64 {
    let read = || Ok(std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap());
    let text = in_namespace(namespace, read).unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|name| name == "InReceives").unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

/// A socket of the kernel's UDP. A process that another test has just started holds a copy of every file until its program
/// begins, so that a port may be in use for a moment after its guard is dropped.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn bind(address: (IpAddr, u16)) -> UdpSocket {
    let attempts = (0..5000).map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        UdpSocket::bind(address)
    });
    attempts.flatten().next().expect("the port becomes free")
}

#[test]
fn the_kernel_does_not_see_frames_for_a_port_that_is_guarded_on_an_interface() {
    let Some(veth) = Veth::make(1500) else { return };
    let [name_a, name_b] = &veth.names;
    let guard =
        in_namespace(name_b, || PortGuard::take_on(&Interface::find("eth")?, HOSTS[1], PORT)).unwrap();
    assert!(guard.is_early());
    // The kernel would count a burst as one packet.
    let everything = PacketOptions { bursts: false, ..PacketOptions::default() };
    let mut a = in_namespace(name_a, || PacketSocket::open("eth", &everything)).unwrap();
    let mut b = in_namespace(name_b, || PacketSocket::open("eth", &everything)).unwrap();
    let macs = macs(&veth);
    let mut send = |port| {
        let frames: Vec<_> = (0..20).map(|seq| frame(macs, port, seq, 10)).collect();
        assert_eq!(carry(&mut a, &mut b, &frames).len(), 20);
    };
    let listen = |port| in_namespace(name_b, || Ok(bind((HOSTS[1], port)))).unwrap();
    // A packet socket has a whole list of frames before IP counts the first of them. A datagram that UDP delivers has
    // been counted, and so has every frame ahead of it.
    let counted_after = |others: &UdpSocket| {
        others.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        (0..20).for_each(|_| assert!(others.recv(&mut [0; 2000]).unwrap() > 0));
        ip_packets(name_b)
    };
    let before = ip_packets(name_b);
    let other = listen(PORT + 1);
    send(PORT);
    send(PORT + 1);
    assert_eq!(counted_after(&other), before + 20, "only the other port is the kernel's");
    drop(guard);
    let same = listen(PORT);
    send(PORT);
    assert_eq!(counted_after(&same), before + 40, "the guard is gone");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let refused = Interface::find("no-such-one").unwrap_err().to_string();
    assert!(refused.contains("there is no interface \"no-such-one\""), "{refused}");
    assert!(Interface::find("a-name-that-is-much-too-long-for-any").is_err());
    assert!(Interface::find("").is_err());
}

/// Frames of one flow with a payload of these lengths.
fn lengths(veth: &Veth, lengths: &[usize]) -> Vec<Vec<u8>> {
    let macs = macs(veth);
    lengths.iter().zip(0..).map(|(long, seq)| frame(macs, PORT, seq, *long)).collect()
}

fn push(io: &mut dyn PacketIo, frames: &[Vec<u8>]) {
    for frame in frames {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        // An error concerns an earlier frame; this frame is queued.
        let _ = io.send(fill);
    }
}

#[test]
fn frames_that_a_lowered_mtu_forbids_do_not_keep_others_from_leaving() {
    let Some(veth) = Veth::make(1500) else { return };
    // The kernel does not compare the parts of a burst with the MTU.
    let options = PacketOptions { bursts: false, ..PacketOptions::default() };
    let [mut a, mut b] = veth.open(|| PacketSocket::open("eth", &options)).unwrap();
    let most = pullnet_wire::payload_room(1500, false);
    let frames = lengths(&veth, &[most, 100, most, 200]);
    veth.ip(0, "link set eth mtu 1400");
    // Far more than a batch: each has to make room for the next.
    for _ in 0..50 {
        push(&mut a, &frames);
        let error = a.flush().unwrap_err();
        assert!(error.may_pass() && error.to_string().contains("MTU"), "{error}");
        assert!(take(&mut b, 2) == [frames[1].clone(), frames[3].clone()]);
    }
    assert_eq!((a.counters().refused, a.counters().full, a.is_gone()), (100, 0, false));
    veth.ip(0, "link set eth mtu 1500");
    assert!(carry(&mut a, &mut b, &frames) == frames);
}

#[test]
fn an_interface_that_is_down_comes_up_again_and_a_removed_one_is_gone() {
    let Some(veth) = Veth::make(1500) else { return };
    let [mut a, mut b] = veth.open(|| PacketSocket::open("eth", &PacketOptions::default())).unwrap();
    let frames = lengths(&veth, &[100; 100]);
    veth.ip(0, "link set eth down");
    push(&mut a, &frames);
    let error = a.flush().unwrap_err();
    assert!(error.may_pass() && !a.is_gone(), "{error}");
    assert_eq!(a.counters().full, 0);
    veth.interrupt(0);
    assert!(carry(&mut a, &mut b, &frames) == frames);
    veth.ip(0, "link del eth");
    // Nothing is sent or received: it is found by the waiting.
    for socket in [&mut a, &mut b] {
        let waited = (0..100).find_map(|_| {
            socket.receive(64, &mut |_| ()).unwrap();
            socket.wait(None, Duration::from_millis(100)).err()
        });
        assert!(waited.is_some() && socket.is_gone(), "{waited:?}");
    }
    push(&mut a, &frames);
    assert!(a.flush().is_err() && a.counters().full == 0);
}
