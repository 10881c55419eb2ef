//! Samples for the bootstrap. They are generated in order, so no sorting is needed.

use pullnet_rng::RandomStream;

use crate::discrete::DiscreteTail;
use crate::sample::{Fit, Kind, Sample};
use crate::steps::Steps;

/// Whole numbers with tabulated probabilities; larger ones are found by search.
const TABLE: usize = 4096;

/// A sample to draw from.
pub struct Source<'a> {
    sample: &'a Sample,
    /// Index of the step of each value in the sample.
    owner: Vec<u32>,
}

impl<'a> Source<'a> {
    /// Draws from `sample`.
    pub fn new(sample: &'a Sample) -> Self {
        let counts = sample.steps.above.windows(2).map(|pair| pair[0] - pair[1]);
        let owner =
            counts.enumerate().flat_map(|(i, count)| std::iter::repeat_n(i as u32, count as usize)).collect();
        Self { sample, owner }
    }

    /// Draws as often as the sample has values; counts the draws of each step before `end`, and all others together.
    fn counts(&self, stream: &mut RandomStream, end: usize) -> (Vec<u32>, u32) {
        let (mut counts, mut others) = (vec![0; end], 0);
        for _ in 0..self.owner.len() {
            let drawn = self.owner[(stream.unit() * self.owner.len() as f64) as usize] as usize;
            match counts.get_mut(drawn) {
                Some(count) => *count += 1,
                None => others += 1,
            }
        }
        (counts, others)
    }

    /// Draws as many values as the sample has, with replacement.
    pub fn again(&self, stream: &mut RandomStream) -> Sample {
        let (counts, _) = self.counts(stream, self.sample.steps.len());
        self.stepped(&counts)
    }

    fn stepped(&self, counts: &[u32]) -> Sample {
        let mut drawn = Sample { kind: self.sample.kind, steps: Steps::default(), values: Vec::new() };
        for (i, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            drawn.steps.push(self.sample.steps.logs[i], count);
            drawn.values.push(self.sample.values[i]);
        }
        drawn
    }

    /// Draws as many values as the sample has: below `xmin` from the sample, otherwise from the fitted law.
    pub fn as_fitted(&self, fit: &Fit, law: &Law, stream: &mut RandomStream) -> Sample {
        let start = self.sample.values.partition_point(|&value| value < fit.xmin);
        let (counts, tail) = self.counts(stream, start);
        let mut drawn = self.stepped(&counts);
        match law {
            Law::Continuous { rate } => {
                continuous(&mut drawn.steps, self.sample.steps.logs[start], *rate, tail, stream)
            }
            Law::Discrete { shares } => {
                discrete(&mut drawn, self.sample.values[0], fit, shares, tail, stream)
            }
        }
        drawn.steps.close();
        drawn
    }
}

impl Sample {
    /// The sample with its counts accumulated.
    pub(crate) fn closed(mut self) -> Self {
        self.steps.close();
        self
    }
}

/// Precomputed data for drawing from a fitted law.
pub enum Law {
    /// Logarithms are exponentially distributed with this rate.
    Continuous {
        /// `alpha - 1`.
        rate: f64,
    },
    /// Probability of values at or above `xmin + i`.
    Discrete {
        /// Decreasing from 1.
        shares: Vec<f64>,
    },
}

impl Law {
    /// The law of `fit`.
    pub fn new(fit: &Fit, kind: Kind) -> Self {
        match kind {
            Kind::Continuous => Self::Continuous { rate: fit.alpha - 1.0 },
            Kind::Discrete => {
                let tail = DiscreteTail::new(&[], fit.alpha, fit.xmin);
                Self::Discrete { shares: (0..TABLE).map(|i| tail.shares(fit.xmin + i as f64).0).collect() }
            }
        }
    }
}

/// `count` values in order: the gaps between ordered exponential values are exponential (Renyi, 1953).
fn continuous(steps: &mut Steps, start: f64, rate: f64, count: u32, stream: &mut RandomStream) {
    let mut log = start;
    for left in (1..=count).rev() {
        log += -libm::log(1.0 - stream.unit()) / (rate * f64::from(left));
        steps.push(log, 1);
    }
}

fn discrete(
    drawn: &mut Sample,
    least: f64,
    fit: &Fit,
    shares: &[f64],
    count: u32,
    stream: &mut RandomStream,
) {
    let tail = DiscreteTail::new(&[], fit.alpha, fit.xmin);
    let mut share = 1.0;
    for left in (1..=count).rev() {
        // Ordered uniform values from the top: each is the previous one times a power of a uniform value.
        share *= libm::exp(libm::log(1.0 - stream.unit()) / f64::from(left));
        let value = largest_at_or_above(&tail, fit.xmin, shares, share);
        drawn.steps.push(libm::log(value / least), 1);
        if drawn.values.len() < drawn.steps.len() {
            drawn.values.push(value);
        }
    }
}

/// The largest whole number whose probability of being reached or exceeded is at least `share`.
fn largest_at_or_above(tail: &DiscreteTail<'_>, xmin: f64, shares: &[f64], share: f64) -> f64 {
    let known = shares.partition_point(|&at| at >= share);
    if known < shares.len() {
        return xmin + known.max(1) as f64 - 1.0;
    }
    let mut low = xmin + known as f64 - 1.0;
    let mut high = 2.0 * low;
    while high < 1e15 && tail.shares(high).0 >= share {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).floor();
        if tail.shares(middle).0 >= share { low = middle } else { high = middle }
    }
    low
}
