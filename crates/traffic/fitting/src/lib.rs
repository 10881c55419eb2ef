//! Power laws fitted after Clauset, Shalizi and Newman ("Power-law distributions in empirical data", SIAM Review 51,
//! 2009): the exponent by maximum likelihood, the least value `xmin` by the smallest Kolmogorov-Smirnov distance over
//! all distinct values, both with bootstrap errors, and the goodness of fit by the semi-parametric bootstrap.
//!
//! The search is exact. It gives the same `xmin` and the same distance, bit for bit, as computing the distance of every
//! candidate in full (`search.rs` says why), in a time that grows little faster than the sample.
//!
//! ```
//! use pullnet_fitting::{Distance, Kind, Sample};
//!
//! let sample = Sample::new(&[1.0, 1.2, 1.5, 2.0, 3.1, 5.0, 9.0, 20.0], Kind::Continuous).unwrap();
//! let fit = sample.fit(Distance::Supremum);
//! assert_eq!((fit.xmin, fit.tail), (1.0, 8));
//! assert!((fit.alpha - 1.868).abs() < 0.001 && fit.distance < 0.2);
//! ```
#![forbid(unsafe_code)]

mod bootstrap;
mod continuous;
mod discrete;
mod draw;
mod error;
mod sample;
mod search;
mod steps;
mod zeta;

pub use bootstrap::{Goodness, Interval, Uncertainty, repeats};
pub use error::FitError;
pub use sample::{Fit, Kind, Sample};
pub use search::Distance;
