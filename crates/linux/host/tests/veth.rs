//! Hosts on interfaces of their own, in two network namespaces: AF_PACKET, with the kernel's neighbours.

#[path = "../../netio/tests/common/mod.rs"]
mod namespaces;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;
use std::time::Duration;

use namespaces::Veth;
use pullnet_host::{EngineOptions, Host, HostOptions, Neighbours};
use pullnet_netio::{Interface, PacketOptions, PacketSocket, PortGuard, Protocol, in_namespace};
use pullnet_units::Picos;
use pullnet_wire::PORT;

const SERVICE: u16 = 7;
/// Nothing here takes this long: a longer wait would never end.
const WATCHDOG: Option<Duration> = Some(Duration::from_secs(300));

/// Which of its addresses a host has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

fn address(side: usize, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(10, 77, 0, 1 + side as u8).into(),
        Family::V6 => Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1 + side as u16).into(),
    }
}

/// A host on the interface of one side, and what keeps the kernel from answering for its port.
fn host(veth: &Veth, side: usize, family: Family, mtu: usize) -> (Host, PortGuard) {
    let start = || {
        let interface = Interface::find("eth")?;
        let guard = PortGuard::take_on(&interface, address(side, family), PORT)?;
        let protocol = if family == Family::V6 { Protocol::Ipv6 } else { Protocol::Ipv4 };
        let options = PacketOptions { protocol, ..PacketOptions::default() };
        let (mac, io) = (interface.mac, PacketSocket::open("eth", &options)?);
        let mut engine = EngineOptions { mac, mtu, ..EngineOptions::new(address(side, family)) };
        // A host that the machine has no time for is not given up.
        engine.transport.give_up = Picos::from_secs(120);
        let neighbours = Neighbours::Kernel("eth".to_string());
        Ok((Host::start(io, HostOptions { neighbours, ..HostOptions::new(engine) }).unwrap(), guard))
    };
    in_namespace(&veth.names[side], start).unwrap()
}

fn megabytes_cross(mtu: usize, family: Family) {
    let Some(veth) = Veth::make(mtu) else { return };
    veth.add_ipv6();
    let ((here, _kept), (there, _too)) = (host(&veth, 0, family, mtu), host(&veth, 1, family, mtu));
    let listener = there.listen(SERVICE).unwrap();
    listener.set_accept_timeout(WATCHDOG);
    let bytes: Vec<u8> = (0..3_000_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(WATCHDOG);
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_last(&all).unwrap();
        stream.settle().unwrap();
    });
    let mut stream = here.connect(there.local(), SERVICE).unwrap();
    stream.set_read_timeout(WATCHDOG);
    stream.set_write_timeout(WATCHDOG);
    stream.write_all(&bytes).unwrap();
    stream.finish().unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    server.join().unwrap();
    assert!(back == bytes, "{} of {} bytes", back.len(), bytes.len());
    let refused = there.status().totals.refused;
    assert_eq!((refused.malformed, refused.full), (0, 0));
}

#[test]
fn streams_cross_an_interface_with_packets_of_1500_bytes() {
    megabytes_cross(1500, Family::V4);
}

#[test]
fn streams_cross_an_interface_with_packets_of_9000_bytes() {
    megabytes_cross(9000, Family::V4);
}

#[test]
fn streams_cross_an_interface_over_ipv6_without_a_given_neighbour() {
    megabytes_cross(1500, Family::V6);
}

#[test]
fn an_address_that_nobody_has_is_unreachable() {
    let Some(veth) = Veth::make(1500) else { return };
    veth.add_ipv6();
    let (here, _kept) = host(&veth, 0, Family::V4, 1500);
    let nobody = "10.77.0.9:61199".parse().unwrap();
    let error = here.call(nobody, SERVICE, b"anybody?", WATCHDOG).unwrap_err();
    assert_eq!(error.to_string(), "no Ethernet address is known for 10.77.0.9");
    let elsewhere = "192.0.2.1:61199".parse().unwrap();
    let error = here.call(elsewhere, SERVICE, b"anybody?", WATCHDOG).unwrap_err();
    assert_eq!(error.to_string(), "no Ethernet address is known for 192.0.2.1");
    let (here, _too) = host(&veth, 1, Family::V6, 1500);
    for (whole, nobody) in [("[fd77::9]:61199", "fd77::9"), ("[2001:db8::1]:61199", "2001:db8::1")] {
        let error = here.call(whole.parse().unwrap(), SERVICE, b"anybody?", WATCHDOG).unwrap_err();
        assert_eq!(error.to_string(), format!("no Ethernet address is known for {nobody}"));
    }
}
