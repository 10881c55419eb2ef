//! An arbitrary file is a list of volumes in CSV or is rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_workload::parse_volumes;

fuzz_target!(|bytes: &[u8]| {
    match parse_volumes("volumes.csv", bytes) {
        Ok(list) => assert!(
            list.bytes.iter().all(|bytes| *bytes >= 0.0) && list.bytes.iter().any(|bytes| *bytes > 0.0)
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
