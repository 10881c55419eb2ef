use std::ops::{Add, Sub};

/// A point in time. Unit: picoseconds since the Unix epoch. Finer clocks are rounded down.
///
/// 128 bits hold the time of every format without loss of range; on the way into a bin it is only compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub i128);

/// Picoseconds in one second.
pub(crate) const PICOS: i128 = 1_000_000_000_000;

/// The most that a packet may have had on the wire: more is no length but damage. Unit: bytes.
pub(crate) const MOST_ON_WIRE: u32 = 1 << 27;

impl Time {
    /// `seconds` after the epoch.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds as i128 * PICOS)
    }
    /// In seconds after the epoch, for people and tables.
    pub fn as_secs_f64(self) -> f64 {
        self.0.div_euclid(PICOS) as f64 + self.0.rem_euclid(PICOS) as f64 / 1e12
    }
    /// Picoseconds since `earlier`; negative if that lies ahead.
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

/// Which way a packet went, if the capture says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The capture does not say.
    Unknown,
    /// Towards the host that captured; of ERF, interface 0.
    In,
    /// Away from it; of ERF, interface 1.
    Out,
}

/// The kind of a link, by its number in the registry of pcap link types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkType(pub u16);

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// When it was captured.
    pub time: Time,
    /// Its length on the wire, as the capture counts it: with the header of the link, mostly without the frame check
    /// sequence. Unit: bytes.
    pub wire_len: u32,
    /// Number of the interface, counted through all sections of a pcapng file.
    pub interface: u32,
    /// Which way it went.
    pub direction: Direction,
    /// What its bytes begin with.
    pub link: LinkType,
    /// The bytes that were captured.
    pub data: &'a [u8],
}

/// What a reader finds next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something could not be read here: packets may be missing between the last and the next.
    Break,
}

/// A packet whose bytes are a part of the window.
pub(crate) struct Found {
    pub time: Time,
    pub wire_len: u32,
    pub interface: u32,
    pub direction: Direction,
    pub link: LinkType,
    pub data: std::ops::Range<usize>,
}

/// What a format finds next.
pub(crate) enum Step {
    Packet(Found),
    Break,
    End,
}
