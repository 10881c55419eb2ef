//! Detail of single ports and flows: series of ports, least times under faults and on links that differ by direction.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{compiled, simulate};
use pullnet_probes::{HopRow, PortSeriesRow, Recorded};
use pullnet_record::RunRecord;
use pullnet_scenario::compile;
use pullnet_units::{Instant, Picos};

const INCAST: &str = r#"until = "all flows done"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 8
[transport]
kind = "ndp"
[switch]
kind = "trim"
[[traffic]]
kind = "incast"
degree = 15
size = "180 kB"
[probes.port_series]
interval = "10 us"
"#;

/// Packets, bytes, marks, trims, returned headers, drops and losses of each row of the table of ports.
fn sums(record: &RunRecord) -> BTreeMap<u32, [u64; 7]> {
    let mut sums: BTreeMap<u32, [u64; 7]> = BTreeMap::new();
    for row in record.recorded.port_series() {
        let of_row = [row.packets, row.bytes, row.marked, row.trimmed, row.returned, row.dropped, row.lost];
        let sum = sums.entry(row.row).or_default();
        sum.iter_mut().zip(of_row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Other switches for [`INCAST`], and what they do to packets.
const SWITCHES: [(&str, &str, &str); 4] = [
    ("kind = \"ndp\"", "kind = \"trim\"", "trimmed"),
    ("kind = \"ndp\"", "kind = \"trim\"\ncontrol_queue = \"640 B\"", "returned"),
    ("kind = \"dctcp\"", "kind = \"drop-tail\"\nmark_above = \"5 packets\"", "marked"),
    ("kind = \"tcp\"", "kind = \"drop-tail\"\nqueue = \"10 packets\"", "dropped"),
];

/// [`INCAST`] with another transport and another switch.
fn incast(transport: &str, switch: &str) -> String {
    INCAST.replace("kind = \"ndp\"", transport).replace("kind = \"trim\"", switch)
}

#[test]
fn series_of_ports_add_up_to_the_table_of_ports() {
    for (transport, switch, most) in SWITCHES {
        let text = incast(transport, switch)
            + "[[fault]]\nplace = \"link spine 0 - tor 0\"\nloss = 0.05\nfrom = \"0 ps\"\n";
        let record = simulate(&compiled(&text, &[]), 1);
        let sums = sums(&record);
        let mut all = [0; 7];
        for (row, port) in record.ports.iter().enumerate().filter(|(_, port)| port.port.is_some()) {
            let found = sums.get(&(row as u32)).copied().unwrap_or_default();
            let counts =
                [port.packets, port.bytes, port.marked, port.trimmed, port.returned, port.dropped, port.lost];
            assert_eq!(found, counts, "{switch}: {}", port.name);
            all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let [_, _, marked, trimmed, returned, dropped, lost] = all;
        let by_name =
            [("marked", marked), ("trimmed", trimmed), ("returned", returned), ("dropped", dropped)];
        assert!(by_name.iter().any(|(name, count)| *name == most && *count > 0), "{switch}: {by_name:?}");
        assert!(lost > 0, "{switch}: no packet was lost");
    }
}

/// A packet of the record of hops at the end of an interval, at `end`.
fn held_at(hop: &HopRow, end: Instant) -> [u64; 2] {
    let whole = hop.class == "data" && !["trimmed", "returned"].contains(&hop.outcome);
    let came = hop.at < end && hop.outcome != "dropped" && hop.outcome != "returned";
    // Whole packets are held until their last bit has left, headers and control packets wait until their first bit does.
    let until = if whole { hop.out } else { hop.start };
    let held = u64::from(came && until.is_none_or(|until| until >= end));
    if whole { [held, 0] } else { [0, held] }
}

/// Two records of the same run that are made apart: the queue at the end of each interval, and each packet's arrival and
/// departure.
#[test]
fn queues_at_the_end_of_an_interval_are_those_of_the_packets_there() {
    for (transport, switch) in [
        ("kind = \"ndp\"", "kind = \"trim\"\nvictim = \"arriving\""),
        ("kind = \"dctcp\"", "kind = \"drop-tail\"\nmark_above = \"5 packets\""),
    ] {
        let text = incast(transport, switch) + "[probes.hops]\n";
        let record = simulate(&compiled(&text, &[]), 1);
        let (mut rows, mut waiting) = (0, [0; 2]);
        for row in record.recorded.port_series() {
            let end = row.at.after(Picos::from_micros(10));
            let here = || record.recorded.hops().iter().filter(|hop| hop.row == row.row);
            let held = here()
                .map(|hop| held_at(hop, end))
                .fold([0; 2], |sum, [data, control]| [sum[0] + data, sum[1] + control]);
            assert_eq!(held, [u64::from(row.data), u64::from(row.control)], "{switch}: {row:?}");
            let sent = || here().filter(|hop| hop.start.is_some_and(|start| row.at <= start && start < end));
            assert_eq!(sent().count() as u64, row.packets, "{switch}: {row:?}");
            rows += 1;
            waiting = [waiting[0] + held[0], waiting[1] + held[1]];
        }
        assert!(rows > 100 && waiting[0] > 100, "{switch}: {rows} rows, {waiting:?}");
    }
}

#[test]
fn series_of_ports_are_in_order_and_end_with_empty_queues() {
    let record = simulate(&compiled(INCAST, &[]), 1);
    let held = record.recorded.port_series().iter().map(|row| row.data).max();
    assert_eq!(held, Some(8), "the data queue is full at the end of some interval");
    let last: BTreeMap<u32, PortSeriesRow> =
        record.recorded.port_series().iter().map(|row| (row.row, *row)).collect();
    assert!(last.values().all(|row| (row.data, row.control) == (0, 0)), "in the end all queues are empty");
    let order = record
        .recorded
        .port_series()
        .windows(2)
        .all(|pair| (pair[0].row, pair[0].at) < (pair[1].row, pair[1].at));
    assert!(order, "rows are in order of port and time, each once");
}

#[test]
fn series_of_ports_change_nothing_and_do_not_depend_on_threads() {
    let with = simulate(&compiled(INCAST, &[]), 1);
    let threads = simulate(&compiled(INCAST, &[]), 2);
    assert_eq!(with.recorded.port_series(), threads.recorded.port_series());
    let without = simulate(&compiled(&INCAST[..INCAST.find("[probes").expect("it has probes")], &[]), 1);
    assert_eq!(with.fingerprint, without.fingerprint);
    assert_eq!(without.recorded, Recorded::default());
}

#[test]
fn ports_can_be_chosen_by_name_switch_and_level() {
    let ports = |of: &str| {
        let record = simulate(&compiled(INCAST, &[("probes.port_series.of", of)]), 1);
        let rows = sums(&record).into_keys();
        rows.map(|row| record.ports[row as usize].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ports("tor 0 -> host 0"), ["tor 0 -> host 0"]);
    assert!(ports("tor 1").iter().all(|name| name.starts_with("tor 1 -> ")) && ports("tor 1").len() == 10);
    assert!(ports("spine->tor").iter().all(|name| name.starts_with("spine ")));
    let set = [("probes.port_series.of".to_owned(), "tor 9".to_owned())];
    let errors = compile("a.toml", INCAST, &set, &BTreeMap::new()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "--set probes.port_series.of: \"tor 9\" names no port of a switch; use one of the levels \"spine->tor\", \
         \"tor->host\", \"tor->spine\", a port such as \"tor 0 -> host 0\""
    );
}

#[test]
fn a_series_of_more_rows_than_memory_is_for_is_refused() {
    let text = INCAST.replace("until = \"all flows done\"", "duration = \"10 s\"");
    let errors = compile("a.toml", &text, &[], &BTreeMap::new()).unwrap_err();
    assert!(errors[0].to_string().contains("use at least"), "{}", errors[0]);
    assert!(errors[0].to_string().ends_with("or fewer ports by `of`"), "{}", errors[0]);
    let set = [("probes.port_series.of".to_owned(), "tor 0 -> host 0".to_owned())];
    assert!(compile("a.toml", &text, &set, &BTreeMap::new()).is_ok());
}

const DUMBBELL: &str = r#"until = "all flows done"
topology = { kind = "dumbbell", left = 2, right = 2 }
transport = { kind = "ndp" }
switch = { kind = "trim" }
traffic = [{ kind = "incast", hosts = "0,2", degree = 1, size = "900 kB" }]
"#;

fn slowdown(record: &RunRecord) -> f64 {
    let flow = &record.flows[0];
    let took = flow.received.expect("the flow is done").since(flow.start);
    took.0 as f64 / flow.ideal.expect("it has an end").0 as f64
}

#[test]
fn a_flow_that_has_a_slow_link_to_itself_is_not_slow() {
    let sound = simulate(&compiled(DUMBBELL, &[]), 1);
    assert!((1.0..1.2).contains(&slowdown(&sound)), "{}", slowdown(&sound));
    let text =
        format!("{DUMBBELL}[[fault]]\nplace = \"switch 0 - switch 1\"\nrate = \"1 Gbps\"\nfrom = \"0 ps\"\n");
    let degraded = simulate(&compiled(&text, &[]), 1);
    assert!(degraded.flows[0].received > sound.flows[0].received.map(|at| Instant(at.0 * 8)));
    assert!((1.0..1.2).contains(&slowdown(&degraded)), "{}", slowdown(&degraded));
}

const ASYMMETRIC: &str = r#"
[defaults]
rate = "10 Gbps"
delay = "1 us"
[[switch]]
name = "s"
[[host]]
name = "a"
[[host]]
name = "b"
[[link]]
between = ["a", "s"]
[[link]]
between = ["b", "s"]
rate = "1 Gbps"
back = { rate = "10 Gbps" }
"#;

/// A host that sends at 1 Gb/s and receives at 10 Gb/s.
#[test]
fn each_direction_of_a_link_has_its_own_rate() {
    let files = BTreeMap::from([("net.toml".to_owned(), ASYMMETRIC.as_bytes().to_vec())]);
    let time = |hosts: &str, to: &str| {
        let text = DUMBBELL
            .replace("kind = \"dumbbell\", left = 2, right = 2", "kind = \"file\", file = \"net.toml\"")
            .replace("hosts = \"0,2\"", &format!("hosts = \"{hosts}\", to = {to}"));
        let scenario = compile("test.toml", &text, &[], &files).unwrap_or_else(|errors| panic!("{errors:?}"));
        let record = simulate(&Arc::new(scenario), 1);
        assert!((1.0..1.2).contains(&slowdown(&record)), "{hosts} {}", slowdown(&record));
        record.flows[0].received.expect("the flow is done").0
    };
    let (down, up) = (time("0,1", "1"), time("0,1", "0"));
    assert!(up > 8 * down, "up {up} ps, down {down} ps");
}

#[test]
fn first_copies_are_counted_apart() {
    let text = format!("{DUMBBELL}[[fault]]\nplace = \"all links\"\nloss = 0.05\nfrom = \"0 ps\"\n");
    let totals = simulate(&compiled(&text, &[]), 1).totals;
    assert_eq!(totals.packets.data_unique, 100);
    assert!(totals.packets.data_delivered >= totals.packets.data_unique && totals.packets.retransmitted > 0);
    let doubled =
        simulate(&compiled(&text, &[("transport.timeout", "20 us"), ("transport.piggyback", "false")]), 1);
    let packets = &doubled.totals.packets;
    assert_eq!(packets.data_unique, 100);
    assert!(
        packets.data_delivered > packets.data_unique,
        "a timeout below the round trip sends packets twice"
    );
    let surplus: u64 = doubled.flows.iter().map(|flow| u64::from(flow.surplus)).sum();
    assert_eq!(surplus, packets.data_delivered - packets.data_unique);
}
