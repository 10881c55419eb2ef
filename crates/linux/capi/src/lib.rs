//! `libpullnet`: what `include/pullnet.h` declares.
//!
//! Objects are pointers that this library gives and takes back. Every function checks its pointers for null; that others
//! are what the library gave is for the caller to keep. Functions return 0 or a length, or one of [`Code`] if they fail;
//! [`pullnet_error`] then has the words, for each thread its own. A panic is a fault of the library's and comes back as
//! [`Code::Fault`].
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "functions that are called from C")]
mod abi;
mod failure;

pub use abi::*;
pub use failure::Code;
