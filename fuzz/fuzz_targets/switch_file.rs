//! Arbitrary text is a switch file or a list of errors, each of one line; the kernel switch accepts it or explains why not.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use pullnet_fuzz::edit::edit;
use pullnet_fuzz::files;
use pullnet_switch::config::SwitchFile;

fuzz_target!(|text: &str| {
    match SwitchFile::read("fuzz.toml", text, &files()) {
        Ok(file) => {
            assert!(!file.ports.is_empty());
            let ports = file.ports.len() as u32;
            assert!(
                file.entries.iter().all(|(_, _, entry)| entry.ports.iter().all(|port| port.get() < ports))
            );
            if let Err(refused) = file.kernel() {
                assert!(!refused.is_empty());
            }
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
