use pullnet_units::Picos;
use thiserror::Error;

/// Reasons why there are no bins.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
pub enum VolumesError {
    /// More bins than may be kept in memory.
    #[error(
        "lasts {span_s} s, which are {needed} bins of {timescale}; at most {most} are kept. Use a timescale of \
         {enough} or more"
    )]
    TooManyBins {
        /// The timescale with too many bins.
        timescale: Picos,
        /// Duration of the trace. Unit: s.
        span_s: String,
        /// Number of bins over all timescales.
        needed: u128,
        /// Largest allowed number of bins.
        most: u64,
        /// A timescale that would fit, alone.
        enough: Picos,
    },
    /// The capture holds no packet.
    #[error("has no packets")]
    NoPackets,
    /// No packet was counted.
    #[error(
        "has no packet that is counted: {other} are others by the filter, {unclassified} cannot be classified"
    )]
    NoneCounted {
        /// Packets that do not match the filter.
        other: u64,
        /// Packets for which the filter cannot be evaluated.
        unclassified: u64,
    },
    /// All packets are before the origin.
    #[error("has no packet after the origin; its last is {before_s} s before it")]
    AllBeforeOrigin {
        /// Time between the last packet and the origin. Unit: s.
        before_s: String,
    },
}
