use pullnet_config::Reader;
use pullnet_settings::{choice, settings};
use pullnet_units::{FlowId, HostId, Instant, Picos};

use crate::probe::{End, Facts, Form, Load, Plan, Probe};
use crate::table::{Table, gbps};

/// Memory of a row while columns are made of it.
const BYTES_PER_ROW: f64 = 80.0;

choice! {
    /// Granularity of a time series.
    pub enum Per {
        /// The whole network.
        Total = "total",
        /// Every receiving host.
        Host = "host",
        /// Every flow.
        Flow = "flow",
        /// Every tag.
        Tag = "tag",
    }
}

settings! {
    /// Goodput and queueing over time.
    pub struct SeriesSettings {
        /// Length of an interval. There may be 10,000,000 rows: intervals times lines.
        interval: Picos = "100 us" in "1 ns" => "100 s"; required,
        /// Granularity: one line for each of these.
        per: Per = "total",
    }
}

/// Subject of a point in a time series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeriesKey {
    /// The whole network.
    Total,
    /// One receiving host.
    Host(HostId),
    /// One flow.
    Flow(FlowId),
    /// All flows with a tag.
    Tag(u16),
}

impl SeriesKey {
    /// The name of its kind, and its number.
    fn named(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Total => ("total", None),
            Self::Host(host) => ("host", Some(host.get())),
            Self::Flow(flow) => ("flow", Some(flow.get())),
            Self::Tag(tag) => ("tag", Some(tag.into())),
        }
    }
}

/// Goodput and queueing in one interval of a time series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesRow {
    /// Subject of the point.
    pub key: SeriesKey,
    /// Start of the interval.
    pub at: Instant,
    /// Payload bytes received in the interval.
    pub delivered: u64,
    /// Data packets held by all switch ports at the end of the interval; only for [`SeriesKey::Total`].
    pub queued: Option<u64>,
}

/// A time series of goodput and queueing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    /// Length of an interval.
    pub interval: Picos,
    /// The unit that has one line in the time series.
    pub per: Per,
}

impl Series {
    /// Rows that a run may have: half a gigabyte of memory.
    pub const MOST_ROWS: u64 = 10_000_000;

    /// Rows of a run of `length` with `lines` in each interval.
    pub fn rows(&self, length: Picos, lines: u64) -> u64 {
        length.0.div_ceil(self.interval.0.max(1)).saturating_mul(lines)
    }

    /// Whether these are not more than memory is for. An error says how many there would be and what would work.
    pub fn affordable(&self, length: Picos, lines: u64) -> Result<(), String> {
        let (rows, most) = (self.rows(length, lines), Self::MOST_ROWS);
        if rows <= most {
            return Ok(());
        }
        let least = round_up(u128::from(length.0) * u128::from(lines), u128::from(most));
        Err(format!(
            "makes {rows} rows in \"{length}\", which is more than {most}; use at least \"{least}\", or fewer lines"
        ))
    }
}

/// The least time of 1, 2 or 5 times a power of ten that is no less than `ps / by`.
fn round_up(ps: u128, by: u128) -> Picos {
    let mut steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    steps.find(|step| u128::from(*step) * by >= ps).map_or(Picos(u64::MAX), Picos)
}

impl Probe for Series {
    const TABLE: &'static str = "series";
    const FORM: Form =
        Form::Table { doc: "Goodput and queueing over time.", example: "interval = \"100 us\"" };
    const DOC: &'static str = "One row per interval and thing measured.";

    type Settings = SeriesSettings;
    type Row = SeriesRow;

    fn new(SeriesSettings { interval, per }: SeriesSettings, _: &Reader<'_>) -> Option<Self> {
        Some(Self { interval, per })
    }

    /// Reports more rows than memory is for. Flows are known only when the scenario has run, and so is how long it runs without a
    /// fixed duration: then there may be one line of all hosts for a receiver, or of all traffic blocks for a tag.
    fn check(&self, reader: &Reader<'_>, Plan { topology, end, blocks }: Plan<'_>) {
        let (latest, lines, remedy) = match (end, self.per) {
            (None, _) => return,
            (Some(End::FlowsDone(limit)), _) => (limit, 1, ", or state a shorter limit"),
            (Some(End::At(end)), Per::Total | Per::Flow) => (end, 1, ""),
            (Some(End::At(end)), Per::Host) => (end, topology.hosts.len() as u64, ""),
            (Some(End::At(end)), Per::Tag) => (end, blocks as u64, ""),
        };
        if let Err(reason) = self.affordable(latest.since(Instant::ZERO), lines) {
            reader.refuse("interval", reason + remedy);
        }
    }

    fn memory(&self, load: &Load) -> f64 {
        let lines = match self.per {
            Per::Total => 1,
            Per::Host => load.hosts,
            Per::Flow => load.flows as u64,
            Per::Tag => load.blocks,
        };
        self.rows(load.length, lines.max(1)) as f64 * BYTES_PER_ROW
    }

    fn renumber(rows: &mut [SeriesRow], number: &dyn Fn(FlowId) -> FlowId) {
        for row in rows {
            if let SeriesKey::Flow(flow) = &mut row.key {
                *flow = number(*flow);
            }
        }
    }

    fn table(&self, rows: &[SeriesRow], facts: Facts<'_>) -> Table {
        // The end of the run may have cut the last interval short.
        let length = |row: &SeriesRow| self.interval.min(facts.simulated.since(row.at));
        Self::builder(rows)
            .count(["at_ps", "ps", "Start of the interval."], |row| row.at.0)
            .text(["of", "", "Subject of the measurement: total, host, flow or tag."], |row| {
                row.key.named().0
            })
            .maybe_id(
                ["number", "", "Number of the host or flow, or position of the tag; missing for the total."],
                |row| row.key.named().1,
            )
            .count(["delivered_bytes", "B", "Payload that arrived in the interval."], |row| row.delivered)
            .maybe_ratio(
                ["goodput_gbps", "Gb/s", "delivered_bytes over the length of the interval."],
                |row| gbps(row.delivered, length(row)),
            )
            .maybe_count(
                ["queued", "packets", "Data packets held by all switch ports at its end; for the total."],
                |row| row.queued,
            )
            .finish()
    }
}
