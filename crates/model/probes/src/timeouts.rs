use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_units::{FlowId, HostId, Instant, PacketSeq};

use crate::cell::rows;
use crate::probe::{Facts, Probe};
use crate::seen::{Seen, Watches};
use crate::table::Table;

settings! {
    /// Whether timeouts are recorded.
    pub struct TimeoutSettings {
        /// When which retransmission timers ran out.
        timeouts: bool = false,
    }
}

rows! {
    /// A retransmission timer that ran out.
    pub struct TimeoutRow {
        /// Number of the sending host.
        host: HostId = "host",
        /// When it ran out.
        at: Instant = "at_ps" ["ps"],
        /// Number of the flow.
        flow: FlowId = "flow",
        /// Number of the data packet that it was for.
        number: PacketSeq = "number",
    }
}

/// Retransmission timers that ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts;

impl Probe for Timeouts {
    const TABLE: &'static str = "timeouts";
    const DOC: &'static str = "One row per retransmission timer that ran out, by time.";
    const WATCHES: Watches = Watches::TIMED_OUT;

    type Settings = TimeoutSettings;
    type Row = TimeoutRow;

    fn new(settings: TimeoutSettings, _: &Reader<'_>) -> Option<Self> {
        settings.timeouts.then_some(Self)
    }

    fn note(&self, seen: &Seen, rows: &mut Vec<TimeoutRow>) {
        if let Seen::TimedOut { host, at, flow, number } = *seen {
            rows.push(TimeoutRow { host, at, flow, number });
        }
    }

    fn renumber(rows: &mut [TimeoutRow], number: &dyn Fn(FlowId) -> FlowId) {
        rows.iter_mut().for_each(|row| row.flow = number(row.flow));
    }

    fn sort(rows: &mut [TimeoutRow]) {
        rows.sort_by_key(|row| (row.at, row.host, row.flow, row.number));
    }

    fn table(&self, rows: &[TimeoutRow], _: Facts<'_>) -> Table {
        TimeoutRow::columns(Self::builder(rows), |row| row).finish()
    }
}
