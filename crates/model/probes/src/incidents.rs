use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::{FlowId, Instant, PacketSeq};

use crate::cell::rows;
use crate::probe::{Facts, Load, Probe};
use crate::seen::{PortPacket, Seen, Watches};
use crate::table::Table;

settings! {
    /// Whether incidents are recorded.
    pub struct IncidentSettings {
        /// Every packet that a queue marked, trimmed, sent back or dropped.
        incidents: bool = false,
    }
}

rows! {
    /// A packet that a queue marked, trimmed, sent back or dropped.
    pub struct IncidentRow {
        /// When the queue did it.
        at: Instant = "at_ps" ["ps"],
        /// Row of the table ports.
        row: u32 = "row",
        /// marked, trimmed, returned or dropped; the last two also of a packet that was trimmed at once.
        incident: &'static str = "incident",
        /// Number of the flow; missing if its header names none.
        flow: Option<FlowId> = "flow",
        /// Number of the data packet that it is, or that it answers; missing if its header names none.
        number: Option<PacketSeq> = "number",
        /// Packet type, as the protocol names it.
        kind: &'static str = "kind",
        /// Class of the packet afterwards: data, header (trimmed), returned or control.
        class: &'static str = "class",
        /// Its priority at switches; higher goes first where switches look at it.
        priority: u8 = "priority",
        /// Bytes on the wire afterwards.
        wire: u32 = "wire_bytes" ["B"],
    }
}

/// Memory of a row while columns are made of it.
const BYTES_PER_ROW: f64 = 140.0;

/// Packets that queues marked, trimmed, sent back or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Incidents;

impl Probe for Incidents {
    const TABLE: &'static str = "incidents";
    const DOC: &'static str =
        "One row per packet that a queue marked, trimmed, sent back or dropped, by time.";
    const WATCHES: Watches = Watches::INCIDENTS;

    type Settings = IncidentSettings;
    type Row = IncidentRow;

    fn new(settings: IncidentSettings, _: &Reader<'_>) -> Option<Self> {
        settings.incidents.then_some(Self)
    }

    fn memory(&self, load: &Load) -> f64 {
        // At worst every data packet is marked or loses its payload.
        load.packets * BYTES_PER_ROW
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<IncidentRow>) {
        if let Seen::Incident { at, incident, packet } = *seen {
            let PortPacket { row, flow, number, kind, class, priority, wire } = packet;
            let incident = incident.word();
            rows.push(IncidentRow { at, row, incident, flow, number, kind, class, priority, wire });
        }
    }

    fn renumber(rows: &mut [IncidentRow], number: &dyn Fn(FlowId) -> FlowId) {
        rows.iter_mut().for_each(|row| row.flow = row.flow.map(number));
    }

    fn sort(rows: &mut [IncidentRow]) {
        // The rows of one port keep their order.
        rows.sort_by_key(|row| (row.at, row.row));
    }

    fn table(&self, rows: &[IncidentRow], facts: Facts<'_>) -> Table {
        let named: Vec<_> = rows.iter().map(|row| (row, (facts.port_name)(row.row))).collect();
        IncidentRow::columns(Self::builder(&named), |(row, _)| row)
            .text(["name", "", "Where the port is and where it leads."], |(_, name)| name)
            .finish()
    }
}
