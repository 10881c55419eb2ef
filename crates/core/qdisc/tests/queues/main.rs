//! The disciplines, rule by rule, and what must hold for any sequence of packets.

#[path = "../common/mod.rs"]
mod common;

mod any_sequence;
mod cut_payload;
mod drop_tail;
mod lossless;
mod marks;
mod pause_thresholds;
mod pfabric;
mod port;
mod priority;
mod red;
mod scdp;
mod shared;
mod split;
mod trim;
mod vectors;
mod writing;
