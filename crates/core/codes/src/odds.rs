/// How probable it is that some more than K symbols do not determine a block.
///
/// In the simulator symbols carry no bytes. Whether a block is decoded is decided by these odds and a number that the
/// caller draws, so that a run stays a function of its seed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FailureOdds {
    first: f64,
}

impl FailureOdds {
    /// RaptorQ as measured. With exactly K symbols, at least one of them a repair symbol, 0.5% of all sets are
    /// dependent. Each further symbol makes that 256 times less probable, as for random rows over GF(256). `pullnet
    /// reproduce thesis --figure 2.16` repeats the measurement.
    pub const RAPTORQ: Self = Self { first: 0.005 };
    /// A code that never fails: every K symbols determine the block.
    pub const NEVER: Self = Self { first: 0.0 };

    /// Odds with failure probability `first` at K symbols; values outside 0 to 1 are clamped.
    pub fn new(first: f64) -> Self {
        Self { first: if first.is_nan() { 0.0 } else { first.clamp(0.0, 1.0) } }
    }

    /// Failure probability with K + `extra` symbols.
    pub fn probability(self, extra: u32) -> f64 {
        (0..extra.min(64)).fold(self.first, |odds, _| odds / 256.0)
    }

    /// Whether K + `extra` symbols fail, for `unit` drawn uniformly from [0, 1). Draw once for each block and ask again with
    /// the same number for every further symbol: a block that was determined stays so.
    pub fn fails(self, extra: u32, unit: f64) -> bool {
        unit < self.probability(extra)
    }
}
