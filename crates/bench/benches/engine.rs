//! Packet-hops per second of whole runs: NDP permutations, everything on that a plain run needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use pullnet_scenario::{Scenario, compile};

/// A permutation on a fat tree of `k`-port switches with packets of `mtu` bytes payload.
fn permutation(k: u32, mtu: u32, duration: &str) -> Arc<Scenario> {
    let text = format!(
        r#"
        duration = "{duration}"
        topology = {{ kind = "fat-tree", k = {k}, link = {{ rate = "10 Gbps", delay = "1 us" }} }}
        transport = {{ kind = "ndp", mtu = "{mtu} B" }}
        switch = {{ kind = "trim" }}
        traffic = [{{ kind = "permutation", size = "endless" }}]
        "#
    );
    let files = BTreeMap::<String, Vec<u8>>::new();
    Arc::new(compile("permutation.toml", &text, &[], &files).expect("a correct scenario"))
}

/// Packet-hops of a whole run.
fn run(scenario: &Arc<Scenario>) -> u64 {
    let mut run = pullnet_sim::start(scenario, 1);
    loop {
        let progress = run.advance(1 << 16);
        if progress.ended {
            return progress.packet_hops;
        }
    }
}

fn permutations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("permutation");
    group.sample_size(10);
    for (name, k, mtu, duration) in [
        ("128 hosts, 9000 B", 8, 9000, "2 ms"),
        ("432 hosts, 9000 B", 12, 9000, "1 ms"),
        ("432 hosts, 1500 B", 12, 1500, "300 us"),
        ("1024 hosts, 9000 B", 16, 9000, "1 ms"),
    ] {
        let scenario = permutation(k, mtu, duration);
        group.throughput(Throughput::Elements(run(&scenario)));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| (), |()| run(&scenario), BatchSize::PerIteration)
        });
    }
    group.finish();
}

criterion_group!(benches, permutations);
criterion_main!(benches);
