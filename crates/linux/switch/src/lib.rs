//! A software switch without I/O and without a clock: frames of bytes go in with the time of their arrival, and come
//! out with the time of their departure.
//!
//! Queues are the disciplines of [`pullnet_qdisc`], the same code that the simulator runs; the bytes of a frame lie
//! beside its place in the queue and are rewritten when the discipline trims it. A port's rate is emulated by a virtual
//! clock: a frame leaves at the later of its arrival and the departure before it, plus its time on the wire. Several
//! switches can be joined inside one [`Fabric`]; only their outer ports meet the outside.
//!
//! Who gives frames and time is the driver: a test in virtual time, or a loop over real interfaces.

pub mod capture;
mod codec;
pub mod config;
mod counters;
mod event;
mod fabric;
mod fault;
mod forward;
mod frame;
mod item;
mod line;
pub mod live;
mod mac;
mod ndp;
mod outcome;
mod pause;
mod port;
mod settings;
mod size;
mod step;
mod way;

pub use codec::{Class, Codec, Kind};
pub use counters::PortCounters;
pub use event::{Dropped, Event, Observer, Silent};
pub use fabric::Fabric;
pub use fault::{Direction, Fault, PortLine};
pub use forward::{Entry, Prefix, Selection, Unknown};
pub use frame::{FrameId, Frames};
pub use item::Slot;
pub use mac::{Mac, WrongMac};
pub use ndp::Ndp;
pub use pullnet_config::Forwarding;
pub use pullnet_topology::Effect;
pub use settings::{Departure, FabricSettings, Held, PortSettings, WrongPort};
pub use size::Counting;
