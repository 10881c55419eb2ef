//! Packets and routes of every kind, for the properties of this folder.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use pullnet_wire::{DataFields, Mac, Marks, Packet, Reason, Route, STAMP_MASK, Shape, emit};

/// A frame, and where in memory it lies.
pub fn frame(route: &Route, packet: &Packet, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 66_000];
    let long = emit(&mut out, route, &Marks::default(), packet, payload).expect("it fits");
    out.truncate(long);
    out
}

fn data() -> impl Strategy<Value = Shape> {
    let parts = (any::<u32>(), any::<[bool; 4]>(), 0..9000u16, any::<u16>(), any::<u8>(), 0..=STAMP_MASK);
    parts.prop_map(|(seq, [syn, last, pulled, again], length, service, priority, stamp)| {
        Shape::Data(DataFields {
            seq,
            syn,
            last,
            pulled,
            again,
            length,
            service,
            priority,
            stamp: if syn { stamp } else { 0 },
        })
    })
}

pub fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => data(),
        1 => any::<(u32, u32, Option<u32>)>().prop_map(|(seq, also, pull)| Shape::Ack { seq, also, pull }),
        1 => any::<(u32, Option<u32>)>().prop_map(|(seq, pull)| Shape::Nack { seq, pull }),
        1 => any::<u32>().prop_map(|number| Shape::Pull { number }),
        1 => any::<u32>().prop_map(|seq| Shape::Probe { seq }),
        1 => any::<(bool, u8)>().prop_map(|(by_sender, why)| Shape::Reset { by_sender, reason: Reason(why) }),
        1 => Just(Shape::Hello),
        1 => (any::<u64>(), 0..=STAMP_MASK).prop_map(|(token, clock)| Shape::Cookie { token, clock }),
    ]
}

pub fn any_packet() -> impl Strategy<Value = Packet> {
    (any::<u16>(), any::<u32>(), any::<u64>(), any_shape()).prop_map(|(home, conn, tag, shape)| {
        let alone = matches!(shape, Shape::Hello | Shape::Cookie { .. });
        Packet { home, conn: if alone { 0 } else { conn }, tag, shape }
    })
}

fn any_addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(a, b)| (Ipv4Addr::from(a).into(), Ipv4Addr::from(b).into())),
        any::<(u128, u128)>().prop_map(|(a, b)| (Ipv6Addr::from(a).into(), Ipv6Addr::from(b).into())),
    ]
}

pub fn any_route() -> impl Strategy<Value = Route> {
    let parts = (any::<[u8; 6]>(), any::<[u8; 6]>(), any_addresses(), any::<(u16, u16)>());
    parts.prop_map(|(from_mac, to_mac, (from, to), (from_port, to_port))| Route {
        from_mac: Mac(from_mac),
        to_mac: Mac(to_mac),
        from,
        to,
        from_port,
        to_port,
    })
}

/// The payload of `packet`: bytes that differ from each other.
pub fn payload(packet: &Packet) -> Vec<u8> {
    (0..packet.shape.length()).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect()
}
