//! What a sample can be wrong in.

/// A sample that no power law can be fitted to.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum FitError {
    /// Value number `index`, counted from 0, cannot be a value of a power law.
    #[error(
        "value {index} is {value}; a power law has positive finite values only, below 1e300 and above 1e-300"
    )]
    NotPositive {
        /// Number of the value, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Value number `index`, counted from 0, is no whole number that a discrete power law could have.
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
        /// Values.
        values: usize,
        /// Distinct ones.
        distinct: usize,
    },
    /// The sample does not fit into the counters.
    #[error("{values} values; at most 4294967295 can be fitted at once")]
    TooMany {
        /// Values.
        values: usize,
    },
    /// A bootstrap without repeats, or with more than can be told apart.
    #[error("{repeats} repeats; use 1 to 10000000")]
    Repeats {
        /// What was asked for.
        repeats: u64,
    },
}
