use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::{FlowId, HostId, Instant};

use crate::cell::rows;
use crate::probe::{Facts, Probe};
use crate::seen::{Seen, Watches};
use crate::table::Table;

settings! {
    /// Whether the table is recorded.
    pub struct StencilNameSettings {
        /// Payload that arrived, packet by packet.
        stencil_name: bool = false,
    }
}

rows! {
    /// Payload that arrived.
    pub struct StencilNameRow {
        /// Number of the receiving host.
        host: HostId = "host",
        /// When it arrived.
        at: Instant = "at_ps" ["ps"],
        /// Number of the flow.
        flow: FlowId = "flow",
        /// Payload of the packet.
        bytes: u64 = "payload_bytes" ["B"],
    }
}

/// The table `stencil_name`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StencilName;

impl Probe for StencilName {
    const TABLE: &'static str = "stencil_name";
    const DOC: &'static str = "One row per packet whose payload arrived, by time.";
    const WATCHES: Watches = Watches::DELIVERED;

    type Settings = StencilNameSettings;
    type Row = StencilNameRow;

    fn new(settings: StencilNameSettings, _: &Reader<'_>) -> Option<Self> {
        settings.stencil_name.then_some(Self)
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<StencilNameRow>) {
        if let Seen::Delivered { host, at, flow, bytes } = *seen {
            rows.push(StencilNameRow { host, at, flow, bytes });
        }
    }

    fn renumber(rows: &mut [StencilNameRow], number: &dyn Fn(FlowId) -> FlowId) {
        rows.iter_mut().for_each(|row| row.flow = number(row.flow));
    }

    fn sort(rows: &mut [StencilNameRow]) {
        rows.sort_by_key(|row| (row.at, row.host));
    }

    fn table(&self, rows: &[StencilNameRow], _: Facts<'_>) -> Table {
        StencilNameRow::columns(Self::builder(rows), |row| row).finish()
    }
}
