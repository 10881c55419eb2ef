//! Errors in samples.

/// A sample that no power law can be fitted to.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum FitError {
    /// The value with number `index`, counted from 0, is outside the domain of a power law.
    #[error(
        "value {index} is {value}; a power law has positive finite values only, below 1e300 and above 1e-300"
    )]
    NotPositive {
        /// Number of the value, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// The value with number `index`, counted from 0, is not a whole number in the domain of a discrete power law.
    #[error(
        "value {index} is {value}; a discrete power law has whole numbers from 1 to 1e15, or fit it as continuous"
    )]
    NotWhole {
        /// Number of the value, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// There are fewer than two distinct values.
    #[error("{distinct} distinct values among {values}; a power law needs at least 2")]
    TooFew {
        /// Number of values.
        values: usize,
        /// Number of distinct values.
        distinct: usize,
    },
    /// The sample exceeds the range of the counters.
    #[error("{values} values; at most 4294967295 can be fitted at once")]
    TooMany {
        /// Number of values.
        values: usize,
    },
    /// The number of repeats is 0 or too large.
    #[error("{repeats} repeats; use 1 to 10000000")]
    Repeats {
        /// The requested number.
        repeats: u64,
    },
}
