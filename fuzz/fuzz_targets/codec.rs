//! Arbitrary bytes are a frame of a protocol or rejected, for every protocol with a wire format. A completely parsed frame
//! is encoded to the same bytes. The first byte selects the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_protocols::{FRAMED, for_each_framed};
use pullnet_transport::{Class, Fate, Header, HostAddr, Protocol, Transmit};
use pullnet_wire::switch;
use pullnet_wire::{Framed, Mac, Mark, Marks, PORT, Route};

fn route() -> Route {
    let [from, to] = [1, 2].map(|last| core::net::Ipv4Addr::new(192, 0, 2, last).into());
    let [from_mac, to_mac] = [1, 2].map(|last| Mac([2, 0, 0, 0, 0, last]));
    Route { from_mac, to_mac, from, to, from_port: Route::port_of(0), to_port: PORT }
}

/// A frame with this datagram and a correct header checksum, so that the code after the check is reached.
fn sealed(datagram: &[u8]) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    if bytes.len() >= 32 {
        // NDP has no words after its header.
        let words = if bytes[0] >> 4 == 3 { usize::from(bytes[14]) } else { 0 };
        let long = (32 + 4 * words).min(bytes.len());
        let check = pullnet_wire::crc32c(&[&[192, 0, 2, 1], &[192, 0, 2, 2], &bytes[..28], &bytes[32..long]]);
        bytes[28..32].copy_from_slice(&check.to_be_bytes());
    }
    let mut frame = vec![0; 60_000];
    let class = Marks::default().dscp(Mark::Control) << 2;
    let long = switch::put_headers(&mut frame, &route(), class, &bytes).unwrap_or(0);
    frame.truncate(long);
    frame
}

fn check<P: Framed>(frame: &[u8]) {
    let Ok(arrived) = P::parse(frame, &Marks::default(), PORT) else { return };
    assert!(arrived.payload.is_empty() || arrived.payload.len() == usize::from(arrived.length));
    assert!(usize::from(arrived.header.pack().kind & 0x0f) < 16);
    let received = arrived.received(HostAddr(1), 1);
    if arrived.fate != Fate::Whole || usize::from(arrived.length) + P::HEADERS > 60_000 {
        return;
    }
    let class = if P::data(&arrived.header).is_some() { Class::Data } else { Class::Control };
    let (to, wire, header) = (HostAddr(2), received.wire, arrived.header);
    let packet = Transmit { to, path: 0, wire, class, priority: 0, ect: false, again: false, header };
    let mut again = vec![0; 60_100];
    let long = P::emit(&mut again, &route(), &Marks::default(), arrived.home, &packet, arrived.payload);
    let long = long.expect("what was read can be written");
    // NDP flags retransmissions and labels streams; endpoints use neither.
    if P::NUMBER != 0 {
        assert_eq!(again[42..long], frame[42..long]);
    }
}

fuzz_target!(|input: (u8, bool, Vec<u8>)| {
    let (protocol, seal, bytes) = input;
    let frame = if seal { sealed(&bytes) } else { bytes };
    let chosen = FRAMED[usize::from(protocol) % FRAMED.len()];
    for_each_framed!(|P| {
        if P::NAME == chosen {
            check::<P>(&frame);
        }
    });
});
