//! Loss recovery with SACK: RFC 2018 at the receiver, RFC 6675 at the sender.

use crate::common::*;
use pullnet_tcp::{Segment, TcpConfig, TcpEndpoint};
use pullnet_transport::script::Script;

// RFC 2018, section 4: what the receiver reports.

#[test]
fn the_first_range_is_the_one_around_the_latest_packet() {
    let mut s = host(&sacking());
    s.receives(full(first(0))).sends([acks(1, 0, &[])]);
    s.receives(full(first(2))).sends([acks(1, 2, &[(2, 3)])]);
    s.receives(full(first(6))).sends([acks(1, 6, &[(6, 7), (2, 3)])]);
    s.receives(full(first(4))).sends([acks(1, 4, &[(4, 5), (6, 7), (2, 3)])]);
    s.receives(full(first(3))).sends([acks(1, 3, &[(2, 5), (6, 7)])]);
    // The hole is filled.
    s.receives(full(first(1))).sends([acks(5, 1, &[(6, 7)])]);
    s.receives(full(first(5))).sends([acks(7, 5, &[])]);
}

#[test]
fn at_most_four_ranges_are_reported_and_each_makes_the_ack_longer() {
    let mut s = host(&sacking());
    for seq in [1, 3, 5, 7, 9] {
        s.receives(full(first(seq)));
    }
    let sent = s.sent();
    assert_eq!(sent[4].packet.header, acks(0, 9, &[(9, 10), (7, 8), (5, 6), (3, 4)]));
    let wires: Vec<_> = sent.iter().map(|sent| sent.packet.wire.get()).collect();
    assert_eq!(wires, [70, 78, 86, 94, 94]);
}

#[test]
fn a_repeated_packet_is_acknowledged_at_once_with_the_ranges_there_are() {
    let mut s = host(&sacking());
    s.receives_all([full(first(0)), full(first(2))]).sent();
    s.receives(full(first(0))).sends([acks(1, 0, &[(2, 3)])]);
}

// Cut Payload: what follows from a trimmed packet with `nack`.

fn nacking() -> TcpConfig {
    TcpConfig { nack: true, ..sacking() }
}

fn nack(seq: u32) -> Segment {
    Segment::Nack { conn: CONN, seq }
}

fn window(s: &mut Script<TcpEndpoint>) -> u32 {
    let mut window = 0;
    s.does(|host, _| window = host.insight(THERE, CONN).expect("an open connection").window);
    window
}

#[test]
fn a_trimmed_packet_is_answered_by_a_nack() {
    let mut s = host(&nacking());
    s.receives(full(first(0)).trimmed()).sends([nack(0)]);
    s.receives(full(first(0))).sends([acks(1, 0, &[])]);
    // The payload of another copy is there already.
    s.receives(full(first(0)).trimmed()).sends([acks(1, 0, &[])]);
    s.receives(full(first(2)).trimmed()).sends([nack(2)]);
    let mut deaf = host(&sacking());
    deaf.receives(full(first(0)).trimmed()).sends_nothing();
}

#[test]
fn a_nack_does_not_overtake_an_ack_that_waits() {
    let mut s = host(&TcpConfig { delayed_ack: true, ..nacking() });
    s.receives(full(first(0))).sends_nothing();
    s.receives(full(first(1)).trimmed()).sends([acks(1, 0, &[]), nack(1)]);
}

#[test]
fn a_nack_has_its_packet_retransmitted_at_once_and_halves_the_window_once() {
    let mut s = in_flight(&nacking(), 8);
    // ssthresh is 4, seven are in the network: only the first retransmission does not wait for the window.
    s.at(us(10)).receives(word(nack(2))).sends([first(2)]);
    s.receives(word(nack(5))).sends_nothing();
    assert_eq!(window(&mut s), 4);
    // pipe: 0, 1, 3, 4, 2 again, 6, 7; each ACK takes one or two of them.
    s.receives(ack(2)).sends_nothing();
    s.receives(sack(2, &[(3, 4)])).sends_nothing();
    s.receives(sack(2, &[(3, 5)])).sends([data(5)]);
    assert_eq!((window(&mut s), s.reported().len()), (4, 4));
}

#[test]
fn a_retransmission_that_is_trimmed_leaves_again_without_a_timeout() {
    let mut s = in_flight(&nacking(), 2);
    s.receives(word(nack(0))).sends([first(0)]);
    s.receives(sack(0, &[(1, 2)])).sends([first(2)]);
    s.at(us(10)).receives(word(nack(0))).sends([first(0)]);
    // A second report of the same copy says nothing while the packet waits; of packets never sent neither.
    s.receives(word(nack(77))).sends_nothing();
    s.at(us(20)).receives(word(nack(0))).sends([first(0)]);
}

#[test]
fn a_header_that_comes_back_is_a_nack() {
    let mut s = in_flight(&nacking(), 2);
    s.receives(full(first(1)).returned()).sends([first(1)]);
    let mut deaf = in_flight(&sacking(), 2);
    deaf.receives(full(first(1)).returned()).sends_nothing();
}

// RFC 6675, section 5: the sender.

#[test]
fn several_holes_of_one_window_are_filled_in_one_round_trip() {
    // Of sixteen packets 0, 3 and 6 are lost.
    let mut s = in_flight(&sacking(), 16);
    s.at(us(10)).receives(sack(0, &[(1, 2)])).sends([first(16)]);
    s.receives(sack(0, &[(1, 3)])).sends([first(17)]);
    // The third: ssthresh is 8. Fourteen are in the network, the first hole leaves nevertheless.
    s.receives(sack(0, &[(4, 5), (1, 3)])).sends([first(0)]);
    s.receives(sack(0, &[(4, 6), (1, 3)])).sends_nothing();
    // Three above packet 3 have arrived: it is lost, too. Still too many are in the network.
    s.receives(sack(0, &[(7, 8), (4, 6), (1, 3)])).sends_nothing();
    s.receives(sack(0, &[(7, 9), (4, 6), (1, 3)])).sends_nothing();
    s.receives(sack(0, &[(7, 10), (4, 6), (1, 3)])).sends_nothing();
    // pipe: 0 again, 10 to 17 but 10, and 3 and 6 no more.
    s.receives(sack(0, &[(7, 11), (4, 6), (1, 3)])).sends_nothing();
    s.receives(sack(0, &[(7, 12), (4, 6), (1, 3)])).sends([first(3)]);
    s.receives(sack(0, &[(7, 13), (4, 6), (1, 3)])).sends([first(6)]);
    // No hole is left: new data.
    s.receives(sack(0, &[(7, 14), (4, 6), (1, 3)])).sends([first(18)]);
    // Partial ACKs, then the full one.
    s.at(us(20)).receives(sack(3, &[(7, 14), (4, 6)])).sends([data(19)]);
    s.receives(sack(6, &[(7, 14)])).sends([data(20)]);
    assert!(s.reported().iter().all(|event| !matches!(event, pullnet_transport::Event::TimedOut { .. })));
}

#[test]
fn a_packet_below_three_that_arrived_is_lost_even_if_acks_are_missing() {
    // The ACKs of packets 1 and 2 were lost: one duplicate is enough.
    let mut s = in_flight(&sacking(), 8);
    s.at(us(10)).receives(sack(0, &[(1, 4)])).sends([first(0)]);
}

#[test]
fn a_duplicate_that_reports_nothing_new_counts_for_nothing() {
    let mut s = in_flight(&sacking(), 8);
    s.at(us(10)).receives(sack(0, &[(1, 2)])).sends([first(8)]);
    s.receives_all([sack(0, &[(1, 2)]); 5]).sends_nothing();
}

#[test]
fn where_nothing_new_is_left_doubtful_packets_are_sent_again_before_the_rescue() {
    // Eight packets, the flow ends. 0 and 5 and the last are lost.
    let mut s = host(&TcpConfig { initial_window: pullnet_units::Packets(8), ..sacking() });
    s.opens(flow(8)).sent();
    s.at(us(10)).receives_all([sack(0, &[(1, 2)]), sack(0, &[(1, 3)])]).sends_nothing();
    s.receives(sack(0, &[(1, 4)])).sends([first(0)]);
    // ssthresh is 4; in the network are 0, 5, 6, 7.
    s.receives(sack(0, &[(1, 5)])).sends_nothing();
    // Rule 3: 5 is below one that arrived, but not lost yet.
    s.receives(sack(0, &[(6, 7), (1, 5)])).sends([first(5)]);
    // The first hole is filled. Rule 4: the last packet, for nothing says that it is lost.
    let rescue = Segment::Data { conn: CONN, seq: 7, opens: false, last: true };
    s.at(us(20)).receives(sack(5, &[(6, 7)])).sends([rescue]);
    // Once per recovery.
    s.receives(sack(5, &[(6, 7)])).sends_nothing();
    s.at(us(30)).receives(sack(7, &[])).sends_nothing();
    s.receives(word(finished(8, 7)));
    assert!(s.open_flows().is_empty());
}

#[test]
fn after_a_timeout_what_was_reported_is_not_sent_again() {
    let mut s = in_flight(&sacking(), 6);
    s.at(us(10)).receives(sack(0, &[(2, 4)])).sends([first(6), first(7)]);
    // 0, 1, 4 and 5 leave again, in slow start; 2 and 3 do not.
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1001)).receives(sack(1, &[(2, 4)])).sends([data(1), data(4)]);
    s.receives(sack(4, &[])).sends([data(5), data(6)]);
    // The threshold is 3, half of the window: packets of limited transmit do not count.
    s.receives(sack(8, &[])).sends([data(8), data(9), data(10)]);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut s = in_flight(&sacking(), 6);
    s.at(us(10)).receives(sack(0, &[(1, 6)])).sends([first(0), first(6), first(7)]);
    s.at(us(20)).receives(sack(0, &[(1, 8)])).sends([first(8), first(9)]);
    s.at(ms(199)).sends_nothing();
    // The sample of the SACKed packets was 10 us: the least timeout holds. The window is one packet again.
    s.at(ms(1000));
    assert_eq!(s.sent()[0].packet.header, first(0));
}
