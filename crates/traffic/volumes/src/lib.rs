//! Bytes per interval.
//!
//! Bin i of a timescale T covers [origin + i T, origin + (i+1) T), in whole picoseconds: no packet is in two bins or in
//! none, and no rounding moves it. All timescales are filled in one pass ([`Binner`]). What cannot be known of a bin,
//! because a part of the capture is damaged or because times make no sense there, is a gap and never a number.
//!
//! Outages and saturation are recognised in the bins afterwards ([`anomaly`]).
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
