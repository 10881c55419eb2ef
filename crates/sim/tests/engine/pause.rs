//! Lossless switches: what a pause does to the links, hosts and flows that it reaches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{compiled, simulate};
use pullnet_record::{PortRow, RunRecord};
use pullnet_scenario::compile;
use pullnet_units::Picos;

/// `senders` hosts send 500 packets of 1051 bytes each to one host at 84 ns per packet, with no window to speak of.
fn incast(senders: u32, buffer: u64) -> RunRecord {
    let hosts = senders + 1;
    let text = format!(
        "seed = 1\nuntil = \"all flows done\"\nlimit = \"20 ms\"\n\
         [topology]\nkind = \"star\"\nhosts = {hosts}\nlink = {{ rate = \"100095238095 bps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"go-back-n\"\nmtu = \"1003 B\"\nheader = \"48 B\"\nwindow = \"65535 packets\"\ntimeout = \"100 ms\"\n\
         [switch]\nkind = \"pfc\"\nbuffer = \"{buffer} B\"\nreserve = \"4096 B\"\nheadroom = \"37500 B\"\n\
         alpha = 0.125\nresume_below = \"3072 B\"\nquanta = 0\n\
         [[traffic]]\nkind = \"incast\"\ndegree = {senders}\nsize = \"501500 B\"\n"
    );
    simulate(&compiled(&text, &[]), 1)
}

fn last_fct(record: &RunRecord) -> f64 {
    record.flows.iter().filter_map(|flow| flow.acknowledged).max().unwrap().0 as f64 / 1e6
}

fn nics(record: &RunRecord) -> impl Iterator<Item = &PortRow> {
    record.ports.iter().filter(|port| port.port.is_none())
}

#[test]
fn an_incast_loses_nothing_and_pauses_as_an_independent_simulator_says() {
    // Reference: the HPCC simulator (ns-3, commit 9f4be2a), same incast with PFC only and 4 MiB: 64 pauses, each sender
    // paused for 141.7 us, last flow after 340.1 us. Its pause frames have 43 bytes, its ACKs 60.
    let record = incast(8, 4 << 20);
    assert_eq!((record.totals.packets.dropped, record.totals.packets.retransmitted), (0, 0));
    let last = last_fct(&record);
    assert!((last - 340.1).abs() < 0.5, "last flow after {last} us");
    let pauses: u64 = record.ports.iter().map(|port| port.pauses).sum();
    // A pause and the signal that ends it.
    assert!((120..=136).contains(&pauses), "{pauses} pause frames");
    let paused: u64 = nics(&record).map(|nic| nic.paused.0).sum();
    let mean = paused as f64 / 8e6;
    assert!((mean - 141.7).abs() < 5.0, "senders are paused for {mean} us");
}

#[test]
fn a_large_memory_needs_no_pause() {
    let record = incast(8, 32 << 20);
    assert!((last_fct(&record) - 340.1).abs() < 0.5, "{}", last_fct(&record));
    assert_eq!(record.ports.iter().map(|port| port.pauses).sum::<u64>(), 0);
}

/// Four senders on one switch congest a host on the next; a victim sends to another host there.
fn victim(pause: &str) -> RunRecord {
    let text = format!(
        "seed = 3\nduration = \"2 ms\"\n\
         [topology]\nkind = \"dumbbell\"\nleft = 5\nright = 2\nlink = {{ rate = \"40 Gbps\", delay = \"1 us\" }}\nhost_link = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"go-back-n\"\nmtu = \"1500 B\"\nwindow = \"1000 packets\"\ntimeout = \"50 ms\"\n\
         [switch]\nkind = \"pfc\"\nbuffer = \"1 MB\"\nheadroom = \"40 kB\"\npause = \"{pause}\"\n\
         [[traffic]]\nkind = \"incast\"\nto = \"5\"\nfrom = \"0..3\"\nsize = \"endless\"\n\
         [[traffic]]\nkind = \"incast\"\nto = \"6\"\nfrom = \"4\"\nsize = \"endless\"\n"
    );
    simulate(&compiled(&text, &[]), 1)
}

#[test]
fn a_pause_spreads_to_hosts_and_hits_a_flow_whose_path_is_free() {
    let record = victim("priority");
    assert_eq!(record.totals.packets.dropped, 0);
    // The trunk pauses, and the left switch then pauses every sender, the victim's too.
    assert!(nics(&record).take(5).all(|nic| nic.paused > Picos::ZERO), "{:?}", record.ports);
    let rate = record.flows[4].delivered as f64 * 8.0 / 2e-3 / 1e9;
    assert!((1.0..5.0).contains(&rate), "the victim gets {rate} of 10 Gb/s");
}

#[test]
fn a_pause_of_the_link_does_the_same_where_there_is_one_priority() {
    let (one, other) = (victim("priority"), victim("link"));
    assert_eq!(one.flows, other.flows);
}

#[test]
fn a_lost_resume_stops_a_link_for_no_longer_than_the_quanta_say() {
    let text = "seed = 5\nuntil = \"all flows done\"\nlimit = \"5 s\"\n\
         [topology]\nkind = \"star\"\nhosts = 5\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n\
         [transport]\nkind = \"go-back-n\"\nmtu = \"1500 B\"\nwindow = \"1000 packets\"\ntimeout = \"20 ms\"\n\
         [switch]\nkind = \"pfc\"\nbuffer = \"400 kB\"\nheadroom = \"20 kB\"\nquanta = 100\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 4\nsize = \"2 MB\"\n\
         [[fault]]\nplace = \"all links\"\nloss = 0.02\n";
    let record = simulate(&compiled(text, &[]), 1);
    assert!(
        record.complete && record.flows.iter().all(|flow| flow.acknowledged.is_some()),
        "{:?}",
        record.stuck
    );
    assert!(record.ports.iter().map(|port| port.pauses).sum::<u64>() > 100);
}

/// Five switches in a circle with a host each, and a flow from each host to the one `away` switches further on.
fn ring(away: u32) -> RunRecord {
    let links = (0..5).flat_map(|n| {
        [format!("{n} {} 10Gbps 1us 0", n + 5), format!("{} {} 10Gbps 1us 0", n + 5, (n + 1) % 5 + 5)]
    });
    let net = format!("10 5 10\n5 6 7 8 9\n{}\n", links.collect::<Vec<_>>().join("\n"));
    let flows = (0..5).map(|n| format!("{n} {} 3 100 1000000000 0", (n + away) % 5));
    let flows = format!("5\n{}\n", flows.collect::<Vec<_>>().join("\n"));
    let text = "duration = \"5 ms\"\n[topology]\nkind = \"file\"\nfile = \"net.txt\"\n[transport]\nkind = \"roce\"\n\
         [switch]\nkind = \"pfc\"\nbuffer = \"200 kB\"\nheadroom = \"20 kB\"\n\
         [[traffic]]\nkind = \"matrix\"\nfile = \"flows\"\n";
    let files: BTreeMap<String, Vec<u8>> =
        [("net.txt".to_owned(), net.into_bytes()), ("flows".to_owned(), flows.into_bytes())].into();
    let scenario = compile("ring.toml", text, &[], &files).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let scenario = Arc::new(scenario);
    let record = simulate(&scenario, 1);
    assert_eq!(record.deadlock, simulate(&scenario, 2).deadlock);
    record
}

#[test]
fn routes_in_a_circle_end_in_a_deadlock_that_is_named() {
    // Each flow crosses two links of the circle: each link waits for the next one.
    let record = ring(2);
    assert_eq!(record.totals.packets.dropped, 0);
    assert_eq!(record.deadlock.len(), 5, "{:?}", record.deadlock);
    let delivered = record.flows.iter().map(|flow| flow.delivered).sum::<u64>();
    assert!(delivered < 10_000_000, "{delivered} bytes: it has stopped long before the end");
    assert!(record.deadlock.iter().all(|port| port.starts_with("node ")), "{:?}", record.deadlock);
}

#[test]
fn pauses_that_end_are_no_deadlock() {
    assert_eq!(ring(1).deadlock, Vec::<String>::new());
    assert_eq!(victim("priority").deadlock, Vec::<String>::new());
}
