//! Any scenario of modest size that compiles also runs, for some windows, and leaves a record that adds up.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use pullnet_fuzz::edit::edit;
use pullnet_fuzz::{files, modest, scenario_and_overrides};
use pullnet_scenario::{Scenario, Stop, compile};

/// Windows that are worked off; about half a millisecond where links have a delay of 1 us.
const WINDOWS: u64 = 500;
/// Flows in all after which a run is broken off.
const FLOWS: u64 = 2000;

/// Intervals of a time series; each takes memory for every line, which the scenario asked for.
const INTERVALS: u64 = 1_000_000;

fn intervals(scenario: &Scenario) -> u64 {
    let (Stop::At(end) | Stop::FlowsDone { limit: end }) = scenario.stop;
    scenario.probes.series.map_or(0, |series| end.0 / series.interval.0.max(1))
}

fuzz_target!(|input: &str| {
    let (text, overrides) = scenario_and_overrides(input);
    if !modest(text, &overrides) {
        return;
    }
    let Ok(scenario) = compile("fuzz.toml", text, &overrides, &files()) else { return };
    if scenario.topology.hosts.len() > 64 || intervals(&scenario) > INTERVALS {
        return;
    }
    let mut run = pullnet_sim::start(&Arc::new(scenario), 1);
    for _ in 0..WINDOWS / 50 {
        let progress = run.advance(50);
        if progress.ended || progress.started > FLOWS {
            break;
        }
    }
    let totals = run.finish().totals;
    let accounted = totals.data_delivered + totals.headers_delivered + totals.headers_returned;
    assert_eq!(totals.data_sent, accounted + totals.data_dropped + totals.data_lost + totals.data_in_flight);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    edit(data, size, max_size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
