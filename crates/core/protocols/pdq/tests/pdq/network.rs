//! Hosts and ports together: the order in which flows end, what paused flows send, and that no state remains.

use crate::common::{RATE, Watched, at, flow, plan, run_plan};
use proptest::prelude::*;
use pullnet_pdq::{Pdq, PdqConfig, PdqEndpoint};
use pullnet_qdisc::{PdqConfig as SwitchConfig, PdqRule, PdqRules};
use pullnet_transport::{Awaited, ConnId, Event};
use pullnet_units::{Instant, Picos};

type Net = crate::common::Net<PdqEndpoint, PdqRule>;

impl Watched for PdqRule {
    fn granted(&mut self, rules: &PdqRules, now: Instant) -> (u64, u64) {
        let (flows, rates) = self.rule.0.flows(rules, now);
        (flows as u64, rates)
    }
    /// A flow that preempts others is granted its rate before they stop, and so is the next one by Early Start.
    fn most(&self) -> u64 {
        u64::MAX
    }
}

fn net(hosts: u32) -> Net {
    Net::new::<Pdq>(hosts, &PdqConfig::default(), &SwitchConfig::default())
}

/// A port that forgets no flow: all have to leave it.
fn unforgetting() -> SwitchConfig {
    let long = Picos::from_secs(100);
    SwitchConfig { forget_sending: long, forget_paused: long, ..SwitchConfig::default() }
}

/// When flows ended, in microseconds, in the order of their ends.
fn ends(net: &Net) -> Vec<(u32, u64)> {
    let end = |(when, _, event): &(Instant, usize, Event)| match event {
        Event::Completed { conn, .. } => Some((conn.get(), when.0 / 1_000_000)),
        _ => None,
    };
    net.events.iter().filter_map(end).collect()
}

fn order(net: &Net) -> Vec<u32> {
    ends(net).into_iter().map(|(conn, _)| conn).collect()
}

/// Payload that has arrived between two times, at all hosts. Bytes.
fn delivered(net: &Net, from: Instant, until: Instant) -> u64 {
    let bytes = |(when, _, event): &(Instant, usize, Event)| match event {
        Event::Delivered { bytes, .. } if (from..until).contains(when) => u64::from(*bytes),
        _ => 0,
    };
    net.events.iter().map(bytes).sum()
}

/// A full packet carries 1444 B of payload in 12 us.
const PACKETS: u64 = 1444;

#[test]
fn three_flows_with_deadlines_end_in_the_order_of_their_deadlines() {
    let mut net = net(4);
    // As in the paper's example, fair shares would miss two of three deadlines: 1, 2 and 3 ms of work.
    for (number, (packets, deadline)) in [(250, 6_900), (83, 1_500), (166, 3_700)].into_iter().enumerate() {
        net.open(number, flow(number as u32, 3, packets * PACKETS, Some(at(deadline))));
    }
    net.run(at(50_000));
    let ends = ends(&net);
    assert_eq!(order(&net), [1, 2, 0]);
    for ((conn, end), deadline) in ends.into_iter().zip([1_500, 3_700, 6_900]) {
        assert!(end <= deadline, "flow {conn} ends at {end} us, its deadline is {deadline} us");
    }
}

#[test]
fn flows_without_deadlines_end_in_the_order_of_their_sizes() {
    let mut net = net(5);
    for (number, packets) in [400, 100, 300, 200].into_iter().enumerate() {
        net.open(number, flow(number as u32, 4, packets * PACKETS, None));
    }
    net.run(at(50_000));
    assert_eq!(order(&net), [1, 3, 2, 0]);
    // 1000 packets take 12 ms. The first one waits for its probe, and between flows the link is not idle.
    let (_, last) = ends(&net)[3];
    assert!((12_000..12_500).contains(&last), "the last one ends at {last} us");
}

#[test]
fn a_more_critical_flow_interrupts_the_one_that_sends() {
    let mut net = net(3);
    net.open(0, flow(0, 2, 1_000 * PACKETS, None));
    net.run(at(3_000));
    net.open(1, flow(1, 2, 100 * PACKETS, None));
    net.run(at(50_000));
    let ends = ends(&net);
    assert_eq!(order(&net), [1, 0]);
    assert!(ends[0].1 < 4_500, "1.2 ms of work from 3 ms on: {ends:?}");
    assert!(ends[1].1 < 13_700, "13.2 ms of work: {ends:?}");
}

#[test]
fn of_two_flows_that_are_nearly_equal_one_ends_first() {
    for shorter in [0, 1, 2] {
        let ends_with = |deadline: Option<Instant>| {
            let mut net = net(3);
            // 0.83 ms of work each. The flow with the lower number comes second.
            net.open(1, flow(1, 2, 69 * PACKETS, deadline));
            net.open(0, flow(0, 2, (69 - shorter) * PACKETS, deadline));
            net.run(at(50_000));
            ends(&net)
        };
        let first = ends_with(None)[0].1;
        assert!(first < 1_000, "shorter by {shorter} packets: the first flow ends after {first} us");
        let in_time = ends_with(Some(at(1_200)));
        assert!(matches!(in_time[..], [(_, end)] if end <= 1_200), "{in_time:?}");
    }
}

#[test]
fn early_start_fills_the_gap_between_two_flows() {
    let last = |early_start| {
        let switch = SwitchConfig { early_start, ..SwitchConfig::default() };
        let mut net = Net::new::<Pdq>(11, &PdqConfig::default(), &switch);
        for number in 0..10 {
            net.open(number, flow(number as u32, 10, (40 + number as u64) * PACKETS, None));
        }
        net.run(at(50_000));
        assert_eq!((order(&net).len(), net.dropped), (10, 0));
        ends(&net)[9].1
    };
    let (with, without) = (last(200), last(0));
    // 445 packets take 5.34 ms.
    assert!(
        with < 5_750 && without > with + 200,
        "the last flow ends at {with} us, or {without} us without it"
    );
}

#[test]
fn a_paused_flow_sends_probes_only() {
    let mut net = net(3);
    net.open(0, flow(0, 2, 500 * PACKETS, None));
    net.run(at(1_000));
    net.open(1, flow(1, 2, 5_000 * PACKETS, None));
    net.run(at(5_000));
    let status = net.statuses(1);
    assert_eq!(
        status,
        [(0, 0, Awaited::of_protocol(&"its turn"))],
        "no byte was acknowledged, and no data packet was sent"
    );
    let share = delivered(&net, at(1_500), at(5_000)) as f64 * 8.0 / (RATE.get() as f64 * 0.0035);
    // Headers take 0.037 of the link, and probes less than 0.02.
    assert!((0.94..0.963).contains(&share), "the other flow has {share} of the link");
}

#[test]
fn a_flow_that_cannot_meet_its_deadline_ends_early() {
    let run = |early_termination| {
        let config = PdqConfig { early_termination, ..PdqConfig::default() };
        let mut net = Net::new::<Pdq>(3, &config, &SwitchConfig::default());
        // The first one needs 3 ms and has less; the second one needs 4.8 ms of 6 ms.
        net.open(0, flow(0, 2, 250 * PACKETS, Some(at(2_500))));
        net.open(1, flow(1, 2, 400 * PACKETS, Some(at(6_000))));
        net.run(at(50_000));
        net
    };
    let with = run(true);
    let given_up = |(.., event): &(Instant, usize, Event)| matches!(event, Event::Failed { conn, reason, .. } if *conn == ConnId::new(0) && reason.as_str().starts_with("terminated early"));
    assert!(with.events.iter().any(given_up));
    assert!(matches!(ends(&with)[..], [(1, end)] if end < 6_000), "{:?}", ends(&with));
    let without = ends(&run(false));
    assert!(matches!(without[..], [(0, _), (1, end)] if end > 6_000), "{without:?}");
}

#[test]
fn a_flow_that_is_paused_behind_the_trunk_leaves_the_trunk_to_others() {
    let mut net = net(5).with_trunk();
    net.open(1, flow(1, 3, 300 * PACKETS, None));
    net.run(at(200));
    net.open(0, flow(0, 3, 310 * PACKETS, None));
    net.run(at(1_000));
    assert_eq!([net.granted()[3].0, net.granted()[5].0], [2, 0], "the trunk does not list the paused flow");
    // It is less critical than that flow, but needs only the trunk.
    net.open(0, flow(2, 4, 400 * PACKETS, None));
    net.run(at(50_000));
    let ends = ends(&net);
    assert_eq!(order(&net), [1, 2, 0]);
    assert!(ends[1].1 < 6_100, "4.8 ms of work from 1 ms on: {ends:?}");
    assert!(net.granted().into_iter().all(|granted| granted == (0, 0)));
}

#[test]
fn many_flows_end_and_their_probes_leave_room_for_data() {
    let mut net = net(21);
    for number in 0..400u32 {
        net.open((number % 20) as usize, flow(number, 20, 20 * PACKETS, None));
    }
    net.run(at(400_000));
    assert_eq!(order(&net).len(), 400);
    // 8000 packets take 96 ms.
    let (_, last) = ends(&net)[399];
    assert!(last < 115_000, "the last one ends at {last} us");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn without_losses_every_flow_leaves_the_ports(plan in plan(), trunk: bool) {
        let (flows, mut net) = (plan.len(), Net::new::<Pdq>(5, &PdqConfig::default(), &unforgetting()));
        if trunk {
            net = net.with_trunk();
        }
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.granted().into_iter().all(|granted| granted == (0, 0)), "{:?}", net.granted());
    }

    #[test]
    fn with_losses_and_a_failed_link_no_flow_remains(
        plan in plan(), from in 0..20_000u64, long in 0..5_000u64, trunk: bool
    ) {
        let (flows, mut net) = (plan.len(), net(5));
        if trunk {
            net = net.with_trunk();
        }
        net.loss = 0.01;
        net.down = [at(from), at(from + long)];
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.granted().into_iter().all(|granted| granted == (0, 0)), "{:?}", net.granted());
    }
}
