//! Runs a scenario file without Python: `cargo run --release -p pullnet-sim --example drive -- FILE [threads] [set=value]...`
#![allow(clippy::disallowed_methods, reason = "a driver at the edge reads the clock")]

use std::sync::Arc;

use pullnet_scenario::{Disk, compile};

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a scenario file");
    let threads = args.next().map_or(1, |text| text.parse().expect("a number of threads"));
    let set: Vec<_> =
        args.filter_map(|arg| arg.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect();
    let text = std::fs::read_to_string(&file).expect("a readable file");
    let begin = std::time::Instant::now();
    let scenario = compile(&file, &text, &set, &Disk).unwrap_or_else(|errors| {
        errors.iter().for_each(|error| eprintln!("{error}"));
        std::process::exit(2)
    });
    let mut run = pullnet_sim::start(&Arc::new(scenario), threads);
    let ready = begin.elapsed();
    let begin = std::time::Instant::now();
    while !run.advance(1000).ended {}
    let time = begin.elapsed().as_secs_f64();
    let record = run.finish();
    let bytes: u64 = record.hosts.iter().map(|host| host.delivered_in_window).sum();
    let rate: u64 = record.hosts.iter().filter(|host| host.receives).map(|host| host.rate_bps).sum();
    let window = record.window.1.since(record.window.0).as_secs_f64();
    let done = record.flows.iter().filter(|flow| flow.received.is_some()).count();
    println!(
        "fingerprint {:016x}  simulated {}",
        record.fingerprint,
        pullnet_units::Picos(record.simulated.0)
    );
    println!("flows {} received {done} stuck {}", record.flows.len(), record.stuck.len());
    println!("utilisation {:.4}", bytes as f64 * 8.0 / window / rate as f64);
    println!("{:#?}", record.totals);
    let unexplained: u32 = record.flows.iter().map(|flow| flow.unexplained).sum();
    println!("unexplained timeouts {unexplained}");
    let last = record.flows.iter().filter_map(|flow| flow.received).max();
    println!("last received {last:?}");
    let mut ends: Vec<_> =
        record.flows.iter().filter_map(|flow| flow.received).map(|at| at.0 / 1_000_000).collect();
    ends.sort_unstable();
    let at = |share: usize| ends.get((ends.len().max(1) - 1) * share / 100);
    println!("completion us: {:?}", [0, 1, 5, 25, 50, 75, 95, 99, 100].map(at));
    let mut rates: Vec<_> = record.flows.iter().map(|flow| flow.delivered_in_window * 8 / 1000).collect();
    rates.sort_unstable();
    println!("slowest kbit in window {:?}", &rates[..rates.len().min(20)]);
    let hops = record.totals.packet_hops as f64;
    println!(
        "set-up {:.3} s, run {time:.3} s, {:.3} M packet-hops/s",
        ready.as_secs_f64(),
        hops / time / 1e6
    );
}
