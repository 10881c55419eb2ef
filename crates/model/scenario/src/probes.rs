//! `[probes]`: what is recorded beyond the flows and the sums.

use std::collections::BTreeSet;

use pullnet_config::{Reader, Shape, SubTable};
use pullnet_settings::{Refused, Setting, Settings, Value, choice, settings};
use pullnet_topology::Topology;
use pullnet_units::{Instant, Picos, PortId};

use crate::Stop;

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
    /// Records beyond the flows and the sums. A probe never changes the run.
    pub struct ProbeSettings {
        /// How long each switch port held n data packets.
        ports: bool = false,
        /// Time from first sending to ACK of every packet.
        latency: bool = false,
        /// Departure times of control packets, from which pull spacing is taken.
        control: bool = false,
        /// Every packet that a host sends or receives, with its header and its time: what two runs can be compared by.
        packets: bool = false,
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

settings! {
    /// Queue, bytes, marks, trims and drops of single ports over time.
    pub struct PortSeriesSettings {
        /// Length of an interval. There may be 10,000,000 rows: intervals times ports.
        interval: Picos = "10 us" in "1 ns" => "100 s"; required,
        /// Which ports: of a name as in the table ports ("tor 3 -> host 12"), of a switch ("tor 3") or of a level ("tor->host"); all if left out.
        of: Option<String> = "",
    }
}

/// Numbers of flows, as single ones and ranges: `"3"`, `"0,7,10..19"` (both ends belong to a range).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowNumbers(Vec<(u32, u32)>);

impl FlowNumbers {
    fn contains(&self, flow: u32) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&flow))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(low, high)| u64::from(high - low) + 1).sum()
    }
}

impl Setting for FlowNumbers {
    const KIND: &'static str = "text";

    fn read(value: Value<'_>) -> Result<Self, Refused> {
        let unknown = |part: &str| {
            Refused(format!("has \"{part}\", which is no number of a flow; use for instance \"0,7,10..19\""))
        };
        let text = match value {
            Value::Text(text) => text.to_owned(),
            Value::Integer(flow) => flow.to_string(),
            _ => return Err(Refused("names no flows; use for instance \"0,7,10..19\"".to_owned())),
        };
        let part = |part: &str| {
            let (low, high) = part.split_once("..").unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unknown(part.trim()));
            let (low, high) = (number(low)?, number(high)?);
            if low <= high {
                return Ok((low, high));
            }
            Err(Refused(format!("has the range {low}..{high}, which runs backwards; write {high}..{low}")))
        };
        text.split(',').map(part).collect::<Result<_, _>>().map(Self)
    }

    fn write(&self) -> String {
        let part = |(low, high): &(u32, u32)| match low == high {
            true => low.to_string(),
            false => format!("{low}..{high}"),
        };
        format!("\"{}\"", self.0.iter().map(part).collect::<Vec<_>>().join(","))
    }
}

settings! {
    /// Every hop of the packets of some flows: when a packet came to a port and left it, what it waited behind, and what became
    /// of it. Without either key all flows are recorded.
    pub struct HopSettings {
        /// Which flows, by their numbers in the table flows: "3", or "0,7,10..19".
        flows: Option<FlowNumbers> = "",
        /// Every n-th flow: 10 stands for the flows 0, 10, 20 and so on.
        every: Option<u32> = "" in 1 => 1000000000,
    }
}

/// The flows whose packets are recorded at every hop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hops {
    /// These flows.
    Of(FlowNumbers),
    /// Every n-th flow.
    Every(u32),
}

impl Hops {
    /// Rows that a run may have: a gigabyte of memory while columns are made of them.
    pub const MOST_ROWS: u64 = 5_000_000;

    /// Whether the packets of `flow` are recorded.
    pub fn has(&self, flow: u32) -> bool {
        match self {
            Self::Of(flows) => flows.contains(flow),
            Self::Every(nth) => flow.is_multiple_of(*nth),
        }
    }

    /// Why a run that would have `rows` rows has no table of them.
    pub fn too_many(rows: u64) -> Option<String> {
        let most = Self::MOST_ROWS;
        let reason = format!(
            "probes.hops makes {rows} rows, which is more than {most}; record fewer flows by `flows` or `every`"
        );
        (rows > most).then_some(reason)
    }
}

/// A time series for each of some ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSeries {
    /// Length of an interval.
    pub interval: Picos,
    /// Name, switch or level of the ports; `None` for all.
    pub of: Option<String>,
}

impl PortSeries {
    /// Whether `port` has a series.
    pub fn has(&self, topology: &Topology, port: PortId) -> bool {
        let Some(of) = &self.of else { return true };
        let found = &topology.ports[port];
        *of == found.level.text() || *of == topology.node_name(found.node) || *of == topology.port_name(port)
    }
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

/// Records beyond the flows and the sums.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Probes {
    /// Occupancy distribution of every switch port.
    pub ports: bool,
    /// Goodput and queueing over time.
    pub series: Option<Series>,
    /// Queues, bytes and incidents of single ports over time.
    pub port_series: Option<PortSeries>,
    /// Time from first sending to ACK of every packet.
    pub latency: bool,
    /// Departure times of control packets.
    pub control: bool,
    /// Every packet that a host sends or receives.
    pub packets: bool,
    /// Every hop of the packets of these flows.
    pub hops: Option<Hops>,
}

pub(crate) fn table() -> SubTable {
    let series = Shape::of(&[SeriesSettings::FIELDS]);
    let series = SubTable::optional("series", "Goodput and queueing over time.", series);
    let ports = Shape::of(&[PortSeriesSettings::FIELDS]);
    let help = "Queue, bytes, marks, trims and drops of single ports over time.";
    let ports = SubTable::optional("port_series", help, ports);
    let hops = Shape::of(&[HopSettings::FIELDS]);
    let hops = SubTable::optional("hops", "Every hop of the packets of some flows.", hops);
    let shape = Shape::of(&[ProbeSettings::FIELDS]).with(series).with(ports).with(hops);
    SubTable::optional(
        "probes",
        "Records beyond the flows and the sums. A probe never changes the run.",
        shape,
    )
}

/// Reads `[probes]`.
pub(crate) fn read(root: &Reader<'_>) -> Probes {
    let reader = root.table("probes", "ports = true").unwrap_or_else(|| root.unwritten("probes"));
    reader.no_other_keys_than(&table().shape);
    let ProbeSettings { ports, latency, control, packets } = reader.read().value;
    let series = reader.table("series", "interval = \"100 us\"").map(|series| {
        series.no_other_keys_than(&Shape::of(&[SeriesSettings::FIELDS]));
        let SeriesSettings { interval, per } = series.read().value;
        Series { interval, per }
    });
    let port_series = reader.table("port_series", "interval = \"10 us\"").map(|series| {
        series.no_other_keys_than(&Shape::of(&[PortSeriesSettings::FIELDS]));
        let PortSeriesSettings { interval, of } = series.read().value;
        PortSeries { interval, of }
    });
    let hops = reader.table("hops", "every = 10").map(|hops| read_hops(&hops));
    Probes { ports, series, port_series, latency, control, packets, hops }
}

fn read_hops(reader: &Reader<'_>) -> Hops {
    reader.no_other_keys_than(&Shape::of(&[HopSettings::FIELDS]));
    let HopSettings { flows, every } = reader.read().value;
    match flows {
        Some(flows) => {
            reader.no_effect("every", "`flows` names the flows; keep one of the two");
            Hops::Of(flows)
        }
        None => Hops::Every(every.unwrap_or(1)),
    }
}

/// Reports a series of more rows than memory is for. Flows are known only when the scenario has run, and so is how long
/// it runs without a fixed duration: then there may be one line of `hosts` for a receiver, or of `blocks` for a tag.
pub(crate) fn check(root: &Reader<'_>, probes: &Probes, stop: Stop, hosts: usize, blocks: usize) {
    let Some(series) = probes.series else { return };
    let lines = match (stop, series.per) {
        (Stop::FlowsDone { .. }, _) | (Stop::At(_), Per::Total | Per::Flow) => 1,
        (Stop::At(_), Per::Host) => hosts as u64,
        (Stop::At(_), Per::Tag) => blocks as u64,
    };
    if let Err(mut reason) = series.affordable(stop.latest().since(Instant::ZERO), lines)
        && let Some(reader) = root.table("probes", "").and_then(|probes| probes.table("series", ""))
    {
        if let Stop::FlowsDone { .. } = stop {
            reason += ", or state a shorter limit";
        }
        reader.refuse("interval", reason);
    }
}

/// Reports a series of ports that there are not, or of more rows than memory is for.
pub(crate) fn check_ports(root: &Reader<'_>, probes: &Probes, stop: Option<Stop>, topology: &Topology) {
    let Some(series) = &probes.port_series else { return };
    let probes = root.table("probes", "");
    let Some(reader) = probes.and_then(|probes| probes.table("port_series", "")) else { return };
    let lines = topology.ports.ids().filter(|port| series.has(topology, *port)).count();
    if lines == 0 && series.of.is_some() {
        let levels: BTreeSet<_> = topology.ports.iter().map(|port| port.level.text()).collect();
        let levels: Vec<_> = levels.into_iter().map(|level| format!("\"{level}\"")).collect();
        let example = topology
            .ports
            .ids()
            .next()
            .map_or(String::new(), |port| format!(", a port such as \"{}\"", topology.port_name(port)));
        let reason =
            format!("names no port of a switch; use one of the levels {}{example}", levels.join(", "));
        reader.refuse("of", reason);
    }
    let rows = Series { interval: series.interval, per: Per::Total };
    if let Some(Stop::At(end)) = stop
        && let Err(reason) = rows.affordable(end.since(Instant::ZERO), lines as u64)
    {
        reader.refuse("interval", reason.replace("fewer lines", "fewer ports by `of`"));
    }
}

/// The least time of 1, 2 or 5 times a power of ten that is no less than `ps / by`.
fn round_up(ps: u128, by: u128) -> Picos {
    let mut steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    steps.find(|step| u128::from(*step) * by >= ps).map_or(Picos(u64::MAX), Picos)
}
