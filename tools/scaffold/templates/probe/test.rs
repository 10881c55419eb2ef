//! The table stencil_name.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_record::RunRecord;
use pullnet_scenario::compile;

/// At the end some flows are prepared that have not begun.
const TEXT: &str = r#"duration = "300 us"
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
kind = "closed-loop"
think = "10 ms"
sizes = { fixed = "20 kB" }
[[traffic]]
kind = "closed-loop"
think = "10 us"
sizes = { fixed = "20 kB" }
"#;

fn run(probes: &str, threads: usize) -> RunRecord {
    let scenario = compile("stencil_name.toml", &format!("{TEXT}{probes}"), &[], &BTreeMap::new());
    let scenario = scenario.unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    });
    let mut run = pullnet_sim::start(&Arc::new(scenario), threads);
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
