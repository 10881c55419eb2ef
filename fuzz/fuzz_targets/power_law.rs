//! Arbitrary numbers are a sample that can be fitted, including the bootstrap, or are rejected; the fit is the nearest one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_fitting::{Distance, Fit, Kind, Sample};
use pullnet_rng::Seed;

/// Largest sample; the search is compared with a quadratic one.
const MOST: usize = 200;

/// Arbitrary numbers, from eight bytes each.
fn any(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|bits| f64::from_le_bytes(bits.try_into().expect("eight bytes"))).collect()
}

/// Numbers that are often close or equal, from two bytes each: a few steps above a power of ten.
fn near(bytes: &[u8]) -> Vec<f64> {
    let value = |pair: &[u8]| 10f64.powi(i32::from(pair[0] % 16)) + f64::from(pair[1]);
    bytes.chunks_exact(2).map(value).collect()
}

fn check(fit: &Fit, sample: &Sample) {
    assert!(fit.alpha >= 1.0 && (0.0..=1.0).contains(&fit.distance), "{fit:?}");
    assert!((1..=sample.size()).contains(&fit.tail) && !fit.standard_error.is_nan(), "{fit:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let [first, rest @ ..] = bytes else { return };
    let mut values = if first & 1 == 0 { any(rest) } else { near(rest) };
    values.truncate(MOST);
    let kind = if first & 2 == 0 { Kind::Continuous } else { Kind::Discrete };
    let distance = if first & 4 == 0 { Distance::Supremum } else { Distance::BeforeSteps };
    let Ok(sample) = Sample::new(&values, kind) else { return };
    let fit = sample.fit(distance);
    check(&fit, &sample);
    let least = sample
        .all_distances(distance)
        .into_iter()
        .map(|(_, distance)| distance)
        .fold(f64::INFINITY, f64::min);
    assert_eq!(fit.distance, least);
    let above = sample.fit_above(fit.xmin, distance).expect("what was found has a model");
    assert_eq!(above, fit);
    let repeats = u64::from(first >> 6);
    let seed = Seed(u64::from(*first));
    let uncertainty = sample.uncertainty(distance, repeats, seed, 1);
    let goodness = sample.goodness(&fit, distance, repeats, seed, 1);
    assert_eq!((uncertainty.is_ok(), goodness.is_ok()), (repeats > 0, repeats > 0));
});
