//! When a receiver acknowledges: RFC 5681, section 4.2.

use crate::common::*;
use pullnet_tcp::{Segment, TcpConfig};

fn delaying() -> TcpConfig {
    TcpConfig { delayed_ack: true, sack: true, ..plain() }
}

#[test]
fn every_second_packet_is_acknowledged() {
    let mut s = host(&delaying());
    s.receives(full(first(0))).sends_nothing();
    s.receives(full(first(1))).sends([acks(2, 0, &[])]);
    s.receives(full(data(2))).sends_nothing();
    s.receives(full(data(3))).sends([acks(4, 2, &[])]);
}

#[test]
fn a_single_packet_is_acknowledged_after_the_delay() {
    let mut s = host(&delaying());
    s.receives(full(first(0))).sends_nothing();
    s.at(ms(39)).sends_nothing();
    s.at(ms(40)).sends([acks(1, 0, &[])]);
    s.at(ms(100)).sends_nothing();
    // The timer of an ACK that has left does not disturb the next one.
    s.receives(full(data(1))).receives(full(data(2))).sends([acks(3, 1, &[])]);
    s.at(ms(120)).receives(full(data(3))).sends_nothing();
    s.at(ms(159)).sends_nothing();
    s.at(ms(160)).sends([acks(4, 3, &[])]);
}

#[test]
fn a_packet_out_of_order_and_one_that_fills_a_gap_are_acknowledged_at_once() {
    let mut s = host(&delaying());
    s.receives(full(first(1))).sends([acks(0, 1, &[(1, 2)])]);
    s.receives(full(first(3))).sends([acks(0, 3, &[(3, 4), (1, 2)])]);
    s.receives(full(first(0))).sends([acks(2, 0, &[(3, 4)])]);
    s.receives(full(first(2))).sends([acks(4, 2, &[])]);
    s.receives(full(data(4))).sends_nothing();
}

#[test]
fn the_end_of_a_flow_is_acknowledged_at_once() {
    let mut s = host(&delaying());
    let only = Segment::Data { conn: CONN, seq: 0, opens: true, last: true };
    s.receives(full(only)).sends([finished(1, 0)]);
}

#[test]
fn what_lies_beyond_the_receive_window_is_refused() {
    let config = TcpConfig { receive_window: pullnet_units::Packets(4), ..delaying() };
    let mut s = host(&config);
    s.receives(full(first(4))).sends_nothing();
    s.receives(full(first(3))).sends([acks(0, 3, &[(3, 4)])]);
    s.receives(full(first(4))).sends_nothing();
    s.does(|endpoint, _| assert_eq!(endpoint.refused(), 1, "the first of them opened nothing"));
}

#[test]
fn a_trimmed_or_returned_packet_is_as_good_as_lost() {
    let mut s = host(&delaying());
    s.receives(full(first(0)).trimmed()).receives(full(first(1)).returned()).sends_nothing();
    s.reports([]);
}
