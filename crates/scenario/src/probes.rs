//! `[probes]`: what is recorded beyond the flows and the sums.

use pullnet_settings::{Settings, choice, settings};
use pullnet_units::Picos;

use crate::shape::{Shape, SubTable};
use crate::table::Reader;

choice! {
    /// What a time series has one line for.
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
    /// What is recorded beyond the flows and the sums. A probe never changes the run.
    pub struct ProbeSettings {
        /// How long each switch port held n data packets.
        ports: bool = false,
        /// Time from first sending to ACK of every packet.
        latency: bool = false,
        /// Departure times of control packets, from which pull spacing is taken.
        control: bool = false,
    }
}

settings! {
    /// Goodput and queueing over time.
    pub struct SeriesSettings {
        /// Length of an interval.
        interval: Picos = "100 us" in "1 ns" => "100 s"; required,
        /// What there is one line for.
        per: Per = "total",
    }
}

/// A time series of goodput and queueing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    /// Length of an interval.
    pub interval: Picos,
    /// What there is one line for.
    pub per: Per,
}

/// What is recorded beyond the flows and the sums.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Probes {
    /// Occupancy distribution of every switch port.
    pub ports: bool,
    /// Goodput and queueing over time.
    pub series: Option<Series>,
    /// Time from first sending to ACK of every packet.
    pub latency: bool,
    /// Departure times of control packets.
    pub control: bool,
}

pub(crate) fn table() -> SubTable {
    let series = Shape::of(&[SeriesSettings::FIELDS]);
    let series = SubTable::optional("series", "Goodput and queueing over time.", series);
    let shape = Shape::of(&[ProbeSettings::FIELDS]).with(series);
    SubTable::optional(
        "probes",
        "What is recorded beyond the flows and the sums. A probe never changes the run.",
        shape,
    )
}

/// Reads `[probes]`.
pub(crate) fn read(root: &Reader<'_>) -> Probes {
    let reader = root.table("probes", "ports = true").unwrap_or_else(|| root.unwritten("probes"));
    reader.no_other_keys_than(&table().shape);
    let ProbeSettings { ports, latency, control } = reader.read().value;
    let series = reader.table("series", "interval = \"100 us\"").map(|series| {
        series.no_other_keys_than(&Shape::of(&[SeriesSettings::FIELDS]));
        let SeriesSettings { interval, per } = series.read().value;
        Series { interval, per }
    });
    Probes { ports, series, latency, control }
}
