//! Tests of every transport in the registry. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;

mod anything;
mod conformance;
mod headers;
mod kernel;
mod wire;
