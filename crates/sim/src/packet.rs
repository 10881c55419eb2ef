use core::hint::cold_path;

use pullnet_qdisc::Item;
use pullnet_transport::{Fate, HostAddr, Packed};

use crate::clock::Window;

const CONTROL: u64 = 1 << 24;
const TRIMMED: u64 = 2 << 24;
const RETURNED: u64 = 4 << 24;
/// The length of a trimmed packet in units of [`TRIM_UNIT`], minus one, lies in bits 27 to 31.
const TRIM_SHIFT: u32 = 27;
const TRIM_MASK: u64 = 31;
const ADDR: u64 = (1 << 24) - 1;
/// Everything of `ends` that stays when source and destination change places.
const STAYS: u64 = !(ADDR | ADDR << 32);

/// A trim leaves a multiple of this many bytes ...
pub const TRIM_UNIT: u32 = 8;
/// ... up to this many.
pub const MAX_TRIM: u32 = TRIM_UNIT << 5;

/// A packet in flight or in a queue: two to a cache line, written once and read once for each hop.
///
/// Four words that are only ever changed as words, so that a copy never waits for parts of a word to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Packet {
    /// Arrival time modulo 2^48 ps and, in the low 16 bits, the index of the link that it arrives by.
    key: u64,
    /// From bit 0: destination (24 bits) and flags (8); from bit 32: source (24) and packet kind (8).
    ends: u64,
    /// The first two words of the header.
    words: u64,
    /// From bit 0: the third word (32); path label (16); bytes on the wire when it was sent (16).
    rest: u64,
}

impl Packet {
    /// A packet as a host sends it.
    #[inline]
    pub fn new(from: HostAddr, to: HostAddr, control: bool, label: u16, size: u16, packed: Packed) -> Self {
        let Packed { kind, words: [first, second, third] } = packed;
        let to = u64::from(to.0) | if control { CONTROL } else { 0 };
        Self {
            key: 0,
            ends: to | u64::from(from.0) << 32 | u64::from(kind) << 56,
            words: u64::from(first) | u64::from(second) << 32,
            rest: u64::from(third) | u64::from(label) << 32 | u64::from(size) << 48,
        }
    }

    /// Sets when and by which link it arrives.
    #[inline]
    pub fn arrives(&mut self, at: u64, ingress: u16) {
        self.key = at << 16 | u64::from(ingress);
    }

    /// Arrival time.
    #[inline]
    pub fn time(&self, window: Window) -> u64 {
        window.start.wrapping_add_signed(self.key.wrapping_sub(window.start << 16) as i64 >> 16)
    }

    /// Whether it arrives before `other`, or at the same time by a link of lower number.
    #[inline]
    pub fn comes_before(&self, other: &Self) -> bool {
        (self.key.wrapping_sub(other.key) as i64) < 0
    }

    /// Its arrival on the scale of [`Window::rank`]; at the same time links count in the order of their numbers.
    #[inline]
    pub fn rank(&self, window: Window) -> u64 {
        self.key.wrapping_sub(window.zero())
    }

    /// Destination.
    #[inline]
    pub fn to(&self) -> HostAddr {
        HostAddr((self.ends & ADDR) as u32)
    }

    /// Source.
    #[inline]
    pub fn from(&self) -> HostAddr {
        HostAddr((self.ends >> 32 & ADDR) as u32)
    }

    /// Path label.
    #[inline]
    pub fn label(&self) -> u16 {
        (self.rest >> 32) as u16
    }

    /// Bytes on the wire when it was sent.
    #[inline]
    pub fn sent_size(&self) -> u16 {
        (self.rest >> 48) as u16
    }

    /// The protocol's header.
    #[inline]
    pub fn packed(&self) -> Packed {
        let words = [self.words as u32, (self.words >> 32) as u32, self.rest as u32];
        Packed { kind: (self.ends >> 56) as u8, words }
    }

    /// What happened to it.
    #[inline]
    pub fn fate(&self) -> Fate {
        match self.ends & (TRIMMED | RETURNED) {
            0 => Fate::Whole,
            TRIMMED => Fate::Trimmed,
            _ => Fate::Returned,
        }
    }

    /// Whether it was sent as data, whatever became of it.
    #[inline]
    pub fn was_data(&self) -> bool {
        self.ends & CONTROL == 0
    }

    /// Turns a trimmed header round.
    pub fn turn_round(&mut self) {
        let (to, from) = (self.ends & ADDR, self.ends >> 32 & ADDR);
        self.ends = self.ends & STAYS | RETURNED | from | to << 32;
    }

    /// A number that tells this packet from others, for the fingerprint.
    #[inline]
    pub fn identity(&self) -> u64 {
        self.words ^ (self.ends >> 32).rotate_left(20)
    }
}

impl Item for Packet {
    #[inline]
    fn is_control(&self) -> bool {
        self.ends & (CONTROL | TRIMMED) != 0
    }

    #[inline]
    fn wire(&self) -> u32 {
        if self.ends & TRIMMED == 0 {
            return self.sent_size().into();
        }
        cold_path();
        ((self.ends >> TRIM_SHIFT & TRIM_MASK) as u32 + 1) * TRIM_UNIT
    }

    #[inline]
    fn trim(&mut self, bytes: u32) {
        let units = (bytes.min(self.wire()).min(MAX_TRIM) / TRIM_UNIT).max(1);
        self.ends |= TRIMMED | u64::from(units - 1) << TRIM_SHIFT;
    }

    #[inline]
    fn returnable(&self) -> bool {
        self.ends & (CONTROL | RETURNED | TRIMMED) == TRIMMED
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
        assert_eq!(
            (packet.to(), packet.from(), packet.fate()),
            (HostAddr(0xabcdef), HostAddr(0x123456), Fate::Returned)
        );
        assert_eq!((packet.packed(), packet.wire(), packet.label()), (packed, 64, 77));
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
