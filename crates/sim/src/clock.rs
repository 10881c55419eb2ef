use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// An interval of time in which logical processes do not see each other.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// First picosecond.
    pub start: Instant,
    /// First picosecond after it, or the end of the run if that is earlier.
    pub end: Instant,
    /// Its number.
    pub index: u64,
}

impl Window {
    /// Rank 0, in the form in which packets state their arrival.
    #[inline]
    pub fn zero(self) -> u64 {
        (self.start.0 << 16).wrapping_sub(1 << 63)
    }

    /// Scale on which times near the window are in order: 2^16 steps per picosecond, with the start of the window in
    /// its middle.
    #[inline]
    pub fn rank(self, at: Instant) -> u64 {
        (at.0 << 16).wrapping_sub(self.zero())
    }
}

/// Length of windows: the largest power of two, in picoseconds, that is no longer than any packet's time between two
/// processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    shift: u32,
}

impl Grid {
    /// Windows no longer than `lookahead` picoseconds.
    pub fn new(lookahead: Picos) -> Self {
        Self { shift: lookahead.0.max(1).ilog2() }
    }

    /// Length of a window in picoseconds.
    pub fn length(self) -> Picos {
        Picos(1 << self.shift)
    }

    /// The window that `at` lies in.
    #[inline]
    pub fn index(self, at: Instant) -> u64 {
        at.0 >> self.shift
    }

    /// Window number `index` of a run that ends at `end`.
    pub fn window(self, index: u64, end: Instant) -> Window {
        let start = Instant(index << self.shift);
        Window { start, end: (start + self.length()).min(end), index }
    }
}

/// Time on the wire at one rate. Only four bytes, because every packet reads it; the rate itself is a cold field.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Exact picoseconds per byte; 0 if that is not a whole number, negative in a [`Pace::cutting`].
    per_byte: i32,
}

impl Pace {
    /// A pace without an exact time for any length.
    pub const NONE: Self = Self { per_byte: 0 };

    /// The pace of `rate`.
    pub fn new(rate: BitsPerSec) -> Self {
        let (picos, bps) = (8_000_000_000_000u64, rate.get());
        let whole = if picos.is_multiple_of(bps) { picos / bps } else { 0 };
        Self { per_byte: whole.try_into().unwrap_or(0) }
    }

    /// The same pace for packets that cut through at the other end: [`Pace::exact`] has no answer, so that packets of other links
    /// pay nothing for the question how much of a packet has to arrive.
    pub fn cutting(self) -> Self {
        Self { per_byte: -self.per_byte }
    }

    /// Picoseconds for `size` bytes, rounded up. `rate` must be the rate of this pace.
    #[inline]
    pub fn time(self, size: u32, rate: impl FnOnce() -> BitsPerSec) -> Picos {
        match self.per_byte {
            0 => rate().serialization(Bytes(size.into())),
            per_byte => Picos(u64::from(size) * u64::from(per_byte.unsigned_abs())),
        }
    }

    /// Picoseconds for `size` bytes; `None` if a byte does not take a whole number of them, and for packets that cut through.
    #[inline]
    pub fn exact(self, size: u32) -> Option<Picos> {
        (self.per_byte > 0).then(|| Picos(u64::from(size) * u64::from(self.per_byte as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_agrees_with_the_definition() {
        for bps in [10_000_000_000, 1_000_000_000, 100_000_000_000, 3_000_000_001, 7_000, 400_000_000_000] {
            let rate = BitsPerSec::new(bps).unwrap();
            for size in [1, 64, 1500, 9064, 65_535] {
                let (pace, expected) = (Pace::new(rate), rate.serialization(Bytes(size.into())).0);
                assert_eq!([pace, pace.cutting()].map(|pace| pace.time(size, || rate)), [Picos(expected); 2]);
                assert_eq!(pace.cutting().exact(size), None);
            }
        }
    }

    #[test]
    fn a_window_is_no_longer_than_the_lookahead() {
        let grid = Grid::new(Picos(1_051_200));
        assert_eq!(grid.length(), Picos(1 << 20));
        assert_eq!(grid.index(grid.window(5, Instant::NEVER).start), 5);
        assert_eq!(grid.index(grid.window(5, Instant::NEVER).end), 6);
        assert_eq!(grid.window(5, Instant(5_300_000)).end, Instant(5_300_000));
    }
}
