//! Files between hosts as symbols of RaptorQ over SCDP: one to several stores, several stores to one.
//!
//! - [`Engine`] has all sessions of one host, without I/O and without a clock. The transport is the state machine of the
//!   simulator ([`pullnet_scdp`]); the engine fills its symbols with bytes and decodes them.
//! - [`Driver`] gives an engine an interface and the clock, and runs a [`Task`]: a [`Put`], a [`Get`], a [`Store`].
//! - [`command`] has the three as functions.
#![forbid(unsafe_code)]

pub mod command;
mod driver;
mod engine;
mod file;
mod get;
mod message;
mod peers;
mod put;
mod report;
mod store;
mod symbols;

pub use driver::{Driver, Jobs, LinkOptions, STORE_PORT, Task, local_address};
pub use engine::{Counts, Engine, EngineOptions, MOST_HOSTS, Notice, ObjectId, OptionsError};
pub use file::{Folder, Part, Version, hash};
pub use get::Get;
pub use message::{Message, check_name};
pub use put::{Object, Put};
pub use report::{HostReport, Report, Way};
pub use store::{Job, Store};
pub use symbols::{Collector, Content, ReadAt, SymbolError, Taken};
