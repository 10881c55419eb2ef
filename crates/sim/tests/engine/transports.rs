//! Several transports in one run: they share links and switches, and nothing else.

use std::sync::Arc;

use crate::common::check::{one_run, same};
use crate::common::{compiled, simulate};
use pullnet_record::RunRecord;
use pullnet_scenario::Scenario;

/// A fat tree of 16 hosts on which each of `transports` (settings beside name and kind) carries the traffic of a block.
fn mixed(transports: &[(&str, &str)], switch: &str, traffic: &str) -> Arc<Scenario> {
    let (mut tables, mut blocks) = (String::new(), String::new());
    for (number, (kind, settings)) in transports.iter().enumerate() {
        tables += &format!("[[transport]]\nname = \"t{number}\"\nkind = \"{kind}\"\n{settings}\n");
        blocks += &format!("[[traffic]]\n{traffic}\ntransport = \"t{number}\"\n");
    }
    let topology = "kind = \"fat-tree\"\nk = 4\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }";
    let text = format!("duration = \"2 ms\"\n[topology]\n{topology}\n{tables}[switch]\n{switch}\n{blocks}");
    compiled(&text, &[])
}

const PERMUTATION: &str = "kind = \"permutation\"\nsize = \"endless\"";

/// Payload that the flows of each transport delivered.
fn delivered(record: &RunRecord) -> [u64; 2] {
    [0, 1].map(|number| {
        let own = record.flows.iter().filter(|flow| flow.labels.transport == number);
        own.map(|flow| flow.delivered).sum()
    })
}

/// The same for 1, 2 and 4 threads; returns the record.
fn the_same_for_any_threads(scenario: &Arc<Scenario>) -> RunRecord {
    let record = simulate(scenario, 1);
    one_run(scenario, &record).unwrap();
    for threads in [2, 4] {
        same(&record, &simulate(scenario, threads)).unwrap_or_else(|e| panic!("{threads} threads: {e}"));
    }
    record
}

#[test]
fn ndp_and_tcp_share_a_network() {
    let transports = [("ndp", "class = 0"), ("tcp", "min_rto = \"1 ms\"\nclass = 1")];
    let record = the_same_for_any_threads(&mixed(&transports, "kind = \"split\"", PERMUTATION));
    assert_eq!(record.transports, ["t0", "t1"]);
    let [ndp, tcp] = delivered(&record);
    assert!(ndp > 1_000_000 && tcp > 1_000_000, "{ndp} and {tcp} bytes");
}

#[test]
fn dctcp_and_tcp_share_a_queue() {
    let transports = [("dctcp", "min_rto = \"1 ms\""), ("tcp", "min_rto = \"1 ms\"")];
    let switch = "kind = \"drop-tail\"\nmark_above = \"30 packets\"";
    let record = the_same_for_any_threads(&mixed(&transports, switch, PERMUTATION));
    let [dctcp, tcp] = delivered(&record);
    assert!(dctcp > 1_000_000 && tcp > 1_000_000, "{dctcp} and {tcp} bytes");
    assert!(record.totals.packets.marked > 0, "DCTCP's packets are marked");
}

#[test]
fn three_transports_share_a_network() {
    let transports = [("ndp", ""), ("tcp", ""), ("go-back-n", "timeout = \"1 ms\"")];
    the_same_for_any_threads(&mixed(&transports, "kind = \"trim\"", "kind = \"incast\"\nsize = \"90 kB\""));
}

/// Two hosts that each send one NDP flow and one go-back-N flow: each gets half of the link.
#[test]
fn transports_take_turns_at_the_link_of_a_host() {
    let text = "duration = \"5 ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n\
        [[transport]]\nkind = \"ndp\"\nmtu = \"1500 B\"\n\
        [[transport]]\nkind = \"go-back-n\"\nmtu = \"1500 B\"\nwindow = \"40 packets\"\n\
        [switch]\nkind = \"drop-tail\"\nqueue = \"1000 packets\"\n\
        [[traffic]]\nkind = \"incast\"\nsize = \"endless\"\nto = \"1\"\nfrom = \"0\"\ntransport = \"ndp\"\n\
        [[traffic]]\nkind = \"incast\"\nsize = \"endless\"\nto = \"2\"\nfrom = \"0\"\ntransport = \"go-back-n\"\n";
    let [ndp, other] = delivered(&simulate(&compiled(text, &[]), 1));
    let share = ndp as f64 / (ndp + other) as f64;
    assert!((share - 0.5).abs() < 0.01, "NDP has {share} of the link");
}

/// A list of one transport is the same as a table of it, and a class changes nothing where one transport has the switch for
/// itself but the path of its packets through the engine.
#[test]
fn a_list_of_one_is_one() {
    let network = "duration = \"1 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n";
    let rest = "[switch]\nkind = \"split\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"endless\"\n";
    let run = |transport: &str| simulate(&compiled(&format!("{network}{transport}\n{rest}"), &[]), 1);
    let table = run("[transport]\nkind = \"ndp\"");
    assert!(table.totals.packets.data_delivered > 1000);
    same(&table, &run("[[transport]]\nkind = \"ndp\"")).unwrap();
    // Class 0 is the class of packets without priority: here the engine drives the transport behind virtual calls.
    same(&table, &run("[transport]\nkind = \"ndp\"\nclass = 0")).unwrap();
}

/// Two HPCC flows into one host keep its link at 95 % and its queue short, and share it equally; without records they fill the
/// queue.
#[test]
fn hpcc_keeps_queues_short() {
    let run = |telemetry: bool| {
        let text = format!(
            "duration = \"5 ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nlink = {{ rate = \"100 Gbps\", delay = \"1 us\" }}\n\
             [transport]\nkind = \"hpcc\"\nbase_rtt = \"6 us\"\n\
             [switch]\nkind = \"drop-tail\"\nqueue = \"1000 packets\"\ntelemetry = {telemetry}\n\
             [[traffic]]\nkind = \"incast\"\nsize = \"endless\"\nto = \"2\"\ndegree = 2\n[probes]\nports = true\n"
        );
        let record = the_same_for_any_threads(&compiled(&text, &[]));
        let port = record.ports.iter().filter(|port| port.port.is_some()).max_by_key(|port| port.bytes);
        let port = port.expect("a switch port").clone();
        let long: u64 = port.occupancy.iter().skip(16).map(|time| time.0).sum();
        let shares = [0, 1].map(|flow| record.flows[flow].delivered as f64);
        (port.busy.as_secs_f64() / 5e-3, long as f64 / 5e9, shares)
    };
    let (busy, long, [one, other]) = run(true);
    assert!((0.93..0.97).contains(&busy), "the link is busy for {busy} of the time");
    assert!(long < 0.02, "more than 15 packets are held for {long} of the time");
    assert!((one / other - 1.0).abs() < 0.05, "{one} and {other} bytes");
    let (busy, long, _) = run(false);
    assert!(busy > 0.99 && long > 0.9, "{busy}, {long}");
}
