//! Daemons on interfaces, which they open as root and use as the user `nobody`. Needs root and `ip`.

mod common;
#[path = "../../netio/tests/common/mod.rs"]
mod veth;

use std::io::Read;
use std::time::Duration;

use common::{Daemon, Installation, WATCHDOG, pattern};
use pullnet_host::{NdpListener, NdpStream, StreamError};
use pullnet_namespaces::ip;
use pullnet_netio::Dpdk;
use veth::Veth;

const SERVICE: u16 = 7;

/// Sends so many bytes from `a` to `b` and back.
fn exchange(a: &Daemon, b: &Daemon, listener: &NdpListener, long: usize) {
    let mut stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    let sent = pattern(long);
    stream.set_read_timeout(Some(WATCHDOG));
    stream.set_write_timeout(Some(WATCHDOG));
    let asking = {
        let (stream, sent) = (stream.clone(), sent.clone());
        std::thread::spawn(move || stream.write_last(&sent).unwrap())
    };
    let (mut taken, peer) =
        listener.accept().unwrap_or_else(|error| panic!("{error}; its opener: {:?}", stream.settle()));
    assert_eq!(peer, a.address);
    let mut all = Vec::new();
    taken.set_read_timeout(Some(WATCHDOG));
    taken.read_to_end(&mut all).unwrap();
    taken.write_last(&all).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    asking.join().unwrap();
    assert!(back == sent, "{long} B came back as others");
}

fn listener(of: &Daemon) -> NdpListener {
    let listener = NdpListener::bind(&of.stack(), SERVICE).unwrap();
    listener.set_accept_timeout(Some(WATCHDOG));
    listener
}

/// Bytes go over the link in both directions, found by the kernel's ARP, and still do after it was down.
fn bytes_cross_a_link(further: &str) {
    let Some(link) = Veth::make(1500) else { return };
    let [left, right] = &link.names;
    let further = format!("interface = \"eth\"\n{further}");
    let a = Installation::at([10, 77, 0, 1]).start_in(left, &further);
    let b = Installation::at([10, 77, 0, 2]).start_in(right, &further);
    for daemon in [&a, &b] {
        daemon.has_no_rights();
    }
    let (stack, listener) = (a.stack(), listener(&b));
    let exchange = |long: usize| exchange(&a, &b, &listener, long);
    [10, 2_000_000].into_iter().for_each(exchange);
    link.interrupt(0);
    exchange(100_000);
    // An address without a host.
    let nowhere = NdpStream::connect(&stack, ([10, 77, 0, 9], 61199).into(), SERVICE).unwrap();
    nowhere.write_last(b"anybody?").unwrap();
    let mut nowhere = nowhere;
    nowhere.set_read_timeout(Some(WATCHDOG));
    let error = nowhere.read(&mut [0]).unwrap_err().downcast::<StreamError>().unwrap();
    assert_eq!(error, StreamError::Unreachable([10, 77, 0, 9].into()));
}

#[test]
fn an_address_of_another_interface_is_told() {
    let Some(link) = Veth::make(1500) else { return };
    let [left, _] = &link.names;
    for words in
        ["link add other type veth peer name far", "address add 10.77.5.1/24 dev other", "link set other up"]
    {
        ip(&format!("-n {left} {words}")).unwrap();
    }
    let told = |address| {
        Installation::at(address)
            .start_in(left, "interface = \"eth\"\nbackend = \"packet\"\n")
            .at_start
            .clone()
    };
    assert!(told([10, 77, 5, 1]).contains("the address is one of other"));
    assert!(!told([10, 77, 0, 1]).contains("the address is one of"));
}

#[test]
fn bytes_cross_a_link_by_af_packet() {
    bytes_cross_a_link("backend = \"packet\"\n");
}

#[test]
fn bytes_cross_a_link_by_af_xdp() {
    bytes_cross_a_link("backend = \"xdp\"\n");
}

/// Whether this program was built with DPDK; says so where it was not.
fn has_dpdk() -> bool {
    if !Dpdk::IS_BUILT_IN {
        println!("skipped: built without the feature dpdk");
    }
    Dpdk::IS_BUILT_IN
}

const BY_DPDK: &str = "backend = \"dpdk\"\ndevice = \"net_af_packet0,iface=eth\"\n";

#[test]
fn bytes_cross_a_link_by_dpdk() {
    if has_dpdk() {
        bytes_cross_a_link(BY_DPDK);
    }
}

#[test]
fn daemons_with_and_without_dpdk_understand_each_other() {
    let Some(link) = has_dpdk().then(|| Veth::make(9000)).flatten() else { return };
    let [left, right] = &link.names;
    let long = "interface = \"eth\"\nbackend = \"dpdk\"\ndevice = \"net_af_packet0,iface=eth,framesz=10240,blocksz=20480\"\n";
    let a = Installation::at([10, 77, 0, 1]).start_in(left, long);
    // A burst is longer than a slot of DPDK's ring.
    let b = Installation::at([10, 77, 0, 2])
        .start_in(right, "backend = \"packet\"\ninterface = \"eth\"\nbursts = false\n");
    let listeners = [listener(&a), listener(&b)];
    for long in [10, 2_000_000] {
        exchange(&a, &b, &listeners[1], long);
        exchange(&b, &a, &listeners[0], long);
    }
}

/// A network card that the kernel does not see has no interface there either: hosts know each other from their files.
#[test]
fn bytes_cross_a_link_by_dpdk_without_an_interface_of_the_kernel() {
    let Some(link) = has_dpdk().then(|| Veth::make(1500)).flatten() else { return };
    let [left, right] = &link.names;
    for (end, mac) in ["02:00:00:00:00:01", "02:00:00:00:00:02"].iter().enumerate() {
        link.ip(end, "address flush dev eth");
        link.ip(end, &format!("link set eth address {mac}"));
    }
    let neighbour = |host: u8| {
        format!("{BY_DPDK}[[neighbour]]\naddress = \"10.77.0.{host}\"\nmac = \"02:00:00:00:00:0{host}\"\n")
    };
    let a = Installation::at([10, 77, 0, 1]).start_in(left, &neighbour(2));
    let b = Installation::at([10, 77, 0, 2]).start_in(right, &neighbour(1));
    let listener = listener(&b);
    [10, 500_000].into_iter().for_each(|long| exchange(&a, &b, &listener, long));
}

#[test]
fn a_removed_interface_beneath_dpdk_is_in_the_log() {
    let Some(link) = has_dpdk().then(|| Veth::make(1500)).flatten() else { return };
    let a =
        Installation::at([10, 77, 0, 1]).start_in(&link.names[0], &format!("interface = \"eth\"\n{BY_DPDK}"));
    link.ip(0, "link del eth");
    a.logged("no frames at the moment");
}

/// The error of a daemon that does not start.
fn refusal(namespace: &str, further: &str) -> String {
    let told = Installation::at([10, 77, 0, 1]).fails_in(namespace, further);
    assert!(told.lines().last().is_some_and(|line| line.starts_with("error: ")), "{told}");
    told
}

#[test]
fn a_daemon_says_why_it_cannot_use_a_device() {
    let Some(link) = has_dpdk().then(|| Veth::make(1500)).flatten() else { return };
    let told = |further: &str| refusal(&link.names[0], &format!("backend = \"dpdk\"\n{further}"));
    let gone = told("device = \"net_af_packet0,iface=gone\"\n");
    assert!(gone.contains("there is no interface \"gone\""), "{gone}");
    let other = told("interface = \"eth\"\ndevice = \"net_null0\"\n");
    assert!(other.contains("name the interface that the device is on, or none"), "{other}");
    let card = told("device = \"0000:7f:00.0\"\n");
    assert!(card.contains("DPDK cannot open \"0000:7f:00.0\""), "{card}");
    let huge = told("device = \"net_null0\"\n[dpdk]\nhuge_pages = true\nmemory = \"64 GB\"\n");
    assert!(huge.contains("cannot start DPDK with huge pages"), "{huge}");
    let core = told("device = \"net_null0\"\n[dpdk]\ncore = 1000\n");
    assert!(core.contains("cannot start DPDK"), "{core}");
}

#[test]
fn a_lowered_mtu_fails_streams_and_the_daemon_goes_on() {
    let Some(link) = Veth::make(1500) else { return };
    let further = "interface = \"eth\"\nbackend = \"packet\"\nbursts = false\n[ndp]\ngive_up = \"2 s\"\n";
    let a = Installation::at([10, 77, 0, 1]).start_in(&link.names[0], further);
    let b = Installation::at([10, 77, 0, 2]).start_in(&link.names[1], further);
    let listener = listener(&b);
    exchange(&a, &b, &listener, 10_000);
    link.ip(0, "link set eth mtu 1400");
    let stream = NdpStream::connect(&a.stack(), b.address, SERVICE).unwrap();
    stream.set_write_timeout(Some(WATCHDOG));
    let _ = stream.write_last(&pattern(500_000));
    let error = stream.settle().unwrap_err();
    assert!(error.to_string().contains("longer than the MTU of a link"), "{error}");
    a.logged("the MTU of the interface was lowered");
    link.ip(0, "link set eth mtu 1500");
    listener.set_accept_timeout(Some(Duration::from_millis(100)));
    while listener.accept().is_ok() {}
    listener.set_accept_timeout(Some(WATCHDOG));
    exchange(&a, &b, &listener, 500_000);
}

/// Removes the interface of a daemon with these further settings.
fn ends_without_its_interface(settings: &str) {
    let Some(link) = Veth::make(1500) else { return };
    let further = "interface = \"eth\"\nbackend = \"packet\"\n";
    let mut a = Installation::at([10, 77, 0, 1]).start_in(&link.names[0], &format!("{further}{settings}"));
    let _b = Installation::at([10, 77, 0, 2]).start_in(&link.names[1], further);
    let waits = listener(&a);
    let idle = std::thread::spawn(move || waits.accept().map(|_| ()).unwrap_err());
    link.ip(0, "link del eth");
    a.logged("the interface was removed");
    assert!(!a.child.wait().unwrap().success());
    let error = idle.join().unwrap();
    assert!(error.to_string().contains("not running"), "{error}");
}

#[test]
fn a_removed_interface_ends_the_daemon_and_its_applications_hear_of_it() {
    ends_without_its_interface("");
}

#[test]
fn a_removed_interface_ends_a_daemon_that_records_its_frames() {
    let file = std::env::temp_dir().join(format!("pullnetd-{}.pcapng", std::process::id()));
    ends_without_its_interface(&format!("[capture]\nfile = \"{}\"\n", file.display()));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn an_mtu_that_the_interface_does_not_carry_is_refused() {
    let Some(link) = Veth::make(1500) else { return };
    for backend in ["packet", "xdp"] {
        let told = refusal(
            &link.names[0],
            &format!("interface = \"eth\"\nbackend = \"{backend}\"\nmtu = \"9000 B\"\n"),
        );
        assert!(told.contains("mtu = \"9000 B\" is more than interface eth carries, 1500 B"), "{told}");
    }
}
