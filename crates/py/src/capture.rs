//! Reads captures into bins, in slices of packets so that Python can show progress and react to Ctrl-C.

use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use pullnet_capture::{DamageKind, FilterError, Losses, Reader, Time};
use pullnet_units::Picos;
use pullnet_volumes::{Bins, Count, Finished, Origin, Plan, Tally};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{errors, fault};

/// A capture that is being read into bins.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Capture {
    state: Mutex<Option<Count>>,
    /// `pcap`, `pcapng` or `erf`.
    #[pyo3(get)]
    format: &'static str,
    /// `none`, `gzip` or `zstd`.
    #[pyo3(get)]
    compression: &'static str,
}

/// The bins of one timescale.
#[pyclass(frozen, get_all, module = "pullnet._core")]
pub struct CaptureBins {
    timescale_ps: u64,
    start_s: f64,
    /// Bytes in each bin, as little-endian uint64.
    byte_counts: Py<PyBytes>,
    /// Packets in each bin, as little-endian uint64.
    packet_counts: Py<PyBytes>,
    /// Bins without data, as (first, end).
    gaps: Vec<(usize, usize)>,
    /// Packets and bytes in bins that were dropped as incomplete.
    partial: (u64, u64),
    /// Packets and bytes seen in bins that are gaps.
    in_gaps: (u64, u64),
}

/// Fates of a capture's packets. Pairs are packets and bytes.
#[pyclass(frozen, get_all, module = "pullnet._core")]
pub struct CaptureReport {
    counted: (u64, u64),
    other: (u64, u64),
    unclassified: (u64, u64),
    disbelieved: (u64, u64),
    before_origin: (u64, u64),
    reordered: u64,
    most_behind_ps: u64,
    without_bytes: u64,
    clock_set: u64,
    length: u64,
    skipped: u64,
    records: u64,
    without_time: u64,
    without_interface: u64,
    missed: u64,
    longer_than_wire: u64,
    places: u64,
    /// The first damaged places: kind, offset, bytes skipped, reason, stored bytes unread.
    damage: Vec<(&'static str, u64, u64, String, u64)>,
}

#[pymethods]
impl Capture {
    /// Opens the file at `path`; `-` is standard input.
    #[new]
    #[pyo3(signature = (path, timescales_ps, filter=None, origin=None, keep_partial=false, most_bins=None))]
    fn new(
        py: Python<'_>,
        path: &str,
        timescales_ps: Vec<u64>,
        filter: Option<&str>,
        origin: Option<&str>,
        keep_partial: bool,
        most_bins: Option<u64>,
    ) -> PyResult<Self> {
        let filter = filter
            .map(str::parse)
            .transpose()
            .map_err(|error: FilterError| errors::argument(py, "filter", error.to_string()))?;
        let mut plan = Plan::new(timescales_ps.into_iter().map(Picos).collect());
        plan.origin = origin
            .map_or(Ok(Origin::First), read_origin)
            .map_err(|text| errors::argument(py, "origin", text))?;
        plan.keep_partial = keep_partial;
        plan.most_bins = most_bins.unwrap_or(plan.most_bins);
        let path = path.to_owned();
        let reader = fault::guarded(py, move || open(&path))?.map_err(|text| refused(py, &text))?;
        let (format, compression) = (reader.format().name(), reader.compression().name());
        Ok(Self { state: Mutex::new(Some(Count::new(reader, filter, plan))), format, compression })
    }

    /// Reads up to `packets` packets. Returns whether there may be more, stored bytes used, and packets counted.
    fn advance(&self, py: Python<'_>, packets: u64) -> PyResult<(bool, u64, u64)> {
        let mut count = self.take(py)?;
        let (count, more) = fault::guarded(py, move || {
            let more = count.advance(packets);
            (count, more)
        })?;
        let so_far = (more, count.reader().consumed().get(), count.packets());
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(count);
        Ok(so_far)
    }

    /// The bins of every timescale and the fates of the packets; call once, after the last packet was read.
    fn finish(&self, py: Python<'_>) -> PyResult<(Vec<CaptureBins>, CaptureReport)> {
        let count = self.take(py)?;
        let finished = fault::guarded(py, move || count.finish())?.map_err(|error| refused(py, &error))?;
        let report = CaptureReport::new(&finished);
        let bins =
            finished.bins.into_iter().map(|bins| CaptureBins::new(py, bins)).collect::<PyResult<_>>()?;
        Ok((bins, report))
    }
}

impl Capture {
    fn take(&self, py: Python<'_>) -> PyResult<Count> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        state.ok_or_else(|| errors::internal(py, "the capture has been read already".to_owned()))
    }
}

fn refused(py: Python<'_>, error: &dyn std::fmt::Display) -> PyErr {
    errors::input(py, vec![error.to_string()])
}

fn open(path: &str) -> Result<Reader, String> {
    let source: Box<dyn Read + Send> = if path == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| format!("cannot be read: {error}"))?)
    };
    Reader::open(source).map_err(|error| error.to_string())
}

/// Parses `first`, `aligned`, or seconds since the Unix epoch.
fn read_origin(text: &str) -> Result<Origin, String> {
    match text {
        "first" => Ok(Origin::First),
        "aligned" => Ok(Origin::Aligned),
        _ => {
            let wrong = || format!("`{text}` is none; use first, aligned, or seconds since 1970");
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{fraction:0<12}");
            let seconds: i64 = whole.parse().map_err(|_| wrong())?;
            let picos: u64 = digits.get(..12).and_then(|d| d.parse().ok()).ok_or_else(wrong)?;
            if whole.starts_with('-') || digits.len() > 12 {
                return Err(wrong());
            }
            Ok(Origin::At(Time::from_secs(seconds) + i128::from(picos)))
        }
    }
}

impl CaptureBins {
    fn new(py: Python<'_>, bins: Bins) -> PyResult<Self> {
        Ok(Self {
            timescale_ps: bins.timescale.0,
            start_s: bins.start.as_secs_f64(),
            byte_counts: crate::table::bytes(py, &bins.bytes, u64::to_le_bytes)?,
            packet_counts: crate::table::bytes(py, &bins.packets, u64::to_le_bytes)?,
            gaps: bins.gaps.iter().map(|gap| (gap.start, gap.end)).collect(),
            partial: pair(bins.partial),
            in_gaps: pair(bins.in_gaps),
        })
    }
}

fn pair(tally: Tally) -> (u64, u64) {
    (tally.packets, tally.bytes)
}

impl CaptureReport {
    fn new(finished: &Finished) -> Self {
        let (totals, losses) = (&finished.totals, &finished.losses);
        Self {
            counted: pair(totals.all),
            other: pair(finished.other),
            unclassified: pair(finished.unclassified),
            disbelieved: pair(totals.disbelieved),
            before_origin: pair(totals.before_origin),
            reordered: totals.reordered,
            most_behind_ps: totals.most_behind,
            without_bytes: totals.without_bytes,
            clock_set: totals.clock_set,
            length: finished.length,
            skipped: losses.skipped,
            records: losses.records,
            without_time: losses.without_time,
            without_interface: losses.without_interface,
            missed: losses.missed,
            longer_than_wire: losses.longer_than_wire,
            places: losses.places,
            damage: damage(losses),
        }
    }
}

fn damage(losses: &Losses) -> Vec<(&'static str, u64, u64, String, u64)> {
    let place = |damage: &pullnet_capture::Damage| {
        let (kind, reason, unread) = match &damage.kind {
            DamageKind::Truncated => ("truncated", String::new(), 0),
            DamageKind::Record => ("record", String::new(), 0),
            DamageKind::Lengths => ("lengths", String::new(), 0),
            DamageKind::Stream { reason, unread } => ("stream", reason.clone(), *unread),
        };
        (kind, damage.offset, damage.skipped, reason, unread)
    };
    losses.damage.iter().map(place).collect()
}

/// Marks outages and saturation. Takes volumes as little-endian doubles, a state for each, and the capacity in bytes per
/// bin. Returns the states, and the given or inferred capacity.
#[pyfunction]
#[pyo3(signature = (volumes, states, capacity=None))]
pub fn mark_anomalies(
    py: Python<'_>,
    volumes: &[u8],
    states: &[u8],
    capacity: Option<f64>,
) -> PyResult<(Py<PyBytes>, Option<f64>)> {
    let double = |chunk: &[u8; 8]| f64::from_le_bytes(*chunk);
    let volumes: Vec<f64> = volumes.as_chunks().0.iter().map(double).collect();
    let mut states = states.to_vec();
    let (states, found) = fault::guarded(py, move || {
        let found = pullnet_volumes::anomaly::mark(&volumes, &mut states, capacity);
        (states, found)
    })?;
    Ok((PyBytes::new(py, &states).unbind(), found))
}
