use pullnet_config::Reader;
use pullnet_settings::{Refused, Setting, Value, settings};
use pullnet_units::{FlowId, HostId, Instant, PacketSeq, Picos};

use crate::probe::{Facts, Form, Load, Probe};
use crate::table::{Builder, Table};

/// Memory of a row while columns are made of it.
const BYTES_PER_ROW: f64 = 250.0;

/// Ports on a long way.
const PORTS_ON_A_WAY: f64 = 6.0;

/// Numbers of flows, as single ones and ranges: `"3"`, `"0,7,10..19"` (both ends belong to a range).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowNumbers(Vec<(u32, u32)>);

impl FlowNumbers {
    fn contains(&self, flow: u32) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&flow))
    }

    /// The first number or range that names no flow of a run with `flows` flows, by its first number; `None` if all name some.
    pub fn beyond(&self, flows: u32) -> Option<u32> {
        self.0.iter().map(|(low, _)| *low).find(|low| *low >= flows)
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
        /// Which flows, by their numbers in the table flows: "3", or "0,7,10..19". In a run that ends at a stated
        /// time, flows that hosts prepared and never started are counted here, and have no row in that table.
        flows: Option<FlowNumbers> = "",
        /// Every n-th flow: 10 stands for the flows 0, 10, 20 and so on.
        every: Option<u32> = "" in 1 => 1000000000,
    }
}

/// One packet at one port: from its arrival until it has left, or until it was dropped or sent back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopRow {
    /// Row of the port in the table `ports`.
    pub row: u32,
    /// Flow number.
    pub flow: FlowId,
    /// Number of the data packet that it is, or that it is about, if its header names one.
    pub number: Option<PacketSeq>,
    /// The host that sent it.
    pub from: HostId,
    /// Packet type, in the protocol's terms.
    pub kind: &'static str,
    /// `data`, `header` (trimmed), `returned` or `control`, as it arrived.
    pub class: &'static str,
    /// Priority at switches.
    pub priority: u8,
    /// Bytes on the wire as it arrived.
    pub wire: u32,
    /// Its arrival.
    pub at: Instant,
    /// Time at which its first bit was sent.
    pub start: Option<Instant>,
    /// Time at which its last bit was sent.
    pub out: Option<Instant>,
    /// Time for which the packet in service still occupied the link when it arrived.
    pub busy: Picos,
    /// Bytes of whole data packets, and of control packets and headers, that waited when it arrived.
    pub ahead: [u64; 2],
    /// Of these, bytes of its own flow.
    pub ahead_own: u64,
    /// Bytes of both kinds that went into service between its arrival and its own turn.
    pub behind: [u64; 2],
    /// `sent`, `marked`, `trimmed`, `replicated`, `lost`, `returned`, `dropped`, or `waiting` at the end of the run.
    pub outcome: &'static str,
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
    pub fn has(&self, flow: FlowId) -> bool {
        match self {
            Self::Of(flows) => flows.contains(flow.get()),
            Self::Every(nth) => flow.get().is_multiple_of(*nth),
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

impl Probe for Hops {
    const TABLE: &'static str = "hops";
    const FORM: Form = Form::Table { doc: "Every hop of the packets of some flows.", example: "every = 10" };
    const DOC: &'static str = "One row per packet and port that it came to, NICs included, by flow and time.";

    type Settings = HopSettings;
    type Row = HopRow;

    fn new(HopSettings { flows, every }: HopSettings, reader: &Reader<'_>) -> Option<Self> {
        Some(match flows {
            Some(flows) => {
                reader.no_effect("every", "`flows` names the flows; keep one of the two");
                Self::Of(flows)
            }
            None => Self::Every(every.unwrap_or(1)),
        })
    }

    fn memory(&self, load: &Load) -> f64 {
        let share = match self {
            Self::Every(nth) => 1.0 / f64::from(*nth),
            Self::Of(numbers) => (numbers.count() as f64 / load.flows.max(1.0)).min(1.0),
        };
        // A data packet and its ACK.
        let rows = load.packets * share * 2.0 * PORTS_ON_A_WAY;
        rows.min(Self::MOST_ROWS as f64) * BYTES_PER_ROW
    }

    fn renumber(rows: &mut [HopRow], number: &dyn Fn(FlowId) -> FlowId) {
        rows.iter_mut().for_each(|row| row.flow = number(row.flow));
    }

    fn sort(rows: &mut [HopRow]) {
        // At a port packets that come at the same time keep their order.
        rows.sort_by_key(|row| (row.flow, row.at, row.row));
    }

    fn table(&self, rows: &[HopRow], facts: Facts<'_>) -> Table {
        let named: Vec<_> = rows.iter().map(|row| (row, (facts.port_name)(row.row))).collect();
        let builder = Self::builder(&named)
        .id(["flow", "", "Number of the flow; of a session that is one, of its first flow."], |(row, _)| {
            row.flow.get()
        })
        .maybe_id(
            [
                "number",
                "",
                "Number of the data packet that it is, or that it answers; missing if its header names none.",
            ],
            |(row, _)| row.number.map(PacketSeq::get),
        )
        .id(
            ["from", "", "Number of the host that sent it, or that a returned header comes back from."],
            |(row, _)| row.from.get(),
        )
        .text(["kind", "", "Packet type, as the protocol names it."], |(row, _)| row.kind)
        .text(["class", "", "As it came: data, header (trimmed), returned or control."], |(row, _)| row.class)
        .id(
            ["priority", "", "Its priority at switches; higher goes first where switches look at it."],
            |(row, _)| row.priority.into(),
        )
        .id(["wire_bytes", "B", "Bytes on the wire as it came."], |(row, _)| row.wire)
        .id(["row", "", "Row of the table ports."], |(row, _)| row.row)
        .text(["name", "", "Where the port is and where it leads."], |(_, name)| name)
        .count(
            [
                "at_ps",
                "ps",
                "When it was there: with its last bit, or with its header where switches cut through.",
            ],
            |(row, _)| row.at.0,
        );
        hop_waits(builder).text(["outcome", "", "sent, marked, trimmed, replicated, lost (on the link), returned, dropped, or waiting at the end of the run."], |(row, _)| row.outcome).finish()
    }
}

/// Adds the columns of the table `hops` that say how long a packet waited, and behind what.
fn hop_waits<'a>(builder: Builder<'a, (&'a HopRow, &'a str)>) -> Builder<'a, (&'a HopRow, &'a str)> {
    builder
        .maybe_count(["start_ps", "ps", "When its first bit was sent; missing if it was not."], |(row, _)| {
            row.start.map(|at| at.0)
        })
        .maybe_count(["out_ps", "ps", "When its last bit was sent; missing if it was not."], |(row, _)| {
            row.out.map(|at| at.0)
        })
        .maybe_ratio(["wait_us", "us", "start_ps - at_ps."], |(row, _)| {
            row.start.map(|start| start.since(row.at).as_micros_f64())
        })
        .count(
            ["busy_ps", "ps", "For how long the packet in service still took when it came."],
            |(row, _)| row.busy.0,
        )
        .count(["ahead_data_bytes", "B", "Whole data packets that waited when it came."], |(row, _)| {
            row.ahead[0]
        })
        .count(
            ["ahead_control_bytes", "B", "Control packets and headers that waited when it came."],
            |(row, _)| row.ahead[1],
        )
        .count(["ahead_own_bytes", "B", "Of both, packets of its own flow."], |(row, _)| row.ahead_own)
        .count(
            [
                "behind_data_bytes",
                "B",
                "Whole data packets that were served between its coming and its own turn.",
            ],
            |(row, _)| row.behind[0],
        )
        .count(
            ["behind_control_bytes", "B", "Control packets and headers that were served in that time."],
            |(row, _)| row.behind[1],
        )
}
