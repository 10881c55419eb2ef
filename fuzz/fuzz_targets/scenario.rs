//! Arbitrary text with arbitrary overrides is a scenario or a list of errors, each of one line.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use pullnet_fuzz::edit::edit;
use pullnet_fuzz::{files, modest, scenario_and_overrides};
use pullnet_scenario::compile;

fuzz_target!(|input: &str| {
    let (text, overrides) = scenario_and_overrides(input);
    if !modest(text, &overrides) {
        return;
    }
    match compile("fuzz.toml", text, &overrides, &files()) {
        Ok(scenario) => {
            // The resolved scenario in a result can be run again.
            let resolved = scenario.resolved.to_string();
            let again = compile("fuzz.toml", &resolved, &[], &files());
            assert!(again.is_ok(), "{:?}\n{resolved}", again.err());
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| assert!(!error.to_string().contains('\n'), "{error}"));
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    edit(data, size, max_size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
