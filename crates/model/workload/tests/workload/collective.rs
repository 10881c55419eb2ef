//! Collective operations: when their flows start.

use std::collections::BTreeMap;

use crate::common::{fct, refusal, run, workload};
use pullnet_transport::Side;
use pullnet_units::{Bytes, FlowId, Instant, Picos};
use pullnet_workload::{
    Algorithm, Collective, Completion, FlowStart, Operation, Order, TrafficSpec, WaitFor, WorkloadSpec,
};

const REACTION: Picos = Picos::from_micros(3);

fn flows(collective: Collective, hosts: u32) -> Vec<FlowStart> {
    let end = Instant::ZERO.after(Picos::from_millis(1000));
    run(&WorkloadSpec::of([TrafficSpec::new(collective)]), hosts, 1, end)
}

fn collective(operation: Operation, algorithm: Algorithm) -> Collective {
    Collective { operation, algorithm, size: Bytes(64_000), reaction: REACTION, ..Collective::default() }
}

fn received(flow: &FlowStart) -> Instant {
    flow.at + fct(flow).unwrap()
}

#[test]
fn a_step_of_a_ring_begins_after_the_one_before() {
    let flows = flows(collective(Operation::AllReduce, Algorithm::Ring), 8);
    assert_eq!(flows.len(), 8 * 14);
    let mut of: BTreeMap<u32, Vec<&FlowStart>> = BTreeMap::new();
    for flow in &flows {
        assert_eq!((flow.dst.get(), flow.size), ((flow.src.get() + 1) % 8, Some(Bytes(8000))));
        of.entry(flow.src.get()).or_default().push(flow);
    }
    for host in 0..8 {
        for step in 1..14 {
            let before = [of[&((host + 7) % 8)][step - 1], of[&host][step - 1]].map(received);
            assert_eq!(of[&host][step].at, before[0].max(before[1]) + REACTION, "host {host}, step {step}");
        }
    }
}

#[test]
fn every_operation_ends_and_is_one_coflow_for_each_group() {
    use Algorithm::{Direct, HalvingDoubling, Pairwise, Ring, Tree};
    use Operation::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
    // Messages of an operation of four hosts.
    let all = [
        (AllReduce, Ring, 24),
        (AllReduce, HalvingDoubling, 16),
        (AllReduce, Tree, 6),
        (AllReduce, Direct, 24),
        (ReduceScatter, Ring, 12),
        (ReduceScatter, HalvingDoubling, 8),
        (ReduceScatter, Direct, 12),
        (AllGather, Ring, 12),
        (AllGather, HalvingDoubling, 8),
        (AllGather, Direct, 12),
        (Broadcast, Ring, 12),
        (Broadcast, Tree, 3),
        (AllToAll, Direct, 12),
        (AllToAll, Pairwise, 12),
    ];
    for (operation, algorithm, messages) in all {
        for wait_for in [WaitFor::Received, WaitFor::Acknowledged] {
            let one = collective(operation, algorithm);
            let flows = flows(Collective { group: Some(4), repeat: 3, wait_for, ..one }, 12);
            let mut of: BTreeMap<u32, Vec<&FlowStart>> = BTreeMap::new();
            flows.iter().for_each(|flow| of.entry(flow.labels.coflow.unwrap()).or_default().push(flow));
            assert_eq!(of.len(), 9, "{operation:?} {algorithm:?}");
            for flows in of.values() {
                assert_eq!(flows.len(), messages, "{operation:?} {algorithm:?}");
                let group = flows[0].src.get() / 4;
                assert!(flows.iter().all(|flow| flow.src.get() / 4 == group && flow.dst.get() / 4 == group));
            }
        }
    }
}

#[test]
fn operations_of_a_group_follow_each_other_after_the_pause() {
    let pause = Picos::from_micros(500);
    let one = collective(Operation::AllGather, Algorithm::Direct);
    let flows = flows(Collective { repeat: 2, pause, ..one }, 4);
    let (first, second) = flows.split_at(12);
    let end = first.iter().map(received).max().unwrap();
    assert!(second.iter().all(|flow| flow.at == end + pause));
}

#[test]
fn a_broadcast_passes_pieces_on_while_others_come() {
    let flows = flows(collective(Operation::Broadcast, Algorithm::Ring), 4);
    let to = |dst: u32| flows.iter().filter(move |flow| flow.dst.get() == dst);
    let (last_in, first_out) = (to(1).next_back().unwrap(), to(2).next().unwrap());
    assert!(first_out.at < last_in.at, "{first_out:?} {last_in:?}");
    assert_eq!(to(1).map(|flow| flow.size.unwrap().0).sum::<u64>(), 64_000);
}

#[test]
fn a_random_order_is_another_ring_of_all_hosts() {
    let one = Collective { order: Order::Random, ..collective(Operation::AllGather, Algorithm::Ring) };
    let flows = flows(one, 32);
    let next: BTreeMap<u32, u32> = flows.iter().map(|flow| (flow.src.get(), flow.dst.get())).collect();
    let mut at = 0;
    for round in 1..=32 {
        at = next[&at];
        assert_eq!(at == 0, round == 32);
    }
    assert!(next.iter().any(|(from, to)| *to != (from + 1) % 32));
}

#[test]
fn a_group_with_a_failed_flow_stops_and_the_others_go_on() {
    let one = collective(Operation::AllReduce, Algorithm::Ring);
    let spec = WorkloadSpec::of([TrafficSpec::new(Collective { group: Some(2), ..one })]);
    let mut workload = workload(&spec, 4, 1);
    let (mut out, at) = (Vec::new(), Instant::ZERO.after(Picos::from_millis(1)));
    workload.starts_before(at, &mut out);
    assert_eq!(out.len(), 4);
    for flow in 0..4 {
        let (side, failed) = if flow == 0 { (Side::Sender, true) } else { (Side::Receiver, false) };
        workload.completed(Completion { flow: FlowId::new(flow), at, side, failed });
    }
    workload.starts_before(at.after(at.since(Instant::ZERO)), &mut out);
    assert_eq!(out[4..].iter().map(|flow| flow.src.get()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let one = |operation, algorithm| collective(operation, algorithm);
    let cases = [
        (
            one(Operation::Broadcast, Algorithm::Direct),
            6,
            "cannot carry out \"broadcast\"; use \"ring\", \"tree\"",
        ),
        (
            one(Operation::AllReduce, Algorithm::HalvingDoubling),
            6,
            "needs a power of two of hosts, and a group has 6",
        ),
        (
            Collective { group: Some(4), ..one(Operation::AllReduce, Algorithm::Ring) },
            6,
            "does not divide the 6 hosts",
        ),
        (
            Collective { size: Bytes(5), ..one(Operation::AllReduce, Algorithm::Ring) },
            6,
            "is less than a byte for each of 6 hosts",
        ),
        (one(Operation::AllToAll, Algorithm::Direct), 4096, "sends to 4095 hosts at once"),
        (one(Operation::AllReduce, Algorithm::Ring), 1, "is too few; select at least 2"),
        (
            Collective {
                group: Some(2),
                repeat: 2_000_000_000,
                ..one(Operation::AllReduce, Algorithm::Ring)
            },
            64,
            "makes more than 4294967295 operations",
        ),
    ];
    for (pattern, hosts, wanted) in cases {
        let said = refusal(TrafficSpec::new(pattern), hosts);
        assert!(said.contains(wanted), "{said}");
    }
}
