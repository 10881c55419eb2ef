//! Deadlines, tenants and coflows of flows.

use crate::common::{SIGNAL, network, refusal, refusal_of, workload};
use pullnet_rng::Seed;
use pullnet_units::{FlowId, Instant, Picos};
use pullnet_workload::{
    CheckedWorkload, Coflow, Common, FileName, FlowSize, FlowStart, Flows, Incast, Permutation, Poisson,
    Sizes, Spread, TrafficSpec, WorkloadSpec,
};

/// Everything that starts before 1 ms.
fn starts(spec: &WorkloadSpec) -> (Vec<FlowStart>, Vec<String>) {
    let mut workload = CheckedWorkload::new(spec, &network(8), Seed(1)).unwrap().start(SIGNAL);
    let mut out = Vec::new();
    workload.starts_before(Instant(1_000_000_000), &mut out);
    (out, workload.tenants().to_vec())
}

#[test]
fn a_block_says_when_flows_are_due_and_whose_they_are() {
    let due = Some(Picos::from_micros(200));
    let own = TrafficSpec::new(Permutation::default()).with(|common| {
        (common.deadline, common.tenant) = (due, Some("red".to_owned()));
        common.start = Picos::from_micros(5);
    });
    let (starts, tenants) = starts(&WorkloadSpec::of([TrafficSpec::new(Permutation::default()), own]));
    assert_eq!(tenants, ["", "red"]);
    let of = |start: &FlowStart| (start.labels.deadline, start.labels.tenant, start.labels.coflow);
    assert!(starts[..8].iter().all(|start| of(start) == (None, 0, None)));
    assert!(starts[8..].iter().all(|start| of(start) == (Some(Instant(205_000_000)), 1, None)));
}

/// Deadlines of the first 20,000 flows of a block with a mean of 30 ms, in ms.
fn drawn(change: impl FnOnce(&mut Common)) -> Vec<f64> {
    let pattern = Poisson { rate: Some(1e6), flows: Some(20_000), ..Poisson::default() };
    let block = TrafficSpec::new(pattern).with_sizes(Sizes::fixed(1000)).with(|common| {
        common.deadline = Some(Picos::from_millis(30));
        change(common);
    });
    let mut workload = workload(&WorkloadSpec::of([block]), 8, 1);
    let mut starts = Vec::new();
    workload.starts_before(Instant::NEVER, &mut starts);
    starts.iter().map(|start| start.labels.deadline.unwrap().since(start.at).0 as f64 / 1e9).collect()
}

#[test]
fn deadlines_are_fixed_or_exponential_with_a_floor() {
    assert!(drawn(|_| ()).iter().all(|ms| *ms == 30.0));
    let exponential = drawn(|common| common.deadline_spread = Spread::Exponential);
    let mean = exponential.iter().sum::<f64>() / exponential.len() as f64;
    assert!((29.3..30.7).contains(&mean), "mean {mean} ms");
    let below = exponential.iter().filter(|ms| **ms < 3.0).count() as f64 / exponential.len() as f64;
    assert!((0.088..0.102).contains(&below), "{below} below 3 ms, for 1 - exp(-0.1)");
    let raised = drawn(|common| {
        common.deadline_spread = Spread::Exponential;
        common.deadline_floor = Some(Picos::from_millis(3));
    });
    assert!(raised.iter().zip(&exponential).all(|(raised, drawn)| *raised == drawn.max(3.0)));
}

#[test]
fn the_parts_of_a_session_are_due_together() {
    let block = TrafficSpec::named("replicate").unwrap().with(|common| {
        common.deadline = Some(Picos::from_millis(30));
        common.deadline_spread = Spread::Exponential;
    });
    let (starts, _) = starts(&WorkloadSpec::of([block]));
    let due = |session: u32| {
        starts
            .iter()
            .filter(move |start| start.session == FlowId::new(session))
            .map(|start| start.labels.deadline)
    };
    let (first, second) =
        (starts[0].session, starts.iter().find(|start| start.session > FlowId::new(0)).unwrap().session);
    assert!(due(first.get()).count() > 1 && due(first.get()).all(|at| at == starts[0].labels.deadline));
    assert_ne!(due(second.get()).next().unwrap(), starts[0].labels.deadline);
}

#[test]
fn a_spread_without_a_mean_and_a_floor_without_a_spread_are_refused() {
    let refused = |change: fn(&mut Common)| refusal(TrafficSpec::new(Permutation::default()).with(change), 4);
    let spread = refused(|common| common.deadline_spread = Spread::Exponential);
    assert!(spread.contains("deadline_spread") && spread.contains("state deadline"), "{spread}");
    let floor = refused(|common| common.deadline_floor = Some(Picos::from_millis(3)));
    assert!(floor.contains("deadline_floor") && floor.contains("exponential"), "{floor}");
}

#[test]
fn coflows_are_blocks_or_rounds() {
    let rounds = Incast {
        degree: Some(3),
        repeat: 2,
        every: Some(Picos::from_micros(10)),
        size: FlowSize::bytes(100),
        ..Incast::default()
    };
    let block = |coflow| TrafficSpec::new(rounds.clone()).with(|common| common.coflow = coflow);
    let (starts, _) =
        starts(&WorkloadSpec::of([block(Coflow::Start), block(Coflow::Block), block(Coflow::None)]));
    let coflows: Vec<_> = starts.iter().map(|start| start.labels.coflow).collect();
    let round = |first| [vec![first; 3], vec![Some(1); 3], vec![None; 3]].concat();
    assert_eq!(coflows, [round(Some(0)), round(Some(2))].concat());
}

#[test]
fn a_list_states_them_for_each_flow() {
    let list = "src,dst,bytes,start_us,deadline,tenant,coflow\n0,1,9,0,2 us,red,7\n1,2,9,1,,,\n2,3,9,1,,blue,7\n3,4,9,1,1 ms,red,0\n";
    let block = TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() })
        .with(|common| (common.deadline, common.coflow) = (Some(Picos::from_micros(50)), Coflow::Start));
    let (starts, tenants) = starts(&WorkloadSpec::of([block]).with_file("f.csv", list));
    assert_eq!(tenants, ["", "red", "blue"]);
    let rows: Vec<_> = starts
        .iter()
        .map(|start| {
            (start.labels.deadline.unwrap().0 / 1_000_000, start.labels.tenant, start.labels.coflow.unwrap())
        })
        .collect();
    assert_eq!(rows, [(2, 1, 0), (51, 0, 1), (51, 2, 0), (1001, 1, 2)]);
}

#[test]
fn a_wrong_deadline_or_coflow_names_its_line() {
    for (value, told) in [("0 us,1", "deadline"), ("5,1", "deadline"), ("5 us,x", "coflow")] {
        let list = format!("src,dst,bytes,start_us,deadline,coflow\n0,1,9,0,1 us,1\n0,1,9,0,{value}\n");
        let block = TrafficSpec::new(Flows { file: FileName("f.csv".into()), ..Flows::default() });
        let refused = refusal_of(&WorkloadSpec::of([block]).with_file("f.csv", list), 8);
        assert!(refused.contains("f.csv:3:") && refused.contains(told), "{refused}");
    }
}
