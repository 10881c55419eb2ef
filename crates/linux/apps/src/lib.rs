//! Applications of a host daemon that operators use: [`bench`] measures streams and calls through it, beside kernel TCP, and
//! [`proxy`] carries TCP connections over it.
#![forbid(unsafe_code)]

pub mod bench;
mod clock;
mod gate;
mod line;
pub mod proxy;

pub use gate::Gate;
pub use line::{Line, Road};
