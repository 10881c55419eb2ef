//! The table stencil_name.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_record::RunRecord;
use pullnet_scenario::compile;

const TEXT: &str = r#"until = "all flows done"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
[transport]
kind = "ndp"
[switch]
kind = "trim"
[[traffic]]
kind = "incast"
degree = 7
size = "90 kB"
"#;

fn run(probes: &str, threads: usize) -> RunRecord {
    let scenario = compile("stencil_name.toml", &format!("{TEXT}{probes}"), &[], &BTreeMap::new());
    let mut run = pullnet_sim::start(&Arc::new(scenario.expect("a valid scenario")), threads);
    while !run.advance(1000).ended {}
    run.finish()
}

const PROBE: &str = "[probes]\nstencil_name = true\n";

#[test]
fn rows_add_up_to_what_flows_delivered() {
    let record = run(PROBE, 1);
    for (number, flow) in record.flows.iter().enumerate() {
        let own = record.recorded.stencil_name().iter().filter(|row| row.flow.get() as usize == number);
        assert!(own.clone().all(|row| row.host == flow.dst && flow.start < row.at), "flow {number}");
        assert_eq!(own.map(|row| row.bytes).sum::<u64>(), flow.delivered, "flow {number}");
    }
    assert!(!record.recorded.stencil_name().is_empty());
}

#[test]
fn the_table_changes_nothing_and_does_not_depend_on_threads() {
    let (with, threads, without) = (run(PROBE, 1), run(PROBE, 2), run("", 1));
    assert_eq!(with.recorded, threads.recorded);
    assert_eq!(with.fingerprint, without.fingerprint);
}
