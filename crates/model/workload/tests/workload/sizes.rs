//! Size distributions: both readings, the shipped ones, and what is refused.

use proptest::prelude::*;
use pullnet_rng::Seed;
use pullnet_workload::{Reading, SHIPPED, SizeDistribution};

fn parse(text: &str, reading: Reading) -> Result<SizeDistribution, String> {
    SizeDistribution::parse("x.csv", text.as_bytes(), reading).map_err(|e| e.to_string())
}

/// Largest distance between the sampled and the stated CDF, and the mean of the samples.
fn sampled(sizes: &SizeDistribution, seed: u64, count: usize) -> (f64, f64) {
    let mut chance = Seed(seed).stream("test", 0);
    let mut all: Vec<u64> = (0..count).map(|_| sizes.sample(&mut chance).0).collect();
    all.sort_unstable();
    let mean = all.iter().map(|size| *size as f64).sum::<f64>() / count as f64;
    let distance = (1..count).filter(|index| all[index - 1] != all[*index]).map(|index| {
        // All samples up to the previous one; sizes are rounded, so that the CDF is taken half a byte higher.
        let below =
            sizes.cdf(all[index - 1]).max((sizes.cdf(all[index - 1]) + sizes.cdf(all[index - 1] + 1)) / 2.0);
        (index as f64 / count as f64 - below).abs()
    });
    (distance.fold(0.0, f64::max), mean)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sampling_reproduces_cdf_and_mean(
        steps in prop::collection::vec((1u64..1_000_000, 1u32..100), 1..12),
        linear in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let total: u32 = steps.iter().map(|step| step.1).sum();
        let (mut size, mut share, mut text) = (10_000u64, 0u32, String::from("bytes,cdf\n"));
        for (more, part) in &steps {
            size += more;
            share += part;
            text += &format!("{size},{}\n", f64::from(share) / f64::from(total));
        }
        let reading = if linear { Reading::Linear } else { Reading::Steps };
        let sizes = parse(&text, reading).unwrap();
        let (distance, mean) = sampled(&sizes, seed, 20_000);
        // Kolmogorov: above 2.5 / sqrt(n) once in 130,000 tries; the half byte adds at most as much again.
        prop_assert!(distance < 3.0 / 20_000f64.sqrt(), "distance {distance} in\n{text}");
        let spread = (sizes.max().0 - 10_000) as f64;
        prop_assert!((mean - sizes.mean()).abs() < 6.0 * spread / 2.0 / 20_000f64.sqrt() + 1.0, "{mean} for {}", sizes.mean());
    }

    #[test]
    fn a_quantile_inverts_the_cdf(share in 0.0f64..1.0, index in 0usize..SHIPPED.len(), linear in any::<bool>()) {
        let reading = if linear { Reading::Linear } else { Reading::Steps };
        let sizes = SHIPPED[index].distribution(Some(reading));
        let size = sizes.quantile(share).0;
        prop_assert!(sizes.cdf(size + 1) >= share - 1e-9);
        prop_assert!(size < 2 || sizes.cdf(size - 2) <= share + 1e-9);
    }

    #[test]
    fn anything_is_parsed_or_refused(text in "(bytes,cdf\n)?([0-9.,e+\\-naif \n#]{0,80})", linear in any::<bool>(), share in 0.0f64..=1.0) {
        let reading = if linear { Reading::Linear } else { Reading::Steps };
        if let Ok(sizes) = parse(&text, reading) {
            prop_assert!(sizes.mean().is_finite() && sizes.mean() > 0.0);
            prop_assert!(sizes.quantile(share).0 >= 1);
        }
    }
}

#[test]
fn the_two_readings_have_the_means_of_their_sources() {
    let mean = |name: &str, reading| {
        SHIPPED.iter().find(|shipped| shipped.name == name).unwrap().distribution(reading).mean()
    };
    let near =
        |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 5e-4, "{value} is not {wanted}");
    near(mean("homa-w1", None), 189.173);
    near(mean("homa-w2", Some(Reading::Linear)), 424.1);
    near(mean("homa-w3", None), 2928.0);
    near(mean("homa-w4", None), 127_797.0);
    near(mean("homa-w4", Some(Reading::Linear)), 121_849.0);
    near(mean("homa-w5", None), 2_564_690.0);
    near(mean("homa-w5", Some(Reading::Linear)), 2_527_952.0);
    near(mean("web", None), 112_225.0);
    near(mean("web-search", None), 1_665_830.8);
    near(mean("data-mining", None), 7_470_236.0);
    near(mean("imc10", None), 195_357.1);
    near(mean("cache", None), 697_652.4);
    assert_eq!(mean("hadoop", None), mean("homa-w4", None));
}

#[test]
fn the_ten_web_sizes_are_equally_likely() {
    let web = SHIPPED.iter().find(|shipped| shipped.name == "web").unwrap().distribution(None);
    let sizes = [250, 500, 1000, 1500, 2000, 3000, 4000, 10_000, 100_000, 1_000_000];
    for (index, size) in sizes.into_iter().enumerate() {
        assert_eq!(web.quantile(index as f64 / 10.0 + 0.05).0, size);
    }
    let mut chance = Seed(1).stream("test", 0);
    let mut counts = [0u32; 10];
    for _ in 0..100_000 {
        let drawn = web.sample(&mut chance).0;
        counts[sizes.iter().position(|size| *size == drawn).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (9_400..10_600).contains(count)), "{counts:?}");
}

#[test]
fn refusals_name_line_value_and_remedy() {
    let refused = |text: &str| parse(text, Reading::Steps).unwrap_err();
    let table = [
        ("1,1\n", "x.csv:1: the header is \"1,1\"; the first line must be \"bytes,cdf\""),
        ("", "x.csv:1: there are no rows; add at least one, as \"1500,1\""),
        ("bytes,cdf\n", "x.csv:1: there are no rows; add at least one, as \"1500,1\""),
        (
            "bytes,cdf\n10,0.5\n20,0.4\n30,1\n",
            "x.csv:3: the cdf falls from 0.5 to 0.4; a cumulative share never falls",
        ),
        ("bytes,cdf\n10,0.5\n5,0.6\n", "x.csv:3: the size falls from 10 to 5; sort the rows by size"),
        ("bytes,cdf\n10,0.5\n20,0.9\n", "x.csv:3: the cdf ends at 0.9; the last row must be 1"),
        ("bytes,cdf\n-10,1\n", "x.csv:2: \"-10\" is no size; write a whole number of bytes below 2^63"),
        (
            "bytes,cdf\n9223372036854775808,1\n",
            "x.csv:2: \"9223372036854775808\" is no size; write a whole number of bytes below 2^63",
        ),
        ("bytes,cdf\n10,1.5\n", "x.csv:2: \"1.5\" is no cumulative share; write a number from 0 to 1"),
        ("bytes,cdf\n10,nan\n", "x.csv:2: \"nan\" is no cumulative share; write a number from 0 to 1"),
        (
            "bytes,cdf\n10\n",
            "x.csv:2: the row has 1 values; write a size and a cumulative share, as \"1500,0.25\"",
        ),
        (
            "bytes,cdf\n0,0.5\n10,1\n",
            "x.csv:3: a share of 0.5 of the flows would have 0 bytes; give the first size at least 1 byte, or its row the cdf 0",
        ),
    ];
    for (text, message) in table {
        assert_eq!(refused(text), message);
    }
    assert!(parse("# note\n\nbytes, cdf\r\n0,0\r\n10,1\r\n", Reading::Linear).is_ok());
}
