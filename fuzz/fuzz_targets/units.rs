//! Arbitrary text is a quantity or is rejected; a quantity survives formatting and parsing unchanged.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos, QueueSize};

fn check<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse::<T>().ok(), Some(value)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|text: &str| {
    check::<Picos>(text);
    check::<Bytes>(text);
    check::<BitsPerSec>(text);
    check::<Packets>(text);
    check::<QueueSize>(text);
});
