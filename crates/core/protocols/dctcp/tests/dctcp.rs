//! DCTCP: RFC 8257, sections 3.2 to 3.6, and what the paper and the public NDP code do instead.

use pullnet_dctcp::{Dctcp, DctcpConfig, DctcpControl, DctcpEndpoint, Reaction, Segment};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};

const HERE: HostAddr = HostAddr(1);
const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// Every packet is acknowledged, and data leaves at once: four packets first.
fn plain() -> DctcpConfig {
    DctcpConfig {
        mtu: Bytes(1000),
        initial_window: Packets(4),
        handshake: false,
        delayed_ack: false,
        ..DctcpConfig::default()
    }
}

fn host(config: &DctcpConfig) -> Script<DctcpEndpoint> {
    let info = HostInfo { addr: HERE, rate: BitsPerSec::gbps(10) };
    Script::new(Dctcp::endpoint(config, info, Seed(1).stream("test.transport", 1)))
}

fn sender(config: &DctcpConfig) -> Script<DctcpEndpoint> {
    let mut s = host(config);
    s.opens(FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(1_000_000)), ..FlowSpec::default() }).sent();
    s
}

fn said(cumulative: u32, answers: u32, echo: bool) -> Segment {
    Segment::Ack { conn: CONN, cumulative, answers, echo, finished: false, ranges: Default::default() }
}

/// An ACK that echoes nothing.
fn ack(cumulative: u32) -> Arriving<Segment> {
    Arriving::new(THERE, 64, said(cumulative, cumulative - 1, false))
}

/// An ACK that echoes a mark.
fn echo(cumulative: u32) -> Arriving<Segment> {
    Arriving::new(THERE, 64, said(cumulative, cumulative - 1, true))
}

fn data(seq: u32) -> Arriving<Segment> {
    Arriving::new(THERE, 1058, Segment::Data { conn: CONN, seq, opens: true, last: false })
}

fn control(s: &mut Script<DctcpEndpoint>) -> DctcpControl {
    let mut seen = None;
    s.does(|endpoint, _| seen = endpoint.insight(THERE, CONN));
    seen.expect("the flow is open").control
}

fn alpha(s: &mut Script<DctcpEndpoint>) -> f64 {
    control(s).alpha
}

fn window(s: &mut Script<DctcpEndpoint>) -> f64 {
    control(s).reno.window
}

// Section 3.3: the sender.

#[test]
fn alpha_follows_the_share_of_marked_packets_of_each_window() {
    let mut s = sender(&plain());
    assert_eq!(alpha(&mut s), 1.0);
    // Four packets are outstanding. The first ACK ends the first observation: no mark in one packet.
    s.at(us(10)).receives(ack(1));
    assert_eq!(alpha(&mut s), 1.0 * 15.0 / 16.0);
    // The second ends when packet 4 is acknowledged: one mark in four.
    s.receives_all([ack(2), echo(3), ack(4)]);
    assert_eq!(alpha(&mut s), 0.9375);
    s.at(us(20)).receives(ack(5));
    assert_eq!(alpha(&mut s), 0.9375 * 15.0 / 16.0 + 0.25 / 16.0);
}

#[test]
fn alpha_falls_by_a_sixteenth_in_each_window_without_marks() {
    let mut s = sender(&DctcpConfig { receive_window: Packets(1), initial_window: Packets(1), ..plain() });
    let mut expected = 1.0;
    for number in 1..50 {
        // Windows of one packet: each ACK ends an observation.
        s.at(us(10 * u64::from(number))).receives(ack(number));
        expected *= 15.0 / 16.0;
        assert!((alpha(&mut s) - expected).abs() < 1e-12, "after {number} ACKs");
    }
}

#[test]
fn the_first_mark_of_a_window_halves_it_where_alpha_is_one_and_others_of_it_do_nothing() {
    let mut s = sender(&plain());
    s.at(us(10)).receives(echo(1));
    // All that was observed was marked: alpha is 1 still.
    assert_eq!((alpha(&mut s), window(&mut s)), (1.0, 2.0));
    s.receives_all([echo(2), echo(3), echo(4)]);
    assert_eq!(window(&mut s), 2.0);
    // Packet 4 was sent after the reduction.
    s.at(us(20)).receives_all([ack(5), ack(6)]);
    assert!(window(&mut s) > 2.0);
}

#[test]
fn the_window_shrinks_by_half_of_alpha() {
    let mut s = sender(&plain());
    s.at(us(10)).receives_all([ack(1), ack(2)]);
    assert_eq!((alpha(&mut s), window(&mut s)), (0.9375, 6.0));
    s.receives(echo(3));
    assert_eq!(window(&mut s), 6.0 * (1.0 - 0.9375 / 2.0));
    let control = control(&mut s);
    assert_eq!(control.reno.threshold, control.reno.window, "slow start is over");
}

#[test]
fn a_loss_halves_the_window_as_in_tcp_and_marks_of_the_same_window_do_not_shrink_it_again() {
    let mut s =
        sender(&DctcpConfig { initial_window: Packets(10), initial_alpha: 0.5, sack: false, ..plain() });
    let repeated = || Arriving::new(THERE, 64, said(0, 3, true));
    s.at(us(10)).receives_all([repeated(), repeated(), repeated()]);
    let reduced = window(&mut s);
    // The mark of the first duplicate came before the loss was known: 10 less a quarter, then half of what was outstanding.
    assert_eq!(reduced, 5.0);
    s.receives_all([repeated(), repeated()]);
    assert_eq!(window(&mut s), 5.0);
}

#[test]
fn the_window_is_never_below_two_packets_by_marks() {
    let mut s = sender(&plain());
    for number in 1..40 {
        s.at(us(10 * u64::from(number))).receives(echo(number));
        assert!(window(&mut s) >= 2.0);
    }
}

// Section 3.2, figure 1: the receiver's state machine, for one ACK of every two packets.

#[test]
fn an_ack_leaves_at_once_where_the_ecn_state_changes() {
    let mut s = host(&DctcpConfig { delayed_ack: true, ..plain() });
    // CE = 0: every second packet, without ECE.
    s.receives(data(0)).sends_nothing();
    s.receives(data(1)).sends([said(2, 0, false)]);
    // CE = 1: no packet of the old state is left to acknowledge.
    s.receives(data(2).marked()).sends_nothing();
    s.receives(data(3).marked()).sends([said(4, 2, true)]);
    s.receives(data(4).marked()).sends_nothing();
    // 1 to 0: packet 4 at once, with ECE; packet 5 begins a new pair.
    s.receives(data(5)).sends([said(5, 4, true)]);
    // 0 to 1, and back again.
    s.receives(data(6).marked()).sends([said(6, 5, false)]);
    s.receives(data(7)).sends([said(7, 6, true)]);
    s.receives(data(8)).sends([said(9, 7, false)]);
}

#[test]
fn a_packet_out_of_order_is_acknowledged_with_its_own_state() {
    let mut s = host(&DctcpConfig { delayed_ack: true, sack: false, ..plain() });
    s.receives(data(0)).sends_nothing();
    s.receives(data(2).marked()).sends([said(1, 0, false), said(1, 2, true)]);
}

// Sections 3.1 and 3.6: which packets are ECN-capable.

#[test]
fn data_and_handshake_are_ecn_capable_and_acks_are_not() {
    let config = DctcpConfig { handshake: true, ..plain() };
    let flow = FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(1)), ..FlowSpec::default() };
    let ect = |s: &mut Script<DctcpEndpoint>| s.sent().iter().map(|sent| sent.packet.ect).collect::<Vec<_>>();
    for ecn_handshake in [true, false] {
        let mut s = host(&DctcpConfig { ecn_handshake, ..config.clone() });
        s.opens(flow);
        assert_eq!(ect(&mut s), [ecn_handshake], "SYN");
        s.receives(Arriving::new(THERE, 64, Segment::SynAck { conn: CONN }));
        assert_eq!(ect(&mut s), [true], "data");
        s.receives(Arriving::new(THERE, 64, Segment::Syn { conn: CONN }));
        assert_eq!(ect(&mut s), [ecn_handshake], "SYN-ACK");
        s.receives(data(0));
        assert_eq!(ect(&mut s), [false], "ACK");
    }
}

// Deviations of the public NDP code.

fn artifact() -> DctcpConfig {
    DctcpConfig { reaction: Reaction::Always, initial_alpha: 0.0, ..plain() }
}

#[test]
fn the_first_mark_ends_slow_start_without_shrinking_the_window() {
    let mut s = sender(&artifact());
    s.at(us(10)).receives_all([ack(1), ack(2)]);
    assert_eq!(window(&mut s), 6.0);
    s.receives(echo(3));
    let marked = control(&mut s);
    assert_eq!((marked.reno.window, marked.reno.threshold, marked.alpha), (6.0, 6.0, 0.0));
    let mut s = sender(&DctcpConfig { leave_slow_start: false, ..artifact() });
    s.at(us(10)).receives_all([ack(1), ack(2), echo(3)]);
    assert!(control(&mut s).reno.in_slow_start());
}

#[test]
fn while_alpha_is_above_zero_every_window_is_cut_or_only_those_with_marks() {
    let cuts = |reaction| {
        let config = DctcpConfig { reaction, initial_threshold: Some(Packets(4)), ..artifact() };
        let mut s = sender(&config);
        // One observation with a mark, then two without.
        s.at(us(10)).receives_all([ack(1), echo(2), ack(3), ack(4)]);
        let mut cuts = 0;
        for number in 5..18 {
            // A cut sets the threshold; the same ACK may let the window grow again.
            let before = control(&mut s).reno.threshold;
            s.at(us(10 * u64::from(number))).receives(ack(number));
            cuts += u32::from(control(&mut s).reno.threshold != before);
        }
        cuts
    };
    assert_eq!(cuts(Reaction::Window), 1);
    assert!(cuts(Reaction::Always) >= 3);
}

#[test]
fn slow_start_may_have_a_threshold_from_the_start() {
    let mut s = sender(&DctcpConfig { initial_threshold: Some(Packets(10)), ..plain() });
    assert_eq!(control(&mut s).reno.threshold, 10.0);
}
