//! Decisions and reports of the director.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_probes::{Recorded, Seen};
use pullnet_scenario::{Scenario, compile};
use pullnet_session::{Director, HostLog, News, RecordBuilder, Report};
use pullnet_transport::{FailureReason, SendCounts};
use pullnet_units::{FlowId, HostId, Instant, PacketSeq, Picos};
use pullnet_workload::{FlowStart, Instruction, Watch};

/// A star of four hosts with one block of traffic.
fn scenario(stop: &str, traffic: &str) -> Arc<Scenario> {
    let text = format!(
        "{stop}\n[topology]\nkind = \"star\"\nhosts = 4\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"ndp\"\n[switch]\nkind = \"trim\"\n[[traffic]]\n{traffic}\n"
    );
    let scenario = compile("test.toml", &text, &[], &BTreeMap::<String, Vec<u8>>::new());
    Arc::new(scenario.unwrap_or_else(|errors| panic!("{errors:?}")))
}

fn director(scenario: &Arc<Scenario>) -> Director {
    let framings = scenario.transports.iter().map(|carried| carried.config.framing()).collect();
    Director::new(Arc::clone(scenario), framings, Picos(1))
}

/// Takes note of `reports` and returns what starts before `until`.
fn starts(director: &mut Director, now: u64, until: u64, mut reports: Vec<Report>) -> Vec<FlowStart> {
    let mut starts = Vec::new();
    director.decide(Instant(now), Instant(until), &mut reports, |instruction| {
        if let Instruction::Start(start) = instruction {
            starts.push(start);
        }
    });
    starts
}

const UNTIL_DONE: &str = "until = \"all flows done\"";
const MILLISECOND: u64 = 1_000_000_000;

#[test]
fn a_run_cannot_end_before_an_empty_network_would_be_done() {
    let scenario = scenario(UNTIL_DONE, "kind = \"incast\"\nsize = \"1 MB\"\ndegree = 2\nstart = \"3 us\"");
    let mut director = director(&scenario);
    assert_eq!(director.may_end_from(), Instant(3_000_000), "the start of the first flow");
    let started = starts(&mut director, 0, MILLISECOND, Vec::new());
    assert_eq!(started.len(), 2);
    let ideal = director.flows[0].ideal.unwrap();
    assert!(ideal > Picos::from_micros(800));
    assert_eq!(director.may_end_from(), Instant(3_000_000 + ideal.0));
    let failed = News::Failed(FailureReason::of_protocol(&"gave up"), SendCounts::default());
    starts(
        &mut director,
        5_000_000,
        6_000_000,
        vec![Report { at: Instant(4_000_000), flow: FlowId::new(0), news: failed }],
    );
    assert_eq!(director.may_end_from(), Instant(0), "a flow that fails may do so before its time");
}

#[test]
fn a_run_of_a_fixed_time_waits_for_no_flow() {
    let scenario = scenario("duration = \"1 ms\"", "kind = \"permutation\"\nsize = \"1 MB\"");
    assert_eq!(director(&scenario).may_end_from(), Instant(u64::MAX));
}

#[test]
fn hosts_are_released_when_the_end_that_matters_is_known() {
    let loops =
        "kind = \"closed-loop\"\nfrom = \"1\"\nto = \"2\"\nsizes.fixed = \"9 kB\"\nwait_for = \"received\"";
    let scenario = scenario("duration = \"1 ms\"", loops);
    let mut director = director(&scenario);
    let started = starts(&mut director, 0, 1, Vec::new());
    let watches: Vec<_> = started.iter().map(|start| (start.flow, start.watch)).collect();
    assert_eq!(watches, [(FlowId::new(0), Watch::Received)]);
    let both = |more| [HostId::new(1), HostId::new(2)].map(|host| (host, more));
    assert_eq!(director.watched().collect::<Vec<_>>(), both(true));
    let news = News::Received { delivered: 9000, in_window: 9000 };
    starts(
        &mut director,
        20_000_000,
        20_000_001,
        vec![Report { at: Instant(10_000_000), flow: FlowId::new(0), news }],
    );
    // The next flow of the loop starts a picosecond after the news.
    assert_eq!(director.watched().collect::<Vec<_>>(), [both(true), both(false)].concat());
    assert_eq!(director.watched().count(), 0, "each only once");
}

#[test]
fn every_run_of_a_scenario_starts_from_the_beginning() {
    let scenario = scenario(UNTIL_DONE, "kind = \"random\"\nsize = \"1 MB\"\nflows_per_host = 3");
    let first = starts(&mut director(&scenario), 0, MILLISECOND, Vec::new());
    assert_eq!(first.len(), 12);
    assert_eq!(first, starts(&mut director(&scenario), 0, MILLISECOND, Vec::new()));
}

#[test]
fn a_record_passes_over_news_of_flows_that_there_are_not() {
    let scenario = scenario(UNTIL_DONE, "kind = \"incast\"\nsize = \"9 kB\"\ndegree = 1\ntenant = \"red\"");
    let mut director = director(&scenario);
    starts(&mut director, 0, 1, Vec::new());
    let mut builder = RecordBuilder::new(&scenario, director, Instant(50));
    let news = News::Received { delivered: 9000, in_window: 0 };
    builder.enter(&[0, 7].map(|flow| Report { at: Instant(40), flow: FlowId::new(flow), news }));
    let record = builder.finish(1, Vec::new());
    assert_eq!((record.flows.len(), record.flows[0].received), (1, Some(Instant(40))));
    assert_eq!(
        (record.transports, record.tenants),
        (vec!["ndp".to_owned()], vec![String::new(), "red".to_owned()])
    );
    assert!(record.hosts[0].receives && !record.hosts[1].receives);
}

#[test]
fn flows_that_never_began_leave_no_gap_in_the_numbers() {
    let loops = "kind = \"closed-loop\"\nfrom = \"1..2\"\nto = \"3\"\nsizes.fixed = \"9 kB\"\n[probes]\ntimeouts = true";
    let scenario = scenario("duration = \"1 ms\"", loops);
    let mut director = director(&scenario);
    let started: Vec<_> =
        starts(&mut director, 0, 1, Vec::new()).iter().map(|start| start.flow.get()).collect();
    assert_eq!((started, director.flows.len()), (vec![0, 2], 4), "1 and 3 are prepared");
    assert_eq!(director.started(), 2);
    // Flow 2 ends, and its host starts flow 3; flow 4 is prepared. The run ends before flow 0 does.
    let counts = SendCounts::default();
    let news = [(2, News::Acknowledged(counts)), (3, News::Begins(Instant(70)))];
    let reports = news.map(|(flow, news)| Report { at: Instant(70), flow: FlowId::new(flow), news });
    assert!(starts(&mut director, 100, 200, reports.to_vec()).is_empty());
    assert_eq!((director.started(), director.flows.len()), (3, 5));
    let mut builder = RecordBuilder::new(&scenario, director, Instant(300));
    let mut log = HostLog::new(Recorded::new(&scenario.probes));
    let timeout = |flow| Seen::TimedOut {
        host: HostId::new(1),
        at: Instant(250),
        flow: FlowId::new(flow),
        number: PacketSeq::new(0),
    };
    [2, 3].iter().for_each(|flow| log.recorded.note(&timeout(*flow)));
    builder.add_log(log);
    let record = builder.finish(1, Vec::new());
    let rows: Vec<_> = record.flows.iter().map(|flow| (flow.src.get(), flow.start.0, flow.session)).collect();
    assert_eq!(rows, [(1, 0, 0), (2, 0, 1), (2, 70, 2)]);
    let noted: Vec<_> = record.recorded.timeouts().iter().map(|row| row.flow.get()).collect();
    assert_eq!(noted, [1, 2]);
}
