//! SCDP's sessions and groups, one file for each part. One program, because each program of tests is compiled and linked by itself.

mod groups;
mod polyraptor;
mod session;
