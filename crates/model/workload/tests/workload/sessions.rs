//! Sessions with several receivers or several senders.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{SIGNAL, network, refusal_of};
use pullnet_rng::Seed;
use pullnet_units::{BitsPerSec, FlowId, HostId, Instant};
use pullnet_workload::{
    CheckedWorkload, Copies, Cue, Fetch, FileName, FlowSize, FlowStart, Flows, HostLayout, Instruction, Join,
    Joins, Parts, Pattern, Placement, Replicate, SessionPlan, TrafficSpec, WorkloadSpec,
};

/// Forty hosts in racks of four.
fn racks() -> HostLayout {
    HostLayout {
        racks: (0..40).map(|host| host / 4).collect(),
        ..HostLayout::uniform(40, BitsPerSec::gbps(10))
    }
}

fn starts_in(spec: &WorkloadSpec, network: &HostLayout) -> (Vec<FlowStart>, Joins) {
    let checked = CheckedWorkload::new(spec, network, Seed(7)).unwrap_or_else(|e| panic!("{e:?}"));
    let (mut workload, mut out) = (checked.start(SIGNAL), Vec::new());
    workload.starts_before(Instant(u64::MAX), &mut out);
    // Flows that hosts start by themselves; they have no time yet.
    for instruction in workload.instructions() {
        let Instruction::Prepare(prepared) = instruction else { panic!("{instruction:?}") };
        assert_eq!(prepared.after.cue, Cue::FirstPacket);
        assert_eq!(prepared.after.flow.plus(1), prepared.start.flow, "it follows the flow before it");
        out.push(prepared.start);
    }
    out.sort_by_key(|start| start.flow);
    (out, checked.joins(0))
}

fn starts(pattern: impl Pattern + 'static) -> (Vec<FlowStart>, Joins) {
    starts_in(&WorkloadSpec::of([TrafficSpec::new(pattern)]), &racks())
}

fn by_session(starts: &[FlowStart]) -> BTreeMap<FlowId, Vec<FlowStart>> {
    let mut sessions = BTreeMap::<_, Vec<_>>::new();
    starts.iter().for_each(|start| sessions.entry(start.session).or_default().push(*start));
    sessions
}

#[test]
fn copies_go_to_distinct_hosts_of_other_racks() {
    for rate in [None, Some(50_000.0)] {
        let plan = SessionPlan { sessions: Some(500), rate, ..SessionPlan::default() };
        let (starts, joins) = starts(Replicate { plan, ..Replicate::default() });
        assert!(joins.multicast && !joins.sources);
        let sessions = by_session(&starts);
        assert_eq!(sessions.len(), 500);
        let mut drawn = BTreeSet::new();
        for (first, flows) in sessions {
            assert_eq!(
                flows.iter().map(|flow| flow.flow).collect::<Vec<_>>(),
                [first, first.plus(1), first.plus(2)]
            );
            let receivers: BTreeSet<_> = flows.iter().map(|flow| flow.dst).collect();
            assert_eq!(receivers.len(), 3, "{flows:?}");
            assert!(receivers.iter().all(|host| host.get() / 4 != flows[0].src.get() / 4), "{flows:?}");
            for (index, flow) in (0..).zip(&flows) {
                let part = flow.part.unwrap();
                assert_eq!((part.join, part.index, part.of), (Join::Multicast, index, 3));
                assert_eq!((flow.src, flow.at, flow.size), (flows[0].src, flows[0].at, flows[0].size));
            }
            drawn.extend(receivers);
        }
        assert_eq!(drawn.len(), 40, "every host is drawn at times");
    }
}

#[test]
fn senders_of_coded_data_are_one_flow_and_of_plain_data_one_each() {
    let fetch = |parts| Fetch { parts, size: FlowSize::bytes(1000), ..Fetch::default() };
    let (coded, joins) = starts(fetch(Parts::Coded));
    assert!(joins.sources && !joins.multicast);
    assert_eq!((coded.len(), coded.last().unwrap().flow.get()), (120, 39));
    for (number, flows) in by_session(&coded) {
        let senders: BTreeSet<_> = flows.iter().map(|flow| flow.src).collect();
        assert_eq!((flows.len(), senders.len()), (3, 3));
        assert!(
            flows
                .iter()
                .all(|flow| flow.flow == FlowId::new(number.get()) && flow.dst == HostId::new(number.get()))
        );
        let further: Vec<_> = flows.iter().map(FlowStart::is_further_sender).collect();
        assert_eq!(further, [false, true, true]);
    }
    let (plain, joins) = starts(fetch(Parts::Plain));
    assert_eq!((plain.len(), plain.last().unwrap().flow.get(), joins), (120, 119, Joins::default()));
    for flows in by_session(&plain).into_values() {
        let sizes: Vec<_> = flows.iter().map(|flow| flow.size.unwrap().0).collect();
        assert_eq!(sizes, [334, 333, 333]);
    }
}

#[test]
fn a_list_names_several_hosts_in_one_line() {
    let list = "src,dst,bytes,start_us,deadline\n0,3;7;9,1000,0,5 us\n4,5,10,0,\n6;8,1,1001,2,\n";
    let flows = |copies, parts| {
        let block = TrafficSpec::new(Flows { file: FileName("f.csv".into()), copies, parts });
        starts_in(&WorkloadSpec::of([block]).with_file("f.csv", list), &racks())
    };
    let rows = |starts: &[FlowStart]| {
        let row =
            |f: &FlowStart| (f.flow.get(), f.session.get(), f.src.get(), f.dst.get(), f.size.unwrap().0);
        starts.iter().map(row).collect::<Vec<_>>()
    };
    let to_three = [(0, 0, 0, 3, 1000), (1, 0, 0, 7, 1000), (2, 0, 0, 9, 1000), (3, 3, 4, 5, 10)];
    let (joined, joins) = flows(Copies::Multicast, Parts::Coded);
    assert_eq!(rows(&joined)[..4], to_three);
    assert_eq!(rows(&joined)[4..], [(4, 4, 6, 1, 1001), (4, 4, 8, 1, 1001)]);
    assert!(
        joins.multicast && joins.sources && joined[..3].iter().all(|flow| flow.labels.deadline.is_some())
    );
    let (apart, joins) = flows(Copies::Unicast, Parts::Plain);
    assert_eq!(rows(&apart)[..4], to_three);
    assert_eq!(rows(&apart)[4..], [(4, 4, 6, 1, 501), (5, 4, 8, 1, 500)]);
    assert_eq!(joins, Joins::default());
}

#[test]
fn a_wrong_session_is_told_with_its_line_and_a_remedy() {
    for (ends, told) in [
        ("0,3;7;3", "dst names host 3 twice"),
        ("1;1,3", "src names host 1 twice"),
        ("0,3;0", "src and dst are both 0"),
        ("1;2,3;4", "write a line for each sender"),
        ("0,3;x", "several separated by ;"),
        ("0,3;", "several separated by ;"),
        ("0,3;8", "host 8 is beyond the block's 8 hosts"),
    ] {
        let list = format!("src,dst,bytes,start_us\n0,1,9,0\n{ends},9,0\n");
        let block = TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() });
        let refused = refusal_of(&WorkloadSpec::of([block]).with_file("f.csv", list), 8);
        assert!(refused.contains("f.csv:3:") && refused.contains(told), "{refused}");
    }
}

#[test]
fn a_session_of_more_hosts_than_there_are_is_refused() {
    let wide = Replicate { receivers: 8, ..Replicate::default() };
    let refused = refusal_of(&WorkloadSpec::of([TrafficSpec::new(wide)]), 8);
    assert!(refused.contains("more than the 7 hosts") && refused.contains("use at most 7"), "{refused}");
    let one_rack = HostLayout { racks: (0..8).map(|_| 0).collect(), ..network(8) };
    let near = |outside_rack| {
        let near = Fetch { plan: SessionPlan { outside_rack, ..SessionPlan::default() }, ..Fetch::default() };
        WorkloadSpec::of([TrafficSpec::new(near)]).check(&one_rack)
    };
    assert!(near(true)[0].to_string().contains("outside_rack = false"), "{:?}", near(true));
    assert!(near(false).is_empty());
    let small = Fetch { size: FlowSize::bytes(2), ..Fetch::default() };
    let refused = refusal_of(&WorkloadSpec::of([TrafficSpec::new(small)]), 8);
    assert!(refused.contains("less than a byte for each of 3 senders"), "{refused}");
}

#[test]
fn a_chain_goes_from_one_receiver_to_the_next() {
    let plan = SessionPlan { sessions: Some(100), ..SessionPlan::default() };
    let chain = Replicate { copies: Copies::Chain, plan, ..Replicate::default() };
    let (flows, joins) = starts(chain);
    assert_eq!(joins, Joins::default());
    let sessions = by_session(&flows);
    assert_eq!(sessions.len(), 100);
    for flows in sessions.into_values() {
        assert_eq!(flows.len(), 3);
        assert!(flows.windows(2).all(|pair| pair[1].src == pair[0].dst), "{flows:?}");
        assert!(flows.iter().all(|flow| flow.size == flows[0].size));
        let known = |flow: &FlowStart| flow.at < Instant::NEVER;
        assert!(known(&flows[0]) && !flows[1..].iter().any(known), "only the first is planned: {flows:?}");
        let hosts: BTreeSet<_> = flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
        assert_eq!(hosts.len(), 4, "{flows:?}");
    }
    let list = "src,dst,bytes,start_us\n0,3;7;9,1000,0\n";
    let block = Flows { file: FileName("f.csv".into()), copies: Copies::Chain, ..Flows::default() };
    let (flows, _) =
        starts_in(&WorkloadSpec::of([TrafficSpec::new(block)]).with_file("f.csv", list), &racks());
    let ways: Vec<_> = flows.iter().map(|flow| (flow.src.get(), flow.dst.get())).collect();
    assert_eq!(ways, [(0, 3), (3, 7), (7, 9)]);
}

#[test]
fn hdfs_puts_the_second_and_third_copy_into_another_rack() {
    for outside_rack in [false, true] {
        let (placement, sessions) = (Placement::Hdfs, Some(500));
        let plan = SessionPlan { placement, outside_rack, sessions, ..SessionPlan::default() };
        let hdfs = Replicate { receivers: 4, plan, ..Replicate::default() };
        let (starts, _) = starts(hdfs);
        let (mut near, mut drawn) = (0, BTreeSet::new());
        for flows in by_session(&starts).into_values() {
            let rack: Vec<_> = flows.iter().map(|flow| flow.dst.get() / 4).collect();
            assert!(rack[1] != rack[0] && rack[2] == rack[1], "{flows:?}");
            let hosts: BTreeSet<_> = flows.iter().map(|flow| flow.dst).chain([flows[0].src]).collect();
            assert_eq!(hosts.len(), 5, "{flows:?}");
            near += rack.iter().filter(|rack| **rack == flows[0].src.get() / 4).count();
            drawn.extend(hosts);
        }
        assert_eq!((near == 0, drawn.len()), (outside_rack, 40));
    }
    // In a single rack there is no other one: copies lie anywhere.
    let one_rack = HostLayout { racks: (0..8).map(|_| 0).collect(), ..network(8) };
    let plan = SessionPlan { placement: Placement::Hdfs, outside_rack: false, ..SessionPlan::default() };
    let hdfs = Fetch { plan, ..Fetch::default() };
    assert_eq!(starts_in(&WorkloadSpec::of([TrafficSpec::new(hdfs)]), &one_rack).0.len(), 24);
}
