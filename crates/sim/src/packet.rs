use core::hint::cold_path;

use pullnet_qdisc::{Item, Signal, order};
use pullnet_transport::{Fate, HostAddr, Packed, Transmit, Words};
use pullnet_units::{Instant, PathLabel, WireLen};

use crate::clock::Window;

const CONTROL: u64 = 1 << 24;
const TRIMMED: u64 = 1 << 25;
/// With [`TRIMMED`]: a header on its way back. Alone: a signal to the neighbour.
const RETURNED: u64 = 1 << 26;
const PRIORITY_SHIFT: u32 = 27;
const ECT: u64 = 1 << 30;
const CE: u64 = 1 << 31;
const ADDR: u64 = (1 << 24) - 1;
/// Bits of `ends` that stay when source and destination change places.
const STAYS: u64 = !(ADDR | ADDR << 32);

/// Bytes of a pause frame on the wire: the shortest Ethernet frame.
pub const PAUSE_FRAME: u16 = 64;

/// Properties of a packet to send, beside its ends and its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Whether the packet is a control packet.
    pub control: bool,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Whether it may be marked (ECN-capable transport).
    pub ect: bool,
    /// Path label.
    pub label: PathLabel,
    /// Bytes on the wire.
    pub size: WireLen,
}

impl Sent {
    /// Properties of a packet that a transport sends; `label` is the topology's label for its path.
    #[inline]
    pub fn of<H>(packet: &Transmit<H>, label: PathLabel) -> Self {
        let control = packet.class == pullnet_transport::Class::Control;
        Self { control, priority: packet.priority, ect: packet.ect, label, size: packet.wire }
    }
}

/// A packet in flight or in a queue: written once and read once per hop. With the smallest headers two packets fill a cache
/// line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Packet<W> {
    /// Arrival time modulo 2^48 ps and, in the low 16 bits, its place among simultaneous arrivals.
    key: u64,
    /// From bit 0: destination (24 bits) and flags (8); from bit 32: source (24) and packet kind (8).
    ends: u64,
    /// From bit 0: path label (16), bytes on the wire when it was sent (16).
    route: u32,
    /// The header's words.
    words: W,
}

impl<W: Words> Packet<W> {
    /// A packet as a host sends it.
    #[inline]
    pub fn new(from: HostAddr, to: HostAddr, sent: Sent, packed: Packed<W>) -> Self {
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        let flags = flag(sent.control, CONTROL) | flag(sent.ect, ECT);
        let flags = flags | u64::from(sent.priority & 7) << PRIORITY_SHIFT;
        Self {
            key: 0,
            ends: u64::from(to.0) | flags | u64::from(from.0) << 32 | u64::from(packed.kind) << 56,
            route: u32::from(sent.label.get()) | u32::from(sent.size) << 16,
            words: packed.words,
        }
    }

    /// A signal of a switch to its neighbour, `size` bytes on the wire.
    pub fn signal(signal: Signal, size: u16) -> Self {
        let ends = RETURNED | CONTROL | u64::from(signal.paused) << 56;
        Self { ends, route: u32::from(size) << 16 | u32::from(signal.quanta), ..Self::default() }
    }

    /// The signal in the packet; `None` if it is not a signal.
    #[inline]
    pub fn as_signal(&self) -> Option<Signal> {
        let signal = self.ends & (TRIMMED | RETURNED) == RETURNED;
        signal.then_some(Signal { paused: (self.ends >> 56) as u8, quanta: self.route as u16 })
    }

    /// Sets the arrival time, and the place among simultaneous arrivals ([`order::place`]).
    #[inline]
    pub fn arrives(&mut self, at: Instant, place: u16) {
        self.key = at.0 << 16 | u64::from(place);
    }

    /// Replaces the place among simultaneous arrivals by the number of the link that the packet came by. Afterwards the
    /// packet cannot be sorted any more.
    pub fn reveal_ingress(&mut self, at: Instant, salt: u16) {
        self.key = at.0 << 16 | u64::from(order::ingress(at.0, salt, self.key as u16));
    }

    /// Arrival time.
    #[inline]
    pub fn time(&self, window: Window) -> Instant {
        Instant(window.start.0.wrapping_add_signed(self.key.wrapping_sub(window.start.0 << 16) as i64 >> 16))
    }

    /// Whether it arrives before `other`; at the same time the place decides.
    #[inline]
    pub fn comes_before(&self, other: &Self) -> bool {
        (self.key.wrapping_sub(other.key) as i64) < 0
    }

    /// Its arrival on the scale of [`Window::rank`]; at the same time the place decides.
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
    pub fn label(&self) -> PathLabel {
        PathLabel::new(self.route as u16)
    }

    /// Bytes on the wire when it was sent.
    #[inline]
    pub fn sent_size(&self) -> WireLen {
        WireLen::new((self.route >> 16) as u16)
    }

    /// The protocol's header.
    #[inline]
    pub fn packed(&self) -> Packed<W> {
        Packed { kind: (self.ends >> 56) as u8, words: self.words }
    }

    /// A port has written into its header.
    #[inline]
    pub fn rewrite(&mut self, packed: Packed<W>) {
        self.ends = self.ends << 8 >> 8 | u64::from(packed.kind) << 56;
        self.words = packed.words;
    }

    /// Whether the packet is whole, trimmed or returned.
    #[inline]
    pub fn fate(&self) -> Fate {
        match self.ends & (TRIMMED | RETURNED) {
            0 => Fate::Whole,
            TRIMMED => Fate::Trimmed,
            _ => Fate::Returned,
        }
    }

    /// Whether a switch marked it.
    #[inline]
    pub fn ce(&self) -> bool {
        self.ends & CE != 0
    }

    /// Whether it was sent as data, even if it has been trimmed or returned since.
    #[inline]
    pub fn was_data(&self) -> bool {
        self.ends & CONTROL == 0
    }

    /// Turns a trimmed header round.
    pub fn turn_round(&mut self) {
        let (to, from) = (self.ends & ADDR, self.ends >> 32 & ADDR);
        self.ends = self.ends & STAYS | RETURNED | from | to << 32;
    }

    /// Identifies the packet in the fingerprint.
    #[inline]
    pub fn identity(&self) -> u64 {
        let words = self.words.get();
        (u64::from(words[0]) | u64::from(words[1]) << 32) ^ (self.ends >> 32).rotate_left(20)
    }
}

impl<W: Words> Item for Packet<W> {
    #[inline]
    fn is_control(&self) -> bool {
        self.ends & (CONTROL | TRIMMED) != 0
    }

    #[inline]
    fn wire(&self, trimmed: u32) -> u32 {
        let sent = u32::from(self.sent_size());
        if self.ends & TRIMMED == 0 {
            return sent;
        }
        cold_path();
        debug_assert!(trimmed > 0, "a trimmed packet at a queue that never trims");
        trimmed.min(sent)
    }

    #[inline]
    fn trim(&mut self, _: u32) {
        self.ends |= TRIMMED;
    }

    #[inline]
    fn returnable(&self) -> bool {
        self.ends & (CONTROL | RETURNED | TRIMMED) == TRIMMED
    }

    #[inline]
    fn priority(&self) -> u8 {
        (self.ends >> PRIORITY_SHIFT & 7) as u8
    }

    #[inline]
    fn ect(&self) -> bool {
        self.ends & ECT != 0
    }

    #[inline]
    fn mark(&mut self) {
        self.ends |= CE;
    }

    #[inline]
    fn ingress(&self) -> u16 {
        self.key as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_transport::{Large, Medium, Small};

    fn sent(control: bool) -> Sent {
        Sent { control, priority: 5, ect: true, label: PathLabel::new(77), size: WireLen::new(9064) }
    }

    #[test]
    fn packets_fill_parts_of_cache_lines() {
        let sizes = [size_of::<Packet<Small>>(), size_of::<Packet<Medium>>(), size_of::<Packet<Large>>()];
        assert_eq!(sizes, [32, 64, 128]);
    }

    #[test]
    fn trimming_and_turning_keep_what_must_be_kept() {
        let packed = Packed { kind: 0x21, words: [7, 8, 9] };
        let mut packet = Packet::new(HostAddr(0xabcdef), HostAddr(0x123456), sent(false), packed);
        packet.trim(64);
        assert!(packet.is_control() && packet.was_data() && packet.returnable());
        assert_eq!(
            (packet.wire(64), packet.sent_size(), packet.fate()),
            (64, WireLen::new(9064), Fate::Trimmed)
        );
        packet.turn_round();
        assert!(!packet.returnable() && packet.as_signal().is_none());
        assert_eq!(
            (packet.to(), packet.from(), packet.fate()),
            (HostAddr(0xabcdef), HostAddr(0x123456), Fate::Returned)
        );
        assert_eq!((packet.packed(), packet.wire(64), packet.label()), (packed, 64, PathLabel::new(77)));
        assert_eq!((packet.priority(), packet.ect(), packet.ce()), (5, true, false));
        packet.mark();
        assert!(packet.ce() && packet.priority() == 5);
        let written = Packed { kind: 0x12, words: [4, 5, 6] };
        packet.rewrite(written);
        assert_eq!(
            (packet.packed(), packet.to(), packet.from()),
            (written, HostAddr(0xabcdef), HostAddr(0x123456))
        );
        assert_eq!((packet.ce(), packet.priority(), packet.fate()), (true, 5, Fate::Returned));
    }

    #[test]
    fn arrival_times_survive_the_wrap_of_48_bits() {
        let window = Window { start: Instant((1 << 48) - 5), end: Instant((1 << 48) + 1_000), index: 0 };
        let mut packet = Packet::<Small>::new(HostAddr(1), HostAddr(2), sent(true), Packed::default());
        for at in [(1 << 48) - 900, (1 << 48) - 5, (1 << 48) + 800] {
            packet.arrives(Instant(at), 65535);
            assert_eq!(packet.time(window), Instant(at));
        }
    }

    #[test]
    fn a_signal_is_no_packet_of_a_host() {
        let signal = Signal { paused: 0x81, quanta: 65_535 };
        let packet = Packet::<Small>::signal(signal, 64);
        assert_eq!((packet.as_signal(), packet.sent_size()), (Some(signal), WireLen::new(64)));
        assert!(packet.is_control() && !packet.was_data());
    }
}
