//! The parts of a scenario's run besides hosts and a network, for every kind of run: the [`Director`], which decides for all
//! hosts which flow starts when and when the run ends; the [`Report`]s by which hosts tell it how flows ended; and the
//! [`RecordBuilder`], which makes the record of the run from the counts of hosts and ports.
//!
//! The simulator and the testbed share it, so that their records mean the same.

mod builder;
mod counts;
mod director;
mod packets;
mod sources;

pub use builder::{RecordBuilder, StuckFlows};
pub use counts::{HostCounts, HostLog, Share};
pub use director::{Director, News, Report};
pub use packets::{kind_of, packet_received, packet_sent};
