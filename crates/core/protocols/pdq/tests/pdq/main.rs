//! PDQ: the rules of its endpoints, and a network of hosts and switches. One program, because each program of tests is compiled and linked by itself.

#[path = "../../../d3/tests/common/mod.rs"]
mod common;

mod network;
mod rules;
