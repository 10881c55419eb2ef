//! What a run leaves: raw rows from the engine, tables whose columns know their units, and the summary.

mod raw;
mod spread;
mod summary;
mod table;
mod tables;

pub use raw::{
    ControlRow, Direction, FlowRow, HostRow, LatencyRow, PacketRow, PortRow, RunRecord, SeriesKey, SeriesRow,
    StuckFlow, Totals,
};
pub use spread::Spread;
pub use summary::{
    About, CoflowSummary, Cost, CostSummary, Deadlines, FlowCounts, Goodput, GroupSummary, PacketCounts,
    Range, StuckSummary, Summary,
};
pub use table::{Column, Data, Table};
pub use tables::{Wanted, tables};
