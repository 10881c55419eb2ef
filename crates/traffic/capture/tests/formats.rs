//! Golden captures of every format and byte order.

mod common;

use common::*;
use pullnet_capture::{Compression, Direction, Format, Reader};

const MAGICS: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn micros(packets: &[Seen]) -> Vec<Seen> {
    let cut = |seen: &Seen| Seen { picos: seen.picos - seen.picos.rem_euclid(1_000_000), ..seen.clone() };
    packets.iter().map(cut).collect()
}

#[test]
fn pcap_of_every_kind() {
    for order in ORDERS {
        for magic in MAGICS {
            let bytes = pcap(order, magic, &three());
            let read = read(&bytes);
            let expected = if magic == 0xa1b2_3c4d { three() } else { micros(&three()) };
            assert_eq!(read.packets, expected, "{order:?} {magic:x}");
            assert_eq!((read.losses.any(), read.length), (false, bytes.len() as u64));
        }
    }
}

#[test]
fn known_bytes_of_a_pcap() {
    let bytes = [
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0, //
        0x01, 0, 0, 0, 0x40, 0x42, 0x0f, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0xaa, 0xbb,
    ];
    // 0x0f4240 is a million microseconds: no fraction of a second, so that the record cannot be one.
    let read_ = read(&bytes);
    assert_eq!((read_.packets.len(), read_.losses.skipped, read_.losses.records), (0, 18, 1));
    let mut good = bytes;
    good[28] = 0x3f; // one less
    let expected = Seen { picos: 1_999_999_000_000, wire: 9, data: vec![0xaa, 0xbb] };
    assert_eq!(read(&good).packets, [expected]);
}

#[test]
fn pcapng_of_both_orders() {
    for order in ORDERS {
        let bytes = pcapng(order, &three());
        let read = read(&bytes);
        assert_eq!(read.packets, three(), "{order:?}");
        assert_eq!((read.losses.any(), read.length), (false, bytes.len() as u64));
    }
}

#[test]
fn clocks_of_interfaces() {
    let packet = Seen { picos: 0, wire: 9, data: vec![7; 9] };
    let at = |options: &[u8], ticks: u64| {
        let order = Order::Little;
        let bytes = [section(order), interface(order, options), enhanced(order, 0, ticks, &packet, &[])];
        read(&bytes.concat()).packets[0].picos
    };
    let order = Order::Little;
    assert_eq!(at(&[], 3), 3_000_000);
    assert_eq!(at(&option(order, 9, &[0]), 3), 3_000_000_000_000);
    assert_eq!(at(&option(order, 9, &[12]), 3), 3);
    assert_eq!(at(&option(order, 9, &[14]), 399), 3);
    assert_eq!(at(&option(order, 9, &[0x80 | 32]), 3 << 31), 1_500_000_000_000);
    let offset = [option(order, 9, &[3]), option(order, 14, &(-5i64).to_le_bytes())].concat();
    assert_eq!(at(&offset, 7_001), 2_001_000_000_000);
}

#[test]
fn sections_interfaces_and_other_blocks() {
    let packet = |wire: u32| Seen { picos: 5_000_000, wire, data: vec![1; 6] };
    let (little, big) = (Order::Little, Order::Big);
    let bytes = [
        section(little),
        interface(little, &[]),
        interface(little, &option(little, 9, &[9])),
        enhanced(little, 0, 5, &packet(10), &option(little, 2, &[1, 0, 0, 0])),
        block(little, 4, &[0; 8]),
        enhanced(little, 1, 5_000, &packet(20), &option(little, 2, &[2, 0, 0, 0])),
        enhanced(little, 2, 5_000, &packet(30), &[]),
        block(little, 3, &[40, 0, 0, 0, 1, 2, 3, 4]),
        block(little, 5, &[&[0; 12][..], &option(little, 5, &9u64.to_le_bytes())].concat()),
        block(little, 0x1234, &[1; 100]),
        section(big),
        interface(big, &[]),
        old_packet(big, 0, 3, 5, &packet(50)),
        enhanced(big, 0, 5, &packet(60), &option(big, 4, &2u64.to_be_bytes())),
    ]
    .concat();
    let read = read(&bytes);
    assert_eq!(read.packets.iter().map(|seen| seen.wire).collect::<Vec<_>>(), [10, 20, 50, 60]);
    assert!(read.packets.iter().all(|seen| seen.picos == 5_000_000 && seen.data == [1; 6]));
    assert_eq!(read.interfaces, [0, 1, 2, 2]);
    use Direction::{In, Out, Unknown};
    assert_eq!(read.directions, [In, Out, Unknown, Unknown]);
    let losses = read.losses;
    assert_eq!((losses.without_interface, losses.without_time, losses.missed), (1, 1, 14));
    assert_eq!((losses.places, losses.skipped), (0, 0));
}

fn old_packet(order: Order, number: u16, drops: u16, ticks: u32, packet: &Seen) -> Vec<u8> {
    let lengths = [order.u32(packet.data.len() as u32), order.u32(packet.wire)].concat();
    let body =
        [&order.u16(number)[..], &order.u16(drops), &[0; 4], &order.u32(ticks), &lengths, &packet.data];
    block(order, 2, &body.concat())
}

#[test]
fn erf_with_losses_directions_and_extensions() {
    let packets = three();
    let mut extended = erf_record(&packets[0], 2, 1, 4);
    extended[8] |= 0x80;
    let length = u16::from_be_bytes([extended[10], extended[11]]) + 16;
    extended.splice(10..12, length.to_be_bytes());
    extended.splice(16..16, [0x83, 0, 0, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0, 0, 0]);
    let bytes = [
        extended,
        erf_record(&packets[1], 2, 0, 0),
        erf_record(&packets[1], 48, 0, 9),
        erf_record(&packets[2], 22, 2, 1),
    ]
    .concat();
    let read = read(&bytes);
    assert_eq!(read.packets.len(), 3);
    for (seen, packet) in read.packets.iter().zip(&packets) {
        assert_eq!((seen.wire, &seen.data), (packet.wire, &packet.data));
        assert!((0..=233).contains(&(seen.picos - packet.picos)), "{}", seen.picos - packet.picos);
    }
    use Direction::{In, Out, Unknown};
    assert_eq!(read.directions, [Out, In, Unknown]);
    assert_eq!(read.losses.missed, 5);
    assert!(!read.losses.any());
}

#[test]
fn compressed_streams_of_one_part_and_of_several() {
    for plain in [pcap(Order::Big, MAGICS[0], &three()), pcapng(Order::Little, &three()), erf(&three())] {
        let (begin, end) = plain.split_at(plain.len() / 3);
        for packed in [gzip(&[&plain]), gzip(&[begin, end]), zstd(&[&plain]), zstd(&[begin, end])] {
            let (packed, plain) = (read(&packed), read(&plain));
            assert_eq!((packed.packets, packed.length), (plain.packets, plain.length));
            assert_eq!(packed.losses, plain.losses);
        }
    }
}

#[test]
fn a_reader_says_what_it_reads() {
    let open = |bytes: Vec<u8>| Reader::open(std::io::Cursor::new(bytes)).unwrap();
    let reader = open(gzip(&[&pcapng(Order::Big, &three())]));
    assert_eq!((reader.format(), reader.compression()), (Format::Pcapng, Compression::Gzip));
    let plain = erf(&three());
    let length = plain.len() as u64;
    let mut reader = open(plain);
    assert_eq!((reader.format(), reader.compression()), (Format::Erf, Compression::None));
    while reader.next().is_some() {}
    assert_eq!((reader.consumed().get(), reader.offset()), (length, length));
}

#[test]
fn what_is_no_capture_is_refused_in_words() {
    let text = |bytes: &[u8]| try_read(bytes).unwrap_err().to_string();
    assert_eq!(text(&[]), "is empty; a capture has at least a header of 24 bytes");
    let known = "known are pcap, pcapng and ERF, plain or compressed by gzip or zstd";
    assert_eq!(text(&[1, 2]), format!("is not a capture: it begins with 01 02; {known}"));
    let words = b"t_s,bits\n0,3562279127\n300,3710215571\n600,1\n";
    assert_eq!(text(words), format!("is not a capture: it begins with 74 5f 73 2c 62 69 74 73; {known}"));
    let pcap = pcap_header(Order::Big, MAGICS[0]);
    assert_eq!(text(&pcap[..20]), "ends after 20 bytes, within the first header of a pcap file");
    assert_eq!(
        text(&section(Order::Big)[..20]),
        "ends after 20 bytes, within the first header of a pcapng file"
    );
    let mut version = pcap;
    version[5] = 9;
    assert_eq!(text(&version), "is pcap version 9.4; version 2 can be read");
    let mut order = section(Order::Big);
    order[8] = 0;
    assert!(text(&order).starts_with("is not a capture: it begins with 0a 0d 0d 0a"));
    assert!(text(&gzip(&[&[]])).starts_with("is empty"));
    assert!(text(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]).starts_with("cannot be read: "));
}
