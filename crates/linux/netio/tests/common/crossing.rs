//! Frames that every backend has to carry between two network namespaces.

use std::net::{IpAddr, Ipv4Addr};

use pullnet_netio::{Interface, PacketIo};
use pullnet_wire::{DataFields, Mac, Marks, PORT, Packet, Route, Shape, emit};

use crate::common::{Veth, carry};

pub const HOSTS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2))];

/// A data frame from host 0 to host 1 for `port`, with `payload` bytes of payload.
pub fn frame(macs: [Mac; 2], port: u16, seq: u32, payload: usize) -> Vec<u8> {
    let route = Route {
        from_mac: macs[0],
        to_mac: macs[1],
        from: HOSTS[0],
        to: HOSTS[1],
        from_port: Route::port_of(3),
        to_port: port,
    };
    let payload: Vec<u8> = (0..payload).map(|at| (at * 7 + seq as usize) as u8).collect();
    let shape = Shape::Data(DataFields {
        seq,
        syn: true,
        length: payload.len() as u16,
        service: 1,
        ..DataFields::default()
    });
    let mut out = vec![0; 10_000];
    let long =
        emit(&mut out, &route, &Marks::default(), &Packet { home: PORT, conn: 1, tag: 9, shape }, &payload);
    out.truncate(long.unwrap());
    out
}

pub fn macs(veth: &Veth) -> [Mac; 2] {
    veth.open(|| Interface::find("eth")).unwrap().map(|interface| interface.mac)
}

/// Frames of every length cross, whole and in order.
pub fn everything_crosses(mtu: usize, veth: &Veth, [a, b]: [&mut dyn PacketIo; 2]) {
    let most = pullnet_wire::payload_room(mtu, false);
    let lengths = (0..600).map(|at| match at % 4 {
        0 => most,
        1 => at % 100,
        2 => most - at % 50,
        _ => at * (most / 600),
    });
    let macs = macs(veth);
    let frames: Vec<_> = lengths.enumerate().map(|(seq, long)| frame(macs, PORT, seq as u32, long)).collect();
    let seen = carry(a, b, &frames);
    assert_eq!(seen.len(), frames.len());
    assert!(seen == frames, "frames differ");
    assert_eq!((a.counters().sent, b.counters().received), (600, 600));
}
