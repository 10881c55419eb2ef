//! The runs of an independent simulator, repeated: `ns3/README.md` says which, and what its rules are.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::simulate;
use pullnet_record::{FlowRow, RunRecord};
use pullnet_scenario::{Scenario, compile};

/// A file of the reference, as it stands.
fn file(name: &str) -> String {
    let path = format!("{}/tests/ns3/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The other simulator cuts the time on the wire down to whole nanoseconds: 84 ns for 1051 B at 100 Gb/s, 21 ns at 400 Gb/s,
/// and 83 ns for the 1048 B of the fat tree. Links have the rate at which that is exact.
fn topology(name: &str, payload: u64) -> Vec<u8> {
    let nanos = (payload + 48) * 8 / 100;
    let rate = ((payload + 48) * 8 * 1_000_000_000).div_ceil(nanos);
    let slow = format!(" {rate}bps ");
    file(name).replace(" 100Gbps ", &slow).replace(" 400Gbps ", &format!(" {}bps ", 4 * rate)).into_bytes()
}

/// `dcqcn`: what that simulator's script calls so. `dcqcn_paper`: what it calls so. `pfconly`: no rate control. An ACK has
/// 50 B, so that it takes 4 ns as its 60 B do there.
fn transport(control: &str, payload: u64) -> String {
    let own = match control {
        "pfconly" => return format!("kind = \"roce\"\nmtu = \"{payload} B\"\nack = \"50 B\""),
        "dctcp" => {
            let window =
                "window = \"156000 B\"\nwindow_scales = true\nadditive = \"615 Mbps\"\nmin_rate = \"1 Gbps\"";
            return format!("kind = \"rdma-dctcp\"\nmtu = \"{payload} B\"\nack = \"50 B\"\n{window}");
        }
        "dcqcn" => "alpha_interval = \"1 us\"\ncut_interval = \"4 us\"\nincrease_interval = \"300 us\"",
        _ => "alpha_interval = \"50 us\"\ncut_interval = \"50 us\"\nincrease_interval = \"55 us\"",
    };
    format!(
        "kind = \"dcqcn\"\nmtu = \"{payload} B\"\nack = \"50 B\"\nnotification = \"ack\"\nreaction = \"timer\"\n{own}\n\
         byte_counter = \"0 B\"\nfast_recovery = 1\nadditive = \"20 Mbps\"\nhyper = \"200 Mbps\"\nmin_rate = \"1 Gbps\""
    )
}

/// Switches with `buffer` MiB, which mark if there is rate control.
fn switch(control: &str, buffer: u64) -> String {
    let marks = match control {
        "pfconly" => "",
        "dctcp" => "mark_low = \"300 kB\"\nmark_high = \"300 kB\"\n",
        _ => "mark_low = \"400 kB\"\nmark_high = \"1600 kB\"\nmark_probability = 0.2\n",
    };
    format!(
        "kind = \"pfc\"\nbuffer = \"{} B\"\nreserve = \"4096 B\"\nheadroom = \"37500 B\"\nalpha = 0.125\n\
         resume_below = \"3072 B\"\nquanta = 0\nreference_rate = \"100095238096 bps\"\n{marks}",
        buffer << 20
    )
}

/// A case of the reference.
struct Case<'a> {
    topology: &'a str,
    flows: &'a str,
    control: &'a str,
    buffer: u64,
    payload: u64,
    ends: &'a str,
}

const DONE: &str = "until = \"all flows done\"\nlimit = \"100 ms\"";

impl<'a> Case<'a> {
    /// Case (b): `senders` to one, 500 packets each.
    fn incast(senders: u32, control: &'a str, buffer: u64) -> Self {
        let (topology, flows) = match senders {
            8 => ("b_star9.txt", "b_incast8.flows"),
            _ => ("b_star33.txt", "b_incast32.flows"),
        };
        Self { topology, flows, control, buffer, payload: 1003, ends: DONE }
    }

    /// Case (c): an incast across two switches, and a flow to another host there.
    fn victim(control: &'a str) -> Self {
        let (topology, flows) = ("c1_two_switch.txt", "c1.flows");
        Self { topology, flows, control, buffer: 4, payload: 1003, ends: DONE }
    }

    fn scenario(&self, seed: u64) -> Arc<Scenario> {
        let text = format!(
            "seed = {seed}\n{}\n[topology]\nkind = \"file\"\nfile = \"net.txt\"\n[transport]\n{}\n[switch]\n{}\n\
             [[traffic]]\nkind = \"matrix\"\nfile = \"flows\"\n[probes]\nports = true\n",
            self.ends,
            transport(self.control, self.payload),
            switch(self.control, self.buffer),
        );
        let files: BTreeMap<String, Vec<u8>> = [
            ("net.txt".to_owned(), topology(self.topology, self.payload)),
            ("flows".to_owned(), file(self.flows).into_bytes()),
        ]
        .into();
        let compiled = compile("ns3.toml", &text, &[], &files);
        Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:#?}\n{text}")))
    }

    /// What is measured in runs with the seeds 1 to `seeds`.
    fn measured(&self, seeds: u64) -> Vec<Measured> {
        (1..=seeds).map(|seed| Measured::of(&simulate(&self.scenario(seed), 1))).collect()
    }
}

/// What the tables of the reference say of one run. Times in microseconds.
#[derive(Clone, Debug)]
struct Measured {
    /// Flow completion times, in the order of the file.
    flows: Vec<f64>,
    marks: f64,
    /// Pauses, without the frames that end them.
    pauses: f64,
    /// For how long each NIC was paused.
    nics: Vec<f64>,
    dropped: u64,
    /// Largest queue of a port, in packets, the one in service included.
    queue: u32,
}

impl Measured {
    fn of(record: &RunRecord) -> Self {
        let fct = |flow: &FlowRow| flow.acknowledged.expect("every flow completes").since(flow.start);
        let nics = record.ports.iter().filter(|port| port.port.is_none());
        Self {
            flows: record.flows.iter().map(|flow| fct(flow).as_micros_f64()).collect(),
            marks: record.totals.packets.marked as f64,
            // Each pause is taken back: nothing is paused at the end.
            pauses: record.ports.iter().map(|port| port.pauses).sum::<u64>() as f64 / 2.0,
            nics: nics.map(|nic| nic.paused.as_micros_f64()).collect(),
            dropped: record.totals.packets.dropped,
            queue: record.ports.iter().map(|port| port.peak_data).max().unwrap_or(0),
        }
    }

    /// The columns of the table of incasts, and their names.
    fn incast(&self) -> [f64; 6] {
        let flows = &self.flows;
        let first = flows.iter().copied().fold(f64::INFINITY, f64::min);
        let senders = flows.len() as f64;
        let paused: f64 = self.nics.iter().sum();
        let mean = flows.iter().sum::<f64>() / senders;
        [first, mean, flows.iter().copied().fold(0.0, f64::max), self.marks, self.pauses, paused / senders]
    }

    /// The columns of the table of victims: the victim's time, those of the incast, pauses, marks.
    fn victim(&self) -> [f64; 5] {
        // The victim is the first line of the file.
        let (victim, incast) = (self.flows[0], &self.flows[1..]);
        let mean = incast.iter().sum::<f64>() / 4.0;
        [victim, mean, incast.iter().copied().fold(0.0, f64::max), self.pauses, self.marks]
    }
}

/// The rows of a file of the reference in which `columns` have these values, and of each the numbers in `wanted`.
fn rows<const N: usize>(name: &str, columns: &[(&str, &str)], wanted: [&str; N]) -> Vec<[f64; N]> {
    let text = file(name);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head line");
    let place = |name: &str| head.iter().position(|column| *column == name).expect("a known column");
    let is_wanted = |line: &Vec<&str>| columns.iter().all(|(name, value)| line[place(name)] == *value);
    let number = |line: &[&str], name| line[place(name)].parse().expect("a number");
    lines.filter(is_wanted).map(|line| wanted.map(|name| number(&line, name))).collect()
}

/// A column of a table over several runs.
#[derive(Clone, Copy, Debug)]
struct Column {
    least: f64,
    mean: f64,
    most: f64,
    /// Standard error of the mean; 0 for a single run, which has no chance in it.
    error: f64,
}

impl Column {
    fn of(values: &[f64]) -> Self {
        let runs = values.len() as f64;
        let mean = values.iter().sum::<f64>() / runs;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = if values.len() > 1 { (squares / (runs - 1.0) / runs).sqrt() } else { 0.0 };
        let [least, most] = [f64::min, f64::max]
            .map(|which: fn(f64, f64) -> f64| values.iter().copied().reduce(which).unwrap());
        Self { least, mean, most, error }
    }

    /// Whether the means of two columns differ by no more than chance explains: three standard errors.
    fn agrees(&self, other: &Self) -> bool {
        (self.mean - other.mean).abs() <= 3.0 * self.error.hypot(other.error)
    }
}

/// The columns of a table.
fn spread<const N: usize>(rows: &[[f64; N]]) -> [Column; N] {
    std::array::from_fn(|column| Column::of(&rows.iter().map(|row| row[column]).collect::<Vec<_>>()))
}

/// The table of incasts of the reference, in microseconds, and ours.
fn incasts(senders: u32, control: &str, buffer: u64, seeds: u64) -> [[Column; 6]; 2] {
    let (incast, mib) = (senders.to_string(), buffer.to_string());
    let columns = [("incast", incast.as_str()), ("cc", control), ("buffer_MiB", mib.as_str())];
    let wanted =
        ["fct_min_ns", "fct_mean_ns", "fct_last_ns", "ecn_marks", "pause_frames", "mean_paused_ns_per_host"];
    let theirs: Vec<_> = rows("b_summary.csv", &columns, wanted)
        .into_iter()
        .map(|[first, mean, last, marks, pauses, paused]| {
            [first / 1e3, mean / 1e3, last / 1e3, marks, pauses, paused / 1e3]
        })
        .collect();
    let runs = Case::incast(senders, control, buffer).measured(seeds);
    assert!(runs.iter().all(|run| run.dropped == 0));
    [spread(&theirs), spread(&runs.iter().map(Measured::incast).collect::<Vec<_>>())]
}

fn victims(control: &str, seeds: u64) -> [[Column; 5]; 2] {
    let wanted = ["victimA_fct_ns", "incast_fct_mean_ns", "incast_fct_max_ns", "pause_frames", "ecn_marks"];
    let theirs: Vec<_> = rows("c_summary.csv", &[("case", "c1"), ("cc", control)], wanted)
        .into_iter()
        .map(|[victim, mean, last, pauses, marks]| [victim / 1e3, mean / 1e3, last / 1e3, pauses, marks])
        .collect();
    let runs = Case::victim(control).measured(seeds);
    assert!(runs.iter().all(|run| run.dropped == 0));
    [spread(&theirs), spread(&runs.iter().map(Measured::victim).collect::<Vec<_>>())]
}

fn print<const N: usize>(what: &str, names: [&str; N], [theirs, ours]: [[Column; N]; 2]) {
    println!("{what}");
    for (name, columns) in names.iter().zip(theirs.into_iter().zip(ours)) {
        let [theirs, ours] = [columns.0, columns.1]
            .map(|Column { least, mean, most, .. }| format!("{mean:.2} [{least:.2}-{most:.2}]"));
        println!("  {name:12} ns-3 {theirs:28} pullnet {ours}");
    }
}

const INCAST: [&str; 6] = ["first us", "mean us", "last us", "marks", "pauses", "paused us"];
const VICTIM: [&str; 5] = ["victim us", "incast mean", "incast last", "pauses", "marks"];

/// Flow completion times in whole nanoseconds, shortest first.
fn nanos(run: &Measured) -> Vec<u64> {
    let mut nanos: Vec<u64> = run.flows.iter().map(|micros| (micros * 1e3).round() as u64).collect();
    nanos.sort_unstable();
    nanos
}

#[test]
fn without_pauses_every_flow_of_an_incast_ends_at_the_same_nanosecond() {
    for (senders, queue) in [(8, 3_679_551), (32, 16_291_551)] {
        let incast = senders.to_string();
        let columns = [("incast", incast.as_str()), ("cc", "pfconly"), ("buffer_MiB", "32")];
        let mut theirs: Vec<u64> =
            rows("b_fct.csv", &columns, ["fct_ns"]).into_iter().map(|[nanos]| nanos as u64).collect();
        theirs.sort_unstable();
        let run = &Case::incast(senders, "pfconly", 32).measured(1)[0];
        assert_eq!(nanos(run), theirs);
        assert_eq!(run.pauses, 0.0);
        // The same largest queue; ours counts the packet in service, too.
        assert_eq!(run.queue, queue / 1051);
    }
}

#[test]
fn pauses_alone_stretch_an_incast_as_there() {
    let [theirs, ours] = incasts(8, "pfconly", 4, 10);
    let [_, mean, last, _, pauses, paused] = ours;
    assert!((last.mean - theirs[2].mean).abs() < 0.001 && last.least == last.most, "{last:?}");
    assert_eq!([pauses.least, pauses.most], [theirs[4].mean; 2]);
    assert!((paused.mean - theirs[5].mean).abs() < 0.1, "{paused:?}");
    // Senders whose packets arrive at the same instant take turns by chance here, in a fixed order there.
    assert!((mean.mean - theirs[1].mean).abs() < 1.0, "{mean:?}");
    let [theirs, ours] = incasts(32, "pfconly", 4, 10);
    let [_, mean, last, _, pauses, paused] = ours;
    assert!((last.mean - theirs[2].mean).abs() < 0.001 && last.least == last.most, "{last:?}");
    assert!((mean.mean / theirs[1].mean - 1.0).abs() < 0.005, "{mean:?}");
    assert!((pauses.mean / theirs[4].mean - 1.0).abs() < 0.06, "{pauses:?}");
    assert!((paused.mean / theirs[5].mean - 1.0).abs() < 0.03, "{paused:?}");
}

#[test]
fn pauses_alone_hit_a_victim_as_there() {
    let [theirs, ours] = victims("pfconly", 10);
    let [victim, _, last, pauses, _] = ours;
    assert!(victim.least <= theirs[0].mean && theirs[0].mean <= victim.most, "{victim:?}");
    assert!((victim.mean - theirs[0].mean).abs() < 1.0, "{victim:?}");
    assert!((last.mean - theirs[2].mean).abs() < 0.001 && last.least == last.most, "{last:?}");
    assert!(pauses.least <= theirs[3].mean && theirs[3].mean <= pauses.most, "{pauses:?}");
}

#[test]
fn dcqcn_agrees_within_the_spread_of_runs() {
    for (senders, control, buffer) in
        [(8, "dcqcn", 4), (8, "dcqcn", 32), (8, "dcqcn_paper", 32), (32, "dcqcn", 4), (32, "dcqcn", 32)]
    {
        let [theirs, ours] = incasts(senders, control, buffer, 10);
        for (name, (theirs, ours)) in INCAST.iter().zip(theirs.iter().zip(&ours)) {
            let exact = (theirs.mean - ours.mean).abs() < 0.001;
            let at = format!("incast of {senders}, {control}, {buffer} MiB, {name}: {theirs:?} {ours:?}");
            assert!(exact || theirs.agrees(ours), "{at}");
        }
    }
}

#[test]
fn dcqcn_that_is_mostly_paused_agrees_but_for_the_order_of_simultaneous_arrivals() {
    let [theirs, ours] = incasts(8, "dcqcn_paper", 4, 10);
    for column in 0..4 {
        let exact = (theirs[column].mean - ours[column].mean).abs() < 0.001;
        assert!(exact || theirs[column].agrees(&ours[column]), "{}", INCAST[column]);
    }
    for column in 4..6 {
        let ratio = ours[column].mean / theirs[column].mean;
        assert!((ratio - 1.0).abs() < 0.04, "{}: {ratio}", INCAST[column]);
    }
}

#[test]
fn dcqcn_spares_a_victim_as_there() {
    for control in ["dcqcn", "dcqcn_paper"] {
        let [theirs, ours] = victims(control, 10);
        for (name, (theirs, ours)) in VICTIM.iter().zip(theirs.iter().zip(&ours)) {
            assert!(theirs.agrees(ours), "{control}, {name}: {theirs:?} {ours:?}");
        }
    }
}

#[test]
#[ignore = "prints the tables: cargo test -p pullnet-sim --test engine ns3::tables -- --ignored --nocapture"]
fn tables() {
    for senders in [8, 32] {
        for control in ["pfconly", "dcqcn", "dcqcn_paper"] {
            for buffer in [4, 32].into_iter().filter(|_| senders == 8 || control != "dcqcn_paper") {
                let what = format!("incast of {senders}, {control}, {buffer} MiB");
                print(&what, INCAST, incasts(senders, control, buffer, 10));
            }
        }
    }
    for control in ["pfconly", "dcqcn", "dcqcn_paper"] {
        print(&format!("victim, {control}"), VICTIM, victims(control, 10));
    }
}

/// Slowdown by size class of the fat tree of case (d): median, 95th and 99th percentile, mean.
fn websearch(control: &str, seed: u64) -> Vec<[f64; 5]> {
    let (topology, flows) = ("d_fat8.txt", "d_ws_fat8_l04_5k.flows");
    let case = Case { topology, flows, control, buffer: 32, payload: 1000, ends: DONE };
    let record = simulate(&case.scenario(seed), 2);
    assert_eq!((record.totals.packets.dropped, record.totals.packets.retransmitted), (0, 0));
    let mut slowdowns: Vec<(u64, f64)> = record
        .flows
        .iter()
        .map(|flow| {
            let (size, took) = (flow.size.unwrap(), flow.acknowledged.expect("an end").since(flow.start));
            (size, took.0 as f64 / 1e3 / standalone(flow))
        })
        .collect();
    slowdowns.sort_by(|one, other| one.1.total_cmp(&other.1));
    let sizes = [0, 10_000, 30_000, 100_000, 1_000_000, 10_000_000, 30_000_001];
    let class = |low: u64, high: u64| {
        let of_class: Vec<f64> =
            slowdowns.iter().filter(|(size, _)| (low..high).contains(size)).map(|(_, slow)| *slow).collect();
        let at = |share: f64| of_class[((of_class.len() - 1) as f64 * share).round() as usize];
        let mean = of_class.iter().sum::<f64>() / of_class.len() as f64;
        [of_class.len() as f64, at(0.5), at(0.95), at(0.99), mean]
    };
    let classes = sizes.windows(2).map(|ends| class(ends[0], ends[1]));
    classes.chain([class(0, u64::MAX)]).collect()
}

/// What the reference divides the time of a flow by, nanoseconds: propagation there and back, and the payload on every link
/// at 100 Gb/s, and the packets once.
fn standalone(flow: &FlowRow) -> f64 {
    let (src, dst, size) = (flow.src.get(), flow.dst.get(), flow.size.unwrap() as f64);
    // Eight ports: four hosts at each edge switch, sixteen in each pod.
    let links = if src / 4 == dst / 4 {
        2.0
    } else if src / 16 == dst / 16 {
        4.0
    } else {
        6.0
    };
    let packets = (size / 1000.0).ceil();
    2.0 * links * 1000.0 + links * size.min(1000.0) * 0.08 + (size + 48.0 * packets) * 0.08
}

#[test]
#[ignore = "minutes: cargo test --release -p pullnet-sim --test engine ns3::websearch_on_a_fat_tree -- --ignored --nocapture"]
fn websearch_on_a_fat_tree() {
    for control in ["dcqcn", "dctcp"] {
        println!("{control}: flows, p50, p95, p99, mean");
        let wanted = ["flows", "p50", "p95", "p99", "mean"];
        let theirs = rows("d_slowdown_d8_5k.csv", &[("cc", control)], wanted);
        for (theirs, ours) in theirs.into_iter().zip(websearch(control, 1)) {
            println!("  ns-3 {theirs:8.2?}  pullnet {ours:8.2?}");
        }
    }
}

/// Case (a): two flows on one bottleneck, the second 20 ms after the first. Goodput of each from 100 to 200 ms in Gb/s, and
/// packets marked.
fn two_flows(control: &str, seed: u64) -> [f64; 3] {
    let ends = "duration = \"200 ms\"\nmeasure = { from = \"100 ms\" }";
    let (topology, flows) = ("a_star3.txt", "a_two.flows");
    let case = Case { topology, flows, control, buffer: 32, payload: 1003, ends };
    let record = simulate(&case.scenario(seed), 1);
    let rate = |flow: usize| record.flows[flow].delivered_in_window as f64 * 8.0 / 1e8;
    [rate(0), rate(1), record.totals.packets.marked as f64]
}

#[test]
#[ignore = "a minute: cargo test -p pullnet-sim --test engine ns3::two_flows_share_a_link -- --ignored --nocapture"]
fn two_flows_share_a_link() {
    for control in ["dcqcn", "dcqcn_paper"] {
        let wanted = ["goodput0_100_200ms", "goodput1_100_200ms", "ecn_marks"];
        let theirs = rows("a_summary.csv", &[("cc", control)], wanted);
        let ours: Vec<_> = (1..=5).map(|seed| two_flows(control, seed)).collect();
        print(control, ["first Gb/s", "second Gb/s", "marks"], [spread(&theirs), spread(&ours)]);
    }
}
