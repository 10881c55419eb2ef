//! Round trips: every written frame is read back, a trimmed frame still identifies its packet, and damage is detected.

use crate::common::*;
use proptest::prelude::*;
use pullnet_wire::switch::{self, Lengths};
use pullnet_wire::{Fate, HEADER, Mark, Marks, Packet, Refused, parse};

const MARKS: fn() -> Marks = Marks::default;

proptest! {
    #[test]
    fn a_header_is_read_as_it_was_written(packet in any_packet()) {
        let bytes = packet.encode((&[1, 2, 3, 4], &[5, 6, 7, 8]));
        prop_assert_eq!(Packet::decode(&bytes), Ok(packet));
    }

    #[test]
    fn bytes_are_a_header_only_if_they_are_written_so(bytes: [u8; HEADER], kind in 0u8..8, sparse: bool) {
        // Mostly nearly right, else hardly anything would be read.
        let mut bytes = bytes;
        bytes[0] = 0x20 | kind;
        if sparse {
            bytes[1] = 0;
            bytes[4..20].fill(0);
        }
        if let Ok(packet) = Packet::decode(&bytes) {
            let again = packet.encode((&[], &[]));
            prop_assert_eq!(&again[..28], &bytes[..28]);
        }
    }

    #[test]
    fn a_frame_is_read_as_it_was_written(packet in any_packet(), route in any_route()) {
        let payload = payload(&packet);
        let bytes = frame(&route, &packet, &payload);
        let arrived = parse(&bytes, &MARKS(), route.to_port).unwrap();
        prop_assert_eq!((arrived.packet, arrived.route, arrived.fate), (packet, route, Fate::Whole));
        prop_assert_eq!(arrived.payload, &payload[..]);
        let mark = if packet.shape.is_data() { Mark::Data } else { Mark::Control };
        prop_assert_eq!((arrived.mark, switch::mark(&bytes, &MARKS())), (Some(mark), Some(mark)));
    }

    #[test]
    fn what_a_trim_leaves_says_what_it_was(
        packet in any_packet(),
        route in any_route(),
        keep in 0usize..300,
        corrected: bool,
        padding in 0usize..8,
    ) {
        let payload = payload(&packet);
        let mut bytes = frame(&route, &packet, &payload);
        let lengths = if corrected { Lengths::Corrected } else { Lengths::Kept };
        let before = bytes.len();
        let Some(long) = switch::trim(&mut bytes, keep, lengths, &MARKS()) else {
            prop_assert!(before <= keep.max(switch::least(&bytes).unwrap()));
            return Ok(());
        };
        prop_assert!(long < before && long >= switch::least(&bytes).unwrap());
        bytes.truncate(long);
        if corrected {
            bytes.resize(long + padding, 0xee);
        }
        let arrived = parse(&bytes, &MARKS(), route.to_port).unwrap();
        prop_assert_eq!((arrived.packet, arrived.route), (packet, route));
        prop_assert_eq!((arrived.fate, arrived.mark), (Fate::Trimmed, Some(Mark::Trimmed)));
        prop_assert_eq!(arrived.payload, &[] as &[u8]);
    }

    #[test]
    fn a_header_that_comes_back_names_whom_it_was_for(packet in any_packet(), route in any_route()) {
        let mut bytes = frame(&route, &packet, &payload(&packet));
        if let Some(long) = switch::trim(&mut bytes, 0, Lengths::Corrected, &MARKS()) {
            bytes.truncate(long);
        }
        prop_assert!(switch::send_back(&mut bytes, &MARKS()));
        let back = parse(&bytes, &MARKS(), packet.home).unwrap();
        prop_assert_eq!((back.packet, back.fate), (packet, Fate::Returned));
        prop_assert_eq!((back.route.from, back.route.to), (route.to, route.from));
        prop_assert_eq!((back.route.from_mac, back.route.to_mac), (route.to_mac, route.from_mac));
        prop_assert_eq!((back.route.from_port, back.route.to_port), (route.to_port, packet.home));
    }

    #[test]
    fn one_wrong_bit_is_noticed_or_changes_nothing(packet in any_packet(), route in any_route(), at: prop::sample::Index) {
        let payload = payload(&packet);
        let mut bytes = frame(&route, &packet, &payload);
        let bit = at.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(arrived) = parse(&bytes, &MARKS(), route.to_port) else { return Ok(()) };
        // An accepted frame holds the fields that were sent.
        prop_assert_eq!(arrived.packet, packet);
        prop_assert_eq!((arrived.route.from, arrived.route.to), (route.from, route.to));
        if arrived.fate == Fate::Whole {
            prop_assert_eq!(arrived.payload, &payload[..]);
        }
    }

    #[test]
    fn no_bytes_are_too_wrong_to_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200), port: u16) {
        let mut bytes = bytes;
        let _ = parse(&bytes, &MARKS(), port);
        let _ = (switch::mark(&bytes, &MARKS()), switch::label(&bytes), switch::least(&bytes));
        let _ = switch::send_back(&mut bytes, &MARKS());
        let _ = switch::trim(&mut bytes, 64, Lengths::Corrected, &MARKS());
    }

    #[test]
    fn a_frame_for_another_port_is_foreign(packet in any_packet(), route in any_route(), port: u16) {
        prop_assume!(port != route.to_port);
        let bytes = frame(&route, &packet, &payload(&packet));
        prop_assert_eq!(parse(&bytes, &MARKS(), port), Err(Refused::Foreign));
    }

    #[test]
    fn one_vlan_tag_may_stand_in_front(packet in any_packet(), route in any_route()) {
        let mut bytes = frame(&route, &packet, &payload(&packet));
        bytes.splice(12..12, [0x81, 0x00, 0x20, 0x05]);
        let arrived = parse(&bytes, &MARKS(), route.to_port).unwrap();
        prop_assert_eq!((arrived.packet, arrived.route, arrived.fate), (packet, route, Fate::Whole));
    }

    #[test]
    fn a_cut_frame_is_never_whole(packet in any_packet(), route in any_route(), at: prop::sample::Index) {
        let payload = payload(&packet);
        let bytes = frame(&route, &packet, &payload);
        let cut = at.index(bytes.len());
        match parse(&bytes[..cut], &MARKS(), route.to_port) {
            Ok(arrived) => prop_assert!(arrived.fate == Fate::Trimmed && arrived.packet == packet),
            Err(refused) => prop_assert!(cut < switch::least(&bytes).unwrap(), "{refused}"),
        }
    }
}
