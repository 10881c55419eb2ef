//! Topologies. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;
mod fabrics;
mod faults;
mod files;
mod graph;
mod ideal;
mod multicast;
mod regular;
mod write;
