//! Hosts and ports together: invariants of grants under packet loss, and the paper's figures at small scale.

mod common;

use common::{Net, RATE};
use proptest::prelude::*;
use pullnet_d3::{D3, D3Config, Late, Rcp, RcpConfig};
use pullnet_qdisc::{D3Config as SwitchConfig, Sums};
use pullnet_transport::{ConnId, Event, FlowSpec, HostAddr};
use pullnet_units::{Bytes, Instant, Picos};

const fn at(micros: u64) -> Instant {
    Instant(micros * 1_000_000)
}

fn flow(conn: u32, to: u32, size: u64, deadline: Option<Instant>) -> FlowSpec {
    let (conn, to, size) = (ConnId(conn), HostAddr(to), Some(Bytes(size)));
    FlowSpec { conn, to, size, deadline, ..FlowSpec::default() }
}

/// A switch that forgets no grants: flows must hand them back.
fn unforgetting() -> SwitchConfig {
    SwitchConfig { epoch: Picos::from_secs(100), ..SwitchConfig::default() }
}

/// Flows to open: sender, size in bytes, start in us, and time until the deadline in us.
type Plan = Vec<(usize, u64, u64, Option<u64>)>;

fn plan() -> impl Strategy<Value = Plan> {
    let deadline = prop::option::of(300..20_000u64);
    prop::collection::vec((0..4usize, 1..60_000u64, 0..20_000u64, deadline), 1..25)
}

/// Opens the flows of a plan in order of time and runs until all have ended. Returns how many completed and failed.
fn run_plan(net: &mut Net, mut plan: Plan) -> (usize, usize) {
    plan.sort_by_key(|(_, _, start, _)| *start);
    for (number, (from, size, start, time)) in (0..).zip(&plan) {
        net.run(at(*start));
        net.open(*from, flow(number, 4, *size, time.map(|time| at(start + time))));
    }
    net.run(at(2_000_000));
    let ended = |wanted: fn(&Event) -> bool| net.events.iter().filter(|(.., event)| wanted(event)).count();
    let completed = ended(|event| matches!(event, Event::Completed { .. }));
    let failed = ended(|event| matches!(event, Event::Failed { .. }));
    (completed, failed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// `Net::serve` also asserts at each departure that the grants do not exceed the capacity.
    #[test]
    fn without_losses_every_grant_is_handed_back(plan in plan()) {
        let (flows, mut net) = (plan.len(), Net::new::<D3>(5, &D3Config::default(), &unforgetting()));
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.sums().into_iter().all(|sums| sums == Sums::default()));
    }

    #[test]
    fn with_losses_and_a_failed_link_all_is_zero_in_the_end(plan in plan(), from in 0..20_000u64, long in 0..5_000u64) {
        let (flows, mut net) = (plan.len(), Net::new::<D3>(5, &D3Config::default(), &SwitchConfig::default()));
        net.loss = 0.01;
        net.down = [at(from), at(from + long)];
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.sums().into_iter().all(|sums| sums == Sums::default()));
    }
}

/// Payload rate as a share of the link rate, from 20 to 60 ms, and the mean and largest queue in bytes.
fn long_flows(senders: u32) -> (f64, u64, u64) {
    let mut net = Net::new::<D3>(senders + 1, &D3Config::default(), &SwitchConfig::default());
    for sender in 0..senders {
        let endless = FlowSpec { conn: ConnId(sender), to: HostAddr(senders), ..FlowSpec::default() };
        // Flows with equal rates that start at the same instant would keep colliding forever.
        net.run(at(613 * u64::from(sender)));
        net.open(sender as usize, endless);
    }
    net.run(at(20_000));
    net.waited = [0; 3];
    net.run(at(60_000));
    assert_eq!(net.dropped, 0);
    let delivered =
        net.events.iter().filter(|(when, ..)| *when >= at(20_000)).map(|(.., event)| match event {
            Event::Delivered { bytes, .. } => u64::from(*bytes),
            _ => 0,
        });
    let share = delivered.sum::<u64>() as f64 * 8.0 / (RATE.get() as f64 * 0.04);
    let [sum, count, most] = net.waited;
    (share, sum / count.max(1), most)
}

#[test]
fn figure_16_long_flows_fill_the_link_over_a_short_queue() {
    for senders in [2, 5, 10, 20] {
        let (share, mean, most) = long_flows(senders);
        assert!((0.93..0.97).contains(&share), "{senders} flows: payload at {share} of the link's rate");
        assert!(mean < 8_000 && most < 48_000, "{senders} flows: {mean} B wait, {most} B at most");
    }
}

/// Number of flows that meet their deadlines, of 24 flows of 30 kB that start at once. Deadlines alternate between 4 ms and
/// 20 ms.
fn met(mut net: Net) -> usize {
    let deadline = |number: u64| at(if number.is_multiple_of(2) { 4_000 } else { 20_000 });
    for number in 0..24u64 {
        let spec = flow(number as u32, 6, 30_000, Some(deadline(number)));
        net.open((number % 6) as usize, spec);
    }
    net.run(at(100_000));
    let in_time = |(when, _, event): &&(Instant, usize, Event)| match event {
        Event::Completed { conn, .. } => *when <= deadline(conn.0.into()),
        _ => false,
    };
    net.events.iter().filter(in_time).count()
}

#[test]
fn deadlines_are_met_that_equal_shares_miss() {
    let switch = SwitchConfig::default();
    let d3 = met(Net::new::<D3>(7, &D3Config::default(), &switch));
    let rcp = met(Net::new::<Rcp>(7, &RcpConfig::default(), &switch));
    assert!(d3 > rcp, "{d3} of 24 with deadlines, {rcp} with equal shares");
}

#[test]
fn quenched_flows_leave_their_rate_to_others() {
    let run = |late| {
        let config = D3Config { late, ..D3Config::default() };
        let mut net = Net::new::<D3>(3, &config, &SwitchConfig::default());
        // The first flow needs more than the link rate from the start, the second flow half of it.
        net.open(0, flow(1, 2, 500_000, Some(at(2_000))));
        net.open(1, flow(2, 2, 500_000, Some(at(8_000))));
        net.run(at(100_000));
        net.events
    };
    let quenched = |(.., event): &(Instant, usize, Event)| matches!(event, Event::Failed { conn: ConnId(1), reason, .. } if reason.starts_with("quenched"));
    let met = |(when, _, event): &(Instant, usize, Event)| {
        matches!(event, Event::Completed { conn: ConnId(2), .. }) && *when <= at(8_000)
    };
    let events = run(Late::Quench);
    assert!(events.iter().any(quenched) && events.iter().any(met), "{events:?}");
    for late in [Late::FairShare, Late::Extend] {
        let events = run(late);
        let completed = events.iter().filter(|(.., event)| matches!(event, Event::Completed { .. })).count();
        assert!(completed == 2 && !events.iter().any(quenched), "{late:?}");
    }
}
