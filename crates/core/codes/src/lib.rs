//! Fountain codes: any `K` plus a few of the symbols of a block are as good as the block itself.
//!
//! **RaptorQ** (RFC 6330) is what transports use: [`BlockEncoder`] and [`BlockDecoder`] for one source block, [`Layout`]
//! for an object of many blocks, [`Share`] for several senders of the same object that never send the same symbol.
//! **R10** (RFC 5053) and **LT** are references for comparison: [`r10`], [`lt`], [`trials`].
//!
//! # Library
//!
//! The arithmetic of RaptorQ is the crate `raptorq` 2.0.1: Apache-2.0, no dependencies, works without std, is maintained (its
//! issues are answered within days), and agrees with every conformance vector. It decodes 1.3 to 4 Gb/s and encodes 1.7
//! to 8 Gb/s on one core where `data/speed.csv` was measured, with vector instructions chosen at run time. It panics on
//! symbols of a wrong length or number, by its author's decision; the types here check every input first and return
//! [`CodeError`]. Others that agree with the vectors are in C and Go. R10 is `raptor-code` 1.0.12 (MIT, no
//! dependencies), which the FLUTE implementation of the same author uses.
//!
//! # Features
//!
//! Without features the crate is arithmetic without dependencies and without std, which a protocol in the simulator needs.
//! `codec` adds RaptorQ, `reference` R10, LT and the trials, `std` (default) vector instructions.
#![no_std]

extern crate alloc;

#[cfg(feature = "codec")]
mod block;
mod error;
mod latency;
mod layout;
mod limits;
#[cfg(feature = "reference")]
pub mod lt;
#[cfg(feature = "codec")]
mod object;
mod odds;
#[cfg(feature = "reference")]
pub mod r10;
mod share;
mod table2;
#[cfg(feature = "reference")]
pub mod trials;

#[cfg(feature = "codec")]
pub use block::{BlockDecoder, BlockEncoder, Decoded, Method};
pub use error::CodeError;
pub use latency::{Latency, Row, SPEED};
pub use layout::{Block, Layout, Partition, partition};
pub use limits::{MAX_BLOCKS, MAX_ENCODING_SYMBOLS, MAX_SYMBOL_BYTES, MAX_SYMBOLS};
#[cfg(feature = "codec")]
pub use object::ObjectDecoder;
pub use odds::FailureOdds;
pub use share::Share;
pub use table2::{padded_symbols, padded_symbols_at_most};
