//! An arbitrary file is a flow list in CSV or is rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_workload::parse_flow_list;

fuzz_target!(|bytes: &[u8]| {
    match parse_flow_list("flows.csv", bytes) {
        Ok(script) => assert!(!script.flows.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
