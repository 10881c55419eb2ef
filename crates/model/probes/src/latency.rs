use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::{FlowId, Instant, Picos};

use crate::cell::rows;
use crate::probe::{Facts, Load, Probe};
use crate::seen::{Seen, Watches};
use crate::table::Table;

/// Memory of a row while columns are made of it.
const BYTES_PER_ROW: f64 = 48.0;

settings! {
    /// Whether latencies are recorded.
    pub struct LatencySettings {
        /// Time from first sending to ACK of every packet.
        latency: bool = false,
    }
}

rows! {
    /// Time from the first transmission of a packet to its ACK.
    pub struct LatencyRow {
        /// Number of the flow.
        flow: FlowId = "flow",
        /// When the ACK arrived.
        at: Instant = "at_ps" ["ps"],
        /// Time since the packet was first sent, retransmissions included.
        latency: Picos = "latency_ps" ["ps"],
    }
}

/// Time from the first transmission to the ACK of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency;

impl Probe for Latency {
    const TABLE: &'static str = "latency";
    const DOC: &'static str = "One row per acknowledged packet.";
    const WATCHES: Watches = Watches::ACKED;

    type Settings = LatencySettings;
    type Row = LatencyRow;

    fn new(settings: LatencySettings, _: &Reader<'_>) -> Option<Self> {
        settings.latency.then_some(Self)
    }

    fn memory(&self, load: &Load) -> f64 {
        load.packets * BYTES_PER_ROW
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<LatencyRow>) {
        if let Seen::Acked { at, flow, latency, .. } = *seen {
            rows.push(LatencyRow { flow, at, latency });
        }
    }

    fn renumber(rows: &mut [LatencyRow], number: &dyn Fn(FlowId) -> FlowId) {
        rows.iter_mut().for_each(|row| row.flow = number(row.flow));
    }

    fn sort(rows: &mut [LatencyRow]) {
        rows.sort_by_key(|row| (row.flow, row.at));
    }

    fn table(&self, rows: &[LatencyRow], _: Facts<'_>) -> Table {
        LatencyRow::columns(Self::builder(rows), |row| row).finish()
    }
}
