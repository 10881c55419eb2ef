//! Fitting of power laws, one file for each part. One program, because each program of tests is compiled and linked by itself.

mod bad;
mod bootstrap;
mod exact;
