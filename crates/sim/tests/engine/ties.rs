//! Simultaneous arrivals: no sender always finds the queue full.

use crate::common::{compiled, simulate};

/// `senders` hosts send at line rate to one host through a drop-tail port: 20,000 packets each, none of them twice.
fn losses(senders: u32, seed: u64) -> Vec<u32> {
    let hosts = senders + 1;
    let text = format!(
        "seed = {seed}\nduration = \"30 ms\"\n\
         [topology]\nkind = \"star\"\nhosts = {hosts}\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"go-back-n\"\nmtu = \"1500 B\"\nwindow = \"65535 packets\"\ntimeout = \"1 s\"\n\
         [switch]\nkind = \"drop-tail\"\nqueue = \"40 packets\"\n\
         [[traffic]]\nkind = \"incast\"\ndegree = {senders}\nsize = \"30 MB\"\n"
    );
    simulate(&compiled(&text, &[]), 1).flows.iter().map(|flow| flow.lost).collect()
}

#[test]
fn no_sender_takes_the_losses_of_equally_paced_ones() {
    for senders in [2, 3, 5, 8, 16] {
        for seed in 1..=10 {
            let lost = losses(senders, seed);
            let all: u32 = lost.iter().sum();
            assert!(lost.len() == senders as usize && all > 10_000, "{lost:?}");
            for share in lost.iter().map(|lost| f64::from(*lost) / f64::from(all)) {
                assert!((share - 1.0 / f64::from(senders)).abs() < 0.02, "seed {seed}: {lost:?} of {all}");
            }
        }
    }
}
