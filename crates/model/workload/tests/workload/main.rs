//! Traffic. One program, because each program of tests is compiled and linked by itself.

mod collective;
#[path = "../common/mod.rs"]
mod common;
mod jobs;
mod order;
mod parsers;
mod patterns;
mod sessions;
mod sizes;
mod triggers;
mod volume_model;
