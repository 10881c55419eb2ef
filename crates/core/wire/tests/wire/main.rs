//! Frames: properties of the format, and golden vectors. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;

mod properties;
mod vectors;
