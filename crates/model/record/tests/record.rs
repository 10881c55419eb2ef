//! Tables and summary of a small, hand-written run.

use std::collections::BTreeMap;

use pullnet_probes::{
    Column, Data, Occupancy, OccupancyRow, Per, PortSeries, PortSeriesRow, Recorded, Recording, Series,
    SeriesKey, SeriesRow, Table,
};
use pullnet_record::{
    About, Cost, FlowRow, HostRow, PacketCounts, PortRow, RunRecord, StuckFlow, Summary, Totals, tables,
};
use pullnet_units::{HostId, Instant, Labels, Picos, PortId};

fn flow(size: Option<u64>, received_us: Option<u64>, failed: Option<&'static str>) -> FlowRow {
    FlowRow {
        dst: HostId::new(1),
        size,
        start: Instant(5_000_000),
        received: received_us.map(|us| Instant(us * 1_000_000)),
        failed,
        delivered: 9_000,
        delivered_in_window: 4_500,
        ideal: size.map(|_| Picos::from_micros(10)),
        labels: Labels { tag: u16::from(size.is_none()), ..Labels::default() },
        senders: 1,
        packets_sent: 3,
        retransmitted: 1,
        ..FlowRow::default()
    }
}

fn port(occupancy: Vec<Picos>) -> PortRow {
    PortRow {
        port: Some(PortId::new(7)),
        name: "tor 0 -> host 1".to_owned(),
        level: "tor->host".to_owned(),
        packets: 3,
        bytes: 27_000,
        data_packets: 3,
        marked: 0,
        trimmed: 1,
        returned: 0,
        dropped: 0,
        lost: 0,
        pauses: 0,
        paused: Picos::ZERO,
        busy: Picos::from_micros(25),
        peak_data: 2,
        peak_control: 1,
        occupancy,
    }
}

fn stuck(flow: u32, last_us: u64) -> StuckFlow {
    let last_progress = Instant(last_us * 1_000_000);
    StuckFlow {
        flow,
        src: HostId::new(0),
        dst: HostId::new(1),
        bytes: 0,
        size: None,
        last_progress,
        waiting_for: "a pull",
    }
}

/// Three of the optional tables.
fn recorded() -> Recorded {
    let interval = Picos::from_micros(20);
    let held = |held, ps| OccupancyRow { row: 0, held, time: Picos(ps) };
    let series = SeriesRow {
        key: SeriesKey::Host(HostId::new(1)),
        at: Instant(90_000_000),
        delivered: 12_500,
        queued: None,
    };
    let port_series = PortSeriesRow {
        row: 0,
        at: Instant(40_000_000),
        data: 2,
        control: 1,
        packets: 3,
        bytes: 12_500,
        marked: 0,
        trimmed: 1,
        returned: 0,
        dropped: 0,
        lost: 0,
    };
    Recorded {
        occupancy: Some(Recording { probe: Occupancy, rows: vec![held(0, 50), held(2, 50)] }),
        series: Some(Recording { probe: Series { interval, per: Per::Host }, rows: vec![series] }),
        port_series: Some(Recording { probe: PortSeries { interval, of: None }, rows: vec![port_series] }),
        ..Recorded::default()
    }
}

fn record() -> RunRecord {
    let host =
        |delivered_in_window, receives| HostRow { delivered_in_window, rate_bps: 10_000_000_000, receives };
    RunRecord {
        fingerprint: 0xabc,
        simulated: Instant(100_000_000),
        complete: true,
        window: (Instant(0), Instant(100_000_000)),
        tags: vec!["short".to_owned(), "long".to_owned()],
        transports: vec!["ndp".to_owned()],
        tenants: vec![String::new(), "red".to_owned()],
        flows: vec![
            flow(Some(9_000), Some(25), None),
            flow(Some(9_000), Some(35), Some("late")),
            flow(Some(9_000), None, Some("no answer")),
            flow(None, None, None),
        ],
        hosts: vec![host(0, false), host(62_500, true), host(125_000, true)],
        ports: vec![port(vec![Picos(50), Picos(0), Picos(50)]), port(Vec::new())],
        recorded: recorded(),
        deadlock: Vec::new(),
        unknown_flow: None,
        left_out: Vec::new(),
        stuck: vec![stuck(0, 60), stuck(1, 61)],
        totals: Totals {
            packet_hops: 1_000,
            packets: PacketCounts {
                trimmed_by_tier: BTreeMap::from([("tor->host".to_owned(), 1)]),
                ..PacketCounts::default()
            },
            ..Totals::default()
        },
    }
}

fn about() -> About {
    About {
        world: "simulator",
        scenario: "by hand".to_owned(),
        seed: 3,
        threads: 2,
        version: "0.1.0".to_owned(),
        interrupted: true,
        stuck_after: Picos::from_micros(40),
        warnings: Vec::new(),
        silenced: Vec::new(),
    }
}

fn summary() -> Summary {
    Summary::of(&record(), about(), Cost { wall_s: 1.0, cpu_s: 2.0, peak_rss_bytes: 4_096 })
}

fn all() -> Vec<Table> {
    tables(&record())
}

fn column(table: &str, name: &str) -> Column {
    let all = all();
    let table = all.iter().find(|candidate| candidate.name == table).expect("a table of that name");
    table.column(name).expect("a column of that name").clone()
}

#[test]
fn unfinished_flows_are_warned_of_unless_they_are_endless() {
    let names = |about| {
        let open = RunRecord { flows: [record().flows, vec![open_flow()]].concat(), ..record() };
        Summary::of(&open, about, Cost::default())
            .warnings
            .iter()
            .map(|warning| warning.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(summary().warnings, [], "the flow that is open never ends");
    assert_eq!(names(about()), ["unfinished_flows"]);
    assert_eq!(names(About { silenced: vec!["unfinished_flows"], ..about() }), Vec::<&str>::new());
}

#[test]
fn a_run_that_waits_for_all_flows_is_not_advised_to_do_so() {
    let flows = [record().flows, vec![open_flow()]].concat();
    let told = |complete| {
        let open = RunRecord { flows: flows.clone(), complete, ..record() };
        let found = Summary::of(&open, About { interrupted: false, ..about() }, Cost::default());
        found.warnings[0].message.clone()
    };
    assert!(told(true).ends_with("run longer, or use until = \"all flows done\""));
    assert!(told(false).ends_with("raise limit, or find out what the open flows wait for"));
}

#[test]
fn a_window_that_begins_after_the_run_is_warned_of() {
    let end = record().simulated;
    let record = RunRecord { window: (end, end), ..record() };
    let found =
        Summary::of(&record, About { silenced: vec!["unfinished_flows"], ..about() }, Cost::default());
    assert_eq!((found.warnings[0].name, found.goodput_gbps.total), ("empty_window", None));
    let nothing = RunRecord { window: (Instant::ZERO, Instant::ZERO), ..record };
    let found =
        Summary::of(&nothing, About { silenced: vec!["unfinished_flows"], ..about() }, Cost::default());
    assert_eq!(found.warnings, [], "it begins with the run");
}

#[test]
fn a_flow_whose_hops_cannot_be_recorded_is_warned_of() {
    let record = RunRecord { unknown_flow: Some(99), ..record() };
    let found =
        Summary::of(&record, About { silenced: vec!["unfinished_flows"], ..about() }, Cost::default());
    let [warning] = &found.warnings[..] else { panic!("one warning") };
    assert_eq!((warning.name, warning.setting.as_str()), ("unknown_flow", "probes.hops.flows"));
    assert!(warning.message.starts_with("names flow 99, which the run does not have: 4 flows started"));
}

#[test]
fn a_run_without_flows_is_warned_of() {
    let warnings = |about| {
        let record = RunRecord { flows: Vec::new(), ..record() };
        Summary::of(&record, about, Cost::default()).warnings
    };
    let [warning] = &warnings(about())[..] else { panic!("one warning") };
    assert_eq!(warning.name, "no_flows");
    assert_eq!(warnings(About { silenced: vec!["no_flows"], ..about() }), []);
}

#[test]
fn a_deadlock_is_warned_of_with_its_ports() {
    let circle = vec!["a -> b".to_owned(), "b -> a".to_owned()];
    let warnings = |about| {
        let record = RunRecord { deadlock: circle.clone(), ..record() };
        Summary::of(&record, about, Cost::default()).warnings
    };
    let [warning] = &warnings(about())[..] else { panic!("one warning") };
    assert_eq!(warning.name, "deadlock");
    assert!(warning.message.contains("2 ports") && warning.message.contains("a -> b, b -> a"), "{warning:?}");
    assert_eq!(warnings(About { silenced: vec!["deadlock"], ..about() }), []);
}

/// A flow that could have completed and did not.
fn open_flow() -> FlowRow {
    let whole = record().flows.into_iter().find(|flow| flow.received.is_some()).expect("a completed flow");
    FlowRow { received: None, acknowledged: None, failed: None, ..whole }
}

#[test]
fn every_flow_is_counted_once() {
    let flows = summary().flows;
    assert_eq!((flows.completed, flows.failed, flows.unfinished, flows.endless), (2, 1, 1, 1));
    assert_eq!(flows.started, flows.completed + flows.failed + flows.unfinished);
}

#[test]
fn only_a_flow_that_never_arrived_counts_as_a_failure() {
    assert_eq!(summary().failures.into_iter().collect::<Vec<_>>(), [("no answer", 1)]);
}

#[test]
fn completion_times_run_from_the_offer_to_the_last_byte() {
    let summary = summary();
    assert_eq!(
        (summary.fct_us.min, summary.fct_us.mean, summary.fct_us.max),
        (Some(20.0), Some(25.0), Some(30.0))
    );
    assert_eq!((summary.slowdown.min, summary.slowdown.max), (Some(2.0), Some(3.0)));
}

#[test]
fn utilisation_is_over_hosts_that_receive() {
    let summary = summary();
    // 62500 B in 100 us are 5 Gb/s, half of the link.
    assert_eq!(
        (summary.utilisation.min, summary.utilisation.mean, summary.utilisation.max),
        (Some(0.5), Some(0.75), Some(1.0))
    );
    assert_eq!((summary.goodput_gbps.total, summary.goodput_gbps.mean), (Some(15.0), Some(7.5)));
}

#[test]
fn an_empty_window_has_no_utilisation() {
    let record = RunRecord { window: (Instant(5), Instant(5)), ..record() };
    assert_eq!(Summary::of(&record, about(), Cost::default()).utilisation.mean, None);
}

#[test]
fn only_a_run_that_is_not_complete_was_interrupted() {
    assert_eq!(summary().ended, "stated end");
    let broken_off = RunRecord { complete: false, ..record() };
    assert_eq!(Summary::of(&broken_off, about(), Cost::default()).ended, "interrupted");
}

#[test]
fn tags_are_summed_apart() {
    let by_tag = summary().by_tag;
    assert_eq!(by_tag["short"].flows.started, 3);
    assert_eq!(by_tag["long"].flows.endless, 1);
    assert_eq!(by_tag["long"].fct_us.mean, None);
}

#[test]
fn the_summary_as_json_has_the_promised_keys() {
    let text = summary().to_json();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["fingerprint"], "0000000000000abc");
    assert_eq!(json["packets"]["trimmed_by_tier"]["tor->host"], 1);
    assert_eq!(json["cost"]["packet_hops_per_cpu_s"], 500.0);
    for path in [
        "/flows/unfinished",
        "/fct_us/p90",
        "/slowdown/p99",
        "/utilisation/min",
        "/goodput_gbps/total",
        "/timeouts",
        "/unexplained_timeouts",
    ] {
        assert!(json.pointer(path).is_some(), "{path}");
    }
}

#[test]
fn columns_of_a_table_have_one_length_and_a_doc() {
    for table in all() {
        for column in &table.columns {
            assert_eq!(column.data.len(), table.rows(), "{}.{}", table.name, column.name);
            assert!(column.doc.ends_with('.') && !table.doc.is_empty(), "{}.{}", table.name, column.name);
        }
    }
}

#[test]
fn a_unit_in_a_name_is_the_unit_of_the_column() {
    for column in all().iter().flat_map(|table| &table.columns) {
        let suffix = [("_ps", "ps"), ("_us", "us"), ("_gbps", "Gb/s"), ("_bytes", "B")];
        for (_, unit) in suffix.iter().filter(|(suffix, _)| column.name.ends_with(suffix)) {
            assert_eq!(column.unit, *unit, "{}", column.name);
        }
    }
}

#[test]
fn tables_that_nobody_asked_for_are_left_out() {
    let bare = RunRecord { recorded: Recorded::default(), ..record() };
    let names: Vec<_> = tables(&bare).iter().map(|table| table.name).collect();
    assert_eq!(names, ["flows", "hosts", "ports"]);
}

#[test]
fn what_a_flow_lacks_is_missing_in_its_row() {
    let sizes = column("flows", "size_bytes");
    assert_eq!(sizes.data, Data::I64(vec![9_000, 9_000, 9_000, 0]));
    assert_eq!(sizes.valid, Some(vec![0b0111]));
    assert_eq!(column("flows", "fct_us").valid, Some(vec![0b0011]));
    assert_eq!(column("flows", "start_ps").valid, None);
}

#[test]
fn the_mean_is_over_the_numbers_of_packets_held() {
    assert_eq!(column("ports", "mean_data").data, Data::F64(vec![1.0, 0.0]));
    assert_eq!(column("ports", "mean_data").valid, Some(vec![0b01]));
}

#[test]
fn a_last_interval_that_was_cut_short_counts_only_its_length() {
    // 12500 B in the remaining 10 us of a 20 us interval.
    assert_eq!(column("series", "goodput_gbps").data, Data::F64(vec![10.0]));
}

#[test]
fn only_flows_that_stood_still_for_long_are_stuck() {
    let stuck: Vec<_> = summary().stuck.iter().map(|flow| flow.flow).collect();
    assert_eq!(stuck, [0]);
}

/// Flows with deadlines, tenants and coflows, all of them started after 5 us.
fn jobs() -> RunRecord {
    let row = |received_us, deadline_us: Option<u64>, tenant, coflow| FlowRow {
        labels: Labels {
            deadline: deadline_us.map(|us| Instant(us * 1_000_000)),
            tenant,
            coflow,
            ..Labels::default()
        },
        ..flow(Some(9_000), received_us, None)
    };
    let flows = vec![
        row(Some(20), Some(30), 1, Some(0)),
        row(Some(45), Some(30), 1, Some(0)),
        row(None, Some(99), 0, Some(1)),
        row(None, Some(101), 0, Some(2)),
        row(Some(25), None, 1, Some(2)),
        row(Some(30), Some(30), 0, None),
    ];
    RunRecord { flows, ..record() }
}

#[test]
fn deadlines_are_met_missed_or_not_yet_told() {
    let (record, about) = (jobs(), about());
    assert_eq!(record.simulated, Instant(100_000_000), "the fourth deadline lies behind the end");
    let summary = Summary::of(&record, about, Cost::default());
    let of = |deadlines: pullnet_record::Deadlines| (deadlines.stated, deadlines.met, deadlines.missed);
    assert_eq!(of(summary.deadlines), (5, 2, 2));
    assert_eq!(summary.deadlines.share_met, Some(0.5));
    assert_eq!(of(summary.by_tenant["red"].deadlines), (2, 1, 1));
    assert_eq!(summary.by_tenant.len(), 1, "flows of nobody are nobody's");
    let tables = tables(&record);
    let met = tables[0].column("deadline_met").unwrap();
    assert_eq!(met.data, Data::Bool(vec![true, false, false, false, false, true]));
    assert_eq!(met.valid, Some(vec![0b10_0111]));
}

#[test]
fn a_coflow_is_done_when_all_its_flows_are() {
    let summary = Summary::of(&jobs(), about(), Cost::default());
    assert_eq!((summary.coflows.started, summary.coflows.completed), (3, 1));
    assert_eq!(summary.coflows.cct_us.mean, Some(40.0));
}
