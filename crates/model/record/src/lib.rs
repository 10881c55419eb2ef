//! The results of a run: raw rows from the engine, tables with units, and the summary.

mod counts;
mod parquet;
mod raw;
mod spread;
mod summary;
mod tables;

pub use counts::PacketCounts;
pub use parquet::write_parquet;
pub use raw::{FlowRow, HostRow, PortRow, RunRecord, StuckFlow, Totals};
pub use spread::Spread;
pub use summary::{
    About, CoflowSummary, Cost, CostSummary, Deadlines, FlowCounts, Goodput, GroupSummary, Notice, Range,
    StuckSummary, Summary,
};
pub use tables::tables;
