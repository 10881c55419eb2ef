//! The sender, rule by rule: NDP (SIGCOMM 2017), sections 3.1 and 3.2.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpHeader, Nic};
use pullnet_transport::{Class, ConnId, Event, FailureReason, FlowSpec, SendCounts, Transport};
use pullnet_units::{Bytes, Instant, PacketSeq, Packets};

fn counts(sent: u32, again: u32, timeouts: u32) -> SendCounts {
    SendCounts { sent, again, timeouts }
}

fn is_data(header: &NdpHeader) -> bool {
    matches!(header, NdpHeader::Data { .. })
}

// Rule 1: start.

#[test]
fn the_first_window_leaves_unasked_with_syn_and_offset_on_every_packet() {
    let mut s = host();
    s.at(us(0)).opens(flow(10)).sends([data(0), data(1), data(2), data(3)]);
    s.at(us(900)).sends_nothing();
}

#[test]
fn packets_after_the_first_window_carry_no_syn() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(pull(1)));
    assert!(matches!(s.sent()[0].packet.header, NdpHeader::Data { seq: 4, syn: false, .. }));
}

#[test]
fn a_flow_shorter_than_the_window_is_pushed_whole() {
    let mut s = host();
    s.opens(flow(2)).sends([data(0), last(1)]);
}

#[test]
fn a_flow_of_one_byte_is_one_short_packet() {
    let mut s = host();
    s.opens(FlowSpec { size: Some(Bytes(1)), ..flow(1) });
    let sent = s.sent();
    assert_eq!((sent.len(), sent[0].packet.wire.get(), sent[0].packet.header), (1, 65, last(0)));
}

#[test]
fn the_last_packet_is_as_long_as_what_is_left() {
    let mut s = host();
    s.opens(FlowSpec { size: Some(Bytes(2 * MTU + 5)), ..flow(1) });
    let wires: Vec<_> = s.sent().iter().map(|sent| sent.packet.wire.get()).collect();
    assert_eq!(wires, [FULL, FULL, CONTROL + 5]);
}

#[test]
fn a_window_of_one_packet_is_enough_to_begin() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(1), ..config() });
    s.opens(flow(3)).sends([data(0)]);
    s.at(us(20)).receives(word(ack_pull(0, 1)));
    assert_eq!(s.sent().len(), 1);
}

#[test]
fn data_is_data_to_switches_and_new_the_first_time_only() {
    let mut s = host();
    s.opens(flow(10));
    assert!(s.sent().iter().all(|sent| sent.packet.class == Class::Data && !sent.packet.again));
    s.at(us(20)).receives(word(nack_pull(1, 1)));
    assert!(s.sent().iter().all(|sent| sent.packet.class == Class::Data && sent.packet.again));
}

#[test]
fn an_empty_flow_fails_with_a_reason() {
    let mut s = host();
    s.opens(FlowSpec { size: Some(Bytes(0)), ..flow(1) }).sends_nothing();
    assert!(matches!(s.reported()[..], [Event::Failed { conn: CONN, .. }]));
}

// Rule 2: ACK.

#[test]
fn an_ack_frees_its_packet_and_is_not_a_pull() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(ack(0))).sends_nothing();
    s.reports([Event::Acked { to: THERE, conn: CONN, latency: us(20) }]);
    // Its timer runs no more; those of the others do, and after one answer header queues may still be full.
    s.at(us(1100)).sends_nothing();
    s.at(CROWD);
    let again: Vec<_> = s.sent().iter().map(|sent| sent.packet.header).collect();
    assert_eq!(again, [data(1), data(2), data(3)]);
}

#[test]
fn a_flow_is_completed_when_every_packet_is_acked_in_any_order() {
    let mut s = host();
    s.opens(flow(3)).sent();
    s.at(us(20)).receives_all([word(ack(2)), word(ack(0))]);
    assert_eq!(s.open_flows()[0].bytes, 2 * MTU);
    s.reported();
    s.receives(word(ack(1)));
    let completed = Event::Completed { to: THERE, conn: CONN, counts: counts(3, 0, 0) };
    s.reports([Event::Acked { to: THERE, conn: CONN, latency: us(20) }, completed]);
    assert!(s.open_flows().is_empty());
}

#[test]
fn a_second_ack_says_nothing() {
    let mut s = host();
    s.opens(flow(3)).sent();
    s.at(us(20)).receives_all([word(ack(0)), word(ack(0)), word(ack(0))]);
    assert_eq!(s.reported().len(), 1);
}

#[test]
fn an_ack_for_a_packet_that_was_never_sent_is_ignored() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all([word(ack(9)), word(nack(8)), word(ack(u32::MAX))]).sends_nothing().reports([]);
}

#[test]
fn latency_counts_from_the_first_sending() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(nack_pull(1, 1))).sends([pulled(data(1))]);
    s.at(us(50)).receives(word(ack(1))).reports([Event::Acked { to: THERE, conn: CONN, latency: us(50) }]);
}

// Rule 3: NACK.

#[test]
fn a_nack_queues_the_packet_and_a_pull_clocks_it_out() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives(word(nack(1))).sends_nothing();
    s.at(us(12)).receives(word(pull(1))).sends([pulled(data(1))]);
}

#[test]
fn a_nack_stops_the_timer_of_its_packet() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(0)), word(nack(1)), word(nack(2)), word(nack(3))]);
    s.at(us(2500)).sends_nothing().reports([]);
}

#[test]
fn nacked_packets_leave_in_the_order_of_their_nacks_and_before_new_data() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(2)), word(nack(0))]);
    s.receives(word(pull(3))).sends([pulled(data(2)), pulled(data(0)), data(4)]);
}

#[test]
fn a_second_nack_for_a_waiting_packet_is_dropped_and_the_pull_credit_kept() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(1)), word(nack_pull(1, 1))]).sends([pulled(data(1))]);
    s.receives(word(pull(2))).sends([data(4)]);
}

#[test]
fn a_nack_for_an_acked_packet_is_dropped_and_the_pull_credit_kept() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives(word(ack(1)));
    s.receives(word(nack_pull(1, 1))).sends([data(4)]);
}

#[test]
fn a_nacked_packet_that_is_acked_meanwhile_is_not_sent_again() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(1)), word(ack(1))]);
    s.receives(word(pull(1))).sends([data(4)]);
}

// Rule 4: PULL.

#[test]
fn a_pull_brings_the_next_new_packet() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(pull(1))).sends([data(4)]);
    s.at(us(27)).receives(word(pull(2))).sends([data(5)]);
}

#[test]
fn a_pull_after_a_gap_stands_for_those_that_were_lost() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(pull(3))).sends([data(4), data(5), data(6)]);
}

#[test]
fn a_late_pull_is_ignored() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(pull(2))).sends([data(4), data(5)]);
    s.receives_all([word(pull(1)), word(pull(2))]).sends_nothing();
    s.receives(word(pull(3))).sends([data(6)]);
}

#[test]
fn an_ack_may_carry_the_pull() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(ack_pull(0, 1))).sends([data(4)]);
}

#[test]
fn a_nack_may_carry_the_pull() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(nack_pull(3, 1))).sends([pulled(data(3))]);
}

#[test]
fn a_pull_that_overtakes_its_nack_is_kept_for_it() {
    let mut s = host();
    s.opens(flow(4)).sent();
    s.at(us(10)).receives(word(pull(1))).sends_nothing();
    s.at(us(12)).receives(word(nack(2))).sends([pulled(data(2))]);
}

#[test]
fn credit_for_what_was_not_needed_does_not_pile_up() {
    let mut s = host();
    s.opens(flow(4)).sent();
    s.at(us(10)).receives(word(pull(1000))).sends_nothing();
    s.receives_all([word(ack(0)), word(ack(1))]);
    s.receives_all([word(nack(2)), word(nack(3))]).sends([pulled(data(2)), pulled(last(3))]);
    // Not more than one for every packet that was unaccounted for when the pull came.
    let mut more = 0;
    for _ in 0..10 {
        s.receives_all([word(nack(2)), word(nack(3))]);
        more += s.sent().len();
    }
    assert!(more <= 2, "{more}");
}

#[test]
fn pull_numbers_wrap() {
    let mut s = host();
    s.opens(FlowSpec { size: None, ..flow(1) }).sent();
    // A jump by half the number space at once is impossible; in steps it is allowed.
    s.at(us(20)).receives(word(pull(u32::MAX))).sends_nothing();
    s.receives(word(pull(1))).sends([data(4)]);
}

#[test]
fn pulls_of_one_connection_do_nothing_for_another() {
    let mut s = host();
    s.opens(flow(10)).opens(FlowSpec { conn: ConnId::new(8), ..flow(10) }).sent();
    s.at(us(20)).receives(word(NdpHeader::Pull { conn: ConnId::new(8), number: 1 }));
    let sent = s.sent();
    assert!(matches!(sent[..], [one] if one.packet.header.conn() == ConnId::new(8)));
}

#[test]
fn pulls_from_a_stranger_do_nothing() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives(word(pull(3)).from(HERE)).sends_nothing();
}

// Rule 5: returned headers.

#[test]
fn a_returned_packet_waits_in_front_of_the_nacked_ones() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(0)), word(nack(1)), back(data(2))]).sends_nothing();
    s.receives(word(pull(2))).sends([pulled(data(2)), pulled(data(0))]);
}

#[test]
fn a_return_stops_the_timer_of_its_packet() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(nack(0)), back(data(1)), word(nack(2)), word(nack(3))]);
    s.at(us(2500)).sends_nothing().reports([]);
}

#[test]
fn return_rule_a_is_sent_at_once_where_no_pull_is_expected() {
    let mut s = host();
    s.opens(flow(4)).sent();
    // Everything else was answered, and every answer has had its pull.
    s.at(us(10)).receives_all([word(ack(0)), word(ack(1)), word(ack(2)), word(pull(3))]);
    s.receives(back(last(3))).sends([last(3)]);
}

#[test]
fn return_rule_a_waits_while_pulls_are_expected() {
    let mut s = host();
    s.opens(flow(4)).sent();
    s.at(us(10)).receives_all([word(nack(0)), word(nack(1)), word(nack(2))]);
    s.receives(back(last(3))).sends_nothing();
    s.receives(word(pull(1))).sends([pulled(last(3))]);
}

#[test]
fn return_rule_b_the_last_two_of_a_window_that_came_back_whole_are_sent_at_once() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([back(data(0)), back(data(1))]).sends_nothing();
    // Only these two can cause a pull of the other two; the public code requires at most one packet without an answer.
    s.receives(back(data(2))).sends([data(2)]);
    s.receives(back(data(3))).sends([data(3)]);
}

#[test]
fn return_rule_c_is_sent_at_once_where_feedback_is_mostly_acks() {
    let wide = NdpConfig { initial_window: Packets(40), ..config() };
    let mut s = host_with(&wide);
    s.opens(flow(40)).sent();
    s.at(us(10)).receives_all((0..20).map(|seq| word(ack(seq))));
    s.receives(back(data(30)));
    assert_eq!(s.sent().len(), 1);
}

#[test]
fn return_rule_c_waits_where_feedback_is_mostly_nacks() {
    let wide = NdpConfig { initial_window: Packets(40), ..config() };
    let mut s = host_with(&wide);
    s.opens(flow(40)).sent();
    s.at(us(10)).receives_all((0..20).map(|seq| word(nack(seq))));
    s.receives(back(data(30))).sends_nothing();
}

#[test]
fn a_returned_packet_that_was_acked_is_not_sent_again() {
    let mut s = host();
    s.opens(flow(4)).sent();
    s.at(us(10)).receives_all([word(ack(0)), word(ack(1)), word(ack(2)), word(ack(3))]);
    s.receives(back(last(3))).sends_nothing();
}

#[test]
fn a_returned_control_packet_is_discarded() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(10)).receives_all([word(pull(3)).returned(), word(nack(1)).returned(), word(ack(0)).returned()]);
    s.sends_nothing().reports([]);
}

// Rule 6: timeout.

#[test]
fn what_nobody_answers_is_sent_again_on_another_path() {
    let mut s = host();
    s.opens(flow(10));
    let first = s.sent();
    s.at(us(3_600)).sends_nothing();
    s.at(CROWD);
    let second = s.sent();
    assert_eq!(second.len(), 4);
    for (before, after) in first.iter().zip(&second) {
        assert_eq!(before.packet.header, after.packet.header);
        assert_ne!(before.packet.path, after.packet.path);
        assert!(after.packet.again);
    }
    s.reports((0..4).map(|seq| Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(seq) }));
}

#[test]
fn a_packet_waits_no_longer_than_the_timeout_once_two_answers_were_acks() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1))]);
    s.at(us(990)).sends_nothing();
    s.at(us(1100));
    assert_eq!(s.sent().iter().map(|sent| sent.packet.header).collect::<Vec<_>>(), [data(2), data(3)]);
}

#[test]
fn in_a_crowd_a_packet_waits_for_what_full_header_queues_take() {
    let mut s = host();
    s.opens(flow(10)).sent();
    // A header that came back is the word of a switch whose header queue is full, and no measure of the others.
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1)), word(nack(2)), back(data(3)), word(pull(1))]);
    assert_eq!(s.sent().len(), 2);
    s.reported();
    s.at(us(3_600)).sends_nothing();
    s.at(CROWD);
    s.reports([2, 3].map(|seq| Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(seq) }));
}

#[test]
fn header_queues_that_are_told_to_be_short_are_not_waited_for() {
    let mut s = host_with(&NdpConfig { queued_headers: Packets(0), ..config() });
    s.opens(flow(10)).sent();
    s.at(us(990)).sends_nothing();
    s.at(us(1100));
    assert_eq!(s.sent().len(), 4);
}

#[test]
fn timeouts_double_up_to_64_times() {
    let mut s = host_with(&NdpConfig { queued_headers: Packets(0), ..config() });
    s.opens(flow(1)).sent();
    s.at(ms(400));
    let sent = s.sent();
    let times: Vec<_> = std::iter::once(0).chain(sent.iter().map(|sent| sent.at.0 / 1_000_000_000)).collect();
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, expected) in gaps.iter().zip([1, 2, 4, 8, 16, 32, 64, 64, 64]) {
        assert!((expected..=expected + expected / 8 + 1).contains(gap), "{gaps:?}");
    }
    assert!(gaps.len() >= 8, "{gaps:?}");
}

#[test]
fn a_lost_pull_is_asked_for_with_a_probe() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all((0..4).map(|seq| word(nack(seq)))).sends_nothing();
    // Everything was trimmed: the receiver has many senders, and the pull may stand in a long queue.
    s.at(ms(60)).sends_nothing();
    s.at(ms(70)).sends([probe(0)]);
    s.at(ms(71)).receives(word(nack_pull(0, 1))).sends([pulled(data(0))]);
}

#[test]
fn a_lost_pull_for_new_data_is_asked_for_with_a_probe() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all((0..4).map(|seq| word(ack(seq)))).receives(word(pull(2)));
    s.sends([data(4), data(5)]);
    s.at(us(40)).receives_all([word(ack(4)), word(ack(5))]).sends_nothing();
    s.at(us(3_900)).sends_nothing();
    s.at(us(4_200)).sends([probe(5)]);
    s.receives(word(ack_pull(5, 3))).sends([data(6)]);
}

#[test]
fn after_one_answer_the_receiver_may_still_have_many_senders() {
    let mut s = host_with(&NdpConfig { initial_window: Packets(1), ..config() });
    s.opens(flow(10)).sent();
    // One of a few whose packet arrived whole before those of the others: its turn may be far off.
    s.at(us(20)).receives(word(ack(0))).sends_nothing();
    s.at(ms(60)).sends_nothing();
    s.at(ms(70)).sends([probe(0)]);
}

#[test]
fn probes_go_on_and_become_rarer() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all((0..4).map(|seq| word(nack(seq))));
    s.at(ms(1000));
    let probes = s.sent();
    assert!((3..=12).contains(&probes.len()), "{}", probes.len());
    assert!(probes.iter().all(|sent| !is_data(&sent.packet.header)));
}

#[test]
fn a_receiver_that_has_never_answered_gets_returned_packets_and_no_probe() {
    let mut s = host();
    s.opens(flow(10)).sent();
    // The other two are lost, again and again: the receiver cannot know the connection.
    s.at(us(20)).receives_all([back(data(0)), back(data(1))]).sends_nothing();
    s.at(ms(200));
    let sent: Vec<_> = s.sent().iter().map(|sent| sent.packet.header).collect();
    assert!(sent.iter().all(is_data), "{sent:?}");
    assert!([0, 1].map(|seq| unasked(data(seq))).iter().all(|header| sent.contains(header)), "{sent:?}");
}

#[test]
fn a_sender_that_waits_for_nothing_sends_no_probe() {
    let mut s = host();
    s.opens(flow(2)).sent();
    s.at(us(20)).receives(word(ack(0)));
    s.at(us(900)).sends_nothing();
}

#[test]
fn a_silent_receiver_fails_the_flow_with_a_reason() {
    let mut s = host();
    s.opens(flow(10)).sent();
    s.at(ms(4_900)).reported();
    assert_eq!(s.open_flows().len(), 1);
    s.at(ms(5_200));
    let failed = s.reported();
    assert!(
        matches!(
            failed.last(),
            Some(Event::Failed { conn: CONN, reason: FailureReason::ReceiverSilent, .. })
        ),
        "{failed:?}"
    );
    assert!(s.open_flows().is_empty());
    s.sent();
    s.at(ms(60_000)).sends_nothing();
}

#[test]
fn a_packet_that_is_never_answered_fails_the_flow_although_others_are() {
    let mut s = host();
    s.opens(flow(10)).sent();
    let mut failed = None;
    for tenth in 1..300 {
        // The receiver answers PROBEs and all packets except one.
        s.at(ms(100 * tenth)).receives(word(ack(1)));
        for event in s.reported() {
            if let Event::Failed { reason, .. } = event {
                failed = Some((tenth, reason));
            }
        }
    }
    let (tenth, reason) = failed.unwrap();
    assert_eq!(reason, FailureReason::PacketUnanswered);
    assert!((100..140).contains(&tenth), "after {tenth} tenths of a second");
}

#[test]
fn a_receiver_of_which_only_returned_headers_come_is_silent() {
    let mut s = host();
    s.opens(flow(10));
    for time in 1..600 {
        s.at(ms(10 * time));
        let returned: Vec<_> = s.sent().iter().map(|sent| back(sent.packet.header)).collect();
        s.receives_all(returned);
    }
    let failed = s.reported();
    assert!(
        matches!(failed.last(), Some(Event::Failed { reason: FailureReason::ReceiverSilent, .. })),
        "{failed:?}"
    );
    assert!(s.open_flows().is_empty());
}

#[test]
fn a_receiver_is_not_silent_before_anything_was_sent_to_it() {
    // The link is busy with something else for longer than a receiver may be silent.
    let mut s = endpoint(&config(), HERE, 1);
    let until = |s: &mut pullnet_ndp::NdpEndpoint, end: Instant| {
        while let Some(deadline) = s.poll_timeout().filter(|deadline| deadline.at <= end) {
            s.handle_timeout(deadline.at);
        }
        s.handle_timeout(end);
        assert!(s.poll_event().is_none());
    };
    s.open(Instant(0), flow(1));
    let late = Instant::ZERO.after(ms(7_000));
    until(&mut s, late);
    assert_eq!(s.poll_transmit(late).map(|packet| packet.header), Some(last(0)));
    until(&mut s, late.after(us(3_600)));
    let mut open = 0;
    s.open_flows(&mut |_| open += 1);
    assert_eq!(open, 1);
}

#[test]
fn a_receiver_that_speaks_keeps_the_flow_alive() {
    let mut s = host();
    s.opens(flow(10)).sent();
    for second in 1..10 {
        s.at(ms(1000 * second)).receives(word(nack(0)));
    }
    assert_eq!(s.open_flows().len(), 1);
}

// Rule 7: end of data.

#[test]
fn the_last_packet_says_so_every_time() {
    let mut s = host();
    s.opens(flow(5)).sends([data(0), data(1), data(2), data(3)]);
    s.at(us(20)).receives(word(pull(1))).sends([last(4)]);
    s.receives(word(nack_pull(4, 2))).sends([last(4)]);
}

#[test]
fn an_endless_flow_has_no_last_packet() {
    let mut s = host();
    s.opens(FlowSpec { size: None, ..flow(1) }).sends([data(0), data(1), data(2), data(3)]);
    s.at(us(20)).receives(word(pull(2))).sends([data(4), data(5)]);
}

#[test]
fn pulls_at_the_end_of_data_send_nothing() {
    let mut s = host();
    s.opens(flow(4)).sent();
    s.at(us(20)).receives_all([word(ack_pull(0, 1)), word(ack_pull(1, 2)), word(pull(5))]).sends_nothing();
}

// Rule 8: time-wait.

#[test]
fn a_number_is_not_used_again_in_time_wait() {
    let mut s = host();
    s.opens(flow(1)).sent();
    s.at(us(20)).receives(word(ack(0))).reported();
    s.at(us(100)).opens(flow(1)).sends_nothing();
    assert!(matches!(s.reported()[..], [Event::Failed { conn: CONN, .. }]));
    // The receiver remembers it for as long as this sender might have repeated packets.
    s.at(ms(5_000)).opens(flow(1)).sends_nothing();
    s.at(ms(6_000)).opens(flow(1)).sends([last(0)]);
}

#[test]
fn a_number_is_not_used_twice_at_a_time() {
    let mut s = host();
    s.opens(flow(9)).sent();
    s.opens(flow(1)).sends_nothing();
    assert!(matches!(s.reported()[..], [Event::Failed { .. }]));
    // The first flow goes on.
    s.at(us(20)).receives(word(pull(1))).sends([data(4)]);
}

#[test]
fn feedback_after_the_end_does_nothing() {
    let mut s = host();
    s.opens(flow(1)).sent();
    s.at(us(20)).receives(word(ack(0))).reported();
    s.at(us(30)).receives_all([word(nack(0)), word(pull(9)), word(ack(0)), back(last(0))]);
    s.sends_nothing().reports([]);
}

// Several connections on one link.

#[test]
fn connections_share_the_link_in_turn() {
    let mut s = host();
    s.opens(flow(10)).opens(FlowSpec { conn: ConnId::new(8), ..flow(10) }).sent();
    s.at(us(20)).receives_all([word(pull(2)), word(NdpHeader::Pull { conn: ConnId::new(8), number: 2 })]);
    assert_eq!(s.sent().len(), 4);
}

/// Connections of the first six packets that leave where two start at once, with ten packets each and a window of four.
fn order(nic: Nic) -> Vec<ConnId> {
    let mut s = host_with(&NdpConfig { nic, ..config() });
    s.does(|host, now| {
        host.open(now, flow(10));
        host.open(now, FlowSpec { conn: ConnId::new(8), ..flow(10) });
    });
    s.sent().iter().take(6).map(|sent| sent.packet.header.conn()).collect()
}

#[test]
fn connections_take_turns_at_the_link_or_wait_in_one_line() {
    let (one, other) = (CONN, ConnId::new(8));
    assert_eq!(order(Nic::RoundRobin), [one, other, one, other, one, other]);
    assert_eq!(order(Nic::Fifo), [one, one, one, one, other, other]);
}

#[test]
fn in_one_line_everything_leaves_once_as_it_is_allowed() {
    let mut s = host_with(&NdpConfig { nic: Nic::Fifo, ..config() });
    s.opens(flow(10)).sent();
    s.at(us(20)).receives_all([word(nack(2)), word(ack(0)), word(ack(1)), word(ack(3))]);
    s.receives(word(pull(3))).sends([pulled(data(2)), data(4), data(5)]);
    s.at(us(40)).receives_all([word(ack(2)), word(ack(4)), word(ack(5))]).receives(word(pull(20)));
    s.sends([data(6), data(7), data(8), pulled(last(9))]);
    s.at(us(60)).receives_all((6..10).map(|seq| word(ack(seq)))).sends_nothing();
}

#[test]
fn a_flow_with_more_packets_than_numbers_is_refused() {
    let mut s = host();
    s.opens(flow((1 << 32) - 1)).sends_nothing();
    let reason = FailureReason::TooManyPackets;
    s.reports([Event::Failed { to: THERE, conn: CONN, reason, counts: counts(0, 0, 0) }]);
    s.opens(FlowSpec { conn: ConnId::new(8), ..flow((1 << 32) - 2) });
    assert_eq!(s.sent().len(), WINDOW as usize);
}

#[test]
fn new_data_waits_while_the_window_from_the_oldest_missing_packet_is_full() {
    let mut s = host();
    s.opens(FlowSpec { size: None, ..flow(1) }).sent();
    let window = 1 << 20;
    s.at(us(20)).receives_all([word(ack(1)), word(ack(2)), word(ack(3))]).receives(word(pull(window + 10)));
    assert_eq!(s.sent().len(), (window - WINDOW) as usize);
    // The oldest packet arrives: four packets are behind the window now.
    s.receives(word(ack(0))).sends([data(window), data(window + 1), data(window + 2), data(window + 3)]);
}
