//! Hosts and ports together: invariants of grants under packet loss, and the paper's figures at small scale.

use crate::common::{RATE, Watched, at, flow, plan, run_plan};
use proptest::prelude::*;
use pullnet_d3::{D3, D3Config, D3Endpoint, Late, Rcp, RcpConfig};
use pullnet_qdisc::{D3Config as SwitchConfig, D3Rule, D3Rules};
use pullnet_transport::{ConnId, Event, FlowSpec, HostAddr};
use pullnet_units::{Instant, Picos};

type Net = crate::common::Net<D3Endpoint, D3Rule>;

impl Watched for D3Rule {
    fn granted(&mut self, rules: &D3Rules, now: Instant) -> (u64, u64) {
        let sums = self.rule.0.sums(rules, now);
        assert!(sums.flows > 0 || sums.desired == 0, "{sums:?}");
        (sums.flows.into(), sums.granted)
    }
    fn most(&self) -> u64 {
        self.rule.0.capacity()
    }
}

/// A switch that forgets no grants: flows must hand them back.
fn unforgetting() -> SwitchConfig {
    SwitchConfig { epoch: Picos::from_secs(100), ..SwitchConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// `Net::serve` also asserts at each departure that the grants do not exceed the capacity.
    #[test]
    fn without_losses_every_grant_is_handed_back(plan in plan()) {
        let (flows, mut net) = (plan.len(), Net::new::<D3>(5, &D3Config::default(), &unforgetting()));
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.granted().into_iter().all(|sums| sums == (0, 0)));
    }

    #[test]
    fn with_losses_and_a_failed_link_all_is_zero_in_the_end(plan in plan(), from in 0..20_000u64, long in 0..5_000u64) {
        let (flows, mut net) = (plan.len(), Net::new::<D3>(5, &D3Config::default(), &SwitchConfig::default()));
        net.loss = 0.01;
        net.down = [at(from), at(from + long)];
        let (completed, failed) = run_plan(&mut net, plan);
        prop_assert_eq!(completed + failed, flows);
        prop_assert!(net.granted().into_iter().all(|sums| sums == (0, 0)));
    }
}

/// Payload rate as a share of the link rate, from 20 to 60 ms, and the mean and largest queue in bytes.
fn long_flows(senders: u32) -> (f64, u64, u64) {
    let mut net = Net::new::<D3>(senders + 1, &D3Config::default(), &SwitchConfig::default());
    for sender in 0..senders {
        let endless = FlowSpec { conn: ConnId::new(sender), to: HostAddr(senders), ..FlowSpec::default() };
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
        Event::Completed { conn, .. } => *when <= deadline(conn.get().into()),
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
    let quenched = |(.., event): &(Instant, usize, Event)| matches!(event, Event::Failed { conn, reason, .. } if *conn == ConnId::new(1) && reason.as_str().starts_with("quenched"));
    let met = |(when, _, event): &(Instant, usize, Event)| {
        matches!(event, Event::Completed { conn, .. } if *conn == ConnId::new(2)) && *when <= at(8_000)
    };
    let events = run(Late::Quench);
    assert!(events.iter().any(quenched) && events.iter().any(met), "{events:?}");
    for late in [Late::FairShare, Late::Extend] {
        let events = run(late);
        let completed = events.iter().filter(|(.., event)| matches!(event, Event::Completed { .. })).count();
        assert!(completed == 2 && !events.iter().any(quenched), "{late:?}");
    }
}

/// When the last of 20 flows of 500 kB ends that follow each other, with 1% of loss on every link. Milliseconds.
fn lone_flows_under_loss(switch: &SwitchConfig) -> u64 {
    let mut net = Net::new::<D3>(2, &D3Config::default(), switch);
    net.loss = 0.01;
    for number in 0..20 {
        net.open(0, flow(number, 1, 500_000, None));
        let completed = |(.., event): &&(Instant, usize, Event)| matches!(event, Event::Completed { .. });
        let done = |net: &Net| net.events.iter().filter(completed).count() > number as usize;
        while !done(&net) {
            net.run(net.now.after(Picos::from_micros(100)));
        }
    }
    net.now.0 / 1_000_000_000
}

#[test]
fn what_lost_requests_leave_behind_does_not_block_a_lone_flow() {
    let repaired = lone_flows_under_loss(&SwitchConfig::default());
    let parked = lone_flows_under_loss(&SwitchConfig { most_capacity: 1000, ..SwitchConfig::default() });
    assert!(2 * repaired < parked, "{repaired} ms, and {parked} ms if nothing is granted again");
}
