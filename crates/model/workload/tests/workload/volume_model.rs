//! Guarantees of `volume-model`: in every interval just as many bytes as were drawn, and draws that follow the law.

use crate::common::{network, refusal_of, starts};
use proptest::prelude::*;
use pullnet_rng::Seed;
use pullnet_units::{BitsPerSec, HostId, Instant, Picos};
use pullnet_workload::{
    CheckedWorkload, FileName, FlowStart, Pairs, Sizes, TrafficSpec, VolumeModel, WorkloadSpec, parse_volumes,
};

const MS: Picos = Picos::from_millis(1);
const FAR: Instant = Instant(u64::MAX / 2);

fn law(mbps: u64, cv: f64) -> VolumeModel {
    let mean = BitsPerSec::new(mbps * 1_000_000);
    VolumeModel { mean, cv: Some(cv), timescale: Some(MS), ..VolumeModel::default() }
}

fn listed(scale: Option<f64>, timescale: Option<Picos>) -> VolumeModel {
    let file = Some(FileName("v.csv".to_string()));
    VolumeModel { file, scale, timescale, ..VolumeModel::default() }
}

fn spec(model: VolumeModel, sizes: Sizes, csv: &str) -> WorkloadSpec {
    WorkloadSpec::of([TrafficSpec::new(model).with_sizes(sizes)]).with_file("v.csv", csv)
}

fn flows(spec: &WorkloadSpec, seed: u64) -> Vec<FlowStart> {
    let mut out = Vec::new();
    CheckedWorkload::new(spec, &network(8), Seed(seed))
        .unwrap()
        .start(crate::common::SIGNAL)
        .starts_before(FAR, &mut out);
    out
}

/// Bytes offered in each of `count` intervals of `length`.
fn offered(starts: &[FlowStart], length: Picos, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; count];
    for start in starts {
        bytes[(start.at.0 / length.0) as usize] += start.size.unwrap().0;
    }
    bytes
}

proptest! {
    #[test]
    fn offered_is_drawn_to_the_byte(
        volumes in prop::collection::vec(0.0f64..1e6, 1..30), seed in any::<u64>(), size in 1u64..100_000
    ) {
        let csv = format!("bytes\n1\n{}", volumes.iter().map(|v| format!("{v}\n")).collect::<String>());
        let starts = flows(&spec(listed(None, Some(MS)), Sizes::fixed(size), &csv), seed);
        let found = offered(&starts, MS, volumes.len() + 1);
        // Up to any interval, the bytes offered are the bytes listed, rounded to whole bytes.
        let (mut listed, mut sum) = (1.0, found[0] as f64);
        for (volume, bytes) in volumes.iter().zip(&found[1..]) {
            listed += volume;
            sum += *bytes as f64;
            prop_assert!((listed - sum) > -1e-6 && (listed - sum) < 1.0 + 1e-6, "{listed} listed, {sum} offered");
        }
    }

    #[test]
    fn flows_have_the_stated_size_but_for_the_last_of_an_interval(seed in any::<u64>(), size in 1u64..50_000) {
        let model = VolumeModel { intervals: Some(20), ..law(800, 0.5) };
        let starts = flows(&spec(model, Sizes::fixed(size), ""), seed);
        let cut = starts.iter().filter(|start| start.size.unwrap().0 != size).count();
        prop_assert!(cut <= 20);
        prop_assert!(starts.iter().all(|start| start.size.unwrap().0 <= size && start.src != start.dst));
        prop_assert!(starts.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }

    #[test]
    fn time_is_stretched_at_the_same_rates(stretch in 1u64..20, scale in 1u64..20) {
        let csv = "trace,timescale_s,bin,start_s,bytes,packets,state\nx,0.001,0,0,1000,1,ok\nx,0.001,1,0,3000,,outage\n";
        let model = listed(Some(scale as f64), Some(Picos::from_millis(stretch)));
        let starts = flows(&spec(model, Sizes::fixed(500), csv), 1);
        let found = offered(&starts, Picos::from_millis(stretch), 2);
        prop_assert_eq!(found, [1000 * stretch * scale, 3000 * stretch * scale]);
    }
}

#[test]
fn the_volumes_follow_the_law() {
    // 4000 intervals: the Kolmogorov-Smirnov distance to the log-normal exceeds 1.95 / sqrt(4000) once in 1000 seeds.
    let (mean, cv, count) = (100_000.0f64, 0.4f64, 4000);
    let model = VolumeModel { intervals: Some(count), ..law(800, cv) };
    let starts = flows(&spec(model, Sizes::shipped("imc10"), ""), 5);
    let mut found = offered(&starts, MS, count as usize);
    found.sort_unstable();
    let sigma = (1.0 + cv * cv).ln().sqrt();
    let share = |bytes: f64| normal_cdf(((bytes / mean).ln() + sigma * sigma / 2.0) / sigma);
    let n = count as f64;
    let distance = (0..).zip(&found).map(|(rank, bytes)| {
        let model = share(*bytes as f64);
        (model - f64::from(rank) / n).abs().max((model - f64::from(rank + 1) / n).abs())
    });
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt(), "distance {distance}");
    let sum: u64 = found.iter().sum();
    assert!((sum as f64 / n / mean - 1.0).abs() < 4.0 * cv / n.sqrt(), "mean {}", sum as f64 / n);
}

/// Abramowitz and Stegun 7.1.26: off by at most 1.5e-7.
fn normal_cdf(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = poly.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let half = 0.5 * sum * (-x * x).exp();
    if z < 0.0 { half } else { 1.0 - half }
}

#[test]
fn arrivals_are_uniform_within_an_interval() {
    let model = VolumeModel { intervals: Some(200), ..law(4000, 0.2) };
    let starts = flows(&spec(model, Sizes::fixed(1000), ""), 3);
    let n = starts.len() as f64;
    let mut within: Vec<f64> = starts.iter().map(|s| (s.at.0 % MS.0) as f64 / MS.0 as f64).collect();
    within.sort_by(f64::total_cmp);
    let distance = (0..).zip(&within).map(|(rank, x)| (x - (f64::from(rank) + 0.5) / n).abs());
    assert!(distance.fold(0.0, f64::max) < 1.95 / n.sqrt());
    assert!(n > 90_000.0, "{n} flows");
}

#[test]
fn senders_and_receivers_are_those_selected() {
    let hosts = |text: &str| text.parse().unwrap();
    let model = VolumeModel { from: hosts("0..1"), to: hosts("7"), intervals: Some(30), ..law(800, 0.3) };
    let starts = flows(&spec(model, Sizes::fixed(1500), ""), 1);
    let from_first = starts.iter().filter(|start| start.src == HostId::new(0)).count() as f64;
    let n = starts.len() as f64;
    assert!((from_first - n / 2.0).abs() < 4.0 * (n / 4.0).sqrt());
    assert!(starts.iter().all(|start| start.src.get() < 2 && start.dst == HostId::new(7)));
    let fixed = VolumeModel { pairs: Pairs::Permutation, intervals: Some(30), ..law(800, 0.3) };
    let mut pairs = crate::common::pairs(&flows(&spec(fixed, Sizes::fixed(1500), ""), 1));
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 8);
}

#[test]
fn it_ends_where_stated_and_is_the_same_for_the_same_seed() {
    let block = |model: VolumeModel| TrafficSpec::new(model).with_sizes(Sizes::fixed(1500));
    let ms = |n: u64| Instant::ZERO.after(Picos::from_millis(n));
    let until = VolumeModel { until: Some(Picos(2_500_000_000)), ..law(800, 0.3) };
    let last = starts(block(until), 8, 1, ms(50)).last().unwrap().at;
    assert!(last < ms(2) && last > ms(1), "the third interval would end after it");
    let run = |seed| {
        starts(block(law(800, 0.3)), 8, seed, ms(5)).iter().map(|s| (s.at, s.size)).collect::<Vec<_>>()
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
}

#[test]
fn a_law_without_spread_is_constant() {
    let model = VolumeModel { intervals: Some(10), ..law(8, 0.0) };
    let starts = flows(&spec(model, Sizes::fixed(300), ""), 1);
    assert_eq!(offered(&starts, MS, 10), [1000; 10]);
}

#[test]
fn every_mistake_is_named_with_what_would_work() {
    let sizes = || Sizes::fixed(1500);
    let wrong = |model: VolumeModel| refusal_of(&spec(model, sizes(), "bytes\n5\n"), 8);
    let none = VolumeModel::default();
    assert_eq!(
        wrong(none.clone()),
        "traffic[0] (volume-model): mean is missing: state mean and cv (as \"4 Gbps\" and 0.3), or a file of volumes"
    );
    let both = VolumeModel { file: Some(FileName("v.csv".into())), ..law(8, 0.3) };
    assert!(
        wrong(both).contains("contradicts file, which has its own volumes; keep one of them, or use scale")
    );
    assert!(
        wrong(VolumeModel { cv: None, ..law(8, 0.3) })
            .contains("cv is missing: state the standard deviation")
    );
    assert!(
        wrong(VolumeModel { timescale: None, ..law(8, 0.3) })
            .contains("timescale is missing: state how long")
    );
    assert!(
        wrong(VolumeModel { scale: Some(2.0), ..law(8, 0.3) })
            .contains("has no effect on a law; change mean")
    );
    assert!(
        wrong(VolumeModel { cv: Some(0.3), ..listed(None, Some(MS)) })
            .contains("cv = \"0.3\" has no effect on a file")
    );
    assert!(wrong(listed(None, None)).contains("timescale is missing"));
    let slow = VolumeModel { timescale: Some(Picos::from_nanos(1)), ..law(1, 0.3) };
    assert!(wrong(slow).contains("makes 0.000125 bytes in an interval; use a longer one, or a larger mean"));
    let many = VolumeModel { timescale: Some(Picos::from_secs(1000)), ..law(800_000, 0.0) };
    assert!(wrong(many).contains("makes 6.667e10 flows in an interval; use shorter ones, or larger flows"));
    assert!(refusal_of(&spec(law(8, 0.3), Sizes::default(), ""), 8).contains("sizes is missing"));
}

#[test]
fn every_fault_of_a_list_names_its_line() {
    let fault = |csv: &str| parse_volumes("v.csv", csv.as_bytes()).unwrap_err().to_string();
    for (csv, wanted) in [
        ("", "v.csv:1: the column \"bytes\" is missing; it holds the volume of each interval"),
        (
            "bytes,octets\n1,2\n",
            "v.csv:1: the column \"octets\" is unknown; use bytes, and perhaps trace, timescale_s",
        ),
        ("bytes,bytes\n1,2\n", "v.csv:1: the column \"bytes\" is there twice; keep one"),
        ("bytes\n", "v.csv:1: there is no byte in any interval; add at least one row with a volume above 0"),
        ("bytes\n0\n0\n", "v.csv:1: there is no byte in any interval"),
        ("bytes\n1\n-2\n", "v.csv:3: bytes = \"-2\" is no volume; write a number from 0 to 9.2e18"),
        ("bytes\n1\nNaN\n", "v.csv:3: bytes = \"NaN\" is no volume"),
        ("bytes\n1e19\n", "v.csv:2: bytes = \"1e19\" is no volume"),
        (
            "bytes,state\n1,ok\n0,gap\n",
            "v.csv:3: nothing is known of this interval (state \"gap\"); fill it, or cut the list",
        ),
        ("bytes,trace\n1,a\n1,b\n", "v.csv:3: another trace begins here; keep one in the file"),
        ("bytes,timescale_s\n1,1\n1,5\n", "v.csv:3: another timescale begins here; keep one in the file"),
        (
            "bytes,timescale_s\n1,fast\n",
            "v.csv:2: timescale_s = \"fast\" is no length of an interval; write seconds from",
        ),
        ("bytes,state\n1\n", "v.csv:2: the row cannot be read: "),
    ] {
        assert!(fault(csv).starts_with(wanted), "{csv:?}: {}", fault(csv));
    }
    assert!(
        parse_volumes("v.csv", b"bytes\n\xff\n")
            .unwrap_err()
            .to_string()
            .contains("v.csv:2: the line is not UTF-8")
    );
}
