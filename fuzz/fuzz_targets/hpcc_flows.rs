//! An arbitrary file is a flow list of the HPCC simulations or is rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_workload::{Counts, parse_hpcc_flows};

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse_hpcc_flows("flow.txt", bytes, Counts::Met) {
        assert!(!error.to_string().is_empty());
    }
});
