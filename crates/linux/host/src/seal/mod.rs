//! Keys that pairs of hosts share, and what is done with them.
//!
//! `keys.rs` has what an operator gives, `cipher.rs` what is derived from it, `window.rs` remembers what has come, and
//! `vault.rs` has the state of a running host.

mod cipher;
mod keys;
mod vault;
mod window;

pub use cipher::Cipher;
pub use keys::{Key, Keys};
pub(crate) use vault::{Refusal, Vault};
