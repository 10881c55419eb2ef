//! Every pair of a protocol and a discipline keeps the promises of `invariants.rs`, equal fingerprints among them.
//!
//! Without more, one random scenario of each pair runs. `tools/fingerprints.sh` runs 200 of each in two builds and
//! compares their fingerprints: `PROPTEST_CASES` states how many, `FINGERPRINTS` a file for a line of each pair.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::check::everything;
use crate::common::scenarios::scenario_of;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};
use pullnet_protocols::{PROTOCOLS, ProtocolEntry};
use pullnet_qdisc::SWITCHES;

/// Protocols that the switch `scdp` serves; a scenario with another one is refused.
const OF_SCDP: [&str; 2] = ["scdp", "polyraptor"];

type Pair = (ProtocolEntry, &'static str);

fn pairs() -> Vec<Pair> {
    let all = PROTOCOLS.iter().flat_map(|protocol| SWITCHES.iter().map(|switch| (*protocol, switch.name)));
    all.filter(|(protocol, switch)| *switch != "scdp" || OF_SCDP.contains(&protocol.name)).collect()
}

/// The same scenarios every time: the pair's own seed.
fn config(number: usize) -> ProptestConfig {
    let stated = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { stated.cases } else { 1 };
    let rng_seed = RngSeed::Fixed(number as u64);
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 300, ..stated }
}

/// Runs the scenarios of a pair; returns their fingerprints in one line.
fn fingerprints(number: usize, (protocol, switch): Pair) -> Result<String, String> {
    let line = Mutex::new(format!("{} over {switch}:", protocol.name));
    let ran = TestRunner::new(config(number)).run(&scenario_of(protocol, switch), |text| {
        let found = everything(&text).map_err(TestCaseError::fail)?;
        *line.lock().unwrap() += &format!(" {found:016x}");
        Ok(())
    });
    ran.map_err(|error| match error {
        TestError::Fail(broken, text) => format!("{} over {switch}: {broken}\n{text}", protocol.name),
        TestError::Abort(why) => format!("{} over {switch}: {why}", protocol.name),
    })?;
    Ok(line.into_inner().unwrap())
}

#[test]
fn every_pair_keeps_every_promise() {
    let (pairs, next) = (pairs(), AtomicUsize::new(0));
    let found = Mutex::new(vec![Ok(String::new()); pairs.len()]);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = pairs.get(number) else { break };
            let line = fingerprints(number, *pair);
            found.lock().unwrap()[number] = line;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (lines, broken): (Vec<_>, Vec<_>) = found.into_inner().unwrap().into_iter().partition(Result::is_ok);
    let broken: Vec<_> = broken.into_iter().filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{} of {} pairs:\n{}", broken.len(), pairs.len(), broken.join("\n\n"));
    if let Some(file) = std::env::var_os("FINGERPRINTS") {
        let lines: Vec<_> = lines.into_iter().filter_map(Result::ok).collect();
        std::fs::write(&file, lines.join("\n") + "\n")
            .expect("FINGERPRINTS names a file that can be written");
    }
}
