//! Starts come in order under any slicing, and are the same for the same seed.

use crate::common::{SIGNAL, drive, run, workload};
use proptest::prelude::*;
use pullnet_rng::Seed;
use pullnet_transport::Side;
use pullnet_units::{FlowId, Instant, Labels, Picos};
use pullnet_workload::{
    CheckedWorkload, ClosedLoop, Completion, FlowSize, FlowStart, Incast, Matrix, Poisson, Random,
    RequestResponse, Sizes, Spread, StartUnit, TrafficSpec, WaitFor, WorkloadSpec,
};

/// Every reactive and every lazy kind at once.
fn everything() -> WorkloadSpec {
    let loops = ClosedLoop { connections_per_host: 2, think: Picos::from_micros(7), ..ClosedLoop::default() };
    let spread =
        ClosedLoop { think_spread: Spread::Exponential, ramp: Picos::from_micros(30), ..loops.clone() };
    let rounds =
        Incast { degree: Some(3), repeat: 1000, pause: Some(Picos::from_micros(1)), ..Incast::default() };
    let fixed = Incast {
        size: FlowSize::bytes(100),
        every: Some(Picos::from_micros(1)),
        pause: None,
        ..rounds.clone()
    };
    let poisson = Poisson { load: Some(0.3), ..Poisson::default() };
    let asks = RequestResponse::default();
    let matrix = Matrix {
        file: pullnet_workload::FileName("a.cm".into()),
        start_unit: Some(StartUnit::Us),
        ..Matrix::default()
    };
    let chain = "Nodes 8\nConnections 4\nTriggers 2\n0->1 id 1 start 3 size 9000 send_done_trigger 1 recv_done_trigger 2\n\
        1->2 id 2 trigger 1 size 1 recv_done_trigger 2\n2->3 id 3 trigger 2 size 8\n3->4 id 4 start 3 size 0\n\
        trigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    WorkloadSpec::of([
        TrafficSpec::new(loops).with_sizes(Sizes::fixed(5000)),
        TrafficSpec::new(spread).with_sizes(Sizes::shipped("web")),
        TrafficSpec::new(rounds),
        TrafficSpec::new(fixed),
        TrafficSpec::new(poisson).with_sizes(Sizes::shipped("homa-w2")),
        TrafficSpec::new(asks).with_sizes(Sizes::shipped("homa-w1")),
        TrafficSpec::new(Random { flows_per_host: 2, ..Random::default() })
            .with(|c| c.start = Picos::from_micros(20)),
        TrafficSpec::new(matrix),
    ])
    .with_file("a.cm", chain)
}

/// Starts without their numbers, in order: flows that hosts start by themselves are numbered when they are prepared.
fn unnumbered(starts: &[FlowStart]) -> Vec<String> {
    let none = FlowId::default();
    let text = |start: &FlowStart| {
        format!(
            "{:?}",
            FlowStart {
                flow: none,
                session: none,
                labels: Labels { coflow: None, ..start.labels },
                ..*start
            }
        )
    };
    let mut starts: Vec<_> = starts.iter().map(|start| (start.at, text(start))).collect();
    starts.sort();
    starts.into_iter().map(|(_, text)| text).collect()
}

const END: Instant = Instant(400_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn slicing_makes_no_difference(seed in any::<u64>(), slicer in any::<u64>()) {
        let whole = run(&everything(), 8, seed, END);
        let mut chance = Seed(slicer).stream("slices", 0);
        let sliced = drive(workload(&everything(), 8, seed), END, || Picos(1 + chance.bits() % SIGNAL.0));
        prop_assert!(whole.len() > 500);
        prop_assert_eq!(unnumbered(&whole), unnumbered(&sliced));
        let mut numbers: Vec<_> = whole.iter().map(|start| start.flow).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), whole.len());
    }

    #[test]
    fn the_seed_decides(seed in any::<u64>()) {
        let first = run(&everything(), 8, seed, END);
        prop_assert_eq!(&first, &run(&everything(), 8, seed, END));
        prop_assert_ne!(&first, &run(&everything(), 8, seed ^ 1, END));
    }

    #[test]
    fn nothing_that_is_told_breaks_the_order(
        seed in any::<u64>(),
        told in prop::collection::vec((0u32..200, 0u64..500, any::<bool>(), any::<bool>()), 0..200),
    ) {
        let mut workload = workload(&everything(), 8, seed);
        let (mut out, mut now) = (Vec::new(), 0u64);
        for (flow, later, sender, failed) in told {
            now += later * 1000;
            let side = if sender { Side::Sender } else { Side::Receiver };
            workload.completed(Completion { flow: FlowId::new(flow), at: Instant(now / 2), side, failed });
            workload.starts_before(Instant(now), &mut out);
            prop_assert!(workload.next_start().is_none_or(|next| next >= Instant(now)));
        }
        prop_assert!(out.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].flow < pair[1].flow));
    }
}

#[test]
fn a_checked_workload_starts_every_run_from_the_beginning() {
    let checked = CheckedWorkload::new(&everything(), &crate::common::network(8), Seed(3)).unwrap();
    let once = drive(checked.start(SIGNAL), END, || SIGNAL);
    assert!(once.len() > 500);
    assert_eq!(once, drive(checked.start(SIGNAL), END, || SIGNAL));
    assert_eq!(once, run(&everything(), 8, 3, END));
}

#[test]
fn what_an_end_causes_starts_no_earlier_than_the_signal_can_be() {
    let loops = ClosedLoop { wait_for: WaitFor::Received, ..ClosedLoop::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(loops).with_sizes(Sizes::fixed(1))]);
    let mut workload = workload(&spec, 2, 1);
    let mut out = Vec::new();
    workload.starts_before(Instant(1), &mut out);
    assert!(workload.exhausted() && workload.next_start().is_none());
    workload.completed(Completion {
        flow: FlowId::new(0),
        at: Instant(50),
        side: Side::Sender,
        failed: false,
    });
    assert!(workload.exhausted(), "the loop waits for the receiver");
    let acked = Completion { flow: FlowId::new(0), at: Instant(50), side: Side::Receiver, failed: false };
    workload.completed(acked);
    assert_eq!(workload.next_start(), Some(Instant(50).after(SIGNAL)));
    workload.completed(acked);
    workload.starts_before(Instant(50).after(SIGNAL).after(Picos(1)), &mut out);
    assert_eq!(out.len(), 3, "an end that is told twice counts once");
    workload.completed(Completion {
        flow: FlowId::new(1),
        at: Instant(60),
        side: Side::Sender,
        failed: true,
    });
    assert!(!workload.exhausted(), "a failed flow is followed by the next");
}
