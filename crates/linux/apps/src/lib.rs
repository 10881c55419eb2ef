//! Applications of a host daemon that operators use: [`bench`] measures streams and calls through it, beside kernel TCP, and
//! [`proxy`] carries TCP connections over it.
#![forbid(unsafe_code)]

pub mod bench;
mod gate;
mod line;
pub mod proxy;

pub use gate::Gate;
pub use line::{Line, Road};

/// The clock by which rates and times are measured.
#[expect(clippy::disallowed_methods, reason = "these programs live by the clock")]
pub(crate) fn clock() -> std::time::Instant {
    std::time::Instant::now()
}
