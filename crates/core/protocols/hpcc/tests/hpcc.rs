//! HPCC's Algorithm 1, rule by rule, at 100 Gb/s with a base round trip of 10 us: 125,000 B are in flight on a full link.

use pullnet_hpcc::{HpccConfig, Inflight, MOST_HOPS, Records};
use pullnet_rdma::{Acked, Control};
use pullnet_transport::PortState;
use pullnet_units::{BitsPerSec, Instant, Picos};

const LINE: u64 = 100_000_000_000;
const FULL: u64 = 125_000;

/// A flow, and the packets that it has sent.
struct Flow {
    control: Inflight,
    config: HpccConfig,
    /// Everything below is acknowledged.
    first: u32,
}

/// A port at `micros`, after `sent` bytes, with `waiting` bytes.
fn port(micros: u64, sent: u64, waiting: u64) -> PortState {
    let rate = BitsPerSec::new(LINE).unwrap();
    PortState { now: Instant(micros * 1_000_000), rate, sent, waiting }
}

fn records(ports: &[PortState]) -> Records {
    let mut records = Records::default();
    ports.iter().for_each(|port| records.push(*port));
    records
}

impl Flow {
    fn new(set: impl FnOnce(&mut HpccConfig)) -> Self {
        let mut config = HpccConfig { base_rtt: Picos::from_micros(10), ..HpccConfig::default() };
        set(&mut config);
        Self { control: Inflight::open(&config.control(), LINE as f64), config, first: 0 }
    }

    /// The ACK of the next packet brings `ports`; `round` packets are under way behind it: the rate in Gb/s.
    fn ack(&mut self, round: u32, ports: &[PortState]) -> f64 {
        self.first += 1;
        let (now, rules) = (Instant::ZERO, self.config.control());
        let (first, next) = (self.first, self.first + round);
        let ack = Acked { now, bytes: 1000, marked: false, rtt: None, first, next };
        self.control.on_collected(&rules, &ack, &records(ports));
        self.control.rate(&rules, now) / 1e9
    }
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6 * other.abs(), "{one} is not {other}");
}

#[test]
fn the_first_ack_is_only_remembered() {
    let mut flow = Flow::new(|_| {});
    near(flow.ack(0, &[port(0, 0, 500_000)]), 100.0);
}

#[test]
fn a_full_link_is_brought_down_to_the_target() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(0, 0, 0)]);
    near(flow.ack(0, &[port(10, FULL, 0)]), 95.04);
}

#[test]
fn of_the_waiting_bytes_the_lesser_number_counts() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(0, 0, 128_000)]);
    // 64,000 B wait at least: 0.512 of what a full link has in flight.
    near(flow.ack(0, &[port(10, FULL, 64_000)]), 95.0 / 1.512 + 0.04);
}

#[test]
fn the_busiest_port_decides() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(0, 0, 0), port(1, 0, 64_000), port(2, 0, 0)]);
    near(flow.ack(0, &[port(10, FULL, 0), port(11, FULL, 64_000), port(12, 0, 0)]), 95.0 / 1.512 + 0.04);
}

#[test]
fn a_sample_counts_by_its_share_of_the_base_round_trip() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(0, 0, 0)]);
    // Half a round trip of an idle link, after an assumed utilisation of 1; then a tenth at twice the rate of the link.
    flow.ack(0, &[port(5, 0, 0)]);
    near(flow.control.utilization(), 0.5);
    flow.ack(0, &[port(6, 25_000, 128_000)]);
    near(flow.control.utilization(), 0.5 + 0.1 * (2.0 - 0.5));
    flow.ack(0, &[port(100, 25_000, 0)]);
    near(1.0 + flow.control.utilization(), 1.0);
}

#[test]
fn below_the_target_the_rate_grows_step_by_step_and_then_by_utilisation() {
    let mut flow = Flow::new(|config| config.max_stage = 2);
    let mut sent = 0;
    let mut ack = |flow: &mut Flow, n: u64, load: u64| {
        sent += FULL * load / 100;
        flow.ack(0, &[port(10 * n, sent, 0)])
    };
    ack(&mut flow, 0, 0);
    // A link at 190 %, as it would be if its rate had been cut: the rate is halved.
    near(ack(&mut flow, 1, 190), 50.04);
    near(ack(&mut flow, 2, 76), 50.08);
    near(ack(&mut flow, 3, 76), 50.12);
    near(ack(&mut flow, 4, 76), 50.12 / 0.8 + 0.04);
    near(ack(&mut flow, 5, 76), 50.12 / 0.8 + 0.08);
}

#[test]
fn within_a_round_trip_acks_do_not_add_up() {
    let mut flow = Flow::new(|_| {});
    flow.ack(3, &[port(0, 0, 0)]);
    // Packets 2 to 4 were under way at the first ACK: their ACKs count from the same reference, a full line.
    for n in 1..=3 {
        near(flow.ack(3, &[port(10 * n, 2 * n * FULL, 0)]), 47.54);
    }
    near(flow.ack(3, &[port(40, 8 * FULL, 0)]), 47.54);
    near(flow.ack(3, &[port(50, 10 * FULL, 0)]), 47.54 / (2.0 / 0.95) + 0.04);
}

#[test]
fn one_ack_for_each_round_trip_can_be_enough() {
    let mut flow = Flow::new(|config| config.every_ack = false);
    flow.ack(2, &[port(0, 0, 0)]);
    near(flow.ack(2, &[port(1, 25_000, 0)]), 100.0);
    near(flow.ack(2, &[port(2, 50_000, 0)]), 100.0);
    near(flow.ack(2, &[port(10, 2 * FULL, 0)]), 47.54);
}

#[test]
fn the_rate_keeps_its_bounds() {
    let mut flow = Flow::new(|_| {});
    (0..100).for_each(|n| {
        flow.ack(0, &[port(10 * n, 2 * n * FULL, 0)]);
    });
    near(flow.ack(0, &[port(1_000, 200 * FULL, 0)]), 0.1);
    let mut flow = Flow::new(|_| {});
    (0..100).for_each(|n| {
        flow.ack(0, &[port(10 * n, 0, 0)]);
    });
    near(flow.ack(0, &[port(1_000, 0, 0)]), 100.0);
}

#[test]
fn a_path_that_is_too_long_fails_the_flow() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(0, 0, 0); MOST_HOPS]);
    assert_eq!(flow.control.failure(), None);
    flow.ack(0, &[port(0, 0, 0); MOST_HOPS + 1]);
    assert!(flow.control.failure().is_some_and(|reason| reason.as_str().contains("more switches")));
}

#[test]
fn a_record_that_is_older_than_the_last_one_is_no_sample() {
    let mut flow = Flow::new(|_| {});
    flow.ack(0, &[port(10, FULL, 0)]);
    near(flow.ack(0, &[port(20, 2 * FULL, 0)]), 95.04);
    // It left 5 us before the one above, and was overtaken by it.
    near(flow.ack(0, &[port(15, FULL + FULL / 2, 0)]), 95.04);
    near(flow.ack(0, &[port(30, 3 * FULL, 0)]), 95.04 * 0.95 + 0.04);
}
