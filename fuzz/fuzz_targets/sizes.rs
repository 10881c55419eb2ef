//! An arbitrary file is a distribution of flow sizes or is rejected, in both formats; drawn values are within its range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_rng::Seed;
use pullnet_workload::{Reading, SizeDistribution};

fn check(distribution: &SizeDistribution) {
    let most = distribution.max().0;
    assert!(distribution.mean().is_finite() && distribution.mean() <= most as f64 * (1.0 + 1e-9));
    let mut chance = Seed(1).stream("fuzz", 0);
    for _ in 0..20 {
        let size = distribution.sample(&mut chance).0;
        assert!((1..=most.max(1)).contains(&size));
    }
    assert!(distribution.cdf(most) >= 1.0 - 1e-6);
}

fuzz_target!(|bytes: &[u8]| {
    let [steps, linear] =
        [Reading::Steps, Reading::Linear].map(|reading| SizeDistribution::parse("fuzz.csv", bytes, reading));
    assert_eq!(steps.is_ok(), linear.is_ok());
    for distribution in [steps, linear].iter().flatten() {
        check(distribution);
    }
});
