//! A daemon survives whatever an application does: any bytes on the control socket, requests in any order, any values in
//! the memory that they share, at any time, also after the application has hung up. It goes on, keeps to its limits, and
//! has nothing left of the application in the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_daemon::{Deed, Hostile};

/// What is done: which deed, and three numbers.
type Step = (u8, u8, u16, u64);

fuzz_target!(|steps: Vec<(Step, Vec<u8>)>| {
    let mut hostile = Hostile::new();
    for (step, bytes) in steps.into_iter().take(300) {
        hostile.does(Deed::of(step, bytes));
    }
    hostile.end();
});
