//! Packets at every hop: the rows agree with what ports count, with the links between them, and with the run without a probe.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{compiled, simulate};
use pullnet_probes::{Direction, FlowNumbers, HopRow, Hops};
use pullnet_record::{PortRow, RunRecord};
use pullnet_scenario::{Scenario, compile};
use pullnet_settings::{Setting, Value};
use pullnet_units::{Bytes, HostId, Id, Picos, PortId};

/// Fifteen hosts send to one through shallow queues.
fn text(transport: &str, switch: &str, rest: &str) -> String {
    format!(
        "until = \"all flows done\"\nlimit = \"1 s\"\n\
         [topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\n\
         [transport]\n{transport}\n[switch]\n{switch}\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 15\nsize = \"90 kB\"\n{rest}\n[probes.hops]\n"
    )
}

const LOSSY: &str = "[[fault]]\nplace = \"all links\"\nloss = 0.02\n";

/// Switches of every make: a queue of its own for each port, shared memory, pauses, headers that are rewritten, queues
/// ordered by flow.
fn worlds() -> Vec<(&'static str, String)> {
    vec![
        ("trimming", text("kind = \"ndp\"", "kind = \"trim\"", "")),
        (
            "a tiny queue for headers",
            text("kind = \"ndp\"", "kind = \"trim\"\ncontrol_queue = \"640 B\"", ""),
        ),
        ("losses", text("kind = \"ndp\"", "kind = \"trim\"", LOSSY)),
        ("drops", text("kind = \"tcp\"", "kind = \"drop-tail\"\nqueue = \"20 packets\"", "")),
        (
            "marks",
            text(
                "kind = \"dctcp\"",
                "kind = \"drop-tail\"\nqueue = \"100 packets\"\nmark_above = \"5 packets\"",
                "",
            ),
        ),
        ("shared memory", text("kind = \"tcp\"", "kind = \"shared-buffer\"\npool = \"100 kB\"", "")),
        ("pauses", text("kind = \"roce\"", "kind = \"pfc\"", "")),
        ("allocated rates", text("kind = \"d3\"", "kind = \"d3\"", "")),
        ("an order of flows", text("kind = \"pfabric\"", "kind = \"pfabric\"", "")),
    ]
}

fn of_row(record: &RunRecord, row: usize) -> impl Iterator<Item = &HopRow> + Clone {
    record.recorded.hops().iter().filter(move |hop| hop.row as usize == row)
}

fn count<'a>(rows: impl Iterator<Item = &'a HopRow>, outcome: &str) -> u64 {
    rows.filter(|row| row.outcome == outcome).count() as u64
}

/// The rows of a port are what the table of ports counts there.
fn agree(record: &RunRecord, row: usize, port: &PortRow, world: &str) {
    let rows = of_row(record, row);
    let what = format!("{world}, {}", port.name);
    assert_eq!(
        rows.clone().filter(|row| row.start.is_some()).count() as u64,
        port.packets - port.pauses,
        "{what}"
    );
    assert_eq!(count(rows.clone(), "dropped"), port.dropped, "{what}: dropped");
    assert_eq!(count(rows.clone(), "returned"), port.returned, "{what}: returned");
    assert_eq!(count(rows.clone(), "lost"), port.lost, "{what}: lost");
    let cut =
        rows.clone().filter(|row| row.class == "data" && ["trimmed", "returned"].contains(&row.outcome));
    assert!(
        cut.count() as u64 <= port.trimmed && count(rows.clone(), "trimmed") <= port.trimmed,
        "{what}: trimmed"
    );
    assert!(count(rows.clone(), "marked") <= port.marked, "{what}: marked");
    let sent: u64 = rows.filter(|row| row.start.is_some()).map(|row| u64::from(row.wire)).sum();
    assert!(sent >= port.bytes - 64 * port.pauses, "{what}: bytes");
}

#[test]
fn rows_add_up_to_the_table_of_ports() {
    let mut outcomes = BTreeSet::new();
    for (world, text) in worlds() {
        let record = simulate(&compiled(&text, &[]), 1);
        for (row, port) in record.ports.iter().enumerate() {
            agree(&record, row, port, world);
        }
        let trimmed: u64 = record.ports.iter().map(|port| port.trimmed).sum();
        if record.totals.packets.returned == 0 && record.totals.packets.lost == 0 {
            assert_eq!(count(record.recorded.hops().iter(), "trimmed"), trimmed, "{world}");
        }
        outcomes.extend(record.recorded.hops().iter().map(|row| row.outcome));
    }
    let all = ["dropped", "lost", "marked", "returned", "sent", "trimmed"];
    assert!(all.iter().all(|outcome| outcomes.contains(outcome)), "{outcomes:?}");
}

/// A packet that its host holds back during a pause counts as sent when its first bit leaves.
#[test]
fn packets_of_hosts_are_sent_when_they_leave_the_nic_also_after_a_pause() {
    let text = text("kind = \"roce\"", "kind = \"pfc\"\nbuffer = \"600 kB\"", "");
    let text = text.replace("[probes.hops]", "[probes]\nhops = {}\npackets = true\ncontrol = true");
    let record = simulate(&compiled(&text, &[]), 1);
    let nics = record.ports.iter().filter(|port| port.port.is_none()).count();
    assert!(record.ports[..nics].iter().any(|nic| nic.paused > Picos::ZERO), "no host was paused");
    for (host, nic) in record.ports[..nics].iter().enumerate() {
        let sent = record.recorded.packets().iter().filter(|row| row.direction == Direction::Sent);
        let sent: Vec<_> = sent.filter(|row| row.host.index() == host).map(|row| row.at).collect();
        let mut left: Vec<_> = of_row(&record, host).filter_map(|hop| hop.start).collect();
        left.sort_unstable();
        assert_eq!(sent, left, "{}", nic.name);
    }
}

/// Where nothing pauses, a packet waits for the packet in service and for what is served before it, and for nothing else.
#[test]
fn a_packet_waits_for_what_is_served_before_it() {
    for (world, text) in worlds() {
        let scenario = compiled(&text, &[]);
        let record = simulate(&scenario, 1);
        let mut waited = 0;
        for row in record.recorded.hops().iter().filter(|_| world != "pauses") {
            let (Some(start), Some(out)) = (row.start, row.out) else { continue };
            assert!(row.at <= start && start < out, "{world}: {row:?}");
            let rate = rate_of(&scenario, row);
            let behind = rate.serialization(Bytes(row.behind.iter().sum()));
            assert_eq!(start.since(row.at).0, row.busy.0 + behind.0, "{world}: {row:?}");
            assert!(row.ahead_own <= row.ahead.iter().sum(), "{world}: {row:?}");
            waited += u64::from(start > row.at);
        }
        assert!(waited > 100 || world == "pauses", "{world}: {waited}");
    }
}

fn rate_of(scenario: &Scenario, row: &HopRow) -> pullnet_units::BitsPerSec {
    let hosts = scenario.topology.hosts.len() as u32;
    match row.row.checked_sub(hosts) {
        Some(port) => scenario.topology.ports[PortId::new(port)].link.rate,
        None => scenario.topology.hosts[HostId::new(row.row)].link.rate,
    }
}

/// In queues that are first in, first out and drop nothing, a packet waits behind exactly what it found.
#[test]
fn a_fifo_serves_what_was_found_waiting() {
    let text = text("kind = \"dctcp\"", "kind = \"drop-tail\"\nqueue = \"10000 packets\"", "");
    let record = simulate(&compiled(&text, &[]), 1);
    let longest = record.recorded.hops().iter().map(|row| row.ahead[0]).max().unwrap_or(0);
    assert!(longest > 30_000, "{longest}");
    for row in record.recorded.hops().iter().filter(|row| row.start.is_some()) {
        assert_eq!(row.ahead, row.behind, "{row:?}");
    }
}

/// A packet comes to the next port after the delay of the link: no hop is missing.
#[test]
fn hops_follow_each_other_to_the_receiver() {
    let scenario = compiled(&text("kind = \"ndp\"", "kind = \"trim\"", ""), &[]);
    let record = simulate(&scenario, 1);
    let hosts = record.hosts.len() as u32;
    let delay = scenario.topology.hosts[HostId::new(0)].link.delay;
    let arrivals: BTreeSet<_> =
        record.recorded.hops().iter().map(|row| (row.flow, row.number, row.from, row.kind, row.at)).collect();
    let to_host = |row: &HopRow| record.ports[row.row as usize].level.ends_with("->host");
    let (mut hops, mut delivered) = (0, 0);
    for row in record.recorded.hops().iter().filter(|row| row.out.is_some()) {
        let Some(out) = row.out else { continue };
        if to_host(row) {
            delivered += u64::from(row.class == "data" && row.outcome != "trimmed");
            continue;
        }
        let next = (row.flow, row.number, row.from, row.kind, out.after(delay));
        assert!(arrivals.contains(&next), "{row:?}");
        hops += 1;
    }
    assert!(hops > 1000 && record.recorded.hops().iter().any(|row| row.row < hosts), "{hops}");
    assert_eq!(delivered, record.totals.packets.data_delivered);
}

#[test]
fn recording_changes_nothing_and_does_not_depend_on_threads() {
    for (world, text) in worlds() {
        let with = simulate(&compiled(&text, &[]), 1);
        let threads = simulate(&compiled(&text, &[]), 2);
        assert_eq!(with.recorded.hops(), threads.recorded.hops(), "{world}");
        let without = simulate(&compiled(&text.replace("[probes.hops]\n", ""), &[]), 1);
        assert_eq!(with.fingerprint, without.fingerprint, "{world}");
        assert_eq!(without.recorded.hops(), [], "{world}");
        let order = with
            .recorded
            .hops()
            .windows(2)
            .all(|pair| (pair[0].flow, pair[0].at) <= (pair[1].flow, pair[1].at));
        assert!(order, "{world}");
    }
}

#[test]
fn several_transports_keep_their_packets_apart() {
    let text = "duration = \"200 us\"\n[topology]\nkind = \"star\"\nhosts = 6\n\
         [[transport]]\nname = \"a\"\nkind = \"ndp\"\n[[transport]]\nname = \"b\"\nkind = \"dctcp\"\n\
         [switch]\nkind = \"split\"\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 2\nsize = \"90 kB\"\nhosts = \"0..2\"\ntransport = \"a\"\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 2\nsize = \"90 kB\"\nhosts = \"3..5\"\ntransport = \"b\"\n[probes.hops]\n";
    let record = simulate(&compiled(text, &[]), 1);
    let kinds = |transport: u8| -> BTreeSet<&str> {
        let of = |row: &&HopRow| record.flows[row.flow.get() as usize].labels.transport == transport;
        record.recorded.hops().iter().filter(of).map(|row| row.kind).collect()
    };
    assert!(kinds(0).contains("pull") && !kinds(1).contains("pull"), "{:?} {:?}", kinds(0), kinds(1));
}

#[test]
fn copies_for_receivers_of_a_group_are_told() {
    let text = "until = \"all flows done\"\n[topology]\nkind = \"star\"\nhosts = 6\n[transport]\nkind = \"scdp\"\n\
         [switch]\nkind = \"scdp\"\n[[traffic]]\nkind = \"replicate\"\nsize = \"90 kB\"\noutside_rack = false\n[probes.hops]\n";
    let record = simulate(&compiled(text, &[]), 1);
    let copied = record
        .recorded
        .hops()
        .iter()
        .filter(|row| row.outcome == "replicated" && row.class == "data")
        .count();
    assert!(
        copied > 0 && record.totals.packets.copied == 2 * copied as u64,
        "{copied} {}",
        record.totals.packets.copied
    );
}

#[test]
fn flows_are_chosen_by_number_or_by_every() {
    let flows = |set: (&str, &str)| -> BTreeSet<u32> {
        let text = text("kind = \"ndp\"", "kind = \"trim\"", "");
        simulate(&compiled(&text, &[set]), 1).recorded.hops().iter().map(|row| row.flow.get()).collect()
    };
    assert_eq!(flows(("probes.hops.flows", "3,7..9")), BTreeSet::from([3, 7, 8, 9]));
    assert_eq!(flows(("probes.hops.every", "6")), BTreeSet::from([0, 6, 12]));
    assert_eq!(flows(("probes.hops.flows", "99")), BTreeSet::new());
}

#[test]
fn wrong_choices_of_flows_are_refused() {
    let refused = |key: &str, value: &str| {
        let text = text("kind = \"ndp\"", "kind = \"trim\"", "every = 3\n");
        let set = [(format!("probes.hops.{key}"), value.to_owned())];
        let text = text.replace("every = 3\n", "");
        compile("a.toml", &text, &set, &BTreeMap::new()).map(|_| ()).unwrap_err()[0].to_string()
    };
    assert_eq!(
        refused("flows", "3,x"),
        "--set probes.hops.flows: \"3,x\" has \"x\", which is no number of a flow; use for instance \"0,7,10..19\""
    );
    assert!(refused("flows", "9..3").ends_with("has the range 9..3, which runs backwards; write 3..9"));
    assert!(
        refused("every", "0").contains("is out of range; use 1 to 1000000000"),
        "{}",
        refused("every", "0")
    );
    let both = [("probes.hops.flows", "3"), ("probes.hops.every", "2")];
    let both = both.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let text = text("kind = \"ndp\"", "kind = \"trim\"", "");
    let errors = compile("a.toml", &text, &both, &BTreeMap::new()).map(|_| ()).unwrap_err();
    assert!(errors[0].to_string().contains("`flows` names the flows; keep one of the two"), "{}", errors[0]);
}

#[test]
fn a_table_beyond_memory_is_left_out_with_its_reason() {
    assert_eq!(Hops::too_many(Hops::MOST_ROWS), None);
    assert_eq!(
        Hops::too_many(Hops::MOST_ROWS + 1).as_deref(),
        Some(
            "probes.hops makes 5000001 rows, which is more than 5000000; record fewer flows by `flows` or `every`"
        )
    );
    let numbers = FlowNumbers::read(Value::Text("0, 4..6")).unwrap();
    assert_eq!((numbers.write().as_str(), numbers.count()), ("\"0,4..6\"", 4));
}
