//! Outages and saturation in volumes.
//!
//! A trace is anomalous if many of its bins are near zero or at the capacity; the study of traffic volumes sorts its traces
//! by this. The study did so by eye; these rules are ours.
//!
//! **Outage.** A bin is *near zero* below 1% of the median. A run of such bins is an outage if fewer than one in a thousand
//! similar traces would contain it:
//! - with fewer than 10 runs of near-zero bins, by the other bins: n P(near zero) < 0.001, where P is that of a log-normal
//!   with the median and the median absolute deviation of the bins above;
//! - with more, by their lengths: R q^(L-1) < 0.001 for a run of length L among R, where q is such that a geometric law
//!   has the lengths' upper quartile, or, from 40 runs on, their 95th percentile if that gives more.
//!
//! Short silences of bursty traffic are therefore no outages, and neither is the off-time of a source that is usually off. A
//! trace whose median is zero has no outages.
//!
//! **Saturation.** With a capacity C, a bin is saturated from 98% of C T on, less one packet of 1514 B: preamble and gap
//! between frames take 1.6% at this size, and a packet on the border falls into one bin or the next. Without one, a
//! capacity is inferred if at least 2% of the bins, and ten of them, lie at the very top: Q99.9 - Q98 is at most 0.5% of
//! Q98 - Q5 or two packets, and that is less than a tenth of Q98 - Q5 (with fewer than 500 bins the quantile of the tenth
//! bin from the top stands for Q98). Bins from Q98 less two packets on are then saturated. A trace whose bins are all
//! alike is not judged: a full link and a steady source look the same.

use std::ops::Range;

/// Fewest bins required for a judgement.
const FEWEST: usize = 20;
/// Fewest bins that indicate a capacity.
const AT_CAPACITY: f64 = 10.0;
/// Threshold of near-zero bins, as a fraction of the median.
const NEAR_ZERO: f64 = 0.01;
/// Fraction of similar traces that may contain a run by chance.
const BY_CHANCE: f64 = 1e-3;
/// Number of runs from which their lengths are used as a sample.
const ENOUGH_RUNS: usize = 10;
/// Number of runs from which their 95th percentile is used.
const MANY_RUNS: usize = 40;
/// Standard deviations of a normal distribution per median absolute deviation.
const PER_MAD: f64 = 1.4826;
/// A full Ethernet packet as captures count it. Unit: bytes.
const PACKET: f64 = 1514.0;
/// Fraction of the capacity from which a link counts as full.
const FULL: f64 = 0.98;

/// States of a bin, as numbers for interchange.
pub mod state {
    /// An ordinary sample.
    pub const OK: u8 = 0;
    /// No data.
    pub const GAP: u8 = 1;
    /// Part of an outage.
    pub const OUTAGE: u8 = 2;
    /// At the capacity.
    pub const SATURATED: u8 = 3;
}

/// Marks outages and saturation in `states`; gaps stay gaps. `capacity` is in bytes per bin. Returns the given or inferred
/// capacity. Of slices with different lengths, the common part is judged.
pub fn mark(bytes: &[f64], states: &mut [u8], capacity: Option<f64>) -> Option<f64> {
    let count = bytes.len().min(states.len());
    let (bytes, states) = (&bytes[..count], &mut states[..count]);
    let mut known: Vec<f64> = bytes
        .iter()
        .zip(&*states)
        .filter(|(_, state)| **state != state::GAP)
        .map(|(bytes, _)| *bytes)
        .collect();
    known.sort_unstable_by(f64::total_cmp);
    let edge = saturation(&known, capacity);
    if let Some(edge) = &edge {
        set(bytes, states, state::SATURATED, |bytes| bytes >= edge.from);
    }
    for run in outages(bytes, states, &known) {
        states[run].fill(state::OUTAGE);
    }
    capacity.or(edge.map(|edge| edge.capacity))
}

fn set(bytes: &[f64], states: &mut [u8], to: u8, which: impl Fn(f64) -> bool) {
    for (bytes, state) in bytes.iter().zip(states) {
        if *state != state::GAP && which(*bytes) {
            *state = to;
        }
    }
}

/// The smallest value that at least a fraction `p` of `sorted` does not exceed.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let rank = libm::ceil(p * sorted.len() as f64) as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

struct Edge {
    from: f64,
    capacity: f64,
}

fn saturation(known: &[f64], capacity: Option<f64>) -> Option<Edge> {
    if let Some(capacity) = capacity {
        let from = FULL * capacity - PACKET;
        // If a bin holds only a few packets, one packet less does not indicate a full link.
        let from = if from > 0.5 * capacity { from } else { FULL * capacity };
        return Some(Edge { from, capacity });
    }
    let share = f64::max(0.02, AT_CAPACITY / known.len() as f64);
    if share > 0.25 {
        return None;
    }
    let (low, high, top) = (quantile(known, 0.05), quantile(known, 1.0 - share), quantile(known, 0.999));
    let spread = high - low;
    let allowed = (0.005 * spread).max(2.0 * PACKET);
    let piled_up = top - high <= allowed && allowed < 0.1 * spread;
    piled_up.then_some(Edge { from: high - 2.0 * PACKET.min(allowed / 2.0), capacity: top })
}

fn outages(bytes: &[f64], states: &[u8], known: &[f64]) -> Vec<Range<usize>> {
    if known.len() < FEWEST {
        return Vec::new();
    }
    let threshold = NEAR_ZERO * quantile(known, 0.5);
    if threshold <= 0.0 {
        return Vec::new();
    }
    let runs = runs(bytes, states, threshold);
    if runs.len() < ENOUGH_RUNS {
        let rare = known.len() as f64 * chance_near_zero(known, threshold) < BY_CHANCE;
        return if rare { runs } else { Vec::new() };
    }
    let stay = stay(&runs);
    let expected = |run: &Range<usize>| runs.len() as f64 * libm::pow(stay, (run.len() - 1) as f64);
    runs.iter().filter(|run| expected(run) < BY_CHANCE).cloned().collect()
}

/// Runs of bins below `threshold`; a gap ends a run.
fn runs(bytes: &[f64], states: &[u8], threshold: f64) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, (bytes, state)) in bytes.iter().zip(states).enumerate() {
        if *state == state::GAP || *bytes >= threshold {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// Probability of a near-zero bin under a log-normal with the median and the spread of the other bins.
fn chance_near_zero(known: &[f64], threshold: f64) -> f64 {
    let first = known.partition_point(|bytes| *bytes < threshold);
    let logs: Vec<f64> = known[first..].iter().map(|bytes| libm::log(*bytes)).collect();
    let middle = quantile(&logs, 0.5);
    let mut deviations: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let sigma = PER_MAD * quantile(&deviations, 0.5);
    if sigma <= 0.0 {
        return 0.0;
    }
    let z = (libm::log(threshold) - middle) / sigma;
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Probability that a near-zero bin is followed by another, estimated from runs that may include a few outages.
fn stay(runs: &[Range<usize>]) -> f64 {
    let mut lengths: Vec<f64> = runs.iter().map(|run| run.len() as f64).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let by = |p: f64| libm::pow(1.0 - p, 1.0 / quantile(&lengths, p));
    let quartile = by(0.75);
    if runs.len() < MANY_RUNS { quartile } else { quartile.max(by(0.95)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_rng_free::Noise;

    /// A generator without dependencies: a sum of twelve uniform numbers is nearly normal.
    mod pullnet_rng_free {
        pub struct Noise(pub u64);
        impl Noise {
            pub fn uniform(&mut self) -> f64 {
                self.0 ^= self.0 << 13;
                self.0 ^= self.0 >> 7;
                self.0 ^= self.0 << 17;
                (self.0 >> 11) as f64 / (1u64 << 53) as f64
            }
            pub fn normal(&mut self) -> f64 {
                (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
            }
        }
    }

    fn log_normal(count: usize, sigma: f64, seed: u64) -> Vec<f64> {
        let mut noise = Noise(seed | 1);
        (0..count).map(|_| 1e6 * (sigma * noise.normal()).exp()).collect()
    }

    fn marked(bytes: &[f64], capacity: Option<f64>) -> (Vec<u8>, Option<f64>) {
        let mut states = vec![state::OK; bytes.len()];
        let found = mark(bytes, &mut states, capacity);
        (states, found)
    }

    fn positions(states: &[u8], of: u8) -> Vec<usize> {
        (0..states.len()).filter(|index| states[*index] == of).collect()
    }

    #[test]
    fn plain_traffic_has_no_anomalies() {
        for (seed, sigma) in [(1, 0.05), (2, 0.3), (3, 0.8), (4, 1.5)] {
            let (states, capacity) = marked(&log_normal(5_000, sigma, seed), None);
            assert_eq!((states, capacity), (vec![state::OK; 5_000], None), "sigma {sigma}");
        }
        let mut noise = Noise(9);
        let uniform: Vec<f64> = (0..5_000).map(|_| 1e7 * noise.uniform()).collect();
        assert_eq!(marked(&uniform, None).0, vec![state::OK; 5_000]);
    }

    #[test]
    fn a_dead_link_is_an_outage_even_for_one_bin() {
        let mut bytes = log_normal(2_000, 0.3, 5);
        bytes[700..760].fill(0.0);
        bytes[1500] = 3.0;
        let expected: Vec<usize> = (700..760).chain([1500]).collect();
        assert_eq!(positions(&marked(&bytes, None).0, state::OUTAGE), expected);
    }

    #[test]
    fn short_silences_of_bursty_traffic_are_none_but_a_long_one_is() {
        let mut bytes = log_normal(10_000, 1.0, 6);
        let mut noise = Noise(77);
        for value in &mut bytes {
            if noise.uniform() < 0.2 {
                *value = 0.0;
            }
        }
        assert_eq!(positions(&marked(&bytes, None).0, state::OUTAGE), [0usize; 0]);
        bytes[4_000..4_060].fill(0.0);
        let found = positions(&marked(&bytes, None).0, state::OUTAGE);
        assert!(found.len() >= 60 && (4_000..4_060).all(|index| found.contains(&index)), "{found:?}");
        assert!(found.iter().all(|index| (3_980..4_080).contains(index)), "{found:?}");
    }

    #[test]
    fn off_times_of_a_source_that_is_mostly_off_or_off_as_a_rule_are_none() {
        let on_off: Vec<f64> = (0..2_000).map(|index| if index % 3 == 0 { 0.0 } else { 1e6 }).collect();
        assert_eq!(positions(&marked(&on_off, None).0, state::OUTAGE), [0usize; 0]);
        let idle: Vec<f64> = (0..2_000).map(|index| if index % 3 == 0 { 1e6 } else { 0.0 }).collect();
        assert_eq!(positions(&marked(&idle, None).0, state::OUTAGE), [0usize; 0]);
    }

    #[test]
    fn a_full_link_is_saturated_with_and_without_a_stated_capacity() {
        let full = 1.25e6;
        let bytes: Vec<f64> = log_normal(5_000, 0.5, 8).into_iter().map(|bytes| bytes.min(full)).collect();
        let (states, capacity) = marked(&bytes, None);
        let expected: Vec<usize> = (0..bytes.len()).filter(|index| bytes[*index] >= full - 3028.0).collect();
        assert!(expected.len() > 1_000);
        assert_eq!((positions(&states, state::SATURATED), capacity), (expected, Some(full)));
        let (states, capacity) = marked(&bytes, Some(1.25e6));
        assert_eq!(capacity, Some(1.25e6));
        let expected: Vec<usize> =
            (0..bytes.len()).filter(|index| bytes[*index] >= 1.225e6 - 1514.0).collect();
        assert_eq!(positions(&states, state::SATURATED), expected);
    }

    #[test]
    fn constant_short_and_empty_traces_are_not_judged() {
        let few: Vec<f64> =
            (0..35).map(|index| if index == 17 { 9e6 } else { f64::from(index + 1) * 1e4 }).collect();
        for bytes in [few, vec![1e6; 1_000], vec![0.0; 1_000], vec![1.0, 0.0, 5.0], vec![]] {
            assert_eq!(marked(&bytes, None), (vec![state::OK; bytes.len()], None));
        }
    }

    #[test]
    fn gaps_stay_and_end_runs() {
        let mut bytes = log_normal(500, 0.2, 4);
        bytes[100..110].fill(0.0);
        let mut states = vec![state::OK; 500];
        states[104..106].fill(state::GAP);
        mark(&bytes, &mut states, None);
        assert_eq!(positions(&states, state::GAP), [104, 105]);
        assert_eq!(positions(&states, state::OUTAGE), [100, 101, 102, 103, 106, 107, 108, 109]);
    }
}
