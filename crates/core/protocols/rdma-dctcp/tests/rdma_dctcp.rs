//! DCTCP on RDMA, rule by rule.

use pullnet_rdma::{Acked, Control};
use pullnet_rdma_dctcp::{RdmaDctcpConfig, ShareOfMarks};
use pullnet_units::Instant;

struct Flow(ShareOfMarks);

impl Flow {
    fn new() -> Self {
        Self(ShareOfMarks::open(&RdmaDctcpConfig::default().control(), 10e9))
    }

    /// Everything below `first` is acknowledged, everything below `next` has left: the rate in Gb/s.
    fn ack(&mut self, first: u32, next: u32, marked: bool) -> f64 {
        let (rules, now) = (RdmaDctcpConfig::default().control(), Instant::ZERO);
        self.0.on_ack(&rules, &Acked { now, bytes: 1000, marked, rtt: None, first, next });
        self.0.rate(&rules, now) / 1e9
    }
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9 * other.abs(), "{one} is not {other}");
}

#[test]
fn the_first_mark_halves_the_rate_and_further_ones_of_the_same_window_do_not() {
    let mut flow = Flow::new();
    near(flow.ack(1, 10, true), 5.0);
    near(flow.ack(2, 11, true), 5.0);
    near(flow.ack(10, 19, true), 5.0);
    // Packet 10 left after the cut. Its mark says so: another cut, by an alpha that has seen ten marks of eleven.
    let alpha = 15.0 / 16.0 + 4.0 / 11.0 / 16.0;
    near(flow.ack(11, 20, true), 5.0 * (1.0 - alpha / 2.0));
    near(flow.0.alpha(), alpha);
}

#[test]
fn a_round_trip_without_a_mark_increases_the_rate_and_shrinks_alpha() {
    let mut flow = Flow::new();
    near(flow.ack(1, 10, true), 5.0);
    near(flow.ack(10, 19, false), 5.0);
    near(flow.ack(11, 20, false), 6.0);
    near(flow.ack(20, 29, false), 6.0);
    near(flow.ack(21, 30, false), 7.0);
    near(flow.0.alpha(), (15.0 / 16.0 + 1.0 / 11.0 / 16.0) * 15.0 / 16.0);
}

#[test]
fn the_rate_keeps_its_bounds() {
    let mut flow = Flow::new();
    near(flow.ack(1, 2, false), 10.0);
    (1..200).for_each(|n| {
        flow.ack(4 * n, 4 * n + 1, true);
    });
    near(flow.ack(10_000, 10_001, true), 0.1);
}
