//! Retransmission timer, backoff, Karn's rule, and the end of a flow: RFC 6298 and RFC 5681, section 3.1.

use crate::common::*;
use pullnet_tcp::{Segment, TcpConfig};
use pullnet_transport::{Awaited, Class, Event, FailureReason, FlowSpec, TimerKind, Transport};
use pullnet_units::{Bytes, Instant, PacketSeq, Packets, Picos};

/// Timeouts without a lower bound that hides them; the first is 1 s.
fn quick() -> TcpConfig {
    TcpConfig { min_rto: ms(1), rto_granularity: us(1), ..plain() }
}

fn deadline(s: &pullnet_transport::script::Script<pullnet_tcp::TcpEndpoint>) -> Picos {
    s.deadline().map_or(Picos::MAX, |deadline| deadline.at.since(Instant::ZERO))
}

#[test]
fn the_first_timeout_is_the_initial_one_and_doubles_with_each_repetition() {
    let mut s = host(&plain());
    s.at(us(0)).opens(flow(100)).sends([first(0), first(1)]);
    s.at(ms(999)).sends_nothing();
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(2999)).sends_nothing();
    s.at(ms(3000)).sends([first(0)]);
    s.at(ms(6999)).sends_nothing();
    s.at(ms(7000)).sends([first(0)]);
}

#[test]
fn after_a_timeout_the_window_is_one_packet_and_everything_is_sent_again_in_slow_start() {
    let mut s = in_flight(&plain(), 8);
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1010)).receives(ack(1)).sends([data(1), data(2)]);
    s.at(ms(1020)).receives_all([ack(2), ack(3)]).sends([data(3), data(4), data(5), data(6)]);
    // ssthresh is half of eight: congestion avoidance from here on.
    s.at(ms(1030)).receives_all([ack(4), ack(5), ack(6), ack(7)]).sends([
        data(7),
        data(8),
        data(9),
        data(10),
    ]);
}

#[test]
fn after_a_timeout_what_had_arrived_is_passed_over() {
    // Packet 0 alone was lost.
    let mut s = in_flight(&plain(), 8);
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1010)).receives(ack(8)).sends([data(8), data(9)]);
}

// RFC 5681, section 4.3: the loss of a retransmission is a second indication of congestion.
#[test]
fn a_lost_retransmission_lowers_the_threshold_twice_however_much_is_outstanding() {
    let mut s = in_flight(&sacking(), 16);
    // The threshold is 8. Whatever leaves arrives, but for packet 0 and its second copy.
    s.at(us(10)).receives(sack(0, &[(1, 16)]));
    s.at(us(20)).receives(sack(0, &[(1, 23)]));
    s.at(us(30)).receives(sack(0, &[(1, 30)]));
    s.at(us(40)).receives(sack(0, &[(1, 37)])).sent();
    // The threshold is 4, although 44 packets are outstanding.
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1010)).receives(ack(44)).sends([data(44), data(45)]);
    s.at(ms(1020)).receives_all([ack(45), ack(46)]).sends((46..50).map(data));
    s.at(ms(1030)).receives_all((47..51).map(ack)).sends((50..54).map(data));
}

#[test]
fn duplicates_after_a_timeout_retransmit_nothing() {
    let mut s = in_flight(&plain(), 8);
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1010)).receives_all([ack(0); 5]).sends_nothing();
}

#[test]
fn the_timeout_follows_round_trip_and_deviation() {
    let mut s = host(&quick());
    s.opens(flow(100)).sent();
    // SRTT 8 ms, RTTVAR 4 ms: 24 ms from now on.
    s.at(ms(8)).receives(ack(1)).sent();
    assert_eq!(deadline(&s), ms(8 + 24));
    // 16 ms later: SRTT 9 ms, RTTVAR 5 ms.
    s.at(ms(16)).receives(ack(2)).sent();
    assert_eq!(deadline(&s), ms(32), "the entry that is due first is renewed when it is");
    s.at(ms(44)).sends_nothing();
    s.at(ms(45)).sends([data(2)]);
}

#[test]
fn an_ack_of_a_retransmitted_packet_measures_nothing_and_the_backoff_stays() {
    let mut s = host(&TcpConfig { initial_window: Packets(1), ..quick() });
    s.opens(flow(100)).sends([first(0)]);
    s.at(ms(1000)).sends([first(0)]);
    // Karn: is it the answer to the first copy or to the second? The timeout stays at 2 s.
    s.at(ms(1001)).receives(ack(1)).sends([data(1), data(2)]);
    s.at(ms(3000)).sends_nothing();
    s.at(ms(3001)).sends([data(1)]);
}

#[test]
fn a_packet_sent_once_ends_the_backoff() {
    let mut s = host(&TcpConfig { initial_window: Packets(1), ..quick() });
    s.opens(flow(100)).sent();
    s.at(ms(1000)).sends([first(0)]);
    s.at(ms(1001)).receives(ack(1)).sends([data(1), data(2)]);
    // ssthresh is 2, the least.
    s.at(ms(1009)).receives(ack(2)).sends([data(3)]);
    // 8 ms, so 24 ms after the ACK.
    s.at(ms(1032)).sends_nothing();
    s.at(ms(1033)).sends([data(2)]);
}

#[test]
fn the_least_timeout_holds_for_short_round_trips() {
    let mut s = host(&plain());
    s.opens(flow(100)).sent();
    s.at(us(50)).receives(ack(1)).sends([data(2), data(3)]);
    s.at(ms(200)).sends_nothing();
    s.at(ms(201)).sends([data(1)]);
}

#[test]
fn a_lost_last_packet_comes_back_with_the_timer() {
    let mut s = host(&plain());
    s.opens(flow(2)).sends([first(0), Segment::Data { conn: CONN, seq: 1, opens: true, last: true }]);
    s.at(us(50)).receives(ack(1)).sends_nothing();
    s.at(ms(201)).sends([last(1)]);
    s.at(ms(202)).receives(word(finished(2, 1)));
    let events = s.reported();
    assert!(events.contains(&Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(1) }));
    assert_eq!(events.last(), Some(&Event::Completed { to: THERE, conn: CONN, counts: counts(3, 1, 1) }));
}

#[test]
fn a_lost_ack_is_made_good_by_the_timer() {
    // The receiver has finished, and is asked again.
    let mut s = host(&plain());
    let only = Segment::Data { conn: CONN, seq: 0, opens: true, last: true };
    s.receives(full(only)).sends([finished(1, 0)]);
    s.at(ms(200)).receives(full(only)).sends([finished(1, 0)]);
    let delivered = s.reported().iter().filter(|event| matches!(event, Event::Delivered { .. })).count();
    assert_eq!(delivered, 1);
}

#[test]
fn a_flow_to_a_dead_host_fails_after_the_last_of_its_retries() {
    let mut s = host(&TcpConfig { retries: 3, ..plain() });
    s.opens(flow(1)).sent();
    s.at(ms(14_999));
    assert!(!s.reported().iter().any(|event| matches!(event, Event::Failed { .. })));
    s.at(ms(15_000));
    let Some(Event::Failed { reason, counts: tried, .. }) = s.reported().last().copied() else {
        panic!("the flow has not failed");
    };
    assert_eq!((reason, tried), (FailureReason::TimeoutsInARow, counts(4, 3, 4)));
    assert!(s.open_flows().is_empty());
}

// The handshake.

fn greeting() -> TcpConfig {
    TcpConfig { handshake: true, ..plain() }
}

#[test]
fn data_waits_for_the_syn_ack() {
    let mut s = host(&greeting());
    s.opens(flow(100)).sends([Segment::Syn { conn: CONN }]);
    assert_eq!(s.open_flows()[0].waiting_for, Awaited::SynAck);
    s.at(us(50)).receives(word(Segment::SynAck { conn: CONN })).sends([data(0), data(1)]);
    // The handshake was the first sample: the least timeout holds.
    s.at(ms(200)).sends_nothing();
    s.at(ms(201)).sends([data(0)]);
}

#[test]
fn a_syn_is_answered_and_opens_the_connection_once() {
    let mut s = host(&greeting());
    s.receives(word(Segment::Syn { conn: CONN })).sends([Segment::SynAck { conn: CONN }]);
    s.reports([Event::Opened { slot: 0, peer: THERE, conn: CONN }]);
    s.receives(word(Segment::Syn { conn: CONN }));
    let sent = s.sent();
    assert_eq!((sent.len(), sent[0].packet.header), (1, Segment::SynAck { conn: CONN }));
    assert_eq!(
        (sent[0].packet.class, sent[0].packet.wire.get(), sent[0].packet.ect),
        (Class::Control, ACK, false)
    );
    s.reports([]);
}

#[test]
fn data_without_a_connection_is_stray() {
    let mut s = host(&greeting());
    s.receives(full(data(0))).sends_nothing();
    s.reports([Event::Stray { peer: THERE, conn: CONN }]);
}

#[test]
fn a_lost_syn_comes_back_and_the_window_after_it_is_one_packet() {
    let mut s = host(&greeting());
    s.opens(flow(100)).sends([Segment::Syn { conn: CONN }]);
    s.at(ms(1000)).sends([Segment::Syn { conn: CONN }]);
    s.at(ms(3000)).sends([Segment::Syn { conn: CONN }]);
    s.at(ms(3001)).receives(word(Segment::SynAck { conn: CONN })).sends([data(0)]);
    // RFC 6298, rule 5.7: 3 s for the first data.
    s.at(ms(6000)).sends_nothing();
    s.at(ms(6001)).sends([data(0)]);
}

#[test]
fn a_flow_to_a_host_that_never_was_fails_without_data() {
    let mut s = host(&TcpConfig { retries: 2, ..greeting() });
    s.opens(flow(1)).sent();
    s.at(ms(7_000)).sent();
    let expected = Event::Failed {
        to: THERE,
        conn: CONN,
        reason: FailureReason::SynUnanswered,
        counts: counts(0, 0, 3),
    };
    assert_eq!(s.reported().last(), Some(&expected));
}

// Ends and refusals.

#[test]
fn a_flow_of_one_byte_is_one_short_packet() {
    let mut s = host(&plain());
    s.opens(FlowSpec { size: Some(Bytes(1)), ..flow(1) });
    let sent = s.sent();
    assert_eq!((sent.len(), sent[0].packet.wire.get()), (1, 59));
    s.at(us(10)).receives(word(finished(1, 0)));
    let latency = us(10);
    s.reports([
        Event::Acked { to: THERE, conn: CONN, latency },
        Event::Completed { to: THERE, conn: CONN, counts: counts(1, 0, 0) },
    ]);
}

#[test]
fn flows_that_cannot_be_sent_fail_at_once_and_say_why() {
    let mut s = host(&plain());
    let fails = |reason| [Event::Failed { to: THERE, conn: CONN, reason, counts: counts(0, 0, 0) }];
    s.opens(FlowSpec { size: Some(Bytes(0)), ..flow(1) });
    s.reports(fails(FailureReason::EmptyFlow));
    s.opens(FlowSpec { size: Some(Bytes(u64::MAX)), ..flow(1) });
    s.reports(fails(FailureReason::TooManyPackets));
    s.opens(flow(1)).sent();
    s.opens(flow(1)).sends_nothing();
    s.reports(fails(FailureReason::NumberInUse));
    s.receives(word(finished(1, 0))).reported();
    s.opens(flow(1)).sends_nothing();
    s.reports(fails(FailureReason::NumberInUse));
}

#[test]
fn a_receiver_forgets_a_sender_that_is_silent_longer_than_it_may_be() {
    let mut s = host(&TcpConfig { retries: 2, max_rto: ms(1000), ..plain() });
    s.receives(full(first(0))).reported();
    s.at(ms(3050));
    s.reports([Event::Silent { slot: 0 }]);
    assert!(s.open_flows().is_empty());
}

#[test]
fn an_ended_connection_leaves_no_timer_for_long() {
    let mut s = host(&plain());
    s.receives(full(Segment::Data { conn: CONN, seq: 0, opens: true, last: true })).sent();
    assert_eq!(deadline(&s), ms(50));
    s.at(ms(50));
    // Only the memory of the ended connection is left. It lasts for sixteen timeouts of 60 s and a time-wait; its note
    // may be a sixty-fourth older.
    let deadline = s.deadline().expect("a time-wait");
    assert_eq!(deadline.timer, TimerKind::ReceiverTimeWait);
    assert!(deadline.at >= Instant::ZERO.after(ms(960_050)));
}

#[test]
fn connections_take_turns_on_the_link() {
    let mut endpoint = endpoint(&TcpConfig { initial_window: Packets(2), ..plain() }, HERE, 1);
    for conn in 0..3 {
        endpoint.open(Instant::ZERO, FlowSpec { conn: pullnet_transport::ConnId::new(conn), ..flow(10) });
    }
    let packets = core::iter::from_fn(|| endpoint.poll_transmit(Instant::ZERO));
    let order: Vec<_> = packets.map(|packet| packet.header.conn().get()).collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}

// RFC 6582, section 3.2, step 4: in recovery without SACK.

#[test]
fn the_first_partial_ack_restarts_the_timer_and_further_ones_do_not() {
    // Packets 0, 4 and 7 are lost. There is no sample, so the timeout is 1 s.
    let mut s = in_flight(&TcpConfig { limited_transmit: false, ..plain() }, 10);
    s.at(us(10)).receives_all([ack(0); 3]).sends([first(0)]);
    s.at(ms(500)).receives(ack(4)).sends([data(4)]);
    s.at(ms(900)).receives(ack(7)).sends([data(7)]);
    s.at(ms(1499)).sends_nothing();
    s.at(ms(1500)).sends([data(7)]);
}

#[test]
fn with_sack_every_advance_restarts_the_timer() {
    let mut s = in_flight(&sacking(), 10);
    s.at(us(1)).receives_all([sack(0, &[(9, 10)]), sack(0, &[(8, 10)]), sack(0, &[(5, 6), (8, 10)])]).sent();
    s.at(ms(150)).receives(sack(4, &[(5, 6), (8, 10)])).sent();
    s.at(ms(300)).receives(sack(6, &[(8, 10)])).sent();
    // 200 ms, the least timeout, after the latest of them.
    s.at(ms(499)).sends_nothing();
    s.at(ms(500));
    assert_eq!(s.sent()[0].packet.header, data(6));
}
