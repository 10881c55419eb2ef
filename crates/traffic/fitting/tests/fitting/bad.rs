//! Samples that cannot be fitted are rejected with the value and a remedy.

use pullnet_fitting::{Distance, Kind, Sample};
use pullnet_rng::Seed;

#[test]
fn samples() {
    let cases: [(&[f64], Kind, &str); 8] = [
        (&[], Kind::Continuous, "0 distinct values among 0; a power law needs at least 2"),
        (&[3.0], Kind::Continuous, "1 distinct values among 1; a power law needs at least 2"),
        (&[3.0, 3.0], Kind::Discrete, "1 distinct values among 2; a power law needs at least 2"),
        (
            &[1.0, 0.0],
            Kind::Continuous,
            "value 1 is 0; a power law has positive finite values only, below 1e300 and above 1e-300",
        ),
        (
            &[-1.0],
            Kind::Continuous,
            "value 0 is -1; a power law has positive finite values only, below 1e300 and above 1e-300",
        ),
        (
            &[f64::NAN],
            Kind::Continuous,
            "value 0 is NaN; a power law has positive finite values only, below 1e300 and above 1e-300",
        ),
        (
            &[1.0, f64::INFINITY],
            Kind::Continuous,
            "value 1 is inf; a power law has positive finite values only, below 1e300 and above 1e-300",
        ),
        (
            &[1.0, 2.5],
            Kind::Discrete,
            "value 1 is 2.5; a discrete power law has whole numbers from 1 to 1e15, or fit it as continuous",
        ),
    ];
    for (values, kind, text) in cases {
        assert_eq!(Sample::new(values, kind).unwrap_err().to_string(), text);
    }
}

#[test]
fn repeats() {
    let sample = Sample::new(&[1.0, 2.0, 4.0], Kind::Continuous).unwrap();
    let error = sample.uncertainty(Distance::Supremum, 0, Seed(1), 1).unwrap_err();
    assert_eq!(error.to_string(), "0 repeats; use 1 to 10000000");
}

#[test]
fn two_values_are_enough() {
    for kind in [Kind::Continuous, Kind::Discrete] {
        let sample = Sample::new(&[2.0, 1.0], kind).unwrap();
        let fit = sample.fit(Distance::Supremum);
        assert_eq!((fit.xmin, fit.tail), (1.0, 2));
        assert!(fit.alpha > 1.0 && fit.alpha.is_finite(), "{fit:?}");
        assert_eq!(sample.fit_above(1.5, Distance::Supremum), None);
        assert!(sample.goodness(&fit, Distance::Supremum, 50, Seed(1), 2).is_ok());
    }
}
