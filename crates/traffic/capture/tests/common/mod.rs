//! Captures made in code.
#![allow(dead_code, missing_docs, reason = "each test uses a part")]

use std::io::{Cursor, Write};

use pullnet_capture::{Direction, Item, Losses, Reader};

/// What a test says of a packet: time in picoseconds, length on the wire, bytes captured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub picos: i128,
    pub wire: u32,
    pub data: Vec<u8>,
}

/// A byte order to write in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
    pub fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// Three packets, a millisecond and a bit apart, the second cut to 5 bytes, the third empty.
pub fn three() -> Vec<Seen> {
    let at = |picos: i128| 1_700_000_000_000_000_000_000 + picos;
    vec![
        Seen { picos: at(123_456_000_000), wire: 60, data: (0..60).collect() },
        Seen { picos: at(124_000_001_000_000 / 1000), wire: 1514, data: vec![1, 2, 3, 4, 5] },
        Seen { picos: at(125_999_999_000_000), wire: 0, data: vec![] },
    ]
}

/// The header of a pcap file.
pub fn pcap_header(order: Order, magic: u32) -> Vec<u8> {
    [&order.u32(magic)[..], &order.u16(2), &order.u16(4), &[0; 8], &order.u32(65_535), &order.u32(1)].concat()
}

/// A pcap file; `magic` says how fine its times are, and whether records have longer headers.
pub fn pcap(order: Order, magic: u32, packets: &[Seen]) -> Vec<u8> {
    let tick = if magic == 0xa1b2_3c4d { 1_000 } else { 1_000_000 };
    let mut bytes = pcap_header(order, magic);
    for packet in packets {
        let seconds = packet.picos.div_euclid(1_000_000_000_000) as u32;
        let ticks = (packet.picos.rem_euclid(1_000_000_000_000) / tick) as u32;
        for value in [seconds, ticks, packet.data.len() as u32, packet.wire] {
            bytes.extend(order.u32(value));
        }
        if magic == 0xa1b2_cd34 {
            bytes.extend([0; 8]);
        }
        bytes.extend(&packet.data);
    }
    bytes
}

/// A block of pcapng.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    [&order.u32(kind)[..], &length, body, &vec![0; padded - body.len()], &length].concat()
}

/// A section header.
pub fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// An option.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let padding = value.len().next_multiple_of(4) - value.len();
    [&order.u16(code)[..], &order.u16(value.len() as u16), value, &vec![0; padding]].concat()
}

/// An interface of Ethernet with options.
pub fn interface(order: Order, options: &[u8]) -> Vec<u8> {
    let body = [&order.u16(1)[..], &[0; 2], &order.u32(0), options].concat();
    block(order, 1, &body)
}

/// An enhanced packet block.
pub fn enhanced(order: Order, number: u32, ticks: u64, packet: &Seen, options: &[u8]) -> Vec<u8> {
    let body = [
        &order.u32(number)[..],
        &order.u32((ticks >> 32) as u32),
        &order.u32(ticks as u32),
        &order.u32(packet.data.len() as u32),
        &order.u32(packet.wire),
        &packet.data,
        &vec![0; packet.data.len().next_multiple_of(4) - packet.data.len()],
        options,
    ]
    .concat();
    block(order, 6, &body)
}

/// A pcapng of one section and one interface with nanoseconds.
pub fn pcapng(order: Order, packets: &[Seen]) -> Vec<u8> {
    let mut bytes = section(order);
    bytes.extend(interface(order, &option(order, 9, &[9])));
    for packet in packets {
        bytes.extend(enhanced(order, 0, (packet.picos / 1000) as u64, packet, &[]));
    }
    bytes
}

/// An ERF file of Ethernet records.
pub fn erf(packets: &[Seen]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        bytes.extend(erf_record(packet, 2, 0, 0));
    }
    bytes
}

/// A record of ERF.
pub fn erf_record(packet: &Seen, kind: u8, flags: u8, lost: u16) -> Vec<u8> {
    // Rounded up, so that the time read is that given or up to 233 ps later.
    let time = ((packet.picos << 32) + 999_999_999_999) / 1_000_000_000_000;
    let offset: &[u8] = if kind == 2 { &[0, 0] } else { &[] };
    let length = 16 + offset.len() + packet.data.len();
    [
        &(time as u64).to_le_bytes()[..],
        &[kind, flags],
        &(length as u16).to_be_bytes(),
        &lost.to_be_bytes(),
        &(packet.wire as u16).to_be_bytes(),
        offset,
        &packet.data,
    ]
    .concat()
}

/// gzip of `parts`, each a member of its own.
pub fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let member = |part: &&[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    parts.iter().flat_map(member).collect()
}

/// zstd of `parts`, each a frame of its own.
pub fn zstd(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().flat_map(|part| zstd::encode_all(*part, 1).unwrap()).collect()
}

/// What reading finds.
#[derive(Debug)]
pub struct Read {
    pub packets: Vec<Seen>,
    pub directions: Vec<Direction>,
    pub interfaces: Vec<u32>,
    pub breaks: usize,
    pub losses: Losses,
    pub length: u64,
}

/// Reads a capture to its end. Panics where it is none.
pub fn read(bytes: &[u8]) -> Read {
    try_read(bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a capture to its end.
pub fn try_read(bytes: &[u8]) -> Result<Read, pullnet_capture::CaptureError> {
    let mut reader = Reader::open(Cursor::new(bytes.to_vec()))?;
    let (mut packets, mut directions, mut interfaces, mut breaks) = (vec![], vec![], vec![], 0);
    while let Some(item) = reader.next() {
        match item {
            Item::Packet(packet) => {
                packets.push(Seen {
                    picos: packet.time.0,
                    wire: packet.wire_len,
                    data: packet.data.to_vec(),
                });
                directions.push(packet.direction);
                interfaces.push(packet.interface);
            }
            Item::Break => breaks += 1,
        }
    }
    let (losses, length) = (reader.losses().clone(), reader.offset());
    Ok(Read { packets, directions, interfaces, breaks, losses, length })
}

/// A generator of numbers that is the same everywhere (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
