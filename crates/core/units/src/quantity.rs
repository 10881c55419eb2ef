use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};

/// Picoseconds in one second.
const PICOS_PER_SEC: u128 = 1_000_000_000_000;

/// A length of time. Unit: picoseconds. Range: 0 to 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Picos(pub u64);

impl Picos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest expressible time.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000_000)
    }
    /// In microseconds, for people and tables.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// In seconds, for people and tables.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// The sum, or the longest time where it does not fit.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    /// `n` times this, or the longest time where it does not fit.
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add for Picos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Picos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// A point in time: picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Instant(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// Time passed since `earlier`; zero if that lies ahead.
    pub const fn since(self, earlier: Self) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
    /// This instant plus `span`, never past [`Instant::NEVER`].
    pub const fn after(self, span: Picos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add<Picos> for Instant {
    type Output = Self;
    fn add(self, span: Picos) -> Self {
        Self(self.0 + span.0)
    }
}

/// A size. Unit: bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(pub u64);

/// A count of packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Packets(pub u32);

/// A rate, never zero. Unit: bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitsPerSec(NonZeroU64);

impl BitsPerSec {
    /// `bps` bits per second; `None` for zero.
    pub const fn new(bps: u64) -> Option<Self> {
        match NonZeroU64::new(bps) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }
    /// `n` Gb/s. Panics for zero.
    pub const fn gbps(n: u64) -> Self {
        Self(NonZeroU64::new(n * 1_000_000_000).expect("a rate is not zero"))
    }
    /// In bits per second.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
    /// Time on the wire, rounded up to a whole picosecond: a link never beats its rate.
    pub fn serialization(self, size: Bytes) -> Picos {
        let picobits = u128::from(size.0) * 8 * PICOS_PER_SEC;
        Picos(picobits.div_ceil(u128::from(self.get())).try_into().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_of_common_packets_is_exact() {
        assert_eq!(BitsPerSec::gbps(10).serialization(Bytes(9000)), Picos(7_200_000));
        assert_eq!(BitsPerSec::gbps(100).serialization(Bytes(64)), Picos(5_120));
    }

    #[test]
    fn serialization_rounds_up() {
        let rate = BitsPerSec::new(3).unwrap();
        assert_eq!(rate.serialization(Bytes(1)), Picos(2_666_666_666_667));
    }
}
