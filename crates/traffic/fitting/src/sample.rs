//! A sample, and the power law fitted to it.

use crate::continuous::Continuous;
use crate::discrete::Discrete;
use crate::error::FitError;
use crate::search::{self, Best, Distance, Family};
use crate::steps::Steps;
use crate::zeta;

/// Kind of power law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// On all real numbers of at least `xmin`.
    Continuous,
    /// On the whole numbers of at least `xmin`.
    Discrete,
}

/// A fitted power law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Least value of the tail. Unit: that of the sample.
    pub xmin: f64,
    /// Exponent of the density.
    pub alpha: f64,
    /// Standard error of `alpha` for this `xmin`.
    pub standard_error: f64,
    /// Kolmogorov-Smirnov distance between the tail and its model.
    pub distance: f64,
    /// Number of values at or above `xmin`.
    pub tail: u32,
}

/// A sorted sample.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(crate) kind: Kind,
    pub(crate) steps: Steps,
    /// The value of each step.
    pub(crate) values: Vec<f64>,
}

impl Sample {
    /// Creates a sample from `values` in any order. Fails unless all values are positive (for [`Kind::Discrete`] also whole)
    /// and at least two are distinct.
    pub fn new(values: &[f64], kind: Kind) -> Result<Self, FitError> {
        check(values, kind)?;
        // The bit patterns of positive numbers are in numeric order.
        let mut sorted: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        sorted.sort_unstable();
        let least = sorted.first().map_or(1.0, |&bits| f64::from_bits(bits));
        let (mut steps, mut distinct) = (Steps::default(), Vec::new());
        for value in sorted.into_iter().map(f64::from_bits) {
            steps.push(libm::log(value / least), 1);
            if distinct.len() < steps.len() {
                distinct.push(value);
            }
        }
        steps.close();
        if steps.len() < 2 {
            return Err(FitError::TooFew { values: values.len(), distinct: steps.len() });
        }
        Ok(Self { kind, steps, values: distinct })
    }

    /// Number of values.
    pub fn size(&self) -> u32 {
        self.steps.count(0)
    }

    /// The power law with the smallest distance; of equal distances the longest tail.
    pub fn fit(&self, distance: Distance) -> Fit {
        let best = match self.kind {
            Kind::Continuous => search::best(&Continuous::new(&self.steps), distance),
            Kind::Discrete => search::best(&Discrete::new(&self.steps, &self.values), distance),
        };
        self.describe(best.expect("the first of two distinct values is a candidate"))
    }

    /// The power law for the given `xmin`; `None` if fewer than two distinct values remain.
    pub fn fit_above(&self, xmin: f64, distance: Distance) -> Option<Fit> {
        let start = self.values.partition_point(|&value| value < xmin);
        if start + 1 >= self.values.len() {
            return None;
        }
        let found = match self.kind {
            Kind::Continuous => search::distance_of(&Continuous::new(&self.steps), start, distance),
            Kind::Discrete => search::distance_of(&Discrete::new(&self.steps, &self.values), start, distance),
        };
        found.map(|distance| self.describe(Best { start, distance }))
    }

    /// Distances of all candidates, computed in full; [`Sample::fit`] finds their minimum. The time grows with the square of
    /// the sample.
    pub fn all_distances(&self, distance: Distance) -> Vec<(f64, f64)> {
        let all = match self.kind {
            Kind::Continuous => search::all(&Continuous::new(&self.steps), distance),
            Kind::Discrete => search::all(&Discrete::new(&self.steps, &self.values), distance),
        };
        all.into_iter().map(|best| (self.values[best.start], best.distance)).collect()
    }

    /// Whether any candidate's distance is below `limit`.
    pub(crate) fn is_nearer_than(&self, distance: Distance, limit: f64) -> bool {
        match self.kind {
            Kind::Continuous => search::any_below(&Continuous::new(&self.steps), distance, limit),
            Kind::Discrete => search::any_below(&Discrete::new(&self.steps, &self.values), distance, limit),
        }
    }

    fn describe(&self, best: Best) -> Fit {
        let tail = self.steps.count(best.start);
        let xmin = self.values[best.start];
        let (alpha, standard_error) = match self.kind {
            Kind::Continuous => {
                let rate = Continuous::new(&self.steps).rate(best.start);
                (1.0 + rate, rate / f64::from(tail).sqrt())
            }
            Kind::Discrete => {
                let family = Discrete::new(&self.steps, &self.values);
                let alpha = family.tail(best.start).expect("the best candidate has a model").alpha;
                (alpha, discrete_error(alpha, xmin, tail))
            }
        };
        Fit { xmin, alpha, standard_error, distance: best.distance, tail }
    }
}

/// From the second derivative of the likelihood, that is the slope of the mean logarithm.
fn discrete_error(alpha: f64, xmin: f64, tail: u32) -> f64 {
    let mean_log = |alpha: f64| {
        let (sum, logs) = zeta::sums(alpha, xmin);
        logs / sum
    };
    let step = 1e-5 * (alpha - 1.0);
    let information = (mean_log(alpha - step) - mean_log(alpha + step)) / (2.0 * step);
    1.0 / (f64::from(tail) * information).sqrt()
}

fn check(values: &[f64], kind: Kind) -> Result<(), FitError> {
    if u32::try_from(values.len()).is_err() {
        return Err(FitError::TooMany { values: values.len() });
    }
    for (index, &value) in values.iter().enumerate() {
        if !(1e-300..1e300).contains(&value) {
            return Err(FitError::NotPositive { index, value });
        }
        if kind == Kind::Discrete && (value.fract() != 0.0 || value > 1e15) {
            return Err(FitError::NotWhole { index, value });
        }
    }
    Ok(())
}
