//! The parts of a scenario's run besides hosts and a network, for every kind of run: the [`Director`], which decides for all
//! hosts which flow starts when and when the run ends; the [`Report`]s by which hosts tell it how flows ended; and the
//! [`RecordBuilder`], which makes the record of the run from the counts of hosts and ports.
//!
//! The simulator and the testbed share it, so that their records mean the same.

mod application;
mod builder;
mod counts;
mod director;
mod packets;
mod report;
mod sources;

pub use application::{Application, Supply};
pub use builder::{RecordBuilder, StuckFlows};
pub use counts::{HostCounts, HostLog, Share};
pub use director::Director;
pub use packets::{kind_of, packet_received, packet_sent};
pub use report::{News, Report};

use pullnet_transport::ConnId;
use pullnet_units::FlowId;

/// The connection by which a sender opens `flow`: both have the same number.
pub const fn conn_of(flow: FlowId) -> ConnId {
    ConnId::new(flow.get())
}

/// The flow of a connection that a sender opened by [`conn_of`].
pub const fn flow_of(conn: ConnId) -> FlowId {
    FlowId::new(conn.get())
}
