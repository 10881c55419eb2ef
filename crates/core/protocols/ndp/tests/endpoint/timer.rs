//! The sender's estimate of answer times, and its use.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader, Timer};
use pullnet_transport::script::Script;
use pullnet_transport::{ConnId, Event, FlowSpec};
use pullnet_units::{PacketSeq, Packets, Picos};

/// A flow of one packet with a number of its own.
fn one_packet(conn: u32) -> FlowSpec {
    FlowSpec { conn: ConnId::new(conn), ..flow(1) }
}

fn ack_of(conn: u32) -> NdpHeader {
    NdpHeader::Ack { conn: ConnId::new(conn), seq: 0, pull: None }
}

fn nack_of(conn: u32) -> NdpHeader {
    NdpHeader::Nack { conn: ConnId::new(conn), seq: 0, pull: None }
}

/// Flows of one packet, one after the other, whose packets are answered after 50 us by `answer`, then ACKs.
fn after_flows(s: &mut Script<NdpEndpoint>, flows: u32, answer: fn(u32) -> NdpHeader) {
    for number in 0..flows {
        let start = 1_000 * u64::from(number);
        s.at(us(start)).opens(one_packet(100 + number));
        s.at(us(start + 50)).receives(word(answer(100 + number)));
        s.at(us(start + 60)).receives(word(NdpHeader::Pull { conn: ConnId::new(100 + number), number: 1 }));
        s.at(us(start + 100)).receives(word(ack_of(100 + number)));
    }
    s.sent();
    s.reported();
}

/// When the packets are sent again that leave at `from`.
fn repeated_after(s: &mut Script<NdpEndpoint>, from: Picos) -> Vec<u64> {
    s.at(from + ms(20));
    s.sent().iter().map(|sent| (sent.at.0 - from.0) / 1_000_000).collect()
}

#[test]
fn a_lost_flow_of_one_packet_waits_one_timeout_where_the_receiver_is_known() {
    let mut s = host();
    after_flows(&mut s, 3, ack_of);
    s.at(ms(10)).opens(one_packet(7)).sent();
    let first = repeated_after(&mut s, ms(10))[0];
    assert!((1_000..1_150).contains(&first), "{first} us");
}

/// When a lost flow of one packet to a host that was never heard of is repeated, in microseconds.
fn repeated_to_another_host(s: &mut Script<NdpEndpoint>) -> u64 {
    s.at(ms(10)).opens(FlowSpec { to: pullnet_transport::HostAddr(99), ..one_packet(7) }).sent();
    repeated_after(s, ms(10))[0]
}

#[test]
fn of_the_first_receiver_the_worst_is_expected() {
    let first = repeated_to_another_host(&mut host());
    assert!((3_600..3_900).contains(&first), "{first} us");
}

#[test]
fn an_unknown_receiver_is_expected_to_be_as_crowded_as_the_one_heard_of_last() {
    for (answer, expected) in [(ack_of as fn(u32) -> NdpHeader, 1_000..1_150), (nack_of, 3_600..3_900)] {
        let mut s = host();
        after_flows(&mut s, 3, answer);
        let first = repeated_to_another_host(&mut s);
        assert!(expected.contains(&first), "{first} us");
    }
}

#[test]
fn a_receiver_that_was_crowded_is_expected_to_be_so() {
    let mut s = host();
    after_flows(&mut s, 3, nack_of);
    s.at(ms(10)).opens(one_packet(7)).sent();
    let first = repeated_after(&mut s, ms(10))[0];
    assert!((3_600..3_900).contains(&first), "{first} us");
}

#[test]
fn what_was_learned_long_ago_is_forgotten() {
    let mut s = host();
    after_flows(&mut s, 3, ack_of);
    s.at(ms(5_200)).opens(one_packet(7)).sent();
    let first = repeated_after(&mut s, ms(5_200))[0];
    assert!((3_600..3_900).contains(&first), "{first} us");
}

/// Answers to packets 0 to 3 and a pull for packet 4, `trip` after they left.
fn answered_after(s: &mut Script<NdpEndpoint>, trip: Picos) {
    s.opens(flow(50)).sent();
    s.at(trip).receives_all((0..4).map(|seq| word(ack(seq)))).receives(word(pull(1))).sends([data(4)]);
    s.reported();
}

#[test]
fn the_timeout_comes_on_top_of_a_long_round_trip() {
    let mut s = host();
    // Three times the time that the timer would have patience for without it.
    answered_after(&mut s, us(3_000));
    s.at(us(6_900)).sends_nothing();
}

#[test]
fn round_trips_that_hardly_differ_leave_the_timeout_as_it_is() {
    let mut s = host();
    answered_after(&mut s, us(2_000));
    for number in 0..40 {
        // Every answer takes 2 ms to the picosecond: four deviations are nothing at last.
        s.at(us(2_000 * u64::from(number + 2))).receives(word(ack_pull(4 + number, 2 + number)));
    }
    s.sent();
    s.reported();
    s.at(us(2_000 * 41 + 2_900)).sends_nothing();
    s.at(us(2_000 * 41 + 3_200));
    assert_eq!(s.reported(), [Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(44) }]);
}

#[test]
fn a_second_answer_tells_how_long_the_first_copy_took() {
    let mut s = host_with(&NdpConfig { queued_headers: Packets(0), ..config() });
    answered_after(&mut s, us(50));
    // Packet 4 is under way for 6 ms; meanwhile another copy of it is sent, and answered, and then the first one is.
    s.at(us(1_200)).reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(4) }]);
    s.at(us(1_300)).receives(word(ack_pull(4, 2)));
    s.at(us(6_050)).receives(word(ack(4)));
    s.at(us(6_100)).receives(word(ack_pull(5, 3)));
    s.sent();
    s.reported();
    // Packet 6 left at 6.1 ms and has 7.5 ms, a quarter more than the 6 ms.
    s.at(us(13_500)).sends_nothing();
    s.at(us(13_800));
    s.reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(6) }]);
}

#[test]
fn one_answer_to_a_repeated_packet_teaches_nothing() {
    let mut s = host_with(&NdpConfig { queued_headers: Packets(0), ..config() });
    answered_after(&mut s, us(50));
    // Packet 4 was lost.
    s.at(us(1_200)).reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(4) }]);
    s.at(us(1_300)).receives(word(ack_pull(4, 2)));
    s.sent();
    s.reported();
    s.at(us(2_500));
    s.reports([Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(5) }]);
}

#[test]
fn a_fixed_timer_is_the_timeout_alone() {
    let mut s = host_with(&NdpConfig { timer: Timer::Fixed, ..config() });
    s.opens(flow(10)).sent();
    s.at(us(990)).sends_nothing();
    s.at(us(1_070));
    assert_eq!(s.sent().len(), 4);
}
