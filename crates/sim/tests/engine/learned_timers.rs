//! NDP's timers in networks whose round trips differ: no timer runs out for a packet that is under way.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;

fn run(text: &str) -> RunRecord {
    let scenario = compiled(text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    record
}

fn permutation(topology: &str, transport: &str, rest: &str) -> RunRecord {
    run(&format!(
        "duration = \"12 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 8\n{topology}\n[transport]\nkind = \"ndp\"\n\
         initial_window = \"15 packets\"\n{transport}\n[switch]\nkind = \"trim\"\n[[traffic]]\nkind = \"permutation\"\n{rest}"
    ))
}

/// Timers that ran out, and those of them that no loss explains.
fn timeouts(record: &RunRecord) -> (u64, u32) {
    (record.totals.timeouts, record.flows.iter().map(|flow| flow.unexplained).sum())
}

const SLOW_LINK: &str = "[[fault]]\nplace = \"link core 0 -> agg 0\"\nrate = \"1 Gbps\"\n";

#[test]
fn a_slow_link_is_waited_for() {
    for scoreboard in [true, false] {
        let record = permutation("", &format!("scoreboard = {scoreboard}"), SLOW_LINK);
        assert_eq!(timeouts(&record), (0, 0), "scoreboard {scoreboard}: {:?}", record.totals);
    }
}

#[test]
fn a_fixed_timer_does_not_wait_for_it() {
    let record = permutation("", "timer = \"fixed\"", SLOW_LINK);
    let (all, unexplained) = timeouts(&record);
    assert!(all > 0 && u64::from(unexplained) == all, "{unexplained} of {all}");
}

#[test]
fn long_links_are_waited_for() {
    let long = "core_link = { rate = \"10 Gbps\", delay = \"500 us\" }";
    let record = permutation(long, "", "");
    assert_eq!(timeouts(&record), (0, 0), "{:?}", record.totals);
}

#[test]
fn a_lost_flow_of_one_packet_waits_one_timeout() {
    // Requests from one host to another, one after the other; the third is lost.
    let record = run("until = \"all flows done\"\nlimit = \"1 s\"\n[topology]\nkind = \"star\"\nhosts = 2\n\
         link = { rate = \"10 Gbps\", delay = \"10 us\" }\n[transport]\nkind = \"ndp\"\n[switch]\nkind = \"trim\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"9000 B\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"9000 B\"\nstart = \"100 us\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"9000 B\"\nstart = \"1 ms\"\n\
         [[fault]]\nplace = \"all links\"\ncorrupt = 0.999999\nfrom = \"1 ms\"\nuntil = \"1100 us\"\n");
    assert!(record.totals.timeouts > 0 && record.totals.packets.lost > 0);
    for flow in &record.flows {
        let time = flow.received.expect("it ends").since(flow.start);
        assert!(time < pullnet_units::Picos::from_micros(1_300), "{time:?}");
    }
}

#[test]
fn a_large_incast_has_no_timeout() {
    let record = run(
        "until = \"all flows done\"\nlimit = \"1 s\"\n[topology]\nkind = \"fat-tree\"\nk = 12\n[transport]\nkind = \"ndp\"\n\
         initial_window = \"23 packets\"\n[switch]\nkind = \"trim\"\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 431\nsize = \"90 kB\"\n",
    );
    assert!(record.totals.packets.returned > 1000);
    assert_eq!(timeouts(&record), (0, 0), "{:?}", record.totals);
}
