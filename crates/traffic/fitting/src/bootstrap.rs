//! Bootstrap: the uncertainty of `xmin` and `alpha`, and the plausibility of a power law.
//!
//! Each repeat uses a random stream of its own, so results depend on the seed and not on the number of threads.

use std::thread;

use pullnet_rng::{RandomStream, Seed};

use crate::draw::{Law, Source};
use crate::error::FitError;
use crate::sample::{Fit, Sample};
use crate::search::Distance;

/// Distribution of one quantity over the repeats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with the number of repeats less one as divisor.
    pub deviation: f64,
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

/// Uncertainty of a fit. Each repeat is a new fit, including the search for `xmin`.
#[derive(Clone, PartialEq, Debug)]
pub struct Uncertainty {
    /// Repeats that could be fitted, because they have two distinct values.
    pub repeats: u64,
    /// Distribution of the least value.
    pub xmin: Interval,
    /// Distribution of the exponent.
    pub alpha: Interval,
    /// Distribution of the number of values in the tail.
    pub tail: Interval,
}

/// Plausibility of the power law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goodness {
    /// Number of samples drawn from the fitted law.
    pub repeats: u64,
    /// Number of samples whose distance from their own fit is at least that of the data.
    pub farther: u64,
}

impl Goodness {
    /// Share of the samples with at least the distance of the data; the paper calls a power law plausible above 0.1.
    pub fn p(&self) -> f64 {
        self.farther as f64 / self.repeats as f64
    }
}

/// Number of repeats for a standard error of p of about `precision`: 1/4 precision^-2, as in the paper.
pub fn repeats(precision: f64) -> u64 {
    (0.25 / (precision * precision)).ceil() as u64
}

const MOST: u64 = 10_000_000;

impl Sample {
    /// Fits samples drawn with replacement from the data.
    pub fn uncertainty(
        &self,
        distance: Distance,
        repeats: u64,
        seed: Seed,
        threads: usize,
    ) -> Result<Uncertainty, FitError> {
        let source = Source::new(self);
        let fits = repeated(repeats, threads, |r| {
            let mut stream = seed.stream("fitting.uncertainty", r);
            let drawn = source.again(&mut stream).closed();
            (drawn.values.len() > 1).then(|| drawn.fit(distance))
        })?;
        let fits: Vec<Fit> = fits.into_iter().flatten().collect();
        Ok(Uncertainty {
            repeats: fits.len() as u64,
            xmin: interval(fits.iter().map(|fit| fit.xmin)),
            alpha: interval(fits.iter().map(|fit| fit.alpha)),
            tail: interval(fits.iter().map(|fit| f64::from(fit.tail))),
        })
    }

    /// Draws samples for which `fit` is true (below its `xmin` from the data, above from the law), and counts those whose
    /// own best distance is at least that of `fit`.
    pub fn goodness(
        &self,
        fit: &Fit,
        distance: Distance,
        repeats: u64,
        seed: Seed,
        threads: usize,
    ) -> Result<Goodness, FitError> {
        let source = Source::new(self);
        let law = Law::new(fit, self.kind);
        let farther = repeated(repeats, threads, |r| {
            let mut stream: RandomStream = seed.stream("fitting.goodness", r);
            !source.as_fitted(fit, &law, &mut stream).is_nearer_than(distance, fit.distance)
        })?;
        Ok(Goodness { repeats, farther: farther.iter().filter(|&&is| is).count() as u64 })
    }
}

/// The results of all repeats in order.
fn repeated<T: Send>(
    repeats: u64,
    threads: usize,
    one: impl Fn(u64) -> T + Sync,
) -> Result<Vec<T>, FitError> {
    if !(1..=MOST).contains(&repeats) {
        return Err(FitError::Repeats { repeats });
    }
    let threads = (threads.max(1) as u64).min(repeats);
    let bounds = |thread: u64| repeats * thread / threads;
    let one = &one;
    Ok(thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|t| scope.spawn(move || (bounds(t)..bounds(t + 1)).map(one).collect::<Vec<T>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a repeat does not panic")).collect()
    }))
}

fn interval(values: impl Iterator<Item = f64>) -> Interval {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let rank = |share: f64| values.get((share * (n - 1.0)).round() as usize).copied().unwrap_or(f64::NAN);
    Interval { mean, deviation: (square / (n - 1.0)).sqrt(), low: rank(0.025), high: rank(0.975) }
}
