//! The contract between a transport and its driver.
//!
//! A transport is a state machine without I/O, clock or randomness of its own. Time, commands and packets come in as
//! arguments; packets, events and the next deadline come out by polling, until dry, after every input. The same state
//! machine runs in the simulator, on Linux and in a replay.
#![no_std]

extern crate alloc;

mod api;
pub mod channel;
mod conn_id;
mod hop;
mod packed;
pub mod script;
mod streaming;
mod texts;

pub use api::{
    Class, Deadline, Event, Fate, FlowSpec, FlowStatus, Framing, GroupMember, HostInfo, Origin, Protocol,
    Received, Reliance, SendCounts, Source, Transmit, Transport,
};
pub use conn_id::ConnId;
pub use hop::{Grant, Hop, MOST_RATE, PortState, RATE_UNIT, RateAsk, RateUnits, Turn, TurnAsk};
pub use packed::{CumulativeAck, DataPacket, Header, HopView, Large, Medium, Packed, Small, Words, flag};
pub use pullnet_units::{HostAddr, PacketSeq, Side, WireLen};
pub use streaming::Streaming;
pub use texts::{Awaited, FailureReason, ProtocolText, TimerKind};
