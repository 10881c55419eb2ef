use std::collections::BTreeSet;

use pullnet_config::Reader;
use pullnet_settings::settings;
use pullnet_topology::{LinkRef, Topology};
use pullnet_units::{Instant, Picos, PortId};

use crate::probe::{End, Facts, Form, Plan, Probe};
use crate::series::{Per, Series};
use crate::table::{Table, gbps};

settings! {
    /// Queue, bytes, marks, trims and drops of single ports over time.
    pub struct PortSeriesSettings {
        /// Length of an interval. There may be 10,000,000 rows: intervals times ports.
        interval: Picos = "10 us" in "1 ns" => "100 s"; required,
        /// Which ports: of a name as in the table ports ("tor 3 -> host 12"), of a switch ("tor 3") or of a level ("tor->host"); all if left out.
        of: Option<String> = "",
    }
}

/// Activity of one port in one interval; intervals without activity have no row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSeriesRow {
    /// Row of the port in the table `ports`.
    pub row: u32,
    /// Start of the interval.
    pub at: Instant,
    /// Data packets held at the end of the interval, including the packet in service.
    pub data: u32,
    /// Control packets waiting at the end of the interval.
    pub control: u32,
    /// Packets sent on the link.
    pub packets: u64,
    /// Bytes sent on the link.
    pub bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Data packets trimmed.
    pub trimmed: u64,
    /// Headers returned to their sender.
    pub returned: u64,
    /// Packets dropped because a queue was full.
    pub dropped: u64,
    /// Packets lost on the link.
    pub lost: u64,
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
        let level = topology.level(LinkRef::Port(port)).to_string();
        *of == level
            || *of == topology.node_name(topology.ports[port].node)
            || *of == topology.port_name(port)
    }
}

/// Possible values of the setting `of` in `topology`.
fn choices(topology: &Topology) -> String {
    let levels: BTreeSet<_> = topology.ports.ids().map(|port| topology.level(LinkRef::Port(port))).collect();
    let levels: Vec<_> = levels.into_iter().map(|level| format!("\"{level}\"")).collect();
    let named = |port| format!(", a port such as \"{}\"", topology.port_name(port));
    let example = topology.ports.ids().next().map_or(String::new(), named);
    format!("use one of the levels {}{example}", levels.join(", "))
}

impl Probe for PortSeries {
    const TABLE: &'static str = "port_series";
    const FORM: Form = Form::Table {
        doc: "Queue, bytes, marks, trims and drops of single ports over time.",
        example: "interval = \"10 us\"",
    };
    const DOC: &'static str = "One row per port of a switch and interval in which anything happened there; in between, numbers held stay as they are.";

    type Settings = PortSeriesSettings;
    type Row = PortSeriesRow;

    fn new(PortSeriesSettings { interval, of }: PortSeriesSettings, _: &Reader<'_>) -> Option<Self> {
        Some(Self { interval, of })
    }

    /// Reports ports that there are not, or more rows than memory is for.
    fn check(&self, reader: &Reader<'_>, Plan { topology, end, .. }: Plan<'_>) {
        let lines = topology.ports.ids().filter(|port| self.has(topology, *port)).count();
        if lines == 0 && self.of.is_some() {
            reader.refuse("of", format!("names no port of a switch; {}", choices(topology)));
        }
        let rows = Series { interval: self.interval, per: Per::Total };
        if let Some(End::At(end)) = end
            && let Err(reason) = rows.affordable(end.since(Instant::ZERO), lines as u64)
        {
            reader.refuse("interval", reason.replace("fewer lines", "fewer ports by `of`"));
        }
    }

    fn sort(rows: &mut [PortSeriesRow]) {
        rows.sort_by_key(|row| (row.row, row.at));
    }

    fn table(&self, rows: &[PortSeriesRow], facts: Facts<'_>) -> Table {
        let length = |row: &PortSeriesRow| self.interval.min(facts.simulated.since(row.at));
        let named: Vec<_> = rows.iter().map(|row| (row, (facts.port_name)(row.row))).collect();
        Self::builder(&named)
            .id(["row", "", "Row of the table ports."], |(row, _)| row.row)
            .text(["name", "", "Where the port is and where it leads."], |(_, name)| name)
            .count(["at_ps", "ps", "Start of the interval."], |(row, _)| row.at.0)
            .id(
                ["data", "packets", "Data packets held at its end, the one in service included."],
                |(row, _)| row.data,
            )
            .id(["control", "packets", "Control packets and headers that wait at its end."], |(row, _)| {
                row.control
            })
            .count(["packets", "packets", "Packets put on the link."], |(row, _)| row.packets)
            .count(["bytes", "B", "Bytes put on the link, headers included."], |(row, _)| row.bytes)
            .maybe_ratio(["rate_gbps", "Gb/s", "bytes over the length of the interval."], |(row, _)| {
                gbps(row.bytes, length(row))
            })
            .count(["marked", "packets", "Packets marked (ECN, congestion experienced)."], |(row, _)| {
                row.marked
            })
            .count(["trimmed", "packets", "Data packets that lost their payload."], |(row, _)| row.trimmed)
            .count(["returned", "packets", "Headers sent back to their sender."], |(row, _)| row.returned)
            .count(["dropped", "packets", "Packets dropped because a queue was full."], |(row, _)| {
                row.dropped
            })
            .count(["lost", "packets", "Packets lost on the link: down, lossy or corrupting."], |(row, _)| {
                row.lost
            })
            .finish()
    }
}
