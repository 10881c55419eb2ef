//! Collective operations: as fast as the links allow, by any transport, and the same for any number of threads.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;

const HOSTS: u64 = 16;

fn run(transport: &str, size: u64, collective: &str, threads: usize) -> RunRecord {
    let switch = if transport == "ndp" { "trim" } else { "drop-tail" };
    let text = format!(
        "until = \"all flows done\"\nlimit = \"10 s\"\n\
         [topology]\nkind = \"fat-tree\"\nk = 4\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"{transport}\"\nmtu = \"1500 B\"\n[switch]\nkind = \"{switch}\"\n\
         [[traffic]]\nkind = \"collective\"\nsize = \"{size} B\"\n{collective}\n"
    );
    let scenario = compiled(&text, &[]);
    let record = simulate(&scenario, threads);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    assert!(record.flows.iter().all(|flow| flow.received.is_some()), "{text}");
    record
}

/// Time from the first start to the last end.
fn duration(record: &RunRecord) -> u64 {
    record.flows.iter().map(|flow| flow.received.unwrap().0).max().unwrap()
}

/// Least time in which a link carries `bytes`, headers left out.
fn line_time(bytes: u64) -> u64 {
    bytes * 800
}

#[test]
fn a_ring_takes_the_time_of_its_bytes_and_of_its_steps() {
    let size = 1_600_000;
    let record = run("ndp", size, "operation = \"all-reduce\"\nalgorithm = \"ring\"\nreaction = \"2 us\"", 1);
    let steps = 2 * (HOSTS - 1);
    assert_eq!(record.flows.len() as u64, HOSTS * steps);
    let bound = line_time(steps * size / HOSTS);
    // A packet has a header of 64 B, and an ACK and a PULL of 64 B share the link of the other direction. A step takes six links' delay
    // at most, the first packet at each of six links, and the reaction.
    let most = bound * 1692 / 1500 + steps * (6_000_000 + 5 * 1_251_200 + 2_000_000);
    let took = duration(&record);
    assert!((bound..most).contains(&took), "{took} ps, not {bound} to {most}");
}

#[test]
fn halving_and_doubling_has_fewer_steps_and_the_same_bytes() {
    let small = |algorithm| {
        let how = format!("operation = \"all-reduce\"\nalgorithm = \"{algorithm}\"\nreaction = \"20 us\"");
        duration(&run("ndp", 160_000, &how, 1))
    };
    // 8 steps for 30, of 20 us each.
    let (ring, halving) = (small("ring"), small("halving-doubling"));
    assert!(halving + 15 * 20_000_000 < ring, "{halving} and {ring} ps");
}

#[test]
fn any_operation_is_the_same_for_any_number_of_threads() {
    for (operation, algorithm) in
        [("all-reduce", "tree"), ("all-gather", "direct"), ("broadcast", "ring"), ("all-to-all", "pairwise")]
    {
        for transport in ["ndp", "tcp"] {
            let how = format!(
                "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nrepeat = 2\norder = \"random\""
            );
            let one = run(transport, 160_000, &how, 1);
            let other = run(transport, 160_000, &how, 4);
            assert_eq!(other.fingerprint, one.fingerprint, "{transport}, {how}");
            assert_eq!(other.flows, one.flows, "{transport}, {how}");
        }
    }
}
