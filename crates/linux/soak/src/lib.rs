//! Host stacks under bad networks, for long: what is asked is carried out at most once, what is answered is right, and
//! memory stays flat.
//!
//! Four [`pullnet_host::Engine`]s are joined by two leaves and eight spines ([`pullnet_switch::Fabric`], real frames) in
//! virtual time. Their applications call each other and open streams both ways; every message carries the hash of its
//! content. [`Condition`] says what goes wrong meanwhile. With [`kill`], processes do so over the kernel's UDP, and
//! some of them are killed.
#![forbid(unsafe_code)]

mod condition;
mod ledger;
mod memory;
mod message;
mod network;
mod processes;
mod report;
mod run;
mod session;
mod station;

pub use condition::Condition;
pub use ledger::Outcomes;
pub use processes::{KillOptions, Killed, child, kill};
pub use report::{FLAT, Report, Traffic};
pub use run::{Options, run};
