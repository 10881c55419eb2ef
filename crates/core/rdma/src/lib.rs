//! Common part of hosts of RDMA over Converged Ethernet (RoCE): paced senders, loss recovery by NACK, notification of
//! marks, and rate control as a trait.
//!
//! `README.md` beside this crate lists the rules.
#![no_std]

extern crate alloc;

mod control;
mod endpoint;
mod header;
mod parameters;
mod receiver;
mod sender;

pub use control::{Acked, CollectedOf, Control, LineRate};
pub use endpoint::{Endpoint, RdmaRules};
pub use header::{Carrier, Feedback, RdmaHeader};
pub use parameters::{Notification, Parameters, Paths, Recovery};
