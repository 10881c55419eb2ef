//! The two known causes of flows that never end, provoked.
//!
//! One: a header that finds no room is gone for good, and nothing but the sender's timeout can help. Two: a PULL
//! overtakes its NACK on another path, finds nothing to send, and its credit is thrown away.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;

/// Runs `text` to its end; everything must hold, and every flow must be acknowledged.
fn all_done(text: &str) -> RunRecord {
    let scenario = compiled(text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    assert!(
        record.flows.iter().all(|flow| flow.acknowledged.is_some() && flow.failed.is_none()),
        "{:?}",
        record.totals
    );
    record
}

fn last_received(record: &RunRecord) -> f64 {
    let last = record.flows.iter().filter_map(|flow| flow.received).max().unwrap();
    last.0 as f64 / 1e9
}

fn scenario(hosts: &str, transport: &str, switch: &str, traffic: &str) -> String {
    format!(
        "until = \"all flows done\"\nlimit = \"20 s\"\n[topology]\n{hosts}\n[transport]\nkind = \"ndp\"\n{transport}\n\
         [switch]\nkind = \"trim\"\n{switch}\n[[traffic]]\n{traffic}\n"
    )
}

#[test]
fn an_incast_of_431_ends_where_dropped_headers_are_final() {
    let record = all_done(&scenario(
        "kind = \"fat-tree\"\nk = 12",
        "initial_window = \"23 packets\"",
        "control_queue = \"8 packets\"\nreturn_to_sender = false",
        "kind = \"incast\"\nsize = \"90 kB\"",
    ));
    // The test would show nothing if no header had been lost: 431 x 10 packets meet one port.
    assert!(
        record.totals.packets.data_dropped > 1000 && record.totals.timeouts > 1000,
        "{:?}",
        record.totals
    );
    assert_eq!(record.totals.packets.returned, 0);
    // 431 x 90 kB need 31.3 ms; recovery by timeouts alone, which back off to 64 ms, costs many times as much, but it ends.
    assert!(last_received(&record) < 4000.0, "{} ms", last_received(&record));
}

#[test]
fn the_same_incast_with_return_to_sender_drops_no_header() {
    let record = all_done(&scenario(
        "kind = \"fat-tree\"\nk = 12",
        "initial_window = \"23 packets\"",
        "",
        "kind = \"incast\"\nsize = \"90 kB\"",
    ));
    assert_eq!(record.totals.packets.data_dropped, 0, "{:?}", record.totals);
    assert!((31.0..33.0).contains(&last_received(&record)), "{} ms", last_received(&record));
}

#[test]
fn flows_end_with_queues_of_two_to_four_packets() {
    for queue in 2..=4 {
        for seed in 1..=3 {
            let text = scenario(
                "kind = \"fat-tree\"\nk = 6",
                "initial_window = \"30 packets\"",
                &format!("data_queue = \"{queue} packets\""),
                "kind = \"permutation\"\nsize = \"900 kB\"",
            );
            let record = all_done(&format!("seed = {seed}\n{text}"));
            // Nothing is lost: neither timeouts nor anything else but kept credit may be needed.
            assert_eq!(record.totals.packets.dropped + record.totals.packets.lost, 0);
            assert!(record.totals.packets.trimmed > 100, "{:?}", record.totals);
            assert!(
                last_received(&record) < 10.0,
                "queue {queue}, seed {seed}: {} ms",
                last_received(&record)
            );
        }
    }
}

#[test]
fn flows_end_with_small_packets_and_a_window_of_60() {
    for seed in 1..=3 {
        let text = scenario(
            "kind = \"fat-tree\"\nk = 6",
            "mtu = \"1500 B\"\ninitial_window = \"60 packets\"",
            "",
            "kind = \"random\"\nflows_per_host = 2\nsize = \"600 kB\"",
        );
        let record = all_done(&format!("seed = {seed}\n{text}"));
        assert_eq!(record.totals.packets.dropped + record.totals.packets.lost, 0);
        assert!(record.totals.packets.trimmed > 100, "{:?}", record.totals);
        assert!(last_received(&record) < 10.0, "seed {seed}: {} ms", last_received(&record));
    }
}

#[test]
fn flows_end_where_both_causes_meet() {
    let record = all_done(&scenario(
        "kind = \"fat-tree\"\nk = 6",
        "mtu = \"1500 B\"\ninitial_window = \"60 packets\"",
        "data_queue = \"2 packets\"\ncontrol_queue = \"2 packets\"\nreturn_to_sender = false",
        "kind = \"random\"\nsize = \"60 kB\"\nflows_per_host = 2",
    ));
    assert!(record.totals.packets.data_dropped > 0, "{:?}", record.totals);
}

#[test]
fn a_last_pull_that_is_lost_is_asked_for() {
    // Every second packet is lost, pulls among them: short flows end although their last pull is never covered.
    let text = scenario(
        "kind = \"star\"\nhosts = 4",
        "initial_window = \"2 packets\"",
        "",
        "kind = \"all-to-all\"\nsize = \"45 kB\"",
    );
    all_done(&format!("{text}\n[[fault]]\nplace = \"all links\"\nloss = 0.3\n"));
}

#[test]
fn a_flow_whose_data_has_arrived_is_complete_though_its_sender_gave_up() {
    let text = scenario(
        "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8",
        "timeout = \"200 us\"\ngive_up = \"5 ms\"",
        "",
        "kind = \"permutation\"\nsize = \"90 kB\"\n[[fault]]\nplace = \"all links\"\nloss = 0.4",
    );
    let scenario = compiled(&text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    let unheard = record.flows.iter().filter(|flow| flow.received.is_some() && flow.acknowledged.is_none());
    assert!(unheard.count() > 0, "the set-up provokes senders that give up after the last packet arrived");
}

#[test]
fn a_flow_that_its_receiver_has_forgotten_fails() {
    // The shorter flow has the link of their host for 5 ms. By then the receiver of the longer one has given that up and forgotten
    // it, and takes the rest for a flow of its own. Every packet is acknowledged, and half of the data is lost.
    let text = "until = \"all flows done\"\nlimit = \"1 s\"\n\
         [topology]\nkind = \"star\"\nhosts = 4\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n\
         [transport]\nkind = \"pfabric\"\ngive_up = \"1 ms\"\ntime_wait = \"10 us\"\n[switch]\nkind = \"pfabric\"\n\
         [[traffic]]\nkind = \"incast\"\nfrom = 1\nto = 2\nsize = \"12 MB\"\n\
         [[traffic]]\nkind = \"incast\"\nfrom = 1\nto = 3\nsize = \"6 MB\"\nstart = \"1 ms\"\n";
    let record = simulate(&compiled(text, &[]), 1);
    let [long, short] = &record.flows[..] else { panic!("{:?}", record.flows) };
    assert!(short.received.is_some() && short.failed.is_none());
    assert!(long.received.is_none() && long.acknowledged.is_none());
    assert!(long.failed.is_some_and(|reason| reason.contains("forgotten")), "{:?}", long.failed);
}
