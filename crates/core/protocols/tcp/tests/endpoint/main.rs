//! The rules of TCP's endpoints, one file for each RFC's part. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;
mod delayed_ack;
mod newreno;
mod sack;
mod timers;
