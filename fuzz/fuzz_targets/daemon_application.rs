//! A daemon survives any behaviour of an application: arbitrary bytes on the control socket, requests in any order, and
//! arbitrary values in the shared memory at any time, also after the application has disconnected. The daemon continues,
//! keeps its limits, and frees everything of the application in the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_daemon::{Action, Hostile};

/// One action: its kind, and three numbers.
type Step = (u8, u8, u16, u64);

fuzz_target!(|steps: Vec<(Step, Vec<u8>)>| {
    let mut hostile = Hostile::new();
    for (step, bytes) in steps.into_iter().take(300) {
        hostile.does(Action::of(step, bytes));
    }
    hostile.end();
});
