//! Bodies of blocks, without the enclosing lengths.

use crate::bytes::Order;
use crate::packet::{Direction, MOST_ON_WIRE};

pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
pub(super) const STATISTICS: u32 = 5;
/// Obsolete, but written by older programs.
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
/// Block types accepted after damage: those above, name resolution, systemd, secrets and custom blocks.
const KNOWN: [u32; 11] =
    [SECTION, INTERFACE, PACKET, SIMPLE, 4, STATISTICS, ENHANCED, 9, 10, 0x0bad, 0x4000_0bad];

/// Length of both packet blocks' fields before the packet bytes.
const PACKET_HEAD: usize = 20;

pub(super) enum Block {
    Section,
    Interface,
    Statistics { dropped: u64 },
    Packet(PacketBlock),
    Simple,
    Other,
}

/// A packet block, enhanced or old.
pub(super) struct PacketBlock {
    pub interface: u32,
    pub ticks: u64,
    pub captured: u32,
    pub wire: u32,
    pub direction: Direction,
    /// Packets lost before this packet.
    pub missed: u64,
    /// Range of the packet bytes in the body.
    pub data: std::ops::Range<usize>,
}

pub(super) fn is_packet(kind: u32) -> bool {
    matches!(kind, PACKET | SIMPLE | ENHANCED)
}

pub(super) fn is_known(kind: u32) -> bool {
    KNOWN.contains(&kind)
}

/// Parses the body of a block; `None` if its inner lengths are inconsistent.
pub(super) fn read(order: Order, kind: u32, body: &[u8]) -> Option<Block> {
    match kind {
        ENHANCED => packet(order, body, false).map(Block::Packet),
        PACKET => packet(order, body, true).map(Block::Packet),
        SIMPLE => (body.len() >= 4).then_some(Block::Simple),
        INTERFACE => (body.len() >= 8).then_some(Block::Interface),
        SECTION => (body.len() >= 16).then_some(Block::Section),
        STATISTICS => (body.len() >= 12).then(|| Block::Statistics { dropped: dropped(order, body) }),
        _ => Some(Block::Other),
    }
}

fn packet(order: Order, body: &[u8], old: bool) -> Option<PacketBlock> {
    let captured = order.u32(body, 12);
    let data = PACKET_HEAD..PACKET_HEAD.checked_add(captured as usize)?;
    let wire = order.u32(body, 16);
    if data.end > body.len() || wire > MOST_ON_WIRE {
        return None;
    }
    let (interface, missed) = interface(order, body, old);
    let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
    let after = data.end.next_multiple_of(4).min(body.len());
    let mut packet =
        PacketBlock { interface, ticks, captured, wire, direction: Direction::Unknown, missed, data };
    if body.len() > after {
        packet.read_options(order, &body[after..], old);
    }
    Some(packet)
}

/// Interface number, and the number of lost packets, which an old block contains.
fn interface(order: Order, body: &[u8], old: bool) -> (u32, u64) {
    if !old {
        return (order.u32(body, 0), 0);
    }
    let drops = order.u16(body, 2);
    let unknown = drops == u16::MAX;
    (order.u16(body, 0).into(), if unknown { 0 } else { drops.into() })
}

impl PacketBlock {
    fn read_options(&mut self, order: Order, bytes: &[u8], old: bool) {
        for (code, value) in Options::new(order, bytes) {
            match code {
                2 if value.len() == 4 => self.direction = direction(order.u32(value, 0)),
                4 if value.len() == 8 && !old => self.missed += order.u64(value, 0),
                _ => {}
            }
        }
    }
}

/// Direction, from the two lowest bits of a packet's flags.
fn direction(flags: u32) -> Direction {
    match flags & 3 {
        1 => Direction::In,
        2 => Direction::Out,
        _ => Direction::Unknown,
    }
}

/// Packets dropped by an interface because resources were exhausted.
fn dropped(order: Order, body: &[u8]) -> u64 {
    let of_interface =
        |(code, value): (u16, &[u8])| (code == 5 && value.len() == 8).then(|| order.u64(value, 0));
    Options::new(order, &body[12..]).find_map(of_interface).unwrap_or(0)
}

/// Options as (code, value), up to the first malformed one.
pub(super) struct Options<'a> {
    order: Order,
    bytes: &'a [u8],
}

impl<'a> Options<'a> {
    pub(super) fn new(order: Order, bytes: &'a [u8]) -> Self {
        Self { order, bytes }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let head = self.bytes.get(..4)?;
        let (code, length) = (self.order.u16(head, 0), self.order.u16(head, 2) as usize);
        if code == 0 {
            return None;
        }
        let value = self.bytes.get(4..4 + length)?;
        self.bytes = self.bytes.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((code, value))
    }
}
