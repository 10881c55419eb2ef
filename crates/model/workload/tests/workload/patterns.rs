//! Guarantees of each pattern.

use std::collections::BTreeMap;

use crate::common::{SIGNAL, drive, fct, network, pairs, refusal, run, starts, workload};
use proptest::prelude::*;
use pullnet_rng::Seed;
use pullnet_transport::Side;
use pullnet_units::{Bytes, FlowId, HostId, Instant, Picos};
use pullnet_workload::{
    AllToAll, CheckedWorkload, Choose, ClosedLoop, Completion, Cue, FlowSize, Hosts, InAndOut, Incast,
    Instruction, Outcast, PATTERNS, Pairs, Permutation, Poisson, Random, Reading, RequestResponse, Sizes,
    Spread, TrafficSpec, WaitFor, Workload, WorkloadSpec,
};

fn hosts(text: &str) -> Hosts {
    text.parse().unwrap()
}

fn ms(n: u64) -> Instant {
    Instant::ZERO.after(Picos::from_millis(n))
}

proptest! {
    #[test]
    fn a_permutation_is_a_derangement(count in 2u32..300, seed in any::<u64>()) {
        let starts = starts(TrafficSpec::new(Permutation::default()), count, seed, Instant(1));
        let mut receives = vec![0; count as usize];
        for (sender, start) in (0..).zip(&starts) {
            prop_assert_eq!(start.src, HostId::new(sender));
            prop_assert_ne!(start.src, start.dst);
            receives[start.dst.get() as usize] += 1;
        }
        prop_assert!(receives.iter().all(|n| *n == 1));
    }

    #[test]
    fn random_senders_open_their_number_and_never_reach_the_avoided(
        count in 4u32..100, each in 1u32..6, seed in any::<u64>()
    ) {
        let random = Random { flows_per_host: each, avoid: Some(hosts("0,last 1")), ..Random::default() };
        let starts = starts(TrafficSpec::new(random), count, seed, Instant(1));
        prop_assert_eq!(starts.len() as u32, (count - 2) * each);
        prop_assert!(starts.iter().all(|s| s.src != s.dst));
        prop_assert!(pairs(&starts).iter().all(|(a, b)| ![0, count - 1].contains(a) && ![0, count - 1].contains(b)));
    }

    #[test]
    fn all_to_all_has_every_pair_once(count in 2u32..40) {
        let starts = starts(TrafficSpec::new(AllToAll::default()), count, 1, Instant(1));
        let mut all = pairs(&starts);
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len() as u32, count * (count - 1));
        prop_assert_eq!(starts.len(), all.len());
        prop_assert!(starts.iter().all(|s| s.src != s.dst));
    }

    #[test]
    fn an_incast_has_its_degree_and_one_receiver(count in 3u32..200, seed in any::<u64>(), random in any::<bool>()) {
        let senders = if random { Choose::Random } else { Choose::Last };
        let incast = Incast { degree: Some(count / 2), senders, ..Incast::default() };
        let starts = starts(TrafficSpec::new(incast), count, seed, Instant(1));
        let mut from: Vec<u32> = starts.iter().map(|s| s.src.get()).collect();
        from.sort_unstable();
        from.dedup();
        prop_assert_eq!(from.len() as u32, count / 2);
        prop_assert!(starts.iter().all(|s| s.dst == HostId::new(0) && s.src != s.dst));
        prop_assert!(random || from[0] == count - count / 2);
    }

    #[test]
    fn poisson_reaches_its_load(seed in any::<u64>(), load in 0.05f64..1.0, shipped in 0usize..3) {
        let name = ["imc10", "web", "homa-w4"][shipped];
        let poisson = Poisson { load: Some(load), ..Poisson::default() };
        let block = TrafficSpec::new(poisson).with_sizes(Sizes::shipped(name));
        let sizes = pullnet_workload::SHIPPED.iter().find(|s| s.name == name).unwrap().distribution(None);
        // As long as it takes for 20,000 flows.
        let rate = load * 16.0 * 10e9 / 8.0 / sizes.mean();
        let until = Picos((20_000.0 / rate * 1e12) as u64);
        let starts = starts(block, 16, seed, Instant::ZERO.after(until));
        let flows = starts.len() as f64;
        // Six standard deviations of a Poisson count.
        prop_assert!((flows - 20_000.0).abs() < 6.0 * 20_000f64.sqrt(), "{flows} flows");
        let bytes: f64 = starts.iter().map(|s| s.size.unwrap().0 as f64).sum();
        let offered = bytes * 8.0 / until.as_secs_f64() / 16.0 / 10e9;
        let second: f64 = starts.iter().map(|s| (s.size.unwrap().0 as f64).powi(2)).sum::<f64>() / flows;
        let sigma = (second / (sizes.mean() * sizes.mean()) / flows).sqrt();
        prop_assert!((offered / load - 1.0).abs() < 6.0 * sigma, "load {offered} for {load}, sigma {sigma}");
        for host in 0..16 {
            let own = starts.iter().filter(|s| s.src == HostId::new(host)).count() as f64;
            prop_assert!((own - flows / 16.0).abs() < 6.0 * (flows / 16.0).sqrt(), "host {host}: {own} of {flows}");
        }
        prop_assert!(starts.iter().all(|s| s.src != s.dst));
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    let poisson = Poisson { rate: Some(1e6), pairs: Pairs::Permutation, ..Poisson::default() };
    let starts = starts(TrafficSpec::new(poisson).with_sizes(Sizes::fixed(1)), 10, 3, ms(10));
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1].at.since(pair[0].at).0 as f64).collect();
    // 1e7 flows a second: a mean gap of 100,000 ps. Shares above 0.5, 1 and 2 mean gaps.
    for (multiple, share) in [(0.5, 0.6065), (1.0, 0.3679), (2.0, 0.1353)] {
        let above = gaps.iter().filter(|gap| **gap > multiple * 1e5).count() as f64 / gaps.len() as f64;
        assert!((above - share).abs() < 0.006, "{above} of the gaps above {multiple} means, not {share}");
    }
    let mut to: Vec<_> = pairs(&starts);
    to.sort_unstable();
    to.dedup();
    assert_eq!(to.len(), 10, "one partner each");
}

#[test]
fn poisson_ends_where_stated() {
    let limited = |poisson| starts(TrafficSpec::new(poisson).with_sizes(Sizes::fixed(1000)), 8, 1, ms(100));
    let poisson = Poisson { load: Some(0.5), ..Poisson::default() };
    assert_eq!(limited(Poisson { flows: Some(77), ..poisson.clone() }).len(), 77);
    let until = limited(Poisson { until: Some(Picos::from_millis(1)), ..poisson });
    let last = until.last().unwrap().at;
    assert!(last <= ms(1) && last > Instant(990_000_000), "{last:?}");
}

#[test]
fn another_load_keeps_sizes_and_pairs() {
    let of = |load| {
        let poisson = Poisson { load: Some(load), flows: Some(500), ..Poisson::default() };
        starts(TrafficSpec::new(poisson).with_sizes(Sizes::shipped("imc10")), 8, 1, ms(10_000))
    };
    let strip = |starts: Vec<pullnet_workload::FlowStart>| {
        starts.into_iter().map(|s| (s.src, s.dst, s.size)).collect::<Vec<_>>()
    };
    assert_eq!(strip(of(0.2)), strip(of(0.8)));
}

#[test]
fn poisson_follows_unequal_links() {
    let mut network = network(2);
    network.rates[HostId::new(0)] = pullnet_units::BitsPerSec::gbps(30);
    let poisson = Poisson { load: Some(0.5), flows: Some(40_000), ..Poisson::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(poisson).with_sizes(Sizes::fixed(1000))]);
    let mut out = Vec::new();
    CheckedWorkload::new(&spec, &network, Seed(1)).unwrap().start(SIGNAL).starts_before(ms(10_000), &mut out);
    let fast = out.iter().filter(|s| s.src == HostId::new(0)).count();
    assert!(
        (29_500..30_500).contains(&fast),
        "{fast} of 40000 from the link with three quarters of the rate"
    );
}

/// Starts and ends of flows: how many of each sender are open or in their pause at any time.
fn assert_always(starts: &[pullnet_workload::FlowStart], connections: i64, think: Picos, end: Instant) {
    let mut changes: BTreeMap<(u32, Instant, i64), i64> = BTreeMap::new();
    for start in starts {
        let over = start.at + fct(start).unwrap() + Picos::from_micros(5) + think;
        *changes.entry((start.src.get(), start.at, 1)).or_default() += 1;
        if over < end {
            *changes.entry((start.src.get(), over, -1)).or_default() -= 1;
        }
    }
    let mut open = BTreeMap::<u32, i64>::new();
    let mut at = (u32::MAX, Instant::NEVER);
    for ((src, when, _), change) in changes {
        if (src, when) != at && at.0 != u32::MAX {
            assert_eq!(open[&at.0], connections, "host {} at {:?}", at.0, at.1);
        }
        at = (src, when);
        *open.entry(src).or_default() += change;
    }
}

#[test]
fn a_closed_loop_keeps_its_connections() {
    for (connections, think) in [(1, 1000), (3, 20), (5, 1)] {
        let think = Picos::from_micros(think);
        let pattern = ClosedLoop { think, connections_per_host: connections, ..ClosedLoop::default() };
        let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::shipped("web"))]);
        let starts = run(&spec, 12, 5, ms(20));
        assert!(starts.len() > 12 * connections as usize);
        assert_always(&starts, connections.into(), think, ms(20));
    }
}

#[test]
fn without_a_pause_the_next_flow_starts_in_the_same_instant() {
    let spec = WorkloadSpec::of([TrafficSpec::new(ClosedLoop::default()).with_sizes(Sizes::fixed(1000))]);
    let starts = run(&spec, 2, 5, ms(1));
    assert!(starts.len() > 50);
    assert_always(&starts, 1, Picos::ZERO, ms(1));
}

#[test]
fn a_sender_hears_of_the_end_at_the_receiver_after_the_signal() {
    let pattern = ClosedLoop { wait_for: WaitFor::Received, from: hosts("0"), ..ClosedLoop::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(1000))]);
    let starts = run(&spec, 2, 5, ms(1));
    assert!(starts.len() > 50);
    for pair in starts.windows(2) {
        assert_eq!(pair[1].at, pair[0].at + fct(&pair[0]).unwrap() + SIGNAL);
    }
}

#[test]
fn a_flow_that_fails_is_followed_by_the_next_of_its_loop() {
    let pattern = ClosedLoop { from: hosts("0"), think: Picos(7), ..ClosedLoop::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(1000))]);
    let mut workload = workload(&spec, 2, 5);
    let mut out = Vec::new();
    workload.starts_before(Instant(1), &mut out);
    assert!(out[0].followed, "hosts wait for its end, whichever it is");
    let prepared: Vec<_> = workload.instructions().collect();
    let [Instruction::Prepare(next)] = prepared[..] else { panic!("{prepared:?}") };
    assert_eq!((next.after.flow, next.after.cue), (FlowId::new(0), Cue::SenderDone));
    assert_eq!((next.start.src, next.after.pause), (out[0].src, Picos(7)));
}

#[test]
fn the_probe_leads_from_the_first_host_to_the_last_with_a_pause() {
    let probe = ClosedLoop {
        think: Picos::from_millis(1),
        from: hosts("0"),
        to: hosts("last 1"),
        ..ClosedLoop::default()
    };
    let background = Random { flows_per_host: 4, avoid: Some(hosts("0,last 1")), ..Random::default() };
    for name in ["web", "hadoop", "cache"] {
        let probe = TrafficSpec::new(probe.clone())
            .with_sizes(Sizes::shipped(name))
            .with(|c| c.tag = Some("probe".into()));
        let spec = WorkloadSpec::of([TrafficSpec::new(background.clone()), probe]);
        let workload = workload(&spec, 432, 1);
        assert_eq!(workload.tags(), ["random", "probe"]);
        let starts = drive(workload, ms(20), || SIGNAL);
        assert_eq!(starts.iter().filter(|s| s.labels.tag == 0 && s.size.is_none()).count(), 430 * 4);
        let probes: Vec<_> = starts.iter().filter(|s| s.labels.tag == 1).collect();
        assert!(probes.len() > 3 && probes.iter().all(|s| (s.src.get(), s.dst.get()) == (0, 431)));
        for pair in probes.windows(2) {
            let end = pair[0].at + fct(pair[0]).unwrap() + Picos::from_micros(5);
            assert_eq!(pair[1].at, end + Picos::from_millis(1));
        }
    }
}

#[test]
fn a_closed_loop_that_waits_for_receipt_does_not_wait_for_the_ack() {
    let pattern = ClosedLoop {
        think: Picos::from_micros(9),
        wait_for: WaitFor::Received,
        from: hosts("0"),
        ..ClosedLoop::default()
    };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(9000))]);
    let starts = run(&spec, 4, 1, ms(1));
    for pair in starts.windows(2) {
        assert_eq!(pair[1].at, pair[0].at + fct(&pair[0]).unwrap() + Picos::from_micros(9));
    }
}

#[test]
fn exponential_pauses_have_the_stated_mean() {
    let think = Picos::from_micros(100);
    let pattern =
        ClosedLoop { think, think_spread: Spread::Exponential, from: hosts("0"), ..ClosedLoop::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(1))]);
    let starts = run(&spec, 2, 1, ms(2000));
    let pauses = starts
        .windows(2)
        .map(|p| p[1].at.since(p[0].at + fct(&p[0]).unwrap() + Picos::from_micros(5)).0 as f64);
    let mean = pauses.sum::<f64>() / (starts.len() - 1) as f64 / 1e6;
    assert!((97.0..103.0).contains(&mean), "mean pause {mean} us");
}

#[test]
fn limits_end_a_closed_loop() {
    let pattern =
        ClosedLoop { flows_per_connection: Some(3), connections_per_host: 2, ..ClosedLoop::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern.clone()).with_sizes(Sizes::fixed(10))]);
    assert_eq!(run(&spec, 4, 1, ms(100)).len(), 4 * 2 * 3);
    let pattern = ClosedLoop { until: Some(Picos::from_millis(1)), ..pattern };
    let pattern = ClosedLoop { flows_per_connection: None, ..pattern };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(10))]);
    let starts = run(&spec, 4, 1, ms(100));
    assert!(starts.len() > 100 && starts.last().unwrap().at <= ms(1));
}

#[test]
fn a_response_follows_its_request_back() {
    let pattern = RequestResponse {
        service: Picos::from_micros(20),
        think: Picos::from_micros(30),
        from: hosts("0"),
        ..RequestResponse::default()
    };
    let spec = WorkloadSpec::of([TrafficSpec::new(pattern).with_sizes(Sizes::fixed(50_000))]);
    let starts = run(&spec, 6, 1, ms(5));
    assert!(starts.len() > 20);
    for (index, pair) in starts.windows(2).enumerate() {
        let end = pair[0].at + fct(&pair[0]).unwrap();
        if index % 2 == 0 {
            assert_eq!(
                (pair[0].src.get(), pair[0].size.unwrap().0, pair[1].size.unwrap().0),
                (0, 1000, 50_000)
            );
            assert_eq!(
                (pair[1].src, pair[1].dst, pair[1].at),
                (pair[0].dst, pair[0].src, end + Picos::from_micros(20))
            );
        } else {
            assert_eq!(pair[1].at, end + Picos::from_micros(30));
        }
    }
}

#[test]
fn a_request_that_fails_is_followed_by_the_next() {
    let pattern =
        RequestResponse { response: Some(Bytes(7)), from: hosts("0"), ..RequestResponse::default() };
    let mut workload = workload(&WorkloadSpec::of([TrafficSpec::new(pattern)]), 2, 1);
    let mut out = Vec::new();
    let fails = |flow, at| Completion { flow, at, side: Side::Sender, failed: true };
    let prepared = |workload: &mut Workload| -> Vec<u32> {
        let number = |instruction| match instruction {
            Instruction::Prepare(prepared) => prepared.start.flow.get(),
            other => panic!("{other:?}"),
        };
        workload.instructions().map(number).collect()
    };
    workload.starts_before(ms(1), &mut out);
    assert_eq!((pairs(&out), prepared(&mut workload)), (vec![(0, 1)], vec![1]), "a request and its response");
    workload.completed(fails(FlowId::new(0), Instant(5)));
    workload.starts_before(ms(2), &mut out);
    assert_eq!((pairs(&out), prepared(&mut workload)), (vec![(0, 1), (0, 1)], vec![3]), "the next request");
    // The first request has arrived all the same: its server answers, and that is all.
    assert!(workload.began(FlowId::new(1), ms(2)).is_some());
    assert_eq!(prepared(&mut workload), []);
    assert!(workload.began(FlowId::new(3), ms(2)).is_some());
    assert_eq!(prepared(&mut workload), [4], "the third request waits for the response");
    workload.completed(fails(FlowId::new(3), ms(3)));
    let release: Vec<_> = workload.instructions().collect();
    let at = ms(3).after(SIGNAL);
    assert_eq!(release, [Instruction::Release { flow: FlowId::new(4), src: HostId::new(0), at }]);
}

#[test]
fn an_incast_in_rounds_waits_for_the_last_of_a_round() {
    let incast =
        Incast { degree: Some(4), repeat: 3, pause: Some(Picos::from_micros(50)), ..Incast::default() };
    let spec = WorkloadSpec::of([TrafficSpec::new(incast)]);
    let starts = run(&spec, 9, 1, ms(10));
    assert_eq!(starts.len(), 12);
    for round in 1..3 {
        let before = &starts[(round - 1) * 4..round * 4];
        let end = before.iter().map(|s| s.at + fct(s).unwrap()).max().unwrap();
        assert!(starts[round * 4..(round + 1) * 4].iter().all(|s| s.at == end + Picos::from_micros(50)));
    }
}

#[test]
fn an_incast_at_intervals_does_not_wait() {
    let incast =
        Incast { degree: Some(2), repeat: 3, every: Some(Picos::from_micros(7)), ..Incast::default() };
    let block = TrafficSpec::new(Incast { size: FlowSize::ENDLESS, ..incast })
        .with(|c| c.start = Picos::from_micros(1));
    let at: Vec<u64> = starts(block, 4, 1, ms(10)).iter().map(|s| s.at.0 / 1_000_000).collect();
    assert_eq!(at, [1, 1, 8, 8, 15, 15]);
}

#[test]
fn outcast_and_in_and_out_have_their_shape() {
    let outcast =
        Outcast { degree: Some(3), from: hosts("2"), receivers: Choose::First, ..Outcast::default() };
    assert_eq!(pairs(&starts(TrafficSpec::new(outcast), 8, 1, Instant(1))), [(2, 0), (2, 1), (2, 3)]);
    let shape = InAndOut { members: hosts("7,1,2,3,4,5"), ..InAndOut::default() };
    assert_eq!(
        pairs(&starts(TrafficSpec::new(shape), 8, 1, Instant(1))),
        [(7, 1), (7, 2), (7, 3), (7, 4), (5, 4)]
    );
}

#[test]
fn blocks_keep_their_start_priority_tag_and_hosts() {
    let block = TrafficSpec::new(Permutation { size: FlowSize::bytes(9) }).with(|common| {
        common.start = Picos::from_micros(3);
        common.priority = 7;
        common.tag = Some("late".into());
        common.hosts = hosts("4..7");
    });
    let starts = starts(block, 16, 1, ms(1));
    assert_eq!(starts.len(), 4);
    assert!(starts.iter().all(|s| (4..8).contains(&s.src.get()) && (4..8).contains(&s.dst.get())));
    assert!(starts.iter().all(|s| (s.at, s.labels.priority) == (Instant(3_000_000), 7)));
}

#[test]
fn every_pattern_has_a_name_of_its_own_and_a_working_default() {
    let mut names: Vec<&str> = PATTERNS.iter().map(|make| make().name()).collect();
    for name in &names {
        let mut block = TrafficSpec::named(name).unwrap();
        assert!(!block.pattern.summary().is_empty());
        if *name == "poisson" {
            block.pattern.set_field("load", pullnet_settings::Value::Float(0.5)).unwrap().unwrap();
        }
        if *name == "volume-model" {
            for (key, value) in [("mean", "1 Gbps"), ("timescale", "1 ms")] {
                block.pattern.set_field(key, pullnet_settings::Value::Text(value)).unwrap().unwrap();
            }
            block.pattern.set_field("cv", pullnet_settings::Value::Float(0.3)).unwrap().unwrap();
        }
        let block = if block.pattern.takes_sizes() { block.with_sizes(Sizes::fixed(1000)) } else { block };
        if block.file_names().is_empty() {
            assert_eq!(refusal(block, 16), "", "{name}");
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PATTERNS.len());
    assert!(TrafficSpec::named("no such").is_none());
}

// Long: a table of cases.
#[test]
fn refusals_name_key_value_and_remedy() {
    let poisson = |change: fn(&mut Poisson)| {
        let mut poisson = Poisson::default();
        change(&mut poisson);
        TrafficSpec::new(poisson).with_sizes(Sizes::fixed(1000))
    };
    let table = [
        (
            TrafficSpec::new(Permutation::default()).with(|c| c.hosts = hosts("3")),
            "traffic[0] (permutation): hosts = \"1\" host is too few for a permutation; select at least 2",
        ),
        (
            TrafficSpec::new(Permutation::default()).with(|c| c.hosts = hosts("0..64")),
            "traffic[0] (permutation): hosts = \"0..64\" names host 64, but the topology has 16 hosts; use 0 to 15",
        ),
        (
            TrafficSpec::new(Permutation::default()).with_sizes(Sizes::fixed(1)),
            "traffic[0] (permutation): sizes = \"{ ... }\" has no effect on this kind of traffic; use size",
        ),
        (
            TrafficSpec::new(Incast { degree: Some(16), ..Incast::default() }),
            "traffic[0] (incast): degree = \"16\" is more than the 15 other hosts; use 1 to 15",
        ),
        (
            TrafficSpec::new(Incast { to: hosts("0,1"), ..Incast::default() }),
            "traffic[0] (incast): to = \"0,1\" selects 2 hosts; name exactly one",
        ),
        (
            TrafficSpec::new(Incast { every: Some(Picos(1)), ..Incast::default() }),
            "traffic[0] (incast): every = \"1 ps\" has no effect with repeat = 1; remove it, or repeat",
        ),
        (
            TrafficSpec::new(Incast { repeat: 2, size: FlowSize::ENDLESS, ..Incast::default() }),
            "traffic[0] (incast): repeat = \"2\" never comes to a second round of endless flows; state a size or every",
        ),
        (
            TrafficSpec::new(InAndOut { members: hosts("all"), ..InAndOut::default() }),
            "traffic[0] (in-and-out): members = \"all\" does not select six hosts; name A to F",
        ),
        (
            poisson(|_| ()),
            "traffic[0] (poisson): load is missing: state load (as 0.6) or rate (flows per second and host)",
        ),
        (
            poisson(|p| (p.load, p.rate) = (Some(0.5), Some(1.0))),
            "traffic[0] (poisson): rate = \"1\" contradicts load; keep one of them",
        ),
        (
            poisson(|p| p.rate = Some(1e12)),
            "traffic[0] (poisson): rate = \"1000000000000\" makes a flow arrive every 0.0625 ps; use at most 3125000000, or larger flows",
        ),
        (
            poisson(|p| p.rate = Some(7e11)),
            "traffic[0] (poisson): rate = \"700000000000\" makes a flow arrive every 0.0892 ps; use at most 3125000000, or larger flows",
        ),
        (
            TrafficSpec::new(ClosedLoop::default()),
            "traffic[0] (closed-loop): sizes is missing: add for instance sizes = { fixed = \"90 kB\" }, { distribution = \"web-search\" } or { file = \"x.csv\", read = \"steps\" }",
        ),
        (
            TrafficSpec::new(ClosedLoop { from: hosts("1"), to: hosts("1"), ..ClosedLoop::default() })
                .with_sizes(Sizes::fixed(1)),
            "traffic[0] (closed-loop): hosts = \"1\" leaves host 1 nobody to send to; select at least 2 hosts",
        ),
        (
            TrafficSpec::new(ClosedLoop { from: hosts("9"), ..ClosedLoop::default() })
                .with_sizes(Sizes::fixed(1))
                .with(|c| c.hosts = hosts("0..7")),
            "traffic[0] (closed-loop): from = \"9\" names host 9, which is not among the block's hosts; add it to hosts, or name another",
        ),
        (
            TrafficSpec::new(Random { flows_per_host: 100_000, ..Random::default() })
                .with(|c| c.hosts = hosts("all")),
            "",
        ),
    ];
    for (block, message) in table {
        assert_eq!(refusal(block, 16), message);
    }
    let many = Random { flows_per_host: 100_000, ..Random::default() };
    assert_eq!(
        refusal(TrafficSpec::new(many), 100),
        "traffic[0] (random): flows_per_host = \"100000\" is too much for 100 hosts at the same time; use at most 40000"
    );
    assert_eq!(
        crate::common::refusal_of(&WorkloadSpec::default(), 4),
        "there is no traffic: add at least one [[traffic]] block"
    );
}

#[test]
fn refusals_of_sizes_name_key_value_and_remedy() {
    let refused = |sizes: Sizes| {
        let block = TrafficSpec::new(ClosedLoop::default()).with_sizes(sizes);
        let spec = WorkloadSpec::of([block]).with_file("x.csv", "bytes,cdf\n10,1\n");
        crate::common::refusal_of(&spec, 4).replace("traffic[0] (closed-loop): ", "")
    };
    let unknown = refused(Sizes::shipped("websearch"));
    assert!(
        unknown.starts_with(
            "sizes.distribution = \"websearch\" is not known; use one of \"web-search\", \"data-mining\""
        ),
        "{unknown}"
    );
    assert_eq!(
        refused(Sizes { read: Some(Reading::Steps), ..Sizes::fixed(9) }),
        "sizes.read = \"steps\" has no effect on a fixed size; remove it"
    );
    assert_eq!(
        refused(Sizes { distribution: Some("web".into()), ..Sizes::fixed(9) }),
        "sizes = \"fixed, distribution\" are too many sources; keep one of fixed, distribution and file"
    );
    assert_eq!(
        refused(Sizes { read: None, ..Sizes::file("x.csv", Reading::Steps) }),
        "sizes.read is missing: state read = \"steps\" or read = \"linear\": the two readings of a file differ in the mean"
    );
    assert_eq!(refused(Sizes::file("x.csv", Reading::Linear)), "");
}
