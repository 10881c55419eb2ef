//! Throughput and latency through a daemon, and over kernel TCP for comparison.
//!
//! A [`Server`] at one host does what the streams of a [`Bench`] at another one ask in their first bytes (`head.rs`). The
//! same code sends, receives and measures over either transport (`crate::Line`).

mod client;
mod cpu;
mod head;
mod load;
mod plan;
mod report;
mod server;

use std::io;

use thiserror::Error;

pub use client::Bench;
pub use cpu::Cpu;
pub use head::Amount;
pub use plan::{Direction, MOST, Plan, Wish};
pub use report::{Calls, Latency, OneStream, Part, Sides, Streams, Transport};
pub use server::Server;

/// Service of a server, and its TCP port, unless others are named: the port of iperf3.
pub const SERVICE: u16 = 5201;

/// The reason why nothing is measured, or served.
#[derive(Debug, Error)]
pub enum Failed {
    /// The plan contradicts itself: every contradiction.
    #[error("{}", .0.join("\n"))]
    Plan(Vec<String>),
    /// A stream failed.
    #[error("{road}: {error}{remedy}")]
    Stream {
        /// Where it led.
        road: String,
        /// How it failed.
        error: io::Error,
        /// A remedy, if one is known.
        remedy: &'static str,
    },
    /// A service or a port cannot be listened at.
    #[error("cannot listen at {what}: {error}; stop the program that does, or use another number")]
    Listen {
        /// The service or port.
        what: String,
        /// The error of the listener.
        error: io::Error,
    },
}
