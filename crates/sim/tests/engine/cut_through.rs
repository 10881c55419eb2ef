//! Cut-through switches: when packets arrive, and what is lost.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;
use pullnet_units::Picos;

fn run(text: &str) -> RunRecord {
    let scenario = compiled(text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    record
}

/// One packet of 1500 B from the first host to another, and its ACK of 40 B; hosts at 10 Gb/s, links of the spines at 40 Gb/s.
fn round_trip(switching: &str, to: u32) -> Picos {
    let record = run(&format!(
        "until = \"all flows done\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n\
         switching = \"{switching}\"\nlink = {{ rate = \"40 Gbps\", delay = \"200 ns\" }}\n\
         host_link = {{ rate = \"10 Gbps\", delay = \"200 ns\" }}\n\
         [transport]\nkind = \"pfabric\"\nmtu = \"1460 B\"\nheader = \"40 B\"\n[switch]\nkind = \"pfabric\"\n\
         [[traffic]]\nkind = \"incast\"\nhosts = \"0,{to}\"\nto = \"{to}\"\nsize = \"1460 B\"\n"
    ));
    let flow = &record.flows[0];
    flow.acknowledged.expect("it ends").since(flow.start)
}

#[test]
fn a_packet_moves_on_after_its_header() {
    // Per direction: the header on every link but the last, the packet on the last, and the delays.
    let within_rack = |head: u64| Picos::from_nanos(head + 200 + 1200 + 200 + 32 + 200 + 32 + 200);
    assert_eq!(round_trip("cut-through", 1), within_rack(32));
    assert_eq!(round_trip("cut-through-always", 1), within_rack(32));
    assert_eq!(round_trip("store-and-forward", 1), within_rack(1200));
    // 2.928 us is the unloaded time in the simulator of pHost's authors, which cuts through to faster links.
    assert_eq!(round_trip("cut-through-always", 2), Picos::from_nanos(2928));
    // The link to the spine is faster: the packet waits for its last bit, as does the ACK.
    assert_eq!(round_trip("cut-through", 2), Picos::from_nanos(2928 + 1200 - 32));
}

/// A packet of 1500 B at 1 Gb/s (12 us) with a fault of the sender's link.
fn with_fault(fault: &str) -> RunRecord {
    run(&format!(
        "until = \"all flows done\"\nlimit = \"1 s\"\n[topology]\nkind = \"star\"\nhosts = 2\nswitching = \"cut-through\"\n\
         link = {{ rate = \"1 Gbps\", delay = \"1 us\" }}\n[transport]\nkind = \"ndp\"\nmtu = \"1436 B\"\n\
         [switch]\nkind = \"trim\"\n[[traffic]]\nkind = \"incast\"\nto = \"1\"\nsize = \"1436 B\"\n\
         [[fault]]\nplace = \"host 0 -> switch 0\"\n{fault}"
    ))
}

#[test]
fn a_fault_behind_the_header_loses_the_packet() {
    // The header has arrived at the switch after 1.5 us.
    for fault in
        ["from = \"5 us\"\nuntil = \"6 us\"\ndown = true\n", "until = \"6 us\"\ncorrupt = 0.999999\n"]
    {
        let record = with_fault(fault);
        assert_eq!((record.totals.packets.lost, record.flows[0].packets_sent), (1, 2), "{fault}");
    }
}

#[test]
fn a_slowed_link_feeds_no_faster_one() {
    // 120 us for the packet on the slow link, then 12 us on the sound one: the switch stores and forwards.
    let record = with_fault("rate = \"100 Mbps\"\n");
    let flow = &record.flows[0];
    assert_eq!(flow.received.expect("it ends").since(flow.start), Picos::from_micros(120 + 1 + 12 + 1));
}

#[test]
fn a_switch_that_chooses_on_arrival_assumes_its_fastest_port() {
    let text = |switching: &str| {
        format!(
            "until = \"all flows done\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
             switching = \"{switching}\"\nlink = {{ rate = \"40 Gbps\", delay = \"200 ns\" }}\n\
             host_link = {{ rate = \"10 Gbps\", delay = \"200 ns\" }}\n[transport]\nkind = \"tcp\"\n\
             [switch]\nkind = \"drop-tail\"\nforwarding = \"least-loaded\"\n\
             [[traffic]]\nkind = \"incast\"\nhosts = \"0,2\"\nto = \"2\"\nsize = \"100 kB\"\n"
        )
    };
    let [stored, cut] = ["store-and-forward", "cut-through"].map(|switching| run(&text(switching)));
    let time = |record: &RunRecord| record.flows[0].received.expect("it ends");
    assert!(time(&cut) < time(&stored), "{:?} and {:?}", time(&cut), time(&stored));
}
