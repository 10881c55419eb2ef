//! Common parts of the endpoints of all transports: a table of connections, the memory of ended ones, the set of
//! packets that have arrived, and round-robin turns on the link. [`Endpoint`] joins them into an endpoint that needs
//! only a transport's [`Rules`].
#![no_std]

extern crate alloc;

mod asking;
mod endpoint;
mod finished;
mod incoming;
mod limits;
mod outstanding;
mod packets;
mod received;
mod round_robin;
mod scattered;
mod sent;
mod small_queue;
mod table;
mod timers;

pub use asking::{
    Asking, AskingRules, Expiry, Message, Outgoing, Outlook, Pace, link_rate, smoothed, transmission_time,
    transmission_work,
};
pub use endpoint::{Armed, Ended, Endpoint, Flows, Known, Rules};
pub use finished::Finished;
pub use incoming::{Admitted, Incoming, Receipt};
pub use limits::Limits;
pub use outstanding::Outstanding;
pub use packets::{FlowPackets, Target};
pub use received::{Noted, ReceivedSet, WINDOW};
pub use round_robin::RoundRobin;
pub use scattered::ScatteredPackets;
pub use sent::{Departure, SentPackets};
pub use small_queue::SmallQueue;
pub use table::Connections;
pub use timers::{FlowTimer, Timers};
