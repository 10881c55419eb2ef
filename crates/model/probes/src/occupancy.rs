use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::Picos;

use crate::cell::rows;
use crate::probe::{Facts, Probe};
use crate::table::Table;

settings! {
    /// Whether occupancies are recorded.
    pub struct OccupancySettings {
        /// How long each switch port held n data packets.
        ports: bool = false,
    }
}

rows! {
    /// Time for which a port held a number of data packets.
    pub struct OccupancyRow {
        /// Row of the table ports.
        row: u32 = "row",
        /// Data packets held, the one in service included.
        held: u32 = "held" ["packets"],
        /// For how long in all.
        time: Picos = "time_ps" ["ps"],
    }
}

/// Occupancy distribution of every switch port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy;

impl Probe for Occupancy {
    const TABLE: &'static str = "occupancy";
    const KEY: &'static str = "ports";
    const DOC: &'static str =
        "How long each port held how many data packets; numbers that never occurred are left out.";

    type Settings = OccupancySettings;
    type Row = OccupancyRow;

    fn new(settings: OccupancySettings, _: &Reader<'_>) -> Option<Self> {
        settings.ports.then_some(Self)
    }

    fn table(&self, rows: &[OccupancyRow], _: Facts<'_>) -> Table {
        OccupancyRow::columns(Self::builder(rows), |row| row).finish()
    }
}
