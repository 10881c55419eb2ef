//! Bytes per interval.
//!
//! Bin i of a timescale T covers [origin + i T, origin + (i+1) T), in whole picoseconds: every packet is in exactly one bin,
//! without rounding. All timescales are filled in one pass ([`Binner`]). If the content of a bin is unknown, because a part
//! of the capture is damaged or times are implausible there, the bin is a gap and never a number.
//!
//! Outages and saturation are detected in the finished bins ([`anomaly`]).
#![forbid(unsafe_code)]

pub mod anomaly;
mod binner;
mod clock;
mod count;
mod error;
mod scale;

pub use binner::{Binner, Origin, Plan, Totals};
pub use count::{Count, Finished};
pub use error::VolumesError;
pub use scale::{Bins, Tally};
