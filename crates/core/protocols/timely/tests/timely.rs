//! TIMELY's Algorithm 1, line by line.

use pullnet_rdma::{Acked, Control};
use pullnet_timely::{Gradient, TimelyConfig, Update};
use pullnet_units::{Instant, Picos};

const LINE: f64 = 10e9;

/// A flow, each of whose segments has a round-trip time.
struct Flow {
    control: Gradient,
    config: TimelyConfig,
}

impl Flow {
    fn new(config: TimelyConfig) -> Self {
        Self { control: Gradient::open(&config.control(), LINE), config }
    }

    fn slow() -> Self {
        Self::new(TimelyConfig {
            initial_rate: pullnet_units::BitsPerSec::new(1_000_000_000),
            ..TimelyConfig::default()
        })
    }

    /// A segment is acknowledged after `micros`: the rate in Gb/s.
    fn segment(&mut self, micros: u64) -> f64 {
        self.ack(16_000, Some(micros), 0, 0)
    }

    fn ack(&mut self, bytes: u64, micros: Option<u64>, first: u32, next: u32) -> f64 {
        let (now, rtt) = (Instant::ZERO, micros.map(Picos::from_micros));
        let rules = self.config.control();
        self.control.on_ack(&rules, &Acked { now, bytes, marked: false, rtt, first, next });
        self.control.rate(&rules, now) / 1e9
    }
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9 * other.abs(), "{one} is not {other}");
}

#[test]
fn below_the_low_threshold_the_rate_only_grows() {
    let mut flow = Flow::slow();
    near(flow.segment(20), 1.0);
    near(flow.segment(49), 1.01);
    near(flow.segment(30), 1.02);
    // Also after many in a row.
    (0..20).for_each(|_| {
        flow.segment(30);
    });
    near(flow.segment(30), 1.02 + 21.0 * 0.01);
}

#[test]
fn above_the_high_threshold_the_rate_shrinks_by_how_far() {
    let mut flow = Flow::new(TimelyConfig::default());
    flow.segment(500);
    near(flow.segment(1000), 10.0 * (1.0 - 0.8 * 0.5));
}

#[test]
fn between_them_the_gradient_decides() {
    let mut flow = Flow::new(TimelyConfig::default());
    flow.segment(100);
    // 0.875 of a difference of 4 us, over 20 us.
    let first = 10.0 * (1.0 - 0.8 * 0.175);
    near(flow.segment(104), first);
    // The difference is smoothed: 0.125 of 3.5 us less 0.875 of 10 us.
    near(flow.segment(94), first + 0.01);
}

#[test]
fn after_five_falling_segments_the_increase_is_five_times_as_large() {
    let mut flow = Flow::slow();
    flow.segment(200);
    let rates: Vec<_> = (1..=7).map(|n| flow.segment(200 - n)).collect();
    let wanted = [1.01, 1.02, 1.03, 1.04, 1.09, 1.14, 1.19];
    rates.into_iter().zip(wanted).for_each(|(rate, wanted)| near(rate, wanted));
    // One rising segment ends it.
    assert!(flow.segment(260) < 1.19);
    let before = flow.segment(150);
    near(flow.segment(149), before + 0.01);
}

#[test]
fn a_segment_may_take_several_acks_and_repeated_packets_say_nothing() {
    let mut flow = Flow::slow();
    flow.segment(20);
    near(flow.ack(8_000, Some(20), 0, 0), 1.0);
    near(flow.ack(8_000, None, 0, 0), 1.0);
    near(flow.ack(1_000, Some(20), 0, 0), 1.01);
}

#[test]
fn the_rate_may_be_updated_once_in_a_round_trip() {
    let mut flow = Flow::slow();
    flow.config.update = Update::RoundTrip;
    near(flow.ack(1_000, Some(20), 1, 10), 1.0);
    near(flow.ack(1_000, Some(20), 10, 19), 1.0);
    near(flow.ack(1_000, Some(20), 11, 20), 1.01);
}

#[test]
fn the_rate_keeps_its_bounds() {
    let mut flow = Flow::new(TimelyConfig::default());
    near(flow.segment(20), 10.0);
    near(flow.segment(20), 10.0);
    (0..100).for_each(|_| {
        flow.segment(100_000);
    });
    near(flow.segment(100_000), 0.01);
}
