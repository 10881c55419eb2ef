//! What the endpoint of every transport needs, whatever its rules: a table of connections, the memory of those that have
//! ended, the set of packets that have arrived, and turns on the link; and an endpoint that has all of these and asks a
//! transport for nothing but its [`Rules`].
#![no_std]

extern crate alloc;

mod endpoint;
mod finished;
mod packets;
mod received;
mod round_robin;
mod small_queue;
mod table;

pub use endpoint::{Armed, Endpoint, Flows, Known, Rules};
pub use finished::Finished;
pub use packets::FlowPackets;
pub use received::{Noted, ReceivedSet, WINDOW};
pub use round_robin::RoundRobin;
pub use small_queue::SmallQueue;
pub use table::Connections;
