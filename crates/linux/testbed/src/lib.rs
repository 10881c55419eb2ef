//! Plays a scenario file on Linux: the simulator's own endpoints exchange real frames.
//!
//! All hosts of a testbed run in one thread, each with a socket in its network namespace ([`Play`]). The switches run in
//! another process. The result is a [`pullnet_record::RunRecord`], as from the simulator.
//!
//! [`Field`] holds the hosts without a clock or sockets; tests run it in virtual time. [`rpc`] times calls.
//!
//! Unsafe code is confined to `rpc/sys.rs` (system calls).
#![deny(unsafe_code)]

mod content;
mod error;
mod field;
mod finish;
mod incoming;
mod line;
mod live;
pub mod plan;
mod ports;
pub mod rpc;
mod site;
mod stack;
mod station;

pub use error::PlayError;
pub use field::{Clock, Field};
pub use live::Play;
pub use ports::PortCounts;
pub use site::{HEADERS, frame_room};
pub use station::Socket;
