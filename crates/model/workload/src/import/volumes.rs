use csv::{ReaderBuilder, StringRecord, Trim};
use pullnet_units::Picos;

use crate::error::{FileError, VolumesFault};
use crate::faults::{Faults, FileErrors};
use crate::text::{shown, utf8};

/// A series of volumes.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumeList {
    /// Bytes of each interval, 0 or more; not all are 0.
    pub bytes: Vec<f64>,
    /// Length of an interval, if the file says it.
    pub timescale: Option<Picos>,
}

/// Columns that a list may have; `bytes` has to be there, and `bin`, `start_s` and `packets` are not used.
const COLUMNS: [&str; 7] = ["trace", "timescale_s", "bin", "start_s", "bytes", "packets", "state"];

/// The largest volume of an interval. Unit: bytes.
const MOST: f64 = 9.2e18;

/// Reads a list of volumes: CSV with a column `bytes`, one row for each interval. `pullnet traffic volumes` and
/// `pullnet traffic synthesise` write such lists, with further columns; a file holds one trace at one timescale. Lines
/// that begin with `#` are left out.
pub fn parse_volumes(file: &str, contents: &[u8]) -> Result<VolumeList, FileErrors> {
    let text = utf8(file, contents)?;
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).flexible(false).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| row_error(file, &e))?.clone();
    let columns = Columns::of(&header).map_err(|fault| FileError::new(file, 1, fault))?;
    let mut list = VolumeList { bytes: Vec::new(), timescale: None };
    let mut first: Option<StringRecord> = None;
    let mut faults = Faults::of(file);
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                faults.add(row_error(file, &error));
                continue;
            }
        };
        let line = record.position().map_or(1, csv::Position::line);
        list.bytes.extend(faults.keep(line, columns.volume(&record)));
        match &first {
            Some(first) => {
                faults.keep(line, columns.same(first, &record));
            }
            None => {
                list.timescale = faults.keep(line, columns.timescale(&record)).flatten();
                first = Some(record);
            }
        }
    }
    faults.end()?;
    match list.bytes.iter().any(|bytes| *bytes > 0.0) {
        true => Ok(list),
        false => Err(FileError::new(file, 1, VolumesFault::Empty).into()),
    }
}

fn row_error(file: &str, error: &csv::Error) -> FileError {
    let line = error.position().map_or(1, csv::Position::line);
    FileError::new(file, line, VolumesFault::Row(error.to_string()))
}

/// Where the columns that count stand.
struct Columns {
    bytes: usize,
    timescale: Option<usize>,
    trace: Option<usize>,
    state: Option<usize>,
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Self, VolumesFault> {
        for (index, name) in header.iter().enumerate() {
            if !COLUMNS.contains(&name) {
                return Err(VolumesFault::UnknownColumn(shown(name)));
            }
            if header.iter().take(index).any(|earlier| earlier == name) {
                return Err(VolumesFault::ColumnTwice(shown(name)));
            }
        }
        let find = |name: &str| header.iter().position(|column| column == name);
        Ok(Self {
            bytes: find("bytes").ok_or(VolumesFault::NoBytes)?,
            timescale: find("timescale_s"),
            trace: find("trace"),
            state: find("state"),
        })
    }

    fn volume(&self, record: &StringRecord) -> Result<f64, VolumesFault> {
        if self.state.is_some_and(|column| record.get(column) == Some("gap")) {
            return Err(VolumesFault::Gap);
        }
        let text = record.get(self.bytes).unwrap_or("");
        let bytes = text.parse::<f64>().ok().filter(|bytes| (0.0..=MOST).contains(bytes));
        bytes.ok_or_else(|| VolumesFault::Bytes(shown(text)))
    }

    fn timescale(&self, record: &StringRecord) -> Result<Option<Picos>, VolumesFault> {
        let Some(column) = self.timescale else { return Ok(None) };
        let text = record.get(column).unwrap_or("");
        let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-12..=1e7).contains(seconds));
        let picos = seconds.map(|seconds| Picos((seconds * 1e12).round() as u64));
        picos.map(Some).ok_or_else(|| VolumesFault::Timescale(shown(text)))
    }

    /// Trace and timescale are those of the first row.
    fn same(&self, first: &StringRecord, record: &StringRecord) -> Result<(), VolumesFault> {
        for (column, what) in [(self.trace, "trace"), (self.timescale, "timescale")] {
            if column.is_some_and(|column| first.get(column) != record.get(column)) {
                return Err(VolumesFault::Another(what));
            }
        }
        Ok(())
    }
}
