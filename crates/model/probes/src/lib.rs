//! The optional tables of a run, which `[probes]` of a scenario enables.
//!
//! Each table is one declaration in one file, an implementation of [`Probe`]: the setting that enables it, its rows, and its
//! columns with names, units and meanings. The list below is the only place that names them all. The reader of scenarios, the
//! reference, the files of a result and their documentation follow from it.
//!
//! A probe either takes notes of what hosts and ports show it ([`Probe::note`]), which works in every engine, or has rows that
//! the engine itself makes. It never changes a run.

mod cell;
mod probe;
mod seen;
mod table;

mod control;
mod hops;
mod incidents;
mod latency;
mod occupancy;
mod packets;
mod port_series;
mod series;
mod timeouts;

pub use cell::Cell;
pub use control::{Control, ControlRow};
pub use hops::{FlowNumbers, HopRow, Hops};
pub use incidents::{IncidentRow, Incidents};
pub use latency::{Latency, LatencyRow};
pub use occupancy::{Occupancy, OccupancyRow};
pub use packets::Packets;
pub use port_series::{PortSeries, PortSeriesRow};
pub use probe::{End, Facts, Form, Load, OptionalTable, Plan, Probe, Recording};
pub use seen::{Direction, Incident, PacketRow, PortPacket, Seen, Watches};
pub use series::{Per, Series, SeriesKey, SeriesRow};
pub use table::{Builder, Column, Data, Label, Table, gbps};
pub use timeouts::{TimeoutRow, Timeouts};

probe::probes! {
    occupancy: Occupancy,
    series: Series,
    port_series: PortSeries,
    latency: Latency,
    control: Control,
    packets: Packets,
    hops: Hops,
    incidents: Incidents,
    timeouts: Timeouts,
}
