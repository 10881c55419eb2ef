use pullnet_qdisc::Item;
use pullnet_transport::{Fate, HostAddr, Packed};

use crate::clock::Window;

const CONTROL: u32 = 1 << 24;
const TRIMMED: u32 = 2 << 24;
const RETURNED: u32 = 4 << 24;
/// The length of a trimmed packet in units of [`TRIM_UNIT`], minus one.
const TRIM_SHIFT: u32 = 27;
const ADDR: u32 = (1 << 24) - 1;

/// A trim leaves a multiple of this many bytes ...
pub const TRIM_UNIT: u32 = 8;
/// ... up to this many.
pub const MAX_TRIM: u32 = TRIM_UNIT << 5;

/// A packet in flight or in a queue: two to a cache line, written once and read once for each hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Packet {
    /// Arrival time modulo 2^48 ps and, in the low 16 bits, the index of the link that it arrives by.
    key: u64,
    /// Destination, 24 bits, and flags.
    to: u32,
    /// Source, 24 bits, and packet kind.
    from: u32,
    words: [u32; 3],
    /// Path label.
    pub label: u16,
    /// Bytes on the wire when it was sent.
    sent_size: u16,
}

impl Packet {
    /// A packet as a host sends it.
    #[inline]
    pub fn new(from: HostAddr, to: HostAddr, control: bool, label: u16, size: u16, packed: Packed) -> Self {
        let flags = if control { CONTROL } else { 0 };
        let Packed { kind, words } = packed;
        Self { key: 0, to: to.0 | flags, from: from.0 | u32::from(kind) << 24, words, label, sent_size: size }
    }

    /// Sets when and by which link it arrives.
    #[inline]
    pub fn arrives(&mut self, at: u64, ingress: u16) {
        self.key = at << 16 | u64::from(ingress);
    }

    /// Arrival time.
    #[inline]
    pub fn time(&self, window: Window) -> u64 {
        window.start.wrapping_add_signed(self.rank(window) >> 16)
    }

    /// Orders packets by arrival time, then by link.
    #[inline]
    pub fn rank(&self, window: Window) -> i64 {
        self.key.wrapping_sub(window.start << 16) as i64
    }

    /// Destination.
    #[inline]
    pub fn to(&self) -> HostAddr {
        HostAddr(self.to & ADDR)
    }

    /// Source.
    #[inline]
    pub fn from(&self) -> HostAddr {
        HostAddr(self.from & ADDR)
    }

    /// Bytes on the wire when it was sent.
    #[inline]
    pub fn sent_size(&self) -> u16 {
        self.sent_size
    }

    /// The protocol's header.
    #[inline]
    pub fn packed(&self) -> Packed {
        Packed { kind: (self.from >> 24) as u8, words: self.words }
    }

    /// What happened to it.
    #[inline]
    pub fn fate(&self) -> Fate {
        match self.to & (TRIMMED | RETURNED) {
            0 => Fate::Whole,
            TRIMMED => Fate::Trimmed,
            _ => Fate::Returned,
        }
    }

    /// Whether it was sent as data, whatever became of it.
    #[inline]
    pub fn was_data(&self) -> bool {
        self.to & CONTROL == 0
    }

    /// Turns a trimmed header round.
    pub fn turn_round(&mut self) {
        let (to, from) = (self.to, self.from);
        self.to = from & ADDR | to & !ADDR | RETURNED;
        self.from = to & ADDR | from & !ADDR;
    }

    /// A number that tells this packet from others, for the fingerprint.
    #[inline]
    pub fn identity(&self) -> u64 {
        u64::from(self.words[0]) << 32 ^ u64::from(self.words[1]) ^ u64::from(self.from) << 20
    }
}

impl Item for Packet {
    #[inline]
    fn is_control(&self) -> bool {
        self.to & (CONTROL | TRIMMED) != 0
    }

    #[inline]
    fn wire(&self) -> u32 {
        if self.to & TRIMMED == 0 { self.sent_size.into() } else { ((self.to >> TRIM_SHIFT) + 1) * TRIM_UNIT }
    }

    #[inline]
    fn trim(&mut self, bytes: u32) {
        self.to |= TRIMMED | (bytes / TRIM_UNIT - 1) << TRIM_SHIFT;
    }

    #[inline]
    fn returnable(&self) -> bool {
        self.to & (CONTROL | RETURNED | TRIMMED) == TRIMMED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_fill_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn trimming_and_turning_keep_what_must_be_kept() {
        let packed = Packed { kind: 0x21, words: [7, 8, 9] };
        let mut packet = Packet::new(HostAddr(0xabcdef), HostAddr(0x123456), false, 77, 9064, packed);
        packet.trim(64);
        assert!(packet.is_control() && packet.was_data() && packet.returnable());
        assert_eq!((packet.wire(), packet.sent_size(), packet.fate()), (64, 9064, Fate::Trimmed));
        packet.turn_round();
        assert!(!packet.returnable());
        assert_eq!((packet.to(), packet.from(), packet.fate()), (HostAddr(0xabcdef), HostAddr(0x123456), Fate::Returned));
        assert_eq!((packet.packed(), packet.wire(), packet.label), (packed, 64, 77));
    }

    #[test]
    fn arrival_times_survive_the_wrap_of_48_bits() {
        let window = Window { start: (1 << 48) - 5, end: (1 << 48) + 1_000, index: 0 };
        let mut packet = Packet::new(HostAddr(1), HostAddr(2), true, 0, 64, Packed::default());
        for at in [(1 << 48) - 900, (1 << 48) - 5, (1 << 48) + 800] {
            packet.arrives(at, 65535);
            assert_eq!(packet.time(window), at);
        }
    }
}
