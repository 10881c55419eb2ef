//! NDP on Linux: streams of bytes between hosts.
//!
//! - [`Engine`] has all streams of one host, without I/O and without a clock.
//! - [`Host`] drives an engine with an interface and the clock: the host stack within one process.
//! - [`Stack`] is the interface for applications; [`NdpStream`] and [`NdpListener`] are built on it.
#![forbid(unsafe_code)]

mod carrier;
mod copy;
mod engine;
mod error;
mod guard;
mod handle;
mod host;
pub mod metrics;
mod net;
mod options;
mod peers;
mod proof;
pub mod seal;
mod stack;
mod status;
mod stream;
mod streams;
#[cfg(feature = "tokio")]
pub mod tokio;
mod wallet;

pub use carrier::{Carrier, Form, Purpose, Taken, Times};
pub use copy::{Sink, Source};
pub use engine::Engine;
pub use error::StreamError;
pub use handle::{Notice, Read, StreamId, StreamInfo};
pub use host::{Host, HostOptions, Intake, LONG_YIELD, Neighbours, Search, Wait, Yielding};
pub use net::{NdpListener, NdpStream};
pub use options::{EngineOptions, Limits, StreamOptions};
pub use proof::Secret;
pub use stack::{Stack, Timeout};
pub use status::{Counts, KeyStatus, Refusals, Status, StreamStatus, Totals};
