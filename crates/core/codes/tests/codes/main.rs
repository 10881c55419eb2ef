//! Both codes: their properties, and how they compare. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;
mod comparison;
mod properties;
mod rfc6330;
