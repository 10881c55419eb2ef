//! What receiver-driven transports share: the choice of paths with its scoreboard, the one pull queue of a host,
//! and the pacer that empties it.
#![no_std]

extern crate alloc;

mod pacer;
mod paths;
mod queue;

pub use pacer::{Pacer, Spacing};
pub use paths::{Feedback, PathSet, Spread};
pub use pullnet_connections::{Noted, ReceivedSet, RoundRobin, WINDOW};
pub use queue::PullQueue;
