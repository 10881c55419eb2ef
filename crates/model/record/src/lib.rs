//! The results of a run: raw rows from the engine, tables with units, and the summary.

mod parquet;
mod raw;
mod spread;
mod summary;
mod table;
mod tables;

pub use raw::{
    ControlRow, Direction, FlowRow, HopRow, HostRow, LatencyRow, PacketRow, PortRow, PortSeriesRow,
    RunRecord, SeriesKey, SeriesRow, StuckFlow, Totals,
};
pub use spread::Spread;
pub use summary::{
    About, CoflowSummary, Cost, CostSummary, Deadlines, FlowCounts, Goodput, GroupSummary, Notice,
    PacketCounts, Range, StuckSummary, Summary,
};
pub use table::{Column, Data, Table};
pub use tables::{Wanted, tables};
