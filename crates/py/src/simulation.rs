//! A run, driven in slices of wall-clock time so that Python can show progress and react to Ctrl-C.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pullnet_record::{About, Cost, RunRecord, StuckSummary, Summary, tables};
use pullnet_scenario::Stop;
use pullnet_sim::{Progress as Stepped, Run};
use pullnet_units::{Instant as SimulatedInstant, Picos};
use pyo3::prelude::*;

use crate::scenario::{Scenario, notices};
use crate::table::Table;
use crate::{errors, fault};

/// A running simulation.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Simulation {
    /// `None` after the end or an internal error.
    state: Mutex<Option<State>>,
    about: About,
    /// The configured end; `None` if the run ends with its flows.
    end_ps: Option<u64>,
}

struct State {
    run: Box<dyn Run>,
    /// Windows per call, chosen so that a call takes a fraction of its time budget.
    windows: u64,
}

/// Progress of a run.
#[pyclass(frozen, get_all, module = "pullnet._core")]
pub struct Progress {
    now_ps: u64,
    end_ps: Option<u64>,
    started: u64,
    done: u64,
    failed: u64,
    packet_hops: u64,
    ended: bool,
}

/// A flow without recent progress.
#[pyclass(frozen, get_all, module = "pullnet._core")]
pub struct Stuck {
    flow: u32,
    src: u32,
    dst: u32,
    bytes: u64,
    size: Option<u64>,
    last_progress_ps: u64,
    waiting_for: &'static str,
}

/// Results of a run.
#[pyclass(frozen, module = "pullnet._core")]
pub struct Record {
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    left_out: Vec<(&'static str, String)>,
    tables: Mutex<Vec<pullnet_probes::Table>>,
}

#[pymethods]
impl Simulation {
    /// `available_bytes`: free memory, to warn if the run needs more.
    #[new]
    #[pyo3(signature = (scenario, threads, available_bytes=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        threads: usize,
        available_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let scenario = &scenario.0;
        let run = fault::guarded(py, || pullnet_sim::start(scenario, threads))?;
        let about = About {
            world: "simulator",
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interrupted: false,
            stuck_after: Picos::MAX,
            warnings: notices(scenario, available_bytes),
            silenced: scenario.silence.silenced(),
        };
        Ok(Self {
            state: Mutex::new(Some(State { run, windows: 1 })),
            about,
            end_ps: stated_end(scenario.stop),
        })
    }

    /// Simulates for about `seconds` of wall-clock time, or to the end.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let mut state = self.take(py)?;
        let budget = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let (state, progress) = fault::guarded(py, move || {
            let progress = state.advance(budget);
            (state, progress)
        })?;
        self.put_back(state);
        Ok(Progress::new(progress, self.end_ps))
    }

    /// At most `limit` flows without progress since `since_ps`, those with the longest wait first.
    fn stuck(&self, py: Python<'_>, since_ps: u64, limit: usize) -> PyResult<Vec<Stuck>> {
        let state = self.take(py)?;
        let (state, stuck) = fault::guarded(py, move || {
            let stuck = state.run.stuck(SimulatedInstant(since_ps), limit);
            (state, stuck)
        })?;
        self.put_back(state);
        Ok(stuck.into_iter().map(Stuck::from).collect())
    }

    /// Ends the run in its current state. Open flows without progress for `stuck_after_ps` count as stuck. The cost is that
    /// measured so far.
    fn finish(
        &self,
        py: Python<'_>,
        interrupted: bool,
        stuck_after_ps: u64,
        cost: Measured,
    ) -> PyResult<Record> {
        let state = self.take(py)?;
        let about = About { interrupted, stuck_after: Picos(stuck_after_ps), ..self.about.clone() };
        fault::guarded(py, move || Record::of(&state.run.finish(), about, cost))
    }
}

impl Simulation {
    fn take(&self, py: Python<'_>) -> PyResult<State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        state.ok_or_else(|| errors::internal(py, "the simulation has ended already".to_owned()))
    }

    fn put_back(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }
}

/// Cost of a run so far: wall-clock time and processor time in seconds, peak resident memory in bytes.
pub(crate) type Measured = (f64, f64, u64);

impl Record {
    /// The summary and the tables of a run.
    pub fn of(record: &RunRecord, about: About, (wall_s, cpu_s, peak_rss_bytes): Measured) -> Self {
        let cost = Cost { wall_s, cpu_s, peak_rss_bytes };
        let summary = Summary::of(record, about, cost).to_json();
        Self { summary, left_out: record.left_out.clone(), tables: Mutex::new(tables(record)) }
    }
}

#[pymethods]
impl Record {
    /// Returns the tables; call once.
    fn take_tables(&self) -> Vec<Table> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.drain(..).map(Table::from).collect()
    }
}

impl State {
    /// Simulates until `budget` is spent. Calls start short and grow to a quarter of the budget.
    #[allow(
        clippy::disallowed_methods,
        reason = "the edge: only how often Python is told depends on this clock"
    )]
    fn advance(&mut self, budget: Duration) -> Stepped {
        let begin = Instant::now();
        let mut before = Duration::ZERO;
        loop {
            let progress = self.run.advance(self.windows);
            let spent = begin.elapsed();
            self.windows = paced(self.windows, spent - before, budget / 4);
            if progress.ended || spent >= budget {
                return progress;
            }
            before = spent;
        }
    }
}

/// Number of windows for the next call, when `windows` took `took` and the next call should take `target`.
fn paced(windows: u64, took: Duration, target: Duration) -> u64 {
    if took < target / 2 {
        windows.saturating_mul(2)
    } else if took > target {
        (windows / 2).max(1)
    } else {
        windows
    }
}

fn stated_end(stop: Stop) -> Option<u64> {
    match stop {
        Stop::At(end) => Some(end.0),
        Stop::FlowsDone { .. } => None,
    }
}

impl Progress {
    fn new(progress: Stepped, end_ps: Option<u64>) -> Self {
        Self {
            now_ps: progress.now.0,
            end_ps,
            started: progress.started,
            done: progress.received,
            failed: progress.failed,
            packet_hops: progress.packet_hops,
            ended: progress.ended,
        }
    }
}

impl From<pullnet_record::StuckFlow> for Stuck {
    fn from(flow: pullnet_record::StuckFlow) -> Self {
        let StuckSummary { flow, src, dst, bytes, size, last_progress_ps, waiting_for } = (&flow).into();
        Self { flow, src, dst, bytes, size, last_progress_ps, waiting_for }
    }
}
