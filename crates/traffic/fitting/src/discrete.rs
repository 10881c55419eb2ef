//! The discrete power law on whole numbers of at least `xmin`.

use crate::search::{Family, Tail};
use crate::steps::Steps;
use crate::zeta;

/// Models of all candidates; the exponent maximises the likelihood, which contains the zeta function.
pub struct Discrete<'a> {
    steps: &'a Steps,
    values: &'a [f64],
    excess: Vec<f64>,
}

impl<'a> Discrete<'a> {
    /// The models for `steps`, whose values are `values`.
    pub fn new(steps: &'a Steps, values: &'a [f64]) -> Self {
        Self { steps, values, excess: steps.excess() }
    }
}

/// One model.
#[derive(Clone, Copy)]
pub struct DiscreteTail<'a> {
    values: &'a [f64],
    /// The exponent.
    pub alpha: f64,
    xmin: f64,
    /// `sum over k >= xmin of (k/xmin)^-alpha`.
    sum: f64,
}

impl<'a> DiscreteTail<'a> {
    /// The law for values of at least `xmin`.
    pub fn new(values: &'a [f64], alpha: f64, xmin: f64) -> Self {
        Self { values, alpha, xmin, sum: zeta::sums(alpha, xmin).0 }
    }

    /// Probability of whole numbers at or above `value`, and above it.
    pub fn shares(&self, value: f64) -> (f64, f64) {
        let relative = libm::exp(-self.alpha * libm::log(value / self.xmin)) / self.sum;
        let at = relative * zeta::sums(self.alpha, value).0;
        (at, at - relative)
    }
}

impl Tail for DiscreteTail<'_> {
    fn survival(&self, i: usize) -> (f64, f64) {
        self.shares(self.values[i])
    }
}

impl<'a> Family for Discrete<'a> {
    type Tail = DiscreteTail<'a>;

    fn tail(&self, i: usize) -> Option<DiscreteTail<'a>> {
        let mean_log = self.excess[i] / f64::from(self.steps.count(i));
        let xmin = self.values[i];
        (mean_log > 0.0).then(|| DiscreteTail::new(self.values, zeta::exponent(mean_log, xmin), xmin))
    }

    fn steps(&self) -> &Steps {
        self.steps
    }
}
