//! Tables of events: what probes note at hosts and ports agrees with what these count, and changes nothing.

use std::collections::BTreeMap;

use pullnet_record::RunRecord;

use crate::common::{compiled, simulate};

/// Fifteen hosts send to one through shallow queues.
fn text(transport: &str, switch: &str, probes: &str) -> String {
    format!(
        "until = \"all flows done\"\nlimit = \"1 s\"\n\
         [topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\n\
         [transport]\nkind = \"{transport}\"\n[switch]\n{switch}\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 15\nsize = \"90 kB\"\n[probes]\n{probes}\n"
    )
}

const WORLDS: [(&str, &str, &str); 5] = [
    ("ndp", "kind = \"trim\"", "trimmed"),
    ("ndp", "kind = \"trim\"\ncontrol_queue = \"640 B\"", "returned"),
    ("tcp", "kind = \"drop-tail\"\nqueue = \"20 packets\"", "dropped"),
    ("dctcp", "kind = \"drop-tail\"\nqueue = \"100 packets\"\nmark_above = \"5 packets\"", "marked"),
    ("tcp", "kind = \"shared-buffer\"\npool = \"100 kB\"", "dropped"),
];

const ALL: &str = "incidents = true\ntimeouts = true";

/// Incidents of each port: marked, trimmed, returned, dropped.
fn by_port(record: &RunRecord) -> BTreeMap<usize, [u64; 4]> {
    let mut counts: BTreeMap<usize, [u64; 4]> = BTreeMap::new();
    for row in record.recorded.incidents() {
        let words = ["marked", "trimmed", "returned", "dropped"];
        let word = words.iter().position(|word| *word == row.incident).expect("a word of the table");
        counts.entry(row.row as usize).or_default()[word] += 1;
    }
    counts
}

#[test]
fn incidents_add_up_to_the_table_of_ports() {
    for (transport, switch, most) in WORLDS {
        let record = simulate(&compiled(&text(transport, switch, ALL), &[]), 1);
        let counts = by_port(&record);
        for (row, port) in record.ports.iter().enumerate() {
            let [marked, trimmed, returned, dropped] = counts.get(&row).copied().unwrap_or_default();
            let found = [marked, returned, dropped];
            assert_eq!(found, [port.marked, port.returned, port.dropped], "{switch}: {}", port.name);
            // A packet that is sent back or dropped at once may have been trimmed, too.
            assert!(
                (trimmed..=trimmed + returned + dropped).contains(&port.trimmed),
                "{switch}: {}",
                port.name
            );
        }
        assert!(record.recorded.incidents().iter().any(|row| row.incident == most), "{switch}: none {most}");
        assert!(record.recorded.incidents().is_sorted_by_key(|row| (row.at, row.row)), "{switch}");
    }
}

#[test]
fn a_trimmed_packet_is_a_header_of_its_flow_on_a_port_to_its_receiver() {
    let record = simulate(&compiled(&text("ndp", "kind = \"trim\"", ALL), &[]), 1);
    let trimmed = record.recorded.incidents().iter().filter(|row| row.incident == "trimmed");
    for row in trimmed {
        assert_eq!((row.kind, row.class, row.wire), ("data", "header", 64), "{row:?}");
        let flow = &record.flows[row.flow.expect("the flow of a data packet").get() as usize];
        let name = &record.ports[row.row as usize].name;
        assert!(
            name.ends_with(&format!("host {}", flow.dst.get())) || name.contains("spine"),
            "{name}: {flow:?}"
        );
        assert!(row.number.is_some() && flow.start < row.at && Some(row.at) < flow.received, "{row:?}");
    }
}

#[test]
fn timeouts_add_up_to_the_table_of_flows() {
    let record = simulate(&compiled(&text(WORLDS[2].0, WORLDS[2].1, ALL), &[]), 1);
    let rows = record.recorded.timeouts();
    for (number, flow) in record.flows.iter().enumerate() {
        let own = rows.iter().filter(|row| row.flow.get() as usize == number);
        assert_eq!(own.clone().count(), flow.timeouts as usize, "flow {number}");
        assert!(own.clone().all(|row| row.host == flow.src && flow.start < row.at), "flow {number}");
    }
    assert!(!rows.is_empty() && rows.is_sorted_by_key(|row| row.at));
}

#[test]
fn notes_change_nothing_and_do_not_depend_on_threads() {
    for (transport, switch, _) in WORLDS {
        let with = simulate(&compiled(&text(transport, switch, ALL), &[]), 1);
        let threads = simulate(&compiled(&text(transport, switch, ALL), &[]), 2);
        assert_eq!(with.recorded, threads.recorded, "{switch}");
        let without = simulate(&compiled(&text(transport, switch, ""), &[]), 1);
        assert_eq!(with.fingerprint, without.fingerprint, "{switch}");
    }
}
