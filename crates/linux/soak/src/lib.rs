//! Long runs of host stacks under network faults. Every request must be carried out at most once, every answer must be
//! correct, and memory must stay flat.
//!
//! Four [`pullnet_host::Engine`]s are joined by two leaves and eight spines ([`pullnet_switch::Fabric`], real frames) in
//! virtual time. Their applications call each other and open streams in both directions; every message carries the hash of
//! its content. [`Condition`] selects the fault. [`kill`] runs the same workload between processes over the kernel's UDP,
//! and kills some of them.
#![forbid(unsafe_code)]

mod condition;
mod keys;
mod ledger;
mod memory;
mod message;
mod network;
mod options;
mod processes;
mod report;
mod run;
mod session;
mod station;

pub use condition::Condition;
pub use options::Options;
pub use processes::{KillOptions, Killed, child, kill};
pub use report::{FLAT, Outcomes, Report, Traffic};
pub use run::run;
