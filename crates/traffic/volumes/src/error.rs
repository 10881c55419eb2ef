use pullnet_units::Picos;
use thiserror::Error;

/// Why there are no bins.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
pub enum VolumesError {
    /// More bins than are kept in memory.
    #[error(
        "lasts {span_s} s, which are {needed} bins of {timescale}; at most {most} are kept. Use a timescale of \
         {enough} or more"
    )]
    TooManyBins {
        /// The timescale that needs them.
        timescale: Picos,
        /// How long the trace lasts. Unit: s.
        span_s: String,
        /// Bins of all timescales.
        needed: u128,
        /// Bins that are kept.
        most: u64,
        /// A timescale that would work alone.
        enough: Picos,
    },
    /// Not a packet.
    #[error("has no packets")]
    NoPackets,
    /// No packet that was wanted.
    #[error(
        "has no packet that is counted: {other} are others by the filter, {unclassified} cannot be classified"
    )]
    NoneCounted {
        /// Packets that the filter leaves out.
        other: u64,
        /// Packets of which nobody can say.
        unclassified: u64,
    },
    /// Every packet lies before the origin.
    #[error("has no packet after the origin; its last is {before_s} s before it")]
    AllBeforeOrigin {
        /// How long before. Unit: s.
        before_s: String,
    },
}
