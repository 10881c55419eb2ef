//! Captures written by a switch are read back by the project's capture reader: times, ports, directions, bytes.

mod common;

use std::io::Cursor;

use common::{Frame, Toy, mac};
use pullnet_capture::{Direction, Item, Reader};
use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::capture::{Capture, Captured};
use pullnet_switch::{Entry, Fabric, FabricSettings, Kind, PortSettings, Selection, Slot};
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos, PortId};

/// Nanoseconds from 1970 to the start of the switch's time.
const EPOCH: u64 = 1_700_000_000_000_000_000;

fn recorded() -> Vec<u8> {
    let rate = BitsPerSec::gbps(1);
    let port = PortSettings::outside(NodeId::new(0), rate);
    let names = ["a", "b"].map(|name| Some(Captured { name: name.to_owned(), rate }));
    let mut file = Vec::new();
    {
        let capture = Capture::new(&mut file, &names, 200, EPOCH).unwrap();
        let config = TrimConfig::default();
        let mut fabric =
            Fabric::<Trim<Slot>, _, _>::new(&config, FabricSettings::default(), &[port; 2], Toy, capture)
                .unwrap();
        fabric.forward(
            NodeId::new(0),
            mac(0),
            Entry { ports: vec![PortId::new(0)], selection: Selection::default() },
        );
        for (id, length) in [(1, 1000), (2, 125)] {
            let frame = Frame { from: 1, to: 0, kind: Kind::Data, label: 0, id, length }.bytes();
            fabric.arrive(PortId::new(1), Instant(5_000), &frame);
        }
        fabric.advance(Instant(Picos::from_millis(1).0));
        fabric.observer().finish().unwrap();
    }
    file
}

#[test]
fn a_capture_says_what_happened() {
    let mut reader = Reader::open(Cursor::new(recorded())).unwrap();
    let mut rows = Vec::new();
    while let Some(item) = reader.next() {
        let Item::Packet(packet) = item else { panic!("nothing is damaged") };
        let nanoseconds = packet.time.0 / 1000 - i128::from(EPOCH);
        let inward = packet.direction == Direction::In;
        rows.push((
            nanoseconds,
            packet.interface,
            inward,
            packet.wire_len,
            packet.data.len(),
            common::id_of(packet.data),
        ));
    }
    let expected = [
        (5, 1, true, 1000, 200, 1),
        (5, 1, true, 125, 125, 2),
        (8_005, 0, false, 1000, 200, 1),
        (9_005, 0, false, 125, 125, 2),
    ];
    assert_eq!(rows, expected);
}
