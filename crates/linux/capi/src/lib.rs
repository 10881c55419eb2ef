//! `libpullnet`: implements `include/pullnet.h`.
//!
//! Objects are pointers that the library creates and takes back. Every function checks its pointers for null; the caller
//! guarantees that other pointers came from the library. Functions return 0 or a length on success, or one of [`Code`] on
//! failure; [`pullnet_error`] then returns the message, per thread. A panic is a bug of the library and is returned as
//! [`Code::Fault`].
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "functions that are called from C")]
mod abi;
mod failure;

pub use abi::*;
pub use failure::Code;
