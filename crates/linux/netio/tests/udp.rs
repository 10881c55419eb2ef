//! Frames over the kernel's own UDP, on loopback; needs no privilege.

mod common;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use common::carry;
use pullnet_netio::{PacketIo, UdpOptions, UdpSockets};
use pullnet_wire::{
    DataFields, Fate, Mac, Mark, Marks, Packet, Route, Shape, emit, parse, payload_room, switch,
};

fn sockets(address: IpAddr) -> UdpSockets {
    UdpSockets::open(&UdpOptions { port: 0, labels: 4, ..UdpOptions::new(address) }).unwrap()
}

fn packet(home: u16, seq: u32, length: usize) -> Packet {
    let (syn, last, pulled, again) = (true, false, false, false);
    let shape = Shape::Data(DataFields {
        seq,
        syn,
        last,
        pulled,
        again,
        length: length as u16,
        service: 9,
        ..DataFields::default()
    });
    Packet { home, conn: 5, tag: 9, shape }
}

fn frames(a: &UdpSockets, b: &UdpSockets) -> Vec<Vec<u8>> {
    let most = payload_room(1500, a.local().is_ipv6());
    let lengths = [0, 1, 100, most - 1, most];
    let frame = |(seq, length): (usize, usize)| {
        let route = Route {
            from_mac: Mac::default(),
            to_mac: Mac::default(),
            from: a.local().ip(),
            to: b.local().ip(),
            from_port: Route::port_of(2),
            to_port: b.local().port(),
        };
        let mut out = vec![0; 2000];
        let packet = packet(a.local().port(), seq as u32, length);
        let long = emit(&mut out, &route, &Marks::default(), &packet, &vec![seq as u8; length]).unwrap();
        out.truncate(long);
        out
    };
    (0..100).map(|at| lengths[at % lengths.len()]).enumerate().map(frame).collect()
}

fn everything_crosses(address: IpAddr) {
    let (mut a, mut b) = (sockets(address), sockets(address));
    let frames = frames(&a, &b);
    let seen = carry(&mut a, &mut b, &frames);
    assert_eq!(seen.len(), frames.len());
    for (sent, arrived) in frames.iter().zip(&seen) {
        let port = b.local().port();
        let sent = parse(sent, &Marks::default(), port).unwrap();
        let arrived = parse(arrived, &Marks::default(), port).unwrap();
        assert_eq!((arrived.packet, arrived.fate), (sent.packet, Fate::Whole));
        assert_eq!((arrived.payload, arrived.mark), (sent.payload, Some(Mark::Data)));
        assert_eq!((arrived.route.from, arrived.route.to), (sent.route.from, sent.route.to));
    }
}

#[test]
fn frames_cross_over_ipv4() {
    everything_crosses(Ipv4Addr::LOCALHOST.into());
}

#[test]
fn frames_cross_over_ipv6() {
    everything_crosses(Ipv6Addr::LOCALHOST.into());
}

#[test]
fn a_trimmed_frame_crosses_if_its_lengths_are_corrected() {
    let (mut a, mut b) = (sockets(Ipv4Addr::LOCALHOST.into()), sockets(Ipv4Addr::LOCALHOST.into()));
    let mut frame = frames(&a, &b).pop().unwrap();
    let long = switch::trim(&mut frame, 64, switch::Lengths::Corrected, &Marks::default()).unwrap();
    frame.truncate(long);
    let seen = carry(&mut a, &mut b, &[frame]);
    let arrived = parse(&seen[0], &Marks::default(), b.local().port()).unwrap();
    assert_eq!((arrived.fate, arrived.mark), (Fate::Trimmed, Some(Mark::Trimmed)));
}

#[test]
fn what_is_no_udp_is_refused_and_counted() {
    let mut a = sockets(Ipv4Addr::LOCALHOST.into());
    assert!(a.send(&mut |room| room.len().min(60)).unwrap());
    a.flush().unwrap();
    assert_eq!((a.counters().refused, a.counters().sent), (1, 0));
}

#[test]
fn no_address_is_no_answer() {
    let refused = UdpSockets::open(&UdpOptions::new(Ipv4Addr::UNSPECIFIED.into())).unwrap_err();
    assert!(refused.to_string().contains("need one address"), "{refused}");
}
