//! Power laws; `pullnet.traffic.fit` names the fields of the results.

use pullnet_fitting::{Distance, Fit, FitError, Interval, Kind, Sample};
use pullnet_rng::Seed;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::errors;
use crate::fault::guarded;

/// `xmin`, `alpha`, its standard error, the distance, values in the tail.
type FitRow = (f64, f64, f64, f64, u32);
/// Mean, standard deviation, 2.5th and 97.5th percentile.
type IntervalRow = (f64, f64, f64, f64);

fn row(fit: Fit) -> FitRow {
    (fit.xmin, fit.alpha, fit.standard_error, fit.distance, fit.tail)
}

fn interval(spread: Interval) -> IntervalRow {
    (spread.mean, spread.deviation, spread.low, spread.high)
}

fn distance(before_steps: bool) -> Distance {
    if before_steps { Distance::BeforeSteps } else { Distance::Supremum }
}

fn wrong(py: Python<'_>, error: FitError) -> PyErr {
    errors::input(py, vec![error.to_string()])
}

/// A sorted sample.
#[pyclass(frozen, module = "pullnet._core")]
pub struct PowerSample(Sample);

#[pymethods]
impl PowerSample {
    #[new]
    fn new(py: Python<'_>, values: PyBuffer<f64>, discrete: bool) -> PyResult<Self> {
        let values = values.to_vec(py)?;
        let kind = if discrete { Kind::Discrete } else { Kind::Continuous };
        guarded(py, || Sample::new(&values, kind))?.map(Self).map_err(|error| wrong(py, error))
    }

    fn fit(&self, py: Python<'_>, before_steps: bool) -> PyResult<FitRow> {
        guarded(py, || self.0.fit(distance(before_steps))).map(row)
    }

    fn fit_above(&self, py: Python<'_>, xmin: f64, before_steps: bool) -> PyResult<Option<FitRow>> {
        Ok(guarded(py, || self.0.fit_above(xmin, distance(before_steps)))?.map(row))
    }

    fn all_distances(&self, py: Python<'_>, before_steps: bool) -> PyResult<Vec<(f64, f64)>> {
        guarded(py, || self.0.all_distances(distance(before_steps)))
    }

    fn uncertainty(
        &self,
        py: Python<'_>,
        before_steps: bool,
        repeats: u64,
        seed: u64,
        threads: usize,
    ) -> PyResult<(u64, IntervalRow, IntervalRow, IntervalRow)> {
        let found = guarded(py, || self.0.uncertainty(distance(before_steps), repeats, Seed(seed), threads))?
            .map_err(|error| wrong(py, error))?;
        Ok((found.repeats, interval(found.xmin), interval(found.alpha), interval(found.tail)))
    }

    /// Number of repeats, and of repeats at least as far from their own fit as the data from theirs.
    fn goodness(
        &self,
        py: Python<'_>,
        xmin: f64,
        before_steps: bool,
        repeats: u64,
        seed: u64,
        threads: usize,
    ) -> PyResult<Option<(u64, u64)>> {
        let distance = distance(before_steps);
        let found = guarded(py, || {
            let fit = self.0.fit_above(xmin, distance)?;
            Some(self.0.goodness(&fit, distance, repeats, Seed(seed), threads))
        })?;
        let Some(found) = found else { return Ok(None) };
        let found = found.map_err(|error| wrong(py, error))?;
        Ok(Some((found.repeats, found.farther)))
    }
}
