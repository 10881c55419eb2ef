//! Keys shared by pairs of hosts, and encryption under them.
//!
//! `keys.rs` has the keys given by the operator, `cipher.rs` derives ciphers from them, `window.rs` remembers the counters
//! received, and `vault.rs` has the state of a running host.

mod cipher;
mod keys;
mod vault;
mod window;

pub use cipher::{Authentic, Cipher};
pub use keys::{Key, Keys};
pub(crate) use vault::{Refusal, Vault};
