//! Switches that choose among equal ports when a packet arrives, by the packets that the ports hold.

use crate::common::{compiled, simulate};
use pullnet_record::RunRecord;

/// Every host sends to one in another rack, over spines that could just carry it all.
fn permutation(forwarding: &str, faults: &str) -> RunRecord {
    let text = format!(
        "seed = 4\nduration = \"3 ms\"\n\
         [topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"ndp\"\nmtu = \"1500 B\"\n\
         [switch]\nkind = \"drop-tail\"\nqueue = \"1000 packets\"\nforwarding = \"{forwarding}\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"endless\"\n{faults}"
    );
    simulate(&compiled(&text, &[]), 1)
}

/// Most data packets that a port towards the spines held.
fn deepest(record: &RunRecord) -> u32 {
    record.ports.iter().filter(|port| port.level == "tor->spine").map(|port| port.peak_data).max().unwrap()
}

#[test]
fn the_least_loaded_port_keeps_queues_short() {
    let [random, least] = ["random", "least-loaded"].map(|forwarding| permutation(forwarding, ""));
    let (random, least) = (deepest(&random), deepest(&least));
    assert!(random > 2 * least, "{least} packets, {random} where chance decides");
}

#[test]
fn packets_are_spread_evenly_over_idle_ports() {
    let record = permutation("least-loaded", "");
    let uplinks = record.ports.iter().filter(|port| port.level == "tor->spine");
    let counts: Vec<_> = uplinks.map(|port| port.packets).collect();
    assert!(counts.len() == 16 && counts.iter().all(|count| *count > 0), "{counts:?}");
    for leaf in counts.chunks(4) {
        let (least, most) = (leaf.iter().min().unwrap(), leaf.iter().max().unwrap());
        assert!(*most as f64 <= 1.1 * *least as f64, "{leaf:?}");
    }
}

#[test]
fn a_link_that_is_down_gets_no_packets() {
    let fault = "[[fault]]\nplace = \"tor 0 -> spine 1\"\ndown = true\n";
    let record = permutation("least-loaded", fault);
    let lost: Vec<_> = record.ports.iter().filter(|port| port.lost > 0).map(|port| &port.name).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
