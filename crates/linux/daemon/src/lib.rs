//! `pullnetd`: one process owns the interface and the one pull queue, and serves applications over shared memory.
//!
//! Unsafe code is confined to `sys.rs` and `process.rs` (system calls) and `memory.rs` (memory shared with another process).
#![deny(unsafe_code)]

mod captured;
mod client;
pub mod config;
mod control_socket;
mod doorbell;
mod error;
mod failure;
mod log;
#[expect(unsafe_code, reason = "memory that is shared with another process")]
mod memory;
mod message;
pub mod metrics;
mod privileges;
#[expect(unsafe_code, reason = "system calls about the process")]
mod process;
mod quota;
mod ring;
mod server;
mod share;
#[expect(unsafe_code, reason = "system calls")]
mod sys;

pub use client::{DaemonStack, Doorbells};
pub use error::Error;
pub use process::raise_descriptors;
pub use pullnet_netio::Signals;
#[cfg(feature = "hostile")]
pub use server::hostile::{Action, Hostile};
pub use server::{Daemon, serve};
