//! An arbitrary file is a connection matrix of htsim or is rejected, for each unit of its start times.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_workload::{Counts, MatrixOptions, OtherTriggers, StartUnit, parse_matrix};

fuzz_target!(|bytes: &[u8]| {
    let strict = MatrixOptions::default();
    let lenient =
        MatrixOptions { counts: Counts::Ignored, other_triggers: Some(OtherTriggers::OneShot), ..strict };
    let unit = |unit| MatrixOptions { start_unit: Some(unit), ..strict };
    for options in [strict, unit(StartUnit::Ps), unit(StartUnit::Us), lenient] {
        match parse_matrix("fuzz.cm", bytes, &options) {
            Ok(script) => {
                let triggers = script.triggers.len();
                let named = script.flows.iter().flat_map(|flow| [flow.when_sent, flow.when_received]);
                assert!(named.flatten().all(|trigger| trigger < triggers));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
