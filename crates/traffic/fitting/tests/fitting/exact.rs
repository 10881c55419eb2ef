//! The search gives the same result as computing every distance in full, bit for bit.

use proptest::prelude::*;
use pullnet_fitting::{Distance, Kind, Sample};

const DISTANCES: [Distance; 2] = [Distance::Supremum, Distance::BeforeSteps];

/// The first candidate with the least distance.
fn full_search(sample: &Sample, distance: Distance) -> (f64, f64) {
    let all = sample.all_distances(distance);
    all.into_iter().reduce(|best, next| if next.1 < best.1 { next } else { best }).expect("a candidate")
}

fn agrees(values: &[f64], kind: Kind) {
    let Ok(sample) = Sample::new(values, kind) else { return };
    for distance in DISTANCES {
        let fit = sample.fit(distance);
        assert_eq!((fit.xmin, fit.distance), full_search(&sample, distance), "{distance:?}");
        let again = sample.fit_above(fit.xmin, distance).expect("has a tail");
        assert_eq!(again, fit);
    }
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Pareto(f64),
    LogLogistic(f64),
    Narrow,
    Octaves,
    FewValues,
}

impl Shape {
    fn value(self, u: f64) -> f64 {
        match self {
            Self::Pareto(alpha) => (1.0 - u).powf(-1.0 / alpha),
            Self::LogLogistic(s) => (s * ((u + 1e-9) / (1.0 - u)).ln()).exp(),
            Self::Narrow => 1e9 + u,
            Self::Octaves => 2f64.powi((u * 8.0) as i32),
            Self::FewValues => 1.0 + (u * 5.0).floor(),
        }
    }
}

/// Values with many ties, on grids that make equal distances, in narrow and wide ranges, with outliers.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let shapes = prop_oneof![
        (0.3f64..6.0).prop_map(Shape::Pareto),
        (0.01f64..3.0).prop_map(Shape::LogLogistic),
        Just(Shape::Narrow),
        Just(Shape::Octaves),
        Just(Shape::FewValues),
    ];
    let uniform = prop::collection::vec(0.0f64..0.999_999, 1..400);
    (uniform, shapes, prop::option::of(1e-3f64..0.5)).prop_map(|(uniform, shape, grid)| {
        let rounded = |x: f64| grid.map_or(x, |g| (x / g).ceil() * g);
        uniform.into_iter().map(|u| rounded(shape.value(u))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn continuous(values in values()) {
        agrees(&values, Kind::Continuous);
    }

    #[test]
    fn discrete(values in prop::collection::vec(1u32..60, 2..200), factor in 1u32..30) {
        let values: Vec<f64> = values.into_iter().map(|v| f64::from(v * v / 7 * factor + 1)).collect();
        agrees(&values, Kind::Discrete);
    }

    #[test]
    fn the_unit_moves_xmin_and_nothing_else(values in values(), power in -40i32..40) {
        let Ok(sample) = Sample::new(&values, Kind::Continuous) else { return Ok(()) };
        let factor = 2f64.powi(power);
        let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
        let (one, other) = (sample.fit(Distance::Supremum), Sample::new(&scaled, Kind::Continuous).unwrap().fit(Distance::Supremum));
        prop_assert_eq!((one.xmin * factor, one.alpha, one.distance, one.tail), (other.xmin, other.alpha, other.distance, other.tail));
    }
}
