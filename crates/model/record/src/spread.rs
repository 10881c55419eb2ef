use serde::Serialize;

/// Distribution of a set of values. All fields are `None` for an empty set.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct Spread {
    /// Smallest.
    pub min: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Spread {
    /// The distribution of `values`, which must not contain NaN.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Self {
            min: values.first().copied(),
            mean: (!values.is_empty()).then_some(mean),
            p50: quantile(&values, 0.5),
            p90: quantile(&values, 0.9),
            p99: quantile(&values, 0.99),
            max: values.last().copied(),
        }
    }
}

/// Linear interpolation at rank `q * (n - 1)`: definition 7 of Hyndman and Fan (The American Statistician 50, 1996), the
/// default of numerical packages.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = q * sorted.len().checked_sub(1)? as f64;
    let low = sorted[rank as usize];
    let high = sorted[rank.ceil() as usize];
    Some(low + (high - low) * rank.fract())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spread_of_one_to_hundred_and_one() {
        let spread = Spread::of((1..=101).rev().map(f64::from).collect());
        assert_eq!(spread.mean, Some(51.0));
        assert_eq!(
            [spread.min, spread.p50, spread.p90, spread.p99, spread.max].map(Option::unwrap),
            [1.0, 51.0, 91.0, 100.0, 101.0]
        );
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(Spread::of(vec![10.0, 20.0]).p90, Some(19.0));
        assert_eq!(Spread::of(vec![10.0]).p99, Some(10.0));
    }

    #[test]
    fn nothing_has_no_spread() {
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    proptest! {
        #[test]
        fn spread_is_ordered(values in prop::collection::vec(0.0..1e12f64, 1..200)) {
            let spread = Spread::of(values);
            let order = [spread.min, spread.p50, spread.p90, spread.p99, spread.max].map(Option::unwrap);
            prop_assert!(order.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
