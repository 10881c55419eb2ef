//! Queue disciplines of a switch's egress port.
//!
//! A discipline is a rule without clock, random numbers or packet pool: chance is an argument, outcomes are values
//! that name the packet. Simulator and software switch run this code; hardware must agree with it.
#![no_std]

extern crate alloc;

mod discipline;
mod drop_tail;
mod limit;
mod ring;
mod shared_buffer;
mod step_mark;
mod switch;
mod trim;

pub use discipline::{Discipline, DropReason, Item, Outcome};
pub use drop_tail::{DropTail, DropTailConfig};
pub use limit::Limit;
pub use ring::Ring;
pub use shared_buffer::{SharedBuffer, SharedBufferConfig, SharedPool};
pub use step_mark::{StepMark, StepMarkConfig};
pub use switch::{SWITCHES, SwitchConfig, SwitchEntry};
pub use trim::{Trim, TrimConfig, TrimRules, Victim};
