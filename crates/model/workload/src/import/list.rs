use csv::{ReaderBuilder, StringRecord, Trim};
use pullnet_settings::{Setting, Value};
use pullnet_units::{Bytes, Instant, Picos};

use super::script::{Begin, Many, Script, ScriptFlow};
use crate::error::{FileError, ListFault};
use crate::faults::{Faults, FileErrors};
use crate::text::{picos, shown, utf8};

/// Columns of a flow list other than the start time.
const COLUMNS: [&str; 8] = ["src", "dst", "bytes", "priority", "tag", "deadline", "tenant", "coflow"];
/// Columns of the start time, with picoseconds per unit; 0 where the value carries its unit.
const STARTS: [(&str, u64); 6] = [
    ("start", 0),
    ("start_ps", 1),
    ("start_ns", 1_000),
    ("start_us", 1_000_000),
    ("start_ms", 1_000_000_000),
    ("start_s", 1_000_000_000_000),
];

/// Reads a flow list: CSV with a header that names at least `src,dst,bytes,start`, in any order.
///
/// `start` carries its unit (`10 us`); `start_ps` to `start_s` are plain numbers, rounded to a picosecond. `bytes` is
/// a whole number, a size with its unit, or `endless`. `priority`, `tag`, `deadline` (a time after
/// the start, with its unit) and `tenant` replace those of the block where they are not empty; flows with the same number
/// in the column `coflow` are one coflow. Several hosts, separated by `;`, in `dst` or in `src` are the receivers or the senders
/// of one session: such a line is a flow for each of them. Lines that begin with `#` are left out.
pub fn parse_flow_list(file: &str, contents: &[u8]) -> Result<Script, FileErrors> {
    let text = utf8(file, contents)?;
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).flexible(false).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| row_error(file, &e))?.clone();
    let columns = Columns::of(&header).map_err(|fault| FileError::new(file, 1, fault))?;
    let (mut flows, mut faults) = (Vec::new(), Faults::of(file));
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().map_or(1, csv::Position::line);
                flows.extend(faults.keep(line, columns.flows(line, &record)).into_iter().flatten());
            }
            Err(error) => faults.add(row_error(file, &error)),
        }
    }
    faults.end()?;
    if flows.is_empty() {
        return Err(FileError::new(file, 1, ListFault::Empty).into());
    }
    Ok(Script { flows, ..Script::default() })
}

fn row_error(file: &str, error: &csv::Error) -> FileError {
    let line = error.position().map_or(1, csv::Position::line);
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} values and the header {expected_len}")
        }
        _ => error.to_string(),
    };
    FileError::new(file, line, ListFault::Row(reason))
}

/// Where each column stands.
struct Columns {
    src: usize,
    dst: usize,
    bytes: usize,
    start: usize,
    /// Name of the start column, and picoseconds per unit.
    unit: (&'static str, u64),
    priority: Option<usize>,
    tag: Option<usize>,
    deadline: Option<usize>,
    tenant: Option<usize>,
    coflow: Option<usize>,
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Self, ListFault> {
        for (index, name) in header.iter().enumerate() {
            if !COLUMNS.contains(&name) && STARTS.iter().all(|start| start.0 != name) {
                return Err(ListFault::UnknownColumn(shown(name)));
            }
            if header.iter().take(index).any(|earlier| earlier == name) {
                return Err(ListFault::ColumnTwice(shown(name)));
            }
        }
        let find = |name: &str| header.iter().position(|column| column == name);
        let need = |name: &'static str| find(name).ok_or(ListFault::MissingColumn(name));
        let mut starts = STARTS.iter().filter_map(|unit| find(unit.0).map(|column| (column, *unit)));
        let (start, unit) = starts.next().ok_or(ListFault::MissingColumn("start"))?;
        if let Some((_, (other, _))) = starts.next() {
            return Err(ListFault::ColumnTwice(other.to_string()));
        }
        let (src, dst, bytes) = (need("src")?, need("dst")?, need("bytes")?);
        Ok(Self {
            src,
            dst,
            bytes,
            start,
            unit,
            priority: find("priority"),
            tag: find("tag"),
            deadline: find("deadline"),
            tenant: find("tenant"),
            coflow: find("coflow"),
        })
    }

    /// The flows of a line: one for each pair of a sender and a receiver.
    fn flows(&self, line: u64, record: &StringRecord) -> Result<Vec<ScriptFlow>, ListFault> {
        let value = |column: usize| record.get(column).unwrap_or("");
        let (sources, sinks) = (hosts("src", value(self.src))?, hosts("dst", value(self.dst))?);
        if let Some(both) = sources.iter().find(|src| sinks.contains(src)) {
            return Err(ListFault::Self_(*both));
        }
        let many = match (sources.len(), sinks.len()) {
            (1, 1) => None,
            (1, _) => Some(Many::Receivers),
            (_, 1) => Some(Many::Senders),
            (sources, sinks) => return Err(ListFault::ManyToMany { sources, sinks }),
        };
        let flow = self.flow(line, record, (sources[0], sinks[0]))?;
        let of = (sources.len().max(sinks.len())) as u16;
        let pair = |index: u16| {
            let nth = |hosts: &[u32]| hosts[usize::from(index) % hosts.len()];
            let part = many.map(|many| (many, index, of));
            ScriptFlow { src: nth(&sources), dst: nth(&sinks), part, ..flow.clone() }
        };
        Ok((0..of).map(pair).collect())
    }

    /// The flow between `src` and `dst` that a line describes.
    fn flow(
        &self,
        line: u64,
        record: &StringRecord,
        (src, dst): (u32, u32),
    ) -> Result<ScriptFlow, ListFault> {
        let value = |column: usize| record.get(column).unwrap_or("");
        let optional = |column: Option<usize>| column.map(value).filter(|text| !text.is_empty());
        let begin = Begin::At(start(self.unit, value(self.start))?);
        let flow = ScriptFlow::new(line, (src, dst), size(value(self.bytes))?, begin);
        Ok(ScriptFlow {
            priority: optional(self.priority).map(priority).transpose()?,
            tag: optional(self.tag).map(str::to_string),
            deadline: optional(self.deadline).map(deadline).transpose()?,
            tenant: optional(self.tenant).map(str::to_string),
            coflow: optional(self.coflow).map(coflow).transpose()?,
            ..flow
        })
    }
}

/// The hosts that a column names, at least one and each once.
fn hosts(column: &'static str, text: &str) -> Result<Vec<u32>, ListFault> {
    let hosts: Vec<u32> = text.split(';').map(|text| host(column, text.trim())).collect::<Result<_, _>>()?;
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ListFault::HostTwice { column, host: pair[0] });
    }
    if hosts.len() > usize::from(u16::MAX) {
        return Err(ListFault::TooMany { column, count: hosts.len() });
    }
    Ok(hosts)
}

fn wrong(column: &'static str, text: &str, wanted: &'static str) -> ListFault {
    ListFault::Value { column, value: shown(text), wanted }
}

fn host(column: &'static str, text: &str) -> Result<u32, ListFault> {
    text.parse().map_err(|_| {
        wrong(column, text, "a host number; write a whole number from 0, or several separated by ;")
    })
}

fn priority(text: &str) -> Result<u8, ListFault> {
    text.parse().map_err(|_| wrong("priority", text, "a priority; write a whole number from 0 to 255"))
}

fn deadline(text: &str) -> Result<Picos, ListFault> {
    let deadline = text.parse::<Picos>().ok().filter(|deadline| *deadline > Picos::ZERO);
    deadline.ok_or_else(|| {
        wrong("deadline", text, "a time after the flow's start; write it with its unit, as \"2 ms\"")
    })
}

fn coflow(text: &str) -> Result<u32, ListFault> {
    text.parse().map_err(|_| wrong("coflow", text, "a number of a coflow; write a whole number from 0"))
}

fn size(text: &str) -> Result<Option<Bytes>, ListFault> {
    if text == "endless" {
        return Ok(None);
    }
    let plain = text.parse::<u64>().ok().filter(|size| *size < 1 << 63).map(Bytes);
    let size = plain.or_else(|| Bytes::read(Value::Text(text)).ok()).filter(|size| size.0 > 0);
    let wanted = "a size; write whole bytes from 1 to 2^63 - 1, a size as \"90 kB\", or \"endless\"";
    size.map(Some).ok_or_else(|| wrong("bytes", text, wanted))
}

fn start((column, factor): (&'static str, u64), text: &str) -> Result<Instant, ListFault> {
    if factor == 0 {
        let wanted = "a time; write it with its unit, as \"10 us\", or name the column start_us";
        return text.parse::<Picos>().map(|at| Instant(at.0)).map_err(|_| wrong(column, text, wanted));
    }
    let wanted = "a time; write a number from 0, without a unit, of at most 213 days";
    picos(text, factor).map(Instant).ok_or_else(|| wrong(column, text, wanted))
}
