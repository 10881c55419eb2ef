//! The continuous power law.

use crate::search::{Family, Tail};
use crate::steps::Steps;

/// Models of all candidates: `alpha - 1 = n / sum(ln(x / xmin))`.
pub struct Continuous<'a> {
    steps: &'a Steps,
    excess: Vec<f64>,
}

impl<'a> Continuous<'a> {
    /// The models for `steps`.
    pub fn new(steps: &'a Steps) -> Self {
        Self { steps, excess: steps.excess() }
    }

    /// `alpha - 1` of the model that starts at step `i`; infinite at the last step.
    pub fn rate(&self, i: usize) -> f64 {
        f64::from(self.steps.count(i)) / self.excess[i]
    }
}

/// One model: the logarithm of a value over `xmin` is exponentially distributed.
#[derive(Clone, Copy)]
pub struct ContinuousTail<'a> {
    logs: &'a [f64],
    rate: f64,
    start: f64,
}

impl Tail for ContinuousTail<'_> {
    #[inline]
    fn survival(&self, i: usize) -> (f64, f64) {
        let share = libm::exp(-self.rate * (self.logs[i] - self.start));
        (share, share)
    }
}

impl<'a> Family for Continuous<'a> {
    type Tail = ContinuousTail<'a>;

    fn tail(&self, i: usize) -> Option<ContinuousTail<'a>> {
        let rate = self.rate(i);
        rate.is_finite().then_some(ContinuousTail { logs: &self.steps.logs, rate, start: self.steps.logs[i] })
    }

    fn steps(&self) -> &Steps {
        self.steps
    }
}
