//! What a run leaves: raw rows from the engine, tables whose columns know their units, and the summary.

mod raw;

pub use raw::{
    ControlRow, FlowRow, HostRow, LatencyRow, PortRow, RunRecord, SeriesKey, SeriesRow, StuckFlow, Totals,
};
