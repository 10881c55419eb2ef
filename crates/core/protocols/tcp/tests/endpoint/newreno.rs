//! Slow start, congestion avoidance, fast retransmit and fast recovery without SACK: RFC 5681, 3042 and 6582.

use crate::common::*;
use pullnet_settings::{Settings, Value};
use pullnet_tcp::TcpConfig;
use pullnet_transport::Class;
use pullnet_units::Packets;
use pullnet_window::Counting;

// RFC 5681, section 3.1: slow start and congestion avoidance.

#[test]
fn in_slow_start_every_ack_lets_two_packets_leave() {
    let mut s = host(&plain());
    s.at(us(0)).opens(flow(100)).sends([first(0), first(1)]);
    s.at(us(10)).receives(ack(1)).sends([data(2), data(3)]);
    s.receives(ack(2)).sends([data(4), data(5)]);
    s.at(us(20)).receives_all([ack(3), ack(4), ack(5), ack(6)]).sends((6..14).map(data));
}

#[test]
fn an_ack_of_two_packets_counts_once_unless_packets_are_counted() {
    let mut s = host(&plain());
    s.opens(flow(100)).sends([first(0), first(1)]);
    s.at(us(10)).receives(ack(2)).sends([data(2), data(3), data(4)]);

    let mut s = host(&TcpConfig { counting: Counting::Packets, ..plain() });
    s.opens(flow(100)).sends([first(0), first(1)]);
    s.at(us(10)).receives(ack(2)).sends([data(2), data(3), data(4), data(5)]);
}

#[test]
fn above_the_threshold_the_window_grows_by_one_packet_per_window() {
    let mut s = host(&TcpConfig { initial_threshold: Some(Packets(4)), ..plain() });
    s.opens(flow(100)).sent();
    s.at(us(10)).receives_all([ack(1), ack(2)]).sends((2..6).map(data));
    // cwnd is 4. Each of four ACKs adds 1/cwnd, a little less than a quarter: the fifth makes it 5.
    s.at(us(20)).receives_all([ack(3), ack(4), ack(5), ack(6)]).sends((6..10).map(data));
    s.at(us(30)).receives(ack(7)).sends([data(10), data(11)]);
}

#[test]
fn the_initial_window_may_be_a_large_one() {
    let mut config = plain();
    assert_eq!(config.set("initial_window", Value::Text("500 packets")), Some(Ok(())));
    let mut s = host(&config);
    s.opens(flow(1000)).sends((0..500).map(first));
    s.at(us(10)).receives(ack(1)).sends([data(500), data(501)]);

    let mut s = host(&TcpConfig { initial_window: Packets(500), receive_window: Packets(300), ..plain() });
    s.opens(flow(1000)).sends((0..300).map(first));
}

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let mut s = host(&TcpConfig { receive_window: Packets(3), ..plain() });
    s.opens(flow(100)).sent();
    s.at(us(10)).receives(ack(1)).sends([data(2), data(3)]);
    s.receives(ack(2)).sends([data(4)]);
    s.receives(ack(3)).sends([data(5)]);
}

#[test]
fn an_old_ack_and_an_ack_of_packets_not_sent_change_nothing() {
    let mut s = in_flight(&plain(), 10);
    s.at(us(10)).receives(ack(5)).sends((10..16).map(data));
    s.receives_all([ack(3), ack(3), ack(3), ack(3)]).sends_nothing();
    s.receives_all([ack(17), ack(u32::MAX)]).sends_nothing();
}

// RFC 3042: limited transmit. RFC 5681, section 3.2: fast retransmit.

#[test]
fn the_third_duplicate_ack_retransmits_and_the_first_two_let_new_packets_leave() {
    let mut s = in_flight(&plain(), 8);
    s.at(us(10)).receives(ack(1)).sends([data(8), data(9)]);
    s.at(us(11)).receives(ack(1)).sends([data(10)]);
    s.at(us(12)).receives(ack(1)).sends([data(11)]);
    s.at(us(13)).receives(ack(1)).sends([data(1)]);
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    let mut s = in_flight(&TcpConfig { limited_transmit: false, ..plain() }, 8);
    s.at(us(10)).receives(ack(0)).sends_nothing();
    s.receives(ack(0)).sends_nothing();
    s.receives(ack(0)).sends([first(0)]);
}

#[test]
fn a_retransmitted_packet_is_data_that_was_sent_before() {
    let mut s = in_flight(&plain(), 8);
    s.sent();
    s.at(us(10)).receives_all([ack(0), ack(0), ack(0)]);
    let again: Vec<_> = s.sent().iter().map(|sent| (sent.packet.again, sent.packet.class)).collect();
    assert_eq!(again, [(false, Class::Data), (false, Class::Data), (true, Class::Data)]);
}

#[test]
fn where_packets_are_scattered_the_threshold_grows_by_the_paths() {
    let scattered = TcpConfig { paths: pullnet_window::Paths::Scatter, limited_transmit: false, ..plain() };
    let mut s = in_flight(&scattered, 10);
    // Three and four paths. Seven packets have left the network when the seventh duplicate comes: 5 + 7 may be outstanding.
    s.at(us(10)).receives_all([ack(0); 6]).sends_nothing();
    s.receives(ack(0)).sends([first(0), first(10), first(11)]);
    let mut s = in_flight(&TcpConfig { raise_threshold: false, ..scattered }, 10);
    s.at(us(10)).receives_all([ack(0); 3]).sends([first(0)]);
}

// RFC 6582, section 3.2: fast recovery. Ten packets in flight, packet 0 is lost: ssthresh is 5.

#[test]
fn each_further_duplicate_inflates_the_window_and_a_full_ack_deflates_it() {
    let mut s = in_flight(&TcpConfig { limited_transmit: false, ..plain() }, 10);
    s.at(us(10)).receives_all([ack(0); 3]).sends([first(0)]);
    // The window is 5 + 3, ten are outstanding: two more duplicates fill the gap.
    s.receives_all([ack(0); 2]).sends_nothing();
    s.receives(ack(0)).sends([first(10)]);
    s.receives_all([ack(0); 3]).sends([first(11), first(12), first(13)]);
    // Full ACK: four are outstanding, the window is 5 again.
    s.at(us(20)).receives(ack(10)).sends([data(14)]);
    // Congestion avoidance: five ACKs add less than one packet.
    s.at(us(30)).receives_all([ack(11), ack(12), ack(13), ack(14), ack(15)]).sends((15..20).map(data));
    s.at(us(40)).receives(ack(16)).sends([data(20), data(21)]);
}

#[test]
fn a_partial_ack_retransmits_the_next_hole_and_deflates_by_what_it_acknowledges() {
    // Packets 0 and 4 are lost.
    let mut s = in_flight(&TcpConfig { limited_transmit: false, ..plain() }, 10);
    s.at(us(10)).receives_all([ack(0); 3]).sends([first(0)]);
    s.receives_all([ack(0); 5]).sends([first(10), first(11), first(12)]);
    // The window was 5 + 8, less 4 that are acknowledged, plus 1: nine are outstanding, one may leave besides the hole.
    s.at(us(20)).receives(ack(4)).sends([data(4), data(13)]);
    // Duplicates caused by 10, 11 and 12 keep the clock running.
    s.at(us(30)).receives(ack(4)).sends([data(14)]);
    // Everything that was outstanding when recovery began is there.
    s.at(us(40)).receives(ack(13)).sends([data(15), data(16), data(17)]);
}

#[test]
fn duplicates_of_what_was_sent_in_one_recovery_do_not_start_another_before_it_is_acknowledged() {
    let mut s = in_flight(&TcpConfig { limited_transmit: false, ..plain() }, 10);
    s.at(us(10)).receives_all([ack(0); 3]).sends([first(0)]);
    s.at(us(20)).receives(ack(10)).sends((10..15).map(data));
    // RFC 6582, step 1: the ACK does not cover more than `recover`.
    s.receives_all([ack(10); 3]).sends_nothing();
    s.at(us(30)).receives(ack(11)).sends([data(15)]);
    s.receives_all([ack(11); 3]).sends([data(11)]);
}

// RFC 3168: TCP here does not use ECN.

#[test]
fn packets_are_not_ecn_capable_and_marks_are_not_echoed() {
    let mut s = host(&plain());
    s.opens(flow(1));
    assert!(s.sent().iter().all(|sent| !sent.packet.ect));
    s.receives(full(first(0)).marked()).sends([acks(1, 0, &[])]);
}
