//! Quantities as types: a unit slip does not compile.
//!
//! Time is counted in whole picoseconds, sizes in bytes, rates in bits per second. Text carries its unit
//! (`"10 Gbps"`, `"9000 B"`, `"1 us"`); a number without one is refused.
#![no_std]

extern crate alloc;

mod ends;
mod id;
mod labels;
mod quantity;
mod text;

pub use ends::{HostAddr, Side};
pub use id::{FlowId, HostId, Id, IdVec, NodeId, PacketSeq, PathLabel, PortId, WireLen};
pub use labels::Labels;
pub use quantity::{BitsPerSec, Bytes, Instant, Packets, Picos};
pub use text::{ParseError, QueueSize};
