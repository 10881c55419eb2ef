//! SCDP over its switch: the same for any number of threads, and every flow completes under loss, incast and failed links.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;

/// A fat tree with one kind of traffic, and faults.
fn text(seed: u64, traffic: &str, faults: &str) -> String {
    format!(
        "seed = {seed}\nuntil = \"all flows done\"\nlimit = \"20 s\"\n\
         [topology]\nkind = \"fat-tree\"\nk = 4\nlink = {{ rate = \"1 Gbps\", delay = \"10 us\" }}\n\
         [transport]\nkind = \"scdp\"\n[switch]\nkind = \"scdp\"\n\
         [[traffic]]\n{traffic}\n{faults}\n"
    )
}

const PERMUTATION: &str = "kind = \"permutation\"\nsize = \"400 kB\"";
const INCAST: &str = "kind = \"incast\"\ndegree = 15\nsize = \"70 kB\"";

fn all_complete(record: &RunRecord, what: &str) {
    assert!(!record.flows.is_empty(), "{what}: no flows");
    for flow in &record.flows {
        assert!(flow.received.is_some() && flow.failed.is_none(), "{what}: {flow:?}");
        assert_eq!(Some(flow.delivered), flow.size, "{what}: {flow:?}");
    }
}

#[test]
fn runs_are_the_same_for_any_number_of_threads() {
    let lossy = "[[fault]]\nplace = \"all links\"\nloss = 0.05\n";
    for (traffic, faults) in [(PERMUTATION, ""), (INCAST, ""), (PERMUTATION, lossy)] {
        let scenario = compiled(&text(1, traffic, faults), &[]);
        let one = simulate(&scenario, 1);
        all_complete(&one, traffic);
        for threads in [2, 4] {
            let other = simulate(&scenario, threads);
            assert_eq!(other.fingerprint, one.fingerprint, "{traffic}, {faults}, {threads} threads");
            assert_eq!(other.flows, one.flows, "{traffic}, {faults}, {threads} threads");
        }
    }
}

#[test]
fn every_flow_completes_under_loss_and_failed_links() {
    let faults = [
        "",
        "[[fault]]\nplace = \"all links\"\nloss = 0.05\n",
        "[[fault]]\nplace = \"all links\"\nloss = 0.01\n",
        "[[fault]]\nplace = \"core 0 - agg 0\"\nfrom = \"1 ms\"\ndown = true\n",
    ];
    for fault in faults {
        for seed in 1..=5 {
            for traffic in [PERMUTATION, INCAST] {
                let scenario = compiled(&text(seed, traffic, fault), &[]);
                let record = simulate(&scenario, 1);
                all_complete(&record, fault);
                check::one_run(&scenario, &record)
                    .unwrap_or_else(|broken| panic!("{broken}; {traffic}, {fault}"));
            }
        }
    }
}

/// Nothing is lost on sound links: what switches do not carry in full they trim, and no symbol leaves twice.
#[test]
fn incast_trims_and_neither_drops_nor_times_out() {
    let record = simulate(&compiled(&text(1, INCAST, ""), &[]), 1);
    all_complete(&record, "incast");
    let trimmed: u64 = record.ports.iter().map(|port| port.trimmed).sum();
    let dropped: u64 = record.ports.iter().map(|port| port.dropped).sum();
    assert!(trimmed > 50 && dropped == 0, "{trimmed} trimmed, {dropped} dropped");
}
