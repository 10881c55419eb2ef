//! Any file is a connection matrix of htsim or is refused, whatever the unit of its start times.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_workload::{Counts, StartUnit, parse_matrix};

fuzz_target!(|bytes: &[u8]| {
    let units = [None, Some(StartUnit::Ps), Some(StartUnit::Us)];
    for (unit, counts) in units.into_iter().zip([Counts::Met, Counts::Met, Counts::Ignored]) {
        match parse_matrix("fuzz.cm", bytes, unit, counts) {
            Ok(script) => {
                let triggers = script.triggers.len();
                let named = script.flows.iter().flat_map(|flow| [flow.when_sent, flow.when_received]);
                assert!(named.flatten().all(|trigger| trigger < triggers));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
