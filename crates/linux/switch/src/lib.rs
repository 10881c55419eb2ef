//! A software switch without I/O and without a clock. Its inputs are frames with their arrival times, its outputs frames
//! with their departure times.
//!
//! The queues are the disciplines of [`pullnet_qdisc`], the same code as in the simulator. The bytes of a frame are stored
//! apart from the queue and rewritten when the discipline trims the frame. A virtual clock emulates the rate of a port: a
//! frame departs one serialisation time after the later of its arrival and the previous departure. One [`Fabric`] can hold
//! several joined switches; only their outer ports exchange frames with the outside.
//!
//! A driver supplies frames and time: a test in virtual time, or a loop over real interfaces.

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
