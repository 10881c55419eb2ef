//! Invariants of every scenario: packets are conserved, no queue exceeds its capacity and no link its rate, no flow
//! beats the ideal, every flow ends once, and neither threads nor probes change anything.
//!
//! `PROPTEST_CASES=5000 PROPTEST_RNG_SEED=7 cargo test -p pullnet-sim --test engine invariants::random` looks further. A
//! scenario that fails is printed: keep it in `regressions/`, in its smallest form.

use std::fs;
use std::path::Path;

use crate::common::check::everything;
use crate::common::scenarios::any_scenario;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same scenarios every time, unless the environment says otherwise.
fn config() -> ProptestConfig {
    let stated = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { stated.cases } else { 100 };
    let rng_seed = if stated.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { stated.rng_seed };
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 300, ..stated }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_scenarios_keep_every_promise(text in any_scenario()) {
        if let Err(broken) = everything(&text) {
            return Err(TestCaseError::fail(format!("{broken}\n{text}")));
        }
    }
}

/// Scenarios that have failed once.
#[test]
fn scenarios_that_failed_once_keep_every_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
        let text = fs::read_to_string(file).unwrap();
        everything(&text).unwrap_or_else(|broken| panic!("{}: {broken}", file.display()));
    }
}
