//! Common parts of window-based transports: the state machines of one host. A protocol chooses their congestion control
//! and settings.
//!
//! Numbers count packets, not bytes: a packet is one maximum segment. Where an RFC counts bytes in multiples of SMSS,
//! one SMSS is one packet, the short last packet of a flow included. `README.md` beside this crate lists the rules with
//! their sources.
#![no_std]

extern crate alloc;

mod control;
mod endpoint;
mod receiver;
mod round_trip;
mod rules;
mod scoreboard;
mod segment;
mod sender;
mod subflow;

pub use control::{Acked, Control, Growth, NewReno, Plan};
pub use endpoint::{Endpoint, Insight};
pub use round_trip::{RoundTrip, TimerRules};
pub use rules::{Counting, Paths, Rules};
pub use scoreboard::{Scoreboard, Slot};
pub use segment::{MAX_RANGES, Ranges, Segment};
pub use subflow::{LastAnswer, Subflow};
