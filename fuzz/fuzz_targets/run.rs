//! Any scenario of modest size that compiles also runs for some windows, and leaves a consistent record.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use pullnet_fuzz::edit::edit;
use pullnet_fuzz::{files, modest, scenario_and_overrides};
use pullnet_probes::{Per, Series};
use pullnet_scenario::{Scenario, Stop, compile};
use pullnet_units::Picos;

/// Windows to simulate; about half a millisecond if links have a delay of 1 us.
const WINDOWS: u64 = 500;
/// Number of flows after which a run is aborted.
const FLOWS: u64 = 2000;

/// Whether the scenario enables a time series with too many rows for memory. The scenario compiler rejects this only if the
/// length of the run is known in advance.
fn too_fine(scenario: &Scenario) -> bool {
    let (Stop::At(end) | Stop::FlowsDone { limit: end }) = scenario.stop;
    scenario.probes.series.is_some_and(|series| {
        let lines = match series.per {
            Per::Total => 1,
            Per::Host | Per::Tag => 64,
            Per::Flow => FLOWS,
        };
        series.rows(Picos(end.0), lines) > Series::MOST_ROWS
    })
}

fuzz_target!(|input: &str| {
    let (text, overrides) = scenario_and_overrides(input);
    if !modest(text, &overrides) {
        return;
    }
    let Ok(scenario) = compile("fuzz.toml", text, &overrides, &files()) else { return };
    if scenario.topology.hosts.len() > 64 || too_fine(&scenario) {
        return;
    }
    let mut run = pullnet_sim::start(&Arc::new(scenario), 1);
    for _ in 0..WINDOWS / 50 {
        let progress = run.advance(50);
        if progress.ended || progress.started > FLOWS {
            break;
        }
    }
    let packets = run.finish().totals.packets;
    let accounted = packets.data_delivered + packets.headers_delivered + packets.headers_returned;
    assert_eq!(packets.data_sent, accounted + packets.data_dropped + packets.data_lost + packets.in_flight);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    edit(data, size, max_size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
