//! The Hurwitz zeta function, relative to its first term, and its derivative, by Euler and Maclaurin's formula.

/// `B_2j / (2j)!` for j = 1 to 9.
const BERNOULLI: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
];

/// `sum over k >= m of (k/m)^-alpha`, and the same with each term times `ln(k/m)`; `m >= 1`, `alpha > 1`.
pub fn sums(alpha: f64, m: f64) -> (f64, f64) {
    let (mut sum, mut logs) = (0.0, 0.0);
    let mut k = m;
    while k < alpha + 12.0 {
        let log = libm::log(k / m);
        let term = libm::exp(-alpha * log);
        sum += term;
        logs += term * log;
        if term < 1e-20 * sum {
            return (sum, logs);
        }
        k += 1.0;
    }
    let rest = rest(alpha, m, k);
    (sum + rest.0, logs + rest.1)
}

/// The part of [`sums`] from `k` on.
fn rest(alpha: f64, m: f64, k: f64) -> (f64, f64) {
    let log = libm::log(k / m);
    let term = libm::exp(-alpha * log);
    let integral = k / (alpha - 1.0);
    let mut sum = integral + 0.5;
    let mut logs = integral * (log + 1.0 / (alpha - 1.0)) + 0.5 * log;
    // alpha (alpha + 1) ... (alpha + 2j - 2) / k^(2j - 1), and the derivative of its logarithm.
    let (mut rising, mut slope) = (alpha / k, 1.0 / alpha);
    for (j, bernoulli) in BERNOULLI.iter().enumerate() {
        sum += bernoulli * rising;
        logs += bernoulli * rising * (log - slope);
        let next = alpha + 2.0 * j as f64 + 1.0;
        rising *= next * (next + 1.0) / (k * k);
        slope += 1.0 / next + 1.0 / (next + 1.0);
    }
    (term * sum, term * logs)
}

/// The exponent for which the mean of `ln(k/m)` is `mean_log > 0`: the maximum of the likelihood.
pub fn exponent(mean_log: f64, m: f64) -> f64 {
    // As a function of ln(alpha - 1), the logarithm of the mean is nearly linear and decreasing.
    let miss = |s: f64| {
        let (sum, logs) = sums(1.0 + libm::exp(s), m);
        libm::log(logs / sum / mean_log).max(-1e3)
    };
    let guess = libm::log(first_guess(mean_log, m));
    let (mut low, mut high) = (guess - 0.5, guess + 0.5);
    let (mut at_low, mut at_high) = (miss(low), miss(high));
    while at_low < 0.0 {
        (low, at_low) = (low - 1.0, miss(low - 1.0));
    }
    while at_high > 0.0 {
        (high, at_high) = (high + 1.0, miss(high + 1.0));
    }
    1.0 + libm::exp(illinois(miss, (low, at_low), (high, at_high)))
}

/// `alpha - 1` of a continuous law or, if that is steep, of a law on `m` and `m + 1` only.
fn first_guess(mean_log: f64, m: f64) -> f64 {
    let gap = libm::log1p(1.0 / m);
    if 1.0 / mean_log < m { 1.0 / mean_log } else { (libm::log(gap / mean_log) / gap).max(m) }
}

/// The root of a decreasing function between two points, by the Illinois variant of false position.
fn illinois(f: impl Fn(f64) -> f64, mut low: (f64, f64), mut high: (f64, f64)) -> f64 {
    let mut last = 0.0;
    let mut next = low.0;
    for _ in 0..100 {
        let before = next;
        next = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        let value = f(next);
        if value == 0.0 || (next - before).abs() < 1e-14 {
            break;
        }
        // An end that is kept twice is weighted by half.
        let stays = if value * last > 0.0 { 0.5 } else { 1.0 };
        if value > 0.0 {
            (low, high.1) = ((next, value), stays * high.1);
        } else {
            (high, low.1) = ((next, value), stays * low.1);
        }
        last = value;
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // zeta(2) = pi^2/6, zeta(3), zeta(1.5), zeta(3, 10); -zeta'(2).
        assert!((sums(2.0, 1.0).0 - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
        assert!((sums(3.0, 1.0).0 - 1.202_056_903_159_594_2).abs() < 1e-15);
        assert!((sums(1.5, 1.0).0 - 2.612_375_348_685_488).abs() < 4e-15);
        assert!((sums(3.0, 10.0).0 - 5.524_917_485_401_034).abs() < 1e-14);
        assert!((sums(2.0, 1.0).1 - 0.937_548_254_315_843_7).abs() < 1e-14);
    }

    #[test]
    fn sums_follow_from_one_another() {
        for alpha in [1.01, 1.5, 2.5, 7.0, 60.0, 900.0] {
            for m in [1.0, 2.0, 17.0, 1e3, 1e7] {
                let (one, log_one) = sums(alpha, m);
                let (next, log_next) = sums(alpha, m + 1.0);
                let log = libm::log1p(1.0 / m);
                let factor = libm::exp(-alpha * log);
                assert!((one - (1.0 + factor * next)).abs() < 2e-13 * one, "{alpha} {m}");
                assert!((log_one - factor * (log_next + log * next)).abs() < 1e-12 * log_one, "{alpha} {m}");
            }
        }
    }

    #[test]
    fn the_exponent_is_where_the_mean_is() {
        for alpha in [1.05, 1.8, 2.5, 4.0, 30.0] {
            for m in [1.0, 3.0, 50.0, 1e5] {
                let (sum, logs) = sums(alpha, m);
                let found = exponent(logs / sum, m);
                assert!((found - alpha).abs() < 1e-10 * alpha, "{alpha} {m} {found}");
            }
        }
    }
}
