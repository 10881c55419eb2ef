//! Common parts of receiver-driven transports: the choice of paths with its scoreboard, the single pull queue of a
//! host, the pacer that empties the queue, the order in which a policy serves flows, and path spraying for hosts that
//! keep no state per connection.
#![no_std]

extern crate alloc;

mod link;
mod order;
mod pacer;
mod paths;
mod queue;
mod scores;
mod shuffle;
mod sparse;
mod spray;

pub use link::{HostLink, Outbound, Queued};
pub use order::{FlowOrder, Policy, Standing};
pub use pacer::{Pacer, Spacing};
pub use paths::{Feedback, PathSet, Spread};
pub use pullnet_connections::{Noted, ReceivedSet, RoundRobin, WINDOW};
pub use queue::PullQueue;
pub use spray::{Sprayer, Spraying};
