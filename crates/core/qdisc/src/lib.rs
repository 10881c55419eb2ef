//! Queue disciplines of a switch's egress port.
//!
//! A discipline is a rule without a clock, random numbers or packet memory of its own: a [`Context`] provides time,
//! link and random numbers, and receives the outcome of each packet. Most disciplines are a [`ClassRule`], which only
//! decides; [`Classes`] stores the packets. Simulator and software switch run this code; hardware must agree with it.
#![no_std]

extern crate alloc;

mod classes;
mod context;
mod cut_payload;
mod d3;
mod discipline;
mod drop_tail;
mod fifo;
mod hop_fifo;
mod item;
mod limit;
mod marking;
mod one_queue;
pub mod order;
mod pdq;
mod pfabric;
mod pfc;
mod priority;
mod queue_settings;
mod red;
mod ring;
mod scdp;
mod shared_buffer;
mod split;
mod switch;
mod telemetry;
mod trim;

pub use classes::{ClassRule, Classes, Verdict, Waiting};
pub use context::{Context, DropReason, Outcome, Rank, Signal};
pub use cut_payload::{
    CutPayload, CutPayloadConfig, CutPayloadQueue, CutPayloadRule, CutPayloadRules, Occupancy,
};
pub use d3::{Allocator, D3, D3Config, D3Rule, D3Rules, Sums};
pub use discipline::{Discipline, Lookahead};
pub use drop_tail::{DropTail, DropTailConfig, DropTailQueue, DropTailRule};
pub use fifo::Fifo;
pub use hop_fifo::{Answering, Answers, HopFifo};
pub use item::Item;
pub use limit::Limit;
pub use marking::{MarkWhen, StepMark};
pub use one_queue::{OneQueue, QueueRule};
pub use pdq::{Pdq, PdqConfig, PdqRule, PdqRules, Scheduler};
pub use pfabric::{Pfabric, PfabricConfig};
pub use pfc::{PauseKind, Pfc, PfcConfig, PfcMemory, PfcRule, PfcRules, Schedule};
pub use priority::{Priority, PriorityConfig, PriorityRule, Sharing};
pub use queue_settings::{Capacity, Divided, QueueSettings};
pub use red::{Red, RedConfig, RedQueue, RedRule};
pub use ring::Ring;
pub use scdp::{ScdpSwitch, ScdpSwitchConfig, ScdpSwitchRule, ScdpSwitchRules};
pub use shared_buffer::{SharedBuffer, SharedBufferConfig, SharedBufferRule, SharedPool};
pub use split::{Split, SplitConfig, SplitRules};
pub use switch::{SWITCHES, SwitchConfig, SwitchEntry};
pub use trim::{Trim, TrimConfig, TrimRule, TrimRules, Victim};
