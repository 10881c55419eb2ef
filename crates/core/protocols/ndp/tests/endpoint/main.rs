//! The rules of NDP's endpoints, one file for each part. One program, because each program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;
mod exactly_once;
mod pacer;
mod paths;
mod receiver;
mod sender;
mod streams;
mod streams_anywhere;
mod timer;
