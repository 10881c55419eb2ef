//! Flow lists and matrices: what they hold, what is refused, and that nothing panics.

use crate::common::refusal_of;
use proptest::prelude::*;
use pullnet_units::{Bytes, Instant};
use pullnet_workload::{
    Begin, Counts, FileName, Flows, Hosts, Matrix, MatrixOptions, OtherTriggers, Reading, SizeDistribution,
    StartUnit, TrafficSpec, WorkloadSpec, parse_flow_list, parse_hpcc_flows, parse_matrix,
};

/// Bytes, and texts that come close to being right.
fn input(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let near = prop::collection::vec(
        (prop::sample::select(words), prop::sample::select(&[" ", "\n", ","][..])),
        0..60,
    );
    let near =
        near.prop_map(|pieces| pieces.into_iter().flat_map(|(a, b)| [a, b]).collect::<String>().into_bytes());
    prop_oneof![near, prop::collection::vec(any::<u8>(), 0..200)]
}

const MATRIX: &[&str] = &[
    "Nodes 8",
    "Connections 1",
    "Connections 2",
    "Triggers 1",
    "0->1",
    "1->2",
    "->",
    "9->",
    "start 0",
    "start 5",
    "start",
    "size 9",
    "size 0",
    "size -1",
    "id 1",
    "id 2",
    "trigger 1",
    "trigger id 1 oneshot",
    "trigger id 1 multishot",
    "barrier count 1",
    "trigger id 2 barrier count 2",
    "send_done_trigger 1",
    "recv_done_trigger 1",
    "recv_done_trigger 2",
    "prio 3",
    "msg",
    "failure",
    "switch_type TOR switch_id 1 link_id 0",
    "4294967296",
    "99999999999999999999999",
    "é",
];
const LIST: &[&str] = &[
    "src,dst,bytes,start_us\n",
    "src",
    "dst",
    "bytes",
    "start",
    "priority",
    "tag",
    "0",
    "1",
    "9000",
    "endless",
    "10 us",
    "-1",
    "1e30",
    "NaN",
    "\"",
    "'",
    "90 kB",
    "#",
    "0,1,9000,5\n",
    "é",
];
const HPCC: &[&str] = &[
    "2",
    "0 1 3 100 5000 2",
    "1 0 3 100 5000 2.5",
    "1",
    "3",
    "1e5",
    "2.0000000000001",
    "99999999999999999999",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_matrix_is_read_or_refused(text in input(MATRIX), unit in 0..3, ignored: bool, other in 0..3) {
        let counts = if ignored { Counts::Ignored } else { Counts::Met };
        let other_triggers = [None, Some(OtherTriggers::OneShot), Some(OtherTriggers::MultiShot)][other as usize];
        let unit = [None, Some(StartUnit::Ps), Some(StartUnit::Us)][unit as usize];
        let options = MatrixOptions { start_unit: unit, counts, other_triggers };
        if let Ok(script) = parse_matrix("m", &text, &options) {
            prop_assert!(!script.flows.is_empty());
        }
        let pattern = Matrix { file: FileName("m".into()), start_unit: unit, counts, other_triggers, ..Matrix::default() };
        let spec = WorkloadSpec::of([TrafficSpec::new(pattern)]).with_file("m", text);
        if spec.check(&crate::common::network(4)).is_empty() {
            prop_assert!(!crate::common::run(&spec, 4, 1, Instant(100_000_000)).is_empty());
        }
    }

    #[test]
    fn any_list_is_read_or_refused(text in input(LIST)) {
        if let Ok(script) = parse_flow_list("l", &text) {
            prop_assert!(!script.flows.is_empty());
        }
    }

    #[test]
    fn any_hpcc_file_is_read_or_refused(text in input(HPCC), ignored: bool) {
        let counts = if ignored { Counts::Ignored } else { Counts::Met };
        if let Ok(script) = parse_hpcc_flows("h", &text, counts) {
            prop_assert!(!script.flows.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_a_distribution_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = SizeDistribution::parse("s", &text, Reading::Linear);
    }

    #[test]
    fn any_text_selects_hosts_or_is_refused(text in "(all|first |last |but |[0-9]{1,10}|\\.\\.|,| ){0,8}|.{0,20}") {
        if let Ok(hosts) = text.parse::<Hosts>() {
            let pool: Vec<_> = (0..20).map(pullnet_units::HostId::new).collect();
            if let Ok(chosen) = hosts.among(&pool, 20) {
                prop_assert!(!chosen.is_empty() && chosen.len() <= 20);
            }
        }
    }

    #[test]
    fn a_list_keeps_what_it_says(flows in prop::collection::vec((0u32..50, 1u32..50, 1u64..1 << 60, 0u64..1 << 50, 0u8..), 1..50)) {
        let mut text = String::from("start_ps,tag,src,dst,priority,bytes\n");
        for (src, away, bytes, start, priority) in &flows {
            text += &format!("{start},\"a, b\",{src},{},{priority},{bytes}\n", src + away);
        }
        let script = parse_flow_list("l", text.as_bytes()).unwrap();
        for (flow, (src, away, bytes, start, priority)) in script.flows.iter().zip(flows) {
            prop_assert_eq!((flow.src, flow.dst, flow.size), (src, src + away, Some(Bytes(bytes))));
            prop_assert_eq!((flow.begin, flow.priority), (Begin::At(Instant(start)), Some(priority)));
            prop_assert_eq!(flow.tag.as_deref(), Some("a, b"));
        }
    }
}

fn list(text: &str) -> WorkloadSpec {
    WorkloadSpec::of([TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() })])
        .with_file("f.csv", text)
}

#[test]
fn a_list_runs_in_order_of_time() {
    let spec = list(
        "src,dst,bytes,start,priority,tag\n0,1,9000,10 us,,\n1,2,90 kB,5 us,3,fast\n# note\n2,3,endless,5 us,,\n",
    );
    let starts = crate::common::run(&spec, 8, 1, Instant(100_000_000));
    assert_eq!(crate::common::pairs(&starts), [(1, 2), (2, 3), (0, 1)]);
    assert_eq!(
        (starts[0].labels.priority, starts[0].labels.tag, starts[1].labels.tag, starts[1].size),
        (3, 1, 0, None)
    );
    assert_eq!(crate::common::workload(&spec, 8, 1).tags(), ["flows", "fast"]);
}

#[test]
fn host_numbers_count_within_the_selection() {
    let block = TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() })
        .with(|c| c.hosts = "last 2".parse().unwrap());
    let spec = WorkloadSpec::of([block]).with_file("f.csv", "src,dst,bytes,start_us\n0,1,5,0.5\n");
    let starts = crate::common::run(&spec, 8, 1, Instant(100_000_000));
    assert_eq!((crate::common::pairs(&starts), starts[0].at), (vec![(6, 7)], Instant(500_000)));
}

#[test]
fn refusals_of_a_list_name_line_column_and_remedy() {
    let refused = |text: &str| refusal_of(&list(text), 8).replace("traffic[0] (flows): ", "");
    let head = "src,dst,bytes,start\n";
    let table = [
        (
            "0,1,x,1 us",
            "f.csv:2: bytes = \"x\" is not a size; write whole bytes from 1 to 2^63 - 1, a size as \"90 kB\", or \"endless\"",
        ),
        (
            "0,1,0,1 us",
            "f.csv:2: bytes = \"0\" is not a size; write whole bytes from 1 to 2^63 - 1, a size as \"90 kB\", or \"endless\"",
        ),
        (
            "0,1,9223372036854775808,1 us",
            "f.csv:2: bytes = \"9223372036854775808\" is not a size; write whole bytes from 1 to 2^63 - 1, a size as \"90 kB\", or \"endless\"",
        ),
        (
            "0,1,5,1",
            "f.csv:2: start = \"1\" is not a time; write it with its unit, as \"10 us\", or name the column start_us",
        ),
        ("0,0,5,1 us", "f.csv:2: src and dst are both 0; a flow needs two hosts"),
        ("0,8,5,1 us", "f.csv:2: host 8 is beyond the block's 8 hosts; use 0 to 7"),
        (
            "0,1,5",
            "f.csv:2: the row cannot be read: it has 3 values and the header 4; write one value per column, separated by commas",
        ),
        ("", "f.csv:1: there are no flows; add at least one row"),
    ];
    for (row, message) in table {
        assert_eq!(refused(&format!("{head}{row}")), message);
    }
    assert_eq!(
        refused("src,dst,start\n"),
        "f.csv:1: the column \"bytes\" is missing; the header must name at least src,dst,bytes,start"
    );
    assert!(
        refused("src,dst,bytes,start,colour\n")
            .starts_with("f.csv:1: the column \"colour\" is unknown; use src, dst")
    );
    assert_eq!(refused("src,dst,bytes,start,src\n"), "f.csv:1: the column \"src\" is there twice; keep one");
    let absent =
        WorkloadSpec::of([TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() })]);
    assert_eq!(
        refusal_of(&absent, 8),
        "traffic[0] (flows): file = \"f.csv\" was not read; name a file that exists"
    );
}

#[test]
fn an_hpcc_file_is_read_as_its_reader_does() {
    let script = parse_hpcc_flows(
        "flow.txt",
        b"2\n2 1 3 100 200000000 2\n3 1 3 100 5000 2.000001\n4 1 3 100 7 2\n\nFirst line: # of flows\n",
        Counts::Met,
    )
    .unwrap();
    assert_eq!((script.flows.len(), script.ignored_lines), (2, 2));
    assert_eq!(script.flows[1].begin, Begin::At(Instant(2_000_001_000_000)));
    let refused =
        |text: &str| parse_hpcc_flows("flow.txt", text.as_bytes(), Counts::Met).unwrap_err().to_string();
    assert_eq!(
        refused("3\n2 1 3 100 5 2\n"),
        "flow.txt:1: the header says 3 flows, the file has 1; complete the file, correct the header, or set counts = \"ignored\" to take what there is"
    );
    assert!(
        refused("ENABLE_QCN 1\n").starts_with("flow.txt:1: \"ENABLE_QCN 1\" begins no connection matrix")
    );
    assert!(refused("1\n1 2 3\n").starts_with("flow.txt:2: flow \"1 2 3\" is not six numbers"));
    let starts = |text: &str| {
        let file = format!("1\n0 1 3 100 5 {text}\n");
        parse_hpcc_flows("flow.txt", file.as_bytes(), Counts::Met).map(|script| script.flows[0].begin)
    };
    for (text, picos) in
        [("2e-06", 2_000_000), ("1E-5", 10_000_000), ("0.1234567890123456", 123_456_789_012), ("0", 0)]
    {
        assert_eq!(starts(text).unwrap(), Begin::At(Instant(picos)), "{text}");
    }
    for wrong in ["-0.1", "1e30", "nan", "inf", "1s"] {
        assert!(starts(wrong).unwrap_err().to_string().contains("is not a time in seconds"), "{wrong}");
    }
}

#[test]
fn a_matrix_says_in_which_unit_it_starts() {
    let text = b"Nodes 4\nConnections 2\n0->1 start 40 size 9\n1->2 start 0.000000 size 0\n";
    let start = |unit| parse_matrix("m", text, &with(Some(unit))).unwrap().flows[0].begin;
    assert_eq!(start(StartUnit::Ps), Begin::At(Instant(40)));
    assert_eq!(start(StartUnit::Us), Begin::At(Instant(40_000_000)));
    assert_eq!(parse_matrix("m", text, &with(Some(StartUnit::Ps))).unwrap().flows[1].size, None);
    assert!(parse_matrix("m", text, &with(None)).is_err());
    let hpcc = Matrix { file: FileName("h".into()), start_unit: Some(StartUnit::Us), ..Matrix::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(hpcc)]).with_file("h", "1\n0 1 3 100 5 2\n");
    assert_eq!(
        refusal_of(&spec, 4),
        "traffic[0] (matrix): start_unit = \"us\" has no effect on an HPCC flow file, which counts in seconds; remove it"
    );
}

#[test]
fn a_comment_may_stand_behind_the_words_of_any_line_of_a_matrix() {
    let plain = "Nodes 4\nConnections 2\nTriggers 1\nFailures 1\n0->1 id 1 start 0 size 9 send_done_trigger 1\n1->2 trigger 1 \
                 size 9\ntrigger id 1 oneshot\nfailure switch_type TOR switch_id 0 link_id 0\n";
    let read = |text: &str| parse_matrix("m", text.as_bytes(), &with(None)).unwrap();
    for comment in ["# note", " # note", "\t#0->1 id 9", "#"] {
        assert_eq!(read(&plain.replace('\n', &format!("{comment}\n"))), read(plain), "{comment}");
    }
}

#[test]
fn wrong_counts_are_refused_unless_they_are_to_be_ignored() {
    let text = b"Nodes 4\nConnections 3600\nTriggers 2\n0->1 start 0 size 9\n2->3 start 0 size 9\n";
    let ignored = MatrixOptions { counts: Counts::Ignored, ..MatrixOptions::default() };
    let refused = parse_matrix("m", text, &with(None)).unwrap_err();
    assert_eq!(refused.0[0].line, 2);
    assert!(refused.to_string().ends_with("or set counts = \"ignored\" to take what there is"), "{refused}");
    assert_eq!(parse_matrix("m", text, &ignored).unwrap().flows.len(), 2);
    let hpcc = |stated: &str, counts| {
        parse_hpcc_flows("h", format!("{stated}\n0 1 3 100 9 2\n1 0 3 100 9 2\n").as_bytes(), counts)
    };
    assert!(hpcc("3", Counts::Met).is_err());
    assert_eq!(hpcc("1", Counts::Met).unwrap().flows.len(), 1);
    for stated in ["1", "3"] {
        assert_eq!(hpcc(stated, Counts::Ignored).unwrap().flows.len(), 2);
    }
}

fn with(start_unit: Option<StartUnit>) -> MatrixOptions {
    MatrixOptions { start_unit, ..MatrixOptions::default() }
}

/// As one matrix of uet-htsim has them: flows one after the other by triggers that no line describes.
#[test]
fn triggers_that_no_line_describes_are_what_the_option_says() {
    let text = b"Nodes 3\nConnections 2\n0->1 start 0 size 9 send_done_trigger 7\n0->2 trigger 7 size 9\n";
    let refused = parse_matrix("m", text, &with(None)).unwrap_err();
    assert_eq!(refused.0[0].line, 3);
    assert!(
        refused.to_string().ends_with("or set other_triggers = \"oneshot\" for all such triggers"),
        "{refused}"
    );
    for other in [OtherTriggers::OneShot, OtherTriggers::MultiShot] {
        let options = MatrixOptions { other_triggers: Some(other), ..with(None) };
        let script = parse_matrix("m", text, &options).unwrap();
        assert_eq!((script.triggers.len(), script.flows[1].begin), (1, Begin::Trigger(0)));
    }
}

/// Every wrong line is named, up to twenty; then how many more there are.
#[test]
fn all_wrong_lines_are_told_at_once() {
    let list = "src,dst,bytes,start_us\n0,x,9,0\n0,1,9,0\n1,1,9,0\n0,1,-9,0\n0,1\n";
    let lines = |text: String| text.lines().map(|line| line[..line.find(' ').unwrap()].to_owned()).collect();
    let told: Vec<String> = lines(parse_flow_list("l.csv", list.as_bytes()).unwrap_err().to_string());
    assert_eq!(told, ["l.csv:2:", "l.csv:4:", "l.csv:5:", "l.csv:6:"]);

    let matrix = "Nodes 4\nConnections 3\n0->9 start 0 size 1\n0->1 start 0 size 1\n0->1 begin 0\n";
    let told: Vec<String> =
        lines(parse_matrix("m.cm", matrix.as_bytes(), &MatrixOptions::default()).unwrap_err().to_string());
    assert_eq!(told, ["m.cm:3:", "m.cm:5:"]);

    let again = "Nodes 4\nConnections 0\nTriggers 1\n".to_owned() + &"trigger id 1 oneshot\n".repeat(4);
    let refused = parse_matrix("m.cm", again.as_bytes(), &MatrixOptions::default()).unwrap_err().to_string();
    let told: Vec<&str> = refused.lines().map(|line| &line[..line.find(" already").unwrap()]).collect();
    assert_eq!(told, [5, 6, 7].map(|line| format!("m.cm:{line}: trigger id 1 was used on line 4")));

    let many = format!("50\n{}", "0 0 3 100 9 2\n".repeat(50));
    let refused = parse_hpcc_flows("flow.txt", many.as_bytes(), Counts::Met).unwrap_err().to_string();
    assert_eq!(refused.lines().count(), 21);
    assert!(
        refused.ends_with("flow.txt:22: and 30 more faults from here on; mend those above first"),
        "{refused}"
    );
}
