//! Triggers and barriers of connection matrices.

use crate::common::{fct, pairs, refusal_of, run};
use proptest::prelude::*;
use pullnet_rng::Seed;
use pullnet_transport::Side;
use pullnet_units::{FlowId, Instant, Picos};
use pullnet_workload::{CheckedWorkload, Completion, FileName, FlowStart, Matrix, TrafficSpec, WorkloadSpec};

fn spec(matrix: &str) -> WorkloadSpec {
    let pattern = Matrix { file: FileName("m.cm".into()), ..Matrix::default() };
    WorkloadSpec::of([TrafficSpec::new(pattern)]).with_file("m.cm", matrix)
}

/// A matrix of 8 nodes with the header's numbers filled in.
fn matrix(lines: &[&str]) -> String {
    let triggers = lines.iter().filter(|line| line.starts_with("trigger ")).count();
    let header = format!("Nodes 8\nConnections {}\nTriggers {triggers}\n", lines.len() - triggers);
    header + &lines.join("\n")
}

fn starts(lines: &[&str]) -> Vec<FlowStart> {
    run(&spec(&matrix(lines)), 8, 1, Instant::ZERO.after(Picos::from_millis(10)))
}

fn received(start: &FlowStart) -> Instant {
    start.at + fct(start).unwrap()
}

fn acknowledged(start: &FlowStart) -> Instant {
    received(start) + Picos::from_micros(5)
}

/// A matrix of random flows and triggers, with a header that is right.
fn random_matrix() -> impl Strategy<Value = String> {
    let flow = (0u32..7, 0u32..6, 0u32..5, 0u32..5, 0u32..3000);
    let kinds = prop::collection::vec((0u32..3, 1u32..4), 4);
    (prop::collection::vec(flow, 1..12), kinds).prop_map(|(flows, kinds)| {
        let mut lines = Vec::new();
        for (src, begin, sent, received, size) in flows {
            let begin =
                if (1..5).contains(&begin) { format!("trigger {begin}") } else { "start 0".to_string() };
            let link = |name: &str, id: u32| if id == 0 { String::new() } else { format!(" {name} {id}") };
            let links = link("send_done_trigger", sent) + &link("recv_done_trigger", received);
            lines.push(format!("{src}->7 {begin} size {size}{links}"));
        }
        for (id, (kind, count)) in (1..).zip(kinds) {
            let kind = ["oneshot".to_string(), "multishot".to_string(), format!("barrier count {count}")]
                [kind as usize]
                .clone();
            lines.push(format!("trigger id {id} {kind}"));
        }
        matrix(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_flow_of_an_accepted_matrix_starts(text in random_matrix()) {
        let spec = spec(&text);
        if spec.check(&crate::common::network(8)).is_empty() {
            let starts = run(&spec, 8, 1, Instant::ZERO.after(Picos::from_millis(100)));
            let flows = text.lines().filter(|line| line.contains("->")).count();
            prop_assert_eq!(starts.len(), flows, "{}", text);
        } else {
            let refusal = refusal_of(&spec, 8);
            prop_assert!(refusal.contains("wait for each other") || refusal.contains("never starts"), "{refusal}");
        }
    }
}

#[test]
fn a_oneshot_fires_once_for_all() {
    let starts = starts(&[
        "0->1 id 1 start 0 size 1000 recv_done_trigger 1",
        "0->2 id 2 start 0 size 90000 recv_done_trigger 1",
        "3->4 id 3 trigger 1 size 10",
        "3->5 id 4 trigger 1 size 10",
        "trigger id 1 oneshot",
    ]);
    assert_eq!(pairs(&starts), [(0, 1), (0, 2), (3, 4), (3, 5)]);
    let fired = received(&starts[0]).after(crate::common::SIGNAL);
    assert!(starts[2..].iter().all(|start| start.at == fired));
}

#[test]
fn a_multishot_starts_the_next_each_time() {
    let starts = starts(&[
        "0->1 id 1 start 0 size 1000 send_done_trigger 1",
        "0->2 id 2 trigger 1 size 1000 send_done_trigger 1",
        "0->3 id 3 trigger 1 size 1000 send_done_trigger 1",
        "trigger id 1 multishot",
    ]);
    assert_eq!(pairs(&starts), [(0, 1), (0, 2), (0, 3)]);
    for pair in starts.windows(2) {
        assert_eq!(pair[1].at, acknowledged(&pair[0]).after(crate::common::SIGNAL));
    }
}

#[test]
fn a_barrier_fires_after_its_count() {
    let starts = starts(&[
        "0->1 id 1 start 0 size 1000 recv_done_trigger 5",
        "2->1 id 2 start 0 size 500000 recv_done_trigger 5",
        "3->1 id 3 start 0 size 2000 recv_done_trigger 5",
        "4->5 id 4 trigger 5 size 10",
        "5->4 id 5 trigger 5 size 10",
        "trigger id 5 barrier count 3",
    ]);
    assert_eq!(starts.len(), 5);
    assert!(starts[3..].iter().all(|start| start.at == received(&starts[1]).after(crate::common::SIGNAL)));
}

#[test]
fn both_ends_of_a_flow_can_fire() {
    let starts = starts(&[
        "0->1 id 1 start 0 size 1000 send_done_trigger 2 recv_done_trigger 1",
        "3->4 id 2 trigger 1 size 10",
        "3->5 id 3 trigger 2 size 10",
        "trigger id 2 oneshot",
        "trigger id 1 oneshot",
    ]);
    assert_eq!(pairs(&starts), [(0, 1), (3, 4), (3, 5)]);
    assert_eq!(starts[1].at, received(&starts[0]).after(crate::common::SIGNAL));
    assert_eq!(starts[2].at, acknowledged(&starts[0]).after(crate::common::SIGNAL));
}

#[test]
fn a_failed_flow_fires_nothing() {
    let spec = spec(&matrix(&[
        "0->1 start 0 size 9 send_done_trigger 1",
        "1->2 trigger 1 size 9",
        "trigger id 1 oneshot",
    ]));
    let mut workload = CheckedWorkload::new(&spec, &crate::common::network(8), Seed(1))
        .unwrap()
        .start(crate::common::SIGNAL);
    workload.starts_before(Instant(1), &mut Vec::new());
    workload.completed(Completion { flow: FlowId::new(0), at: Instant(5), side: Side::Sender, failed: true });
    assert!(workload.exhausted());
}

#[test]
fn a_long_serial_chain_runs_to_its_end() {
    let count = 20_000;
    let mut lines = vec!["0->1 id 1 start 0 size 1 send_done_trigger 1".to_string()];
    for n in 1..count {
        lines.push(format!("0->1 id {} trigger {n} size 1 send_done_trigger {}", n + 1, n + 1));
    }
    (1..=count).for_each(|n| lines.push(format!("trigger id {n} oneshot")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(refusal_of(&spec(&matrix(&lines)), 8), "");
}

fn refusal(lines: &[&str]) -> String {
    refusal_of(&spec(&matrix(lines)), 8).replace("traffic[0] (matrix): ", "")
}

#[test]
fn cycles_are_refused_by_name() {
    let two = [
        "0->1 start 0 size 9",
        "1->2 trigger 1 size 9 send_done_trigger 2",
        "2->3 trigger 2 size 9 recv_done_trigger 1",
        "trigger id 1 oneshot",
        "trigger id 2 oneshot",
    ];
    assert_eq!(
        refusal(&two),
        "m.cm:7: the triggers wait for each other: trigger 1 -> flow 1->2 (line 5) -> trigger 2 -> flow 2->3 (line 6) -> trigger 1; start one of these flows at a time instead"
    );
    let fed = [
        "0->1 start 0 size 9 send_done_trigger 1",
        "1->2 trigger 1 size 9 send_done_trigger 1",
        "trigger id 1 barrier count 1",
    ];
    assert!(
        refusal(&fed).contains("trigger 1 -> flow 1->2 (line 5) -> trigger 1"),
        "a cycle stays one even if it is fed"
    );
    let multi =
        ["0->1 start 0 size 9", "1->2 trigger 1 size 9 send_done_trigger 1", "trigger id 1 multishot"];
    assert!(
        refusal(&multi).contains("trigger 1 -> flow 1->2 (line 5) -> trigger 1"),
        "a multishot that only feeds itself never begins"
    );
}

#[test]
fn triggers_that_cannot_fire_are_refused() {
    let barrier =
        ["0->1 start 0 size 9 send_done_trigger 1", "1->2 trigger 1 size 9", "trigger id 1 barrier count 2"];
    assert_eq!(
        refusal(&barrier),
        "m.cm:5: trigger 1 never starts this flow: 1 flows activate it and it needs 2; let more flows activate it, or lower its count"
    );
    let endless =
        ["0->1 start 0 size 0 send_done_trigger 1", "1->2 trigger 1 size 9", "trigger id 1 oneshot"];
    assert!(refusal(&endless).starts_with("m.cm:5: trigger 1 never starts this flow: 0 flows activate it"));
    let multishot = [
        "0->1 start 0 size 9 send_done_trigger 1",
        "1->2 trigger 1 size 9",
        "1->3 trigger 1 size 9",
        "trigger id 1 multishot",
    ];
    assert!(
        refusal(&multishot)
            .starts_with("m.cm:6: trigger 1 never starts this flow: 1 flows activate it and it needs 2")
    );
}

// Long: a table of cases.
#[test]
fn what_is_wrong_in_a_matrix_is_named() {
    let table: [(&[&str], &str); 12] = [
        (
            &["0->1 size 9"],
            "m.cm:4: the flow has neither a start time and a trigger; state exactly one of \"start t\" and \"trigger id\"",
        ),
        (
            &["0->1 start 0 trigger 1 size 9", "trigger id 1 oneshot"],
            "m.cm:4: the flow has both a start time and a trigger; state exactly one of \"start t\" and \"trigger id\"",
        ),
        (&["0->1 id 0 start 0 size 9"], "m.cm:4: flow id 0 is reserved; number from 1"),
        (
            &["0->1 id 1 start 0 size 9", "trigger id 0 oneshot"],
            "m.cm:5: trigger id 0 is reserved; number from 1",
        ),
        (
            &["0->1 id 1 start 0 size 9", "0->2 id 1 start 0 size 9"],
            "m.cm:5: flow id 1 was used on line 4 already; give every flow its own id",
        ),
        (
            &["0->1 start 7 size 9"],
            "m.cm:4: start 7 has no unit, and readers differ; set start_unit = \"ps\" (htsim's NDP and EQDS programs) or \"us\" (its Swift and UEC programs)",
        ),
        (&["0->8 start 0 size 9"], "m.cm:4: host 8 is beyond the header's 8 nodes; use 0 to 7"),
        (&["0->0 start 0 size 9"], "m.cm:4: a flow leads from host 0 to itself; a flow needs two hosts"),
        (
            &["0->1 start 0 size 9223372036854775808"],
            "m.cm:4: size \"9223372036854775808\" is not a whole number of bytes below 2^63 (0 is endless)",
        ),
        (
            &["0->1 start 0 size 9 send_done_trigger 3"],
            "m.cm:4: trigger 3 is used here and described nowhere; add a line \"trigger id 3 oneshot\", or set other_triggers = \"oneshot\" for all such triggers",
        ),
        (
            &["0->1 start 0 sise 9"],
            "m.cm:4: \"sise\" is unknown here; use id, start, trigger, size, send_done_trigger, recv_done_trigger, prio, msg",
        ),
        (
            &["0->1 start 0 size 9", "trigger id 1 barrier"],
            "m.cm:5: the trigger has no count above 0 for its barrier; write \"trigger id n oneshot\", \"trigger id n multishot\" or \"trigger id n barrier count m\"",
        ),
    ];
    for (lines, message) in table {
        assert_eq!(refusal(lines), message);
    }
    let whole = |text: &str| refusal_of(&spec(text), 8).replace("traffic[0] (matrix): ", "");
    assert_eq!(
        whole("Nodes 8\nConnections 2\n0->1 start 0 size 9\n"),
        "m.cm:2: the header says 2 connections, the file has 1; complete the file, correct the header, or set counts = \"ignored\" to take what there is"
    );
    assert_eq!(whole("Nodes 8\nConnections 0\n"), "m.cm:2: there are no flows; add at least one connection");
    assert!(whole("hello\n").starts_with("m.cm:1: \"hello\" begins no connection matrix"));
    assert_eq!(
        whole("Nodes 16\nConnections 1\n0->15 start 0 size 9"),
        "m.cm:3: host 15 is beyond the block's 8 hosts; use a larger topology, or select more hosts"
    );
    assert_eq!(
        whole("Nodes 8\nConnections 1\nTriggers 2\n0->1 start 0 size 9\ntrigger id 1 oneshot\n"),
        "m.cm:3: the header says 2 triggers, the file has 1; complete the file, correct the header, or set counts = \"ignored\" to take what there is"
    );
    let failure = "Nodes 8\nConnections 1\nFailures 1\n0->1 start 0 size 9\nfailure switch_type AGG switch_id 1 link_id 2\n";
    assert_eq!(
        whole(failure),
        "m.cm:5: failures are part of the topology; state them as [[fault]] and remove them and the Failures line here"
    );
}
