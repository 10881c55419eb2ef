//! Daemons on interfaces, which they open as root and use as the user `nobody`. Needs root and `ip`.

mod common;
#[path = "../../netio/tests/common/mod.rs"]
mod veth;

use std::io::Read;

use common::{Installation, WATCHDOG, pattern};
use pullnet_host::{NdpListener, NdpStream, StreamError};
use veth::Veth;

const SERVICE: u16 = 7;

/// Bytes go over the link in both directions, found by the kernel's ARP, and still do after it was down.
fn bytes_cross_a_link(further: &str) {
    let Some(link) = Veth::make(1500) else { return };
    let [left, right] = &link.names;
    let further = format!("interface = \"eth\"\n{further}");
    let a = Installation::at([10, 77, 0, 1]).start_in(left, &further);
    let b = Installation::at([10, 77, 0, 2]).start_in(right, &further);
    for daemon in [&a, &b] {
        assert_eq!(daemon.kernel_says("CapEff"), "0000000000000000");
    }
    let (stack, listener) = (a.stack(), NdpListener::bind(&b.stack(), SERVICE).unwrap());
    listener.set_accept_timeout(Some(WATCHDOG));
    let exchange = |long: usize| {
        let mut stream = NdpStream::connect(&stack, b.address, SERVICE).unwrap();
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
    };
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
fn bytes_cross_a_link_by_af_packet() {
    bytes_cross_a_link("backend = \"packet\"\n");
}

#[test]
fn bytes_cross_a_link_by_af_xdp() {
    bytes_cross_a_link("backend = \"xdp\"\n");
}
