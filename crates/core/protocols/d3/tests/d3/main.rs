//! D3: the rules of its endpoints, and a network of hosts and routers. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;

mod network;
mod rules;
