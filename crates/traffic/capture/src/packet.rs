use std::ops::{Add, Sub};

/// A point in time. Unit: picoseconds since the Unix epoch. Finer clocks are rounded down.
///
/// 128 bits hold the times of every format in full range. Times are only compared on the way into a bin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub i128);

/// Picoseconds in one second.
pub(crate) const PICOS: i128 = 1_000_000_000_000;

/// Longest plausible length on the wire; a longer one indicates damage. Unit: bytes.
pub(crate) const MOST_ON_WIRE: u32 = 1 << 27;

impl Time {
    /// `seconds` after the epoch.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds as i128 * PICOS)
    }
    /// Seconds after the epoch, for display and tables.
    pub fn as_secs_f64(self) -> f64 {
        self.0.div_euclid(PICOS) as f64 + self.0.rem_euclid(PICOS) as f64 / 1e12
    }
    /// Picoseconds since `earlier`; negative if `earlier` is later.
    pub const fn since(self, earlier: Self) -> i128 {
        self.0 - earlier.0
    }
}

impl Add<i128> for Time {
    type Output = Self;
    fn add(self, picos: i128) -> Self {
        Self(self.0 + picos)
    }
}

impl Sub<i128> for Time {
    type Output = Self;
    fn sub(self, picos: i128) -> Self {
        Self(self.0 - picos)
    }
}

/// Direction of a packet, if the capture records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The direction is not recorded.
    Unknown,
    /// Towards the capturing host; in ERF, interface 0.
    In,
    /// Away from the capturing host; in ERF, interface 1.
    Out,
}

/// Link type, by its number in the registry of pcap link types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkType(pub u16);

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Time of the capture.
    pub time: Time,
    /// Length on the wire as the capture counts it: with the link header, mostly without the frame check sequence. Unit:
    /// bytes.
    pub wire_len: u32,
    /// Number of the interface, counted through all sections of a pcapng file.
    pub interface: u32,
    /// Direction of the packet.
    pub direction: Direction,
    /// Link type, which determines the first header of `data`.
    pub link: LinkType,
    /// The captured bytes.
    pub data: &'a [u8],
}

/// The next item in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// A damaged place: packets may be missing between the last and the next.
    Break,
}

/// A packet whose bytes are in the window.
pub(crate) struct Found {
    pub time: Time,
    pub wire_len: u32,
    pub interface: u32,
    pub direction: Direction,
    pub link: LinkType,
    pub data: std::ops::Range<usize>,
}

/// The next step of a format's parser.
pub(crate) enum Step {
    Packet(Found),
    Break,
    End,
}
