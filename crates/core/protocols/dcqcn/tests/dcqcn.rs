//! DCQCN as its paper draws it: notification point and reaction point.

use pullnet_dcqcn::{Dcqcn, DcqcnConfig, RdmaHeader, Reaction, ReactionPoint};
use pullnet_rdma::{Control, Endpoint, Feedback, Notification};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, DataPacket, FlowSpec, HostAddr, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
const LINE: f64 = 40e9;

fn host(config: &DcqcnConfig) -> Script<Endpoint<ReactionPoint>> {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(40) };
    Script::new(Dcqcn::endpoint(config, info, Seed(1).stream("test.transport", 1)))
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

fn at(micros: u64) -> Instant {
    Instant::ZERO.after(us(micros))
}

fn data(seq: u32) -> Arriving<RdmaHeader> {
    Arriving::new(THERE, 1048, RdmaHeader::Data(DataPacket { conn: CONN, seq, last: false }))
}

fn ack(seq: u32, marked: bool) -> RdmaHeader {
    let feedback = Feedback { conn: CONN, seq, cumulative: seq + 1, marked };
    RdmaHeader::Ack { feedback, finished: false }
}

const CNP: RdmaHeader = RdmaHeader::Cnp { conn: CONN };

/// The reaction point alone, with its rules.
struct Flow {
    point: ReactionPoint,
    config: DcqcnConfig,
}

impl Flow {
    fn new(config: DcqcnConfig) -> Self {
        Self { point: ReactionPoint::open(&config.control(), LINE), config }
    }

    fn cnp(&mut self, micros: u64) -> &mut Self {
        self.point.on_cnp(&self.config.control(), at(micros));
        self
    }

    fn rate(&mut self, micros: u64) -> f64 {
        self.point.rate(&self.config.control(), at(micros)) / 1e9
    }
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9 * other.abs(), "{one} is not {other}");
}

// The notification point.

#[test]
fn a_receiver_sends_at_most_one_cnp_in_50_us() {
    let mut s = host(&DcqcnConfig::default());
    s.receives(data(0)).sends([ack(0, false)]);
    s.at(us(10)).receives(data(1).marked()).sends([CNP, ack(1, false)]);
    s.at(us(59)).receives(data(2).marked()).sends([ack(2, false)]);
    s.at(us(60)).receives(data(3).marked()).sends([CNP, ack(3, false)]);
}

#[test]
fn a_receiver_may_echo_each_mark_instead() {
    let mut s = host(&DcqcnConfig { notification: Notification::Ack, ..DcqcnConfig::default() });
    s.receives(data(0).marked()).receives(data(1).marked()).receives(data(2));
    s.sends([ack(0, true), ack(1, true), ack(2, false)]);
}

#[test]
fn data_is_ecn_capable_and_answers_are_not() {
    let mut s = host(&DcqcnConfig::default());
    let flow = FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(1000)), ..FlowSpec::default() };
    s.opens(flow).receives(Arriving::new(
        THERE,
        1048,
        RdmaHeader::Data(DataPacket { conn: ConnId::new(1), seq: 0, last: true }),
    ));
    let capable: Vec<_> = s.sent().iter().map(|sent| sent.packet.ect).collect();
    assert_eq!(capable, [true, false]);
}

// The reaction point as published.

#[test]
fn a_flow_starts_at_the_rate_of_the_link_and_a_cnp_halves_it() {
    let mut flow = Flow::new(DcqcnConfig::default());
    near(flow.rate(1000), 40.0);
    near(flow.cnp(1000).rate(1000), 20.0);
    // Equation 1: alpha stays at 1 and the next cut halves again.
    near(flow.point.alpha(), 1.0);
    near(flow.cnp(1050).rate(1050), 10.0);
}

#[test]
fn alpha_shrinks_by_the_gain_in_every_55_us_without_a_cnp() {
    let mut flow = Flow::new(DcqcnConfig::default());
    flow.cnp(0).cnp(54);
    near(flow.point.alpha(), 1.0);
    // Ten intervals since the last CNP; then equation 1.
    flow.cnp(54 + 550);
    let shrunk = (1.0f64 - 1.0 / 256.0).powi(10);
    near(flow.point.alpha(), shrunk * (1.0 - 1.0 / 256.0) + 1.0 / 256.0);
}

#[test]
fn fast_recovery_halves_the_distance_five_times_and_then_the_target_grows() {
    let mut flow = Flow::new(DcqcnConfig { byte_counter: Bytes(0), ..DcqcnConfig::default() });
    flow.cnp(0).cnp(1);
    // Target 20, current 10.
    near(flow.rate(1), 10.0);
    near(flow.rate(56), 15.0);
    near(flow.rate(1 + 5 * 55), 20.0 - 10.0 / 32.0);
    let sixth = (20.0 - 10.0 / 32.0 + 20.04) / 2.0;
    near(flow.rate(1 + 6 * 55), sixth);
    // Without a byte counter hyper increase follows.
    near(flow.rate(1 + 7 * 55), (sixth + 20.44) / 2.0);
}

#[test]
fn hyper_increase_needs_both_the_timer_and_the_byte_counter() {
    let mut flow = Flow::new(DcqcnConfig::default());
    flow.cnp(0).cnp(1);
    // The timer alone goes on additively: the target is 20.04 after its sixth increase, 20.08 after its seventh.
    let sixth = flow.rate(1 + 6 * 55);
    let seventh = flow.rate(1 + 7 * 55);
    near(2.0 * seventh - sixth, 20.08);
    // Each 10 MB are an increase, too. Both are past fast recovery with the sixth of them.
    let rules = flow.config.control();
    (0..5).for_each(|_| flow.point.on_sent(&rules, at(387), 10_000_000));
    let before = flow.rate(387);
    flow.point.on_sent(&rules, at(387), 10_000_000);
    near(2.0 * flow.rate(387) - before, 20.08 + 5.0 * 0.04 + 0.4);
}

#[test]
fn a_cnp_during_recovery_makes_the_current_rate_the_target() {
    let mut flow = Flow::new(DcqcnConfig::default());
    flow.cnp(0);
    near(flow.rate(55), 30.0);
    let alpha = flow.point.alpha();
    flow.cnp(56);
    let cut = 30.0 * (1.0 - alpha * (1.0 - 1.0 / 256.0) / 2.0);
    near(flow.rate(56), cut);
    near(flow.rate(111), (cut + 30.0) / 2.0);
}

#[test]
fn the_rate_stays_between_its_least_and_that_of_the_link() {
    let mut flow = Flow::new(DcqcnConfig::default());
    (0..100).for_each(|n| {
        flow.cnp(n);
    });
    near(flow.rate(100), 0.04);
    near(flow.rate(10_000_000), 40.0);
}

#[test]
fn a_lower_rate_spaces_the_packets() {
    let mut s = host(&DcqcnConfig::default());
    let flow = FlowSpec { conn: CONN, to: THERE, size: None, ..FlowSpec::default() };
    s.opens(flow).at(us(10)).sent();
    s.receives(Arriving::new(THERE, 60, CNP)).at(us(30));
    // 1048 B at 20 Gb/s.
    let sent = s.sent();
    let gap = sent[9].at.since(sent[8].at);
    assert_eq!(gap, Picos(419_200));
}

// The reaction point of the HPCC simulator.

fn timed() -> DcqcnConfig {
    DcqcnConfig {
        reaction: Reaction::Timer,
        alpha_interval: us(1),
        cut_interval: us(4),
        increase_interval: us(300),
        byte_counter: Bytes(0),
        fast_recovery: 1,
        additive: BitsPerSec::new(20_000_000).unwrap(),
        hyper: BitsPerSec::new(200_000_000).unwrap(),
        min_rate: BitsPerSec::gbps(1),
        ..DcqcnConfig::default()
    }
}

#[test]
fn the_timer_cuts_once_in_an_interval_with_a_notification() {
    let shrinks = 1.0f64 - 1.0 / 256.0;
    let mut flow = Flow::new(timed());
    flow.cnp(10);
    near(flow.rate(13), 40.0);
    // The first notification is none for alpha: it has shrunk four times.
    let first = 40.0 * (1.0 - shrinks.powi(4) / 2.0);
    near(flow.rate(14), first);
    near(flow.rate(18), first);
    flow.cnp(19).cnp(20);
    let mut alpha = shrinks.powi(9);
    (0..2).for_each(|_| alpha = alpha * shrinks + 1.0 / 256.0);
    alpha *= shrinks;
    near(flow.rate(22), first * (1.0 - alpha / 2.0));
    near(flow.rate(26), first * (1.0 - alpha / 2.0));
}

#[test]
fn two_cuts_without_an_increase_between_them_keep_the_target() {
    let mut flow = Flow::new(timed());
    flow.cnp(0).cnp(5);
    let low = flow.rate(8);
    assert!(low < 11.0, "two cuts: {low}");
    near(flow.rate(8 + 300), (low + 40.0) / 2.0);
}
