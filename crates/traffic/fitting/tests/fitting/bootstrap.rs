//! Bootstrap results for samples from known laws.

use pullnet_fitting::{Distance, Kind, Sample, repeats};
use pullnet_rng::{RandomStream, Seed};

fn pareto(size: usize, alpha: f64, stream: &mut RandomStream) -> Vec<f64> {
    (0..size).map(|_| (1.0 - stream.unit()).powf(-1.0 / (alpha - 1.0))).collect()
}

/// Uniformly distributed over ten values: no tail of them is a power law.
fn ten_values(size: usize, stream: &mut RandomStream) -> Vec<f64> {
    (0..size).map(|_| f64::from(1 + stream.below(10))).collect()
}

#[test]
fn the_same_for_any_number_of_threads() {
    let values = pareto(700, 2.5, &mut Seed(1).stream("test", 0));
    for (kind, values) in
        [(Kind::Continuous, values.clone()), (Kind::Discrete, values.iter().map(|v| v.ceil()).collect())]
    {
        let sample = Sample::new(&values, kind).unwrap();
        let fit = sample.fit(Distance::Supremum);
        let results = |threads, seed| {
            let spread = sample.uncertainty(Distance::Supremum, 23, Seed(seed), threads).unwrap();
            (spread, sample.goodness(&fit, Distance::Supremum, 23, Seed(seed), threads).unwrap())
        };
        assert_eq!(results(1, 5), results(3, 5));
        assert_ne!(results(1, 5), results(1, 6));
    }
}

#[test]
fn the_error_of_alpha_is_that_of_theory_where_xmin_is_known() {
    // All values are in the tail: the spread is at least that for a known xmin, and about as large.
    let sample = Sample::new(&pareto(2_000, 2.5, &mut Seed(2).stream("test", 0)), Kind::Continuous).unwrap();
    let fit = sample.fit(Distance::Supremum);
    let spread = sample.uncertainty(Distance::Supremum, 400, Seed(1), 1).unwrap();
    assert!(spread.alpha.low < fit.alpha && fit.alpha < spread.alpha.high, "{spread:?}");
    assert!((0.8..4.0).contains(&(spread.alpha.deviation / fit.standard_error)), "{spread:?} {fit:?}");
}

/// p is about uniform if the law is true, and near 0 if not.
#[test]
fn plausible_where_it_is_true_and_not_where_it_is_not() {
    let p = |values: &[f64], kind, seed| {
        let sample = Sample::new(values, kind).unwrap();
        let fit = sample.fit(Distance::Supremum);
        sample.goodness(&fit, Distance::Supremum, 100, Seed(seed), 1).unwrap().p()
    };
    let (mut continuous, mut discrete) = (0, 0);
    for seed in 0..60 {
        let values = pareto(400, 2.5, &mut Seed(seed).stream("true", 0));
        continuous += u32::from(p(&values, Kind::Continuous, seed) < 0.1);
        let whole: Vec<f64> = values[..200].iter().map(|v| (v + 0.5).floor()).collect();
        discrete += u32::from(p(&whole, Kind::Discrete, seed) < 0.1);
    }
    // Of 60, 6 are expected; 15 or more have a probability below 0.1%. Rounding makes the discrete law a little wrong.
    assert!(continuous < 15 && discrete < 20, "{continuous} {discrete}");
    let wrong = (0..10).map(|seed| ten_values(2_000, &mut Seed(seed).stream("false", 0)));
    assert!(wrong.enumerate().all(|(seed, values)| p(&values, Kind::Continuous, seed as u64) < 0.1));
}

#[test]
fn repeats_for_a_precision() {
    assert_eq!((repeats(0.01), repeats(0.05), repeats(0.5)), (2500, 100, 1));
}
