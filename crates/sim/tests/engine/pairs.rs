//! Every pair of a protocol and a discipline keeps the promises of `invariants.rs`, equal fingerprints among them.
//!
//! Without more, one random scenario of each pair runs. `tools/fingerprints.sh` runs 200 of each in two builds and
//! compares their fingerprints: `PROPTEST_CASES` states how many, `FINGERPRINTS` a file to which each pair adds its line
//! when its scenarios have run. A pair whose line is there does not run again.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
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

fn name((protocol, switch): Pair) -> String {
    format!("{} over {switch}", protocol.name)
}

/// The pairs whose lines are whole in a file; a line that a run broke off has no end.
fn finished(file: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

/// Adds a line to a file, so that a run that is broken off leaves those of the pairs before.
fn keep(file: &Path, line: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened
        .and_then(|mut opened| opened.write_all(format!("{line}\n").as_bytes()))
        .expect("FINGERPRINTS names a file that can be written");
}

/// Runs the scenarios of a pair; returns their fingerprints in one line.
fn fingerprints(number: usize, pair: Pair) -> Result<String, String> {
    let (protocol, switch) = pair;
    let line = Mutex::new(format!("{}:", name(pair)));
    let ran = TestRunner::new(config(number)).run(&scenario_of(protocol, switch), |text| {
        let found = everything(&text).map_err(TestCaseError::fail)?;
        *line.lock().unwrap() += &format!(" {found:016x}");
        Ok(())
    });
    ran.map_err(|error| match error {
        TestError::Fail(broken, text) => format!("{}: {broken}\n{text}", name(pair)),
        TestError::Abort(why) => format!("{}: {why}", name(pair)),
    })?;
    Ok(line.into_inner().unwrap())
}

#[test]
fn every_pair_keeps_every_promise() {
    let kept = std::env::var_os("FINGERPRINTS").map(std::path::PathBuf::from);
    let done = kept.as_deref().map(finished).unwrap_or_default();
    let (pairs, next) = (pairs(), AtomicUsize::new(0));
    let broken = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = pairs.get(number) else { break };
            if done.contains(&name(*pair)) {
                continue;
            }
            match fingerprints(number, *pair) {
                Ok(line) => kept.iter().for_each(|file| keep(file, &line)),
                Err(why) => broken.lock().unwrap().push(why),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{} of {} pairs:\n{}", broken.len(), pairs.len(), broken.join("\n\n"));
}
