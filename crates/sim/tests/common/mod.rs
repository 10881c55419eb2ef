//! Random small scenarios, and what must hold for every run of every one of them.
#![allow(dead_code, reason = "every test uses a part of it")]

pub mod check;
pub mod reference;
pub mod scenarios;

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_record::RunRecord;
use pullnet_scenario::{Scenario, compile};

/// Compiles `text` with `set`; a scenario of ours that is refused is a fault of the test.
pub fn compiled(text: &str, set: &[(&str, &str)]) -> Arc<Scenario> {
    let set: Vec<_> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let files = BTreeMap::<String, Vec<u8>>::new();
    let scenario = compile("test.toml", text, &set, &files);
    Arc::new(scenario.unwrap_or_else(|errors| {
        panic!("{}\n{text}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }))
}

/// Runs `scenario` to its end.
pub fn simulate(scenario: &Arc<Scenario>, threads: usize) -> RunRecord {
    let mut run = pullnet_sim::start(scenario, threads);
    while !run.advance(10_000).ended {}
    run.finish()
}

/// The scenario `text` with another end: after `duration`.
pub fn shortened(text: &str, duration: &str) -> String {
    let (top, rest) = text.split_at(text.find("\n[").unwrap_or(0));
    let ends = |line: &&str| ["until", "limit", "duration"].iter().any(|key| line.starts_with(key));
    let top: Vec<_> = top.lines().filter(|line| !ends(line)).collect();
    format!("duration = \"{duration}\"\n{}\n{rest}", top.join("\n"))
}
