use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::{HostId, Instant};

use crate::cell::rows;
use crate::probe::{Facts, Probe};
use crate::seen::{Direction, PacketRow, Seen, Watches};
use crate::table::Table;

settings! {
    /// Whether control packets are recorded.
    pub struct ControlSettings {
        /// Departure times of control packets, from which pull spacing is taken.
        control: bool = false,
    }
}

rows! {
    /// A control packet sent by a host.
    pub struct ControlRow {
        /// Number of the host.
        host: HostId = "host",
        /// When its first bit was sent.
        at: Instant = "at_ps" ["ps"],
        /// Packet type, as the protocol names it.
        kind: &'static str = "kind",
    }
}

/// Departures of control packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control;

impl Probe for Control {
    const TABLE: &'static str = "control";
    const DOC: &'static str = "One row per control packet that left a host.";
    const WATCHES: Watches = Watches::SENT;

    type Settings = ControlSettings;
    type Row = ControlRow;

    fn new(settings: ControlSettings, _: &Reader<'_>) -> Option<Self> {
        settings.control.then_some(Self)
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<ControlRow>) {
        if let Seen::Packet(PacketRow { host, at, kind, control: true, direction, .. }) = *seen
            && direction == Direction::Sent
        {
            rows.push(ControlRow { host, at, kind });
        }
    }

    fn sort(rows: &mut [ControlRow]) {
        rows.sort_by_key(|row| (row.host, row.at));
    }

    fn table(&self, rows: &[ControlRow], _: Facts<'_>) -> Table {
        ControlRow::columns(Self::builder(rows), |row| row).finish()
    }
}
