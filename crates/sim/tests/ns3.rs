//! The runs of an independent simulator, repeated: `ns3/README.md` says which, and what its rules are.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::simulate;
use pullnet_record::RunRecord;
use pullnet_scenario::{Scenario, compile};

/// A file of the reference, as it stands.
fn file(name: &str) -> String {
    let path = format!("{}/tests/ns3/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The other simulator cuts the time on the wire down to whole nanoseconds: 84 ns for 1051 B at 100 Gb/s. Links have the
/// rate at which that is exact.
fn topology(name: &str) -> Vec<u8> {
    let text = file(name).replace(" 100Gbps ", " 100095238095bps ").replace(" 400Gbps ", " 400380952380bps ");
    text.into_bytes()
}

/// `dcqcn`: what that simulator's script calls so. `dcqcn_paper`: what it calls so. `pfconly`: no rate control.
/// An ACK has 50 B, so that it takes 4 ns as its 60 B do there.
fn transport(control: &str) -> String {
    let own = match control {
        "pfconly" => return "kind = \"roce\"\nmtu = \"1003 B\"\nack = \"50 B\"".to_owned(),
        "dcqcn" => "alpha_interval = \"1 us\"\ncut_interval = \"4 us\"\nincrease_interval = \"300 us\"",
        _ => "alpha_interval = \"50 us\"\ncut_interval = \"50 us\"\nincrease_interval = \"55 us\"",
    };
    format!(
        "kind = \"dcqcn\"\nmtu = \"1003 B\"\nack = \"50 B\"\nnotification = \"ack\"\nreaction = \"timer\"\n{own}\n\
         byte_counter = \"0 B\"\nfast_recovery = 1\nadditive = \"20 Mbps\"\nhyper = \"200 Mbps\"\nmin_rate = \"1 Gbps\""
    )
}

/// Switches with `buffer` MiB, which mark if there is rate control.
fn switch(control: &str, buffer: u64) -> String {
    let marks = match control {
        "pfconly" => "",
        _ => "mark_low = \"400 kB\"\nmark_high = \"1600 kB\"\nmark_probability = 0.2\n",
    };
    format!(
        "kind = \"pfc\"\nbuffer = \"{} B\"\nreserve = \"4096 B\"\nheadroom = \"37500 B\"\nalpha = 0.125\n\
         resume_below = \"3072 B\"\nquanta = 0\n{marks}",
        buffer << 20
    )
}

struct Case<'a> {
    topology: &'a str,
    flows: &'a str,
    control: &'a str,
    buffer: u64,
    ends: &'a str,
}

impl Case<'_> {
    fn scenario(&self, seed: u64) -> Arc<Scenario> {
        let text = format!(
            "seed = {seed}\n{}\n[topology]\nkind = \"file\"\nfile = \"net.txt\"\n[transport]\n{}\n[switch]\n{}\n\
             [[traffic]]\nkind = \"matrix\"\nfile = \"flows\"\n",
            self.ends,
            transport(self.control),
            switch(self.control, self.buffer),
        );
        let files: BTreeMap<String, Vec<u8>> = [
            ("net.txt".to_owned(), topology(self.topology)),
            ("flows".to_owned(), file(self.flows).into_bytes()),
        ]
        .into();
        let compiled = compile("ns3.toml", &text, &[], &files);
        Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:#?}\n{text}")))
    }

    fn run(&self, seed: u64) -> RunRecord {
        simulate(&self.scenario(seed), 1)
    }
}

const DONE: &str = "until = \"all flows done\"\nlimit = \"100 ms\"";

/// Flow completion times in microseconds, shortest first.
fn fcts(record: &RunRecord) -> Vec<f64> {
    let mut all: Vec<f64> = record
        .flows
        .iter()
        .map(|flow| flow.acknowledged.expect("every flow completes").since(flow.start).0 as f64 / 1e6)
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

#[test]
#[ignore]
fn probe() {
    for (n, control, buffer) in [
        (8, "pfconly", 4),
        (8, "pfconly", 32),
        (8, "dcqcn", 4),
        (8, "dcqcn", 32),
        (8, "dcqcn_paper", 4),
        (8, "dcqcn_paper", 32),
        (32, "pfconly", 4),
        (32, "pfconly", 32),
        (32, "dcqcn", 4),
        (32, "dcqcn", 32),
    ] {
        let seeds = if control == "pfconly" { 1..2 } else { 1..11 };
        let mut rows = Vec::new();
        for seed in seeds {
            let (topology, flows) = (format!("b_star{}.txt", n + 1), format!("b_incast{n}.flows"));
            let case = Case { topology: &topology, flows: &flows, control, buffer, ends: DONE };
            let record = case.run(seed);
            let f = fcts(&record);
            let pauses: u64 = record.ports.iter().map(|port| port.pauses).sum();
            let paused: u64 = record.ports.iter().filter(|p| p.port.is_none()).map(|nic| nic.paused.0).sum();
            rows.push([
                f[0],
                f.iter().sum::<f64>() / f.len() as f64,
                f[f.len() - 1],
                record.totals.marked as f64,
                pauses as f64,
                paused as f64 / n as f64 / 1e6,
                record.ports.iter().map(|p| p.peak_data).max().unwrap() as f64 * 1.051,
                record.totals.dropped as f64,
            ]);
        }
        print!("{n} {control} {buffer}:");
        for c in 0..8 {
            let v: Vec<f64> = rows.iter().map(|r| r[c]).collect();
            let (lo, hi) =
                (v.iter().copied().fold(f64::MAX, f64::min), v.iter().copied().fold(0.0, f64::max));
            print!("  {:.3} [{:.3}-{:.3}]", v.iter().sum::<f64>() / v.len() as f64, lo, hi);
        }
        println!();
    }
}
