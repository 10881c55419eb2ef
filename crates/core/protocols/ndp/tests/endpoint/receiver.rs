//! The receiver, rule by rule: NDP (SIGCOMM 2017), section 3.2.

use crate::common::*;
use proptest::prelude::*;
use pullnet_ndp::{NdpConfig, NdpHeader};
use pullnet_transport::script::{Arriving, Sent};
use pullnet_transport::{Class, Event, Fate, Received, Transport};
use pullnet_units::{Instant, PacketSeq, Packets, WireLen};

const OPENED: Event = Event::Opened { slot: 0, peer: THERE, conn: CONN };
const RECEIVED: Event = Event::Received { slot: 0 };

const STRAY: Event = Event::Stray { peer: THERE, conn: CONN };

fn delivered(seq: u32) -> Event {
    Event::Delivered { slot: 0, seq: PacketSeq::new(seq), bytes: MTU as u32 }
}

/// A receiver whose pulls never ride on answers.
fn plain() -> NdpConfig {
    NdpConfig { piggyback: false, ..config() }
}

fn pulls(sent: &[Sent<NdpHeader>]) -> Vec<u32> {
    let pull = |sent: &Sent<NdpHeader>| match sent.packet.header {
        NdpHeader::Pull { number, .. } => Some(number),
        NdpHeader::Ack { pull, .. } | NdpHeader::Nack { pull, .. } => pull,
        _ => None,
    };
    sent.iter().filter_map(pull).collect()
}

// Rule 1: any packet of the first window opens the connection.

#[test]
fn a_packet_in_the_middle_of_the_window_opens_the_connection() {
    let mut s = host();
    s.receives(full(data(2))).sends([ack_pull(2, 1)]).reports([OPENED, delivered(2)]);
}

#[test]
fn a_trimmed_packet_opens_the_connection() {
    let mut s = host();
    s.receives(header(data(2))).sends([nack_pull(2, 1)]).reports([OPENED]);
}

#[test]
fn a_packet_without_syn_opens_nothing() {
    let mut s = host();
    s.receives_all([full(data(9)), header(data(8))]).sends_nothing().reports([STRAY, STRAY]);
}

#[test]
fn control_packets_open_nothing() {
    let mut s = host();
    s.receives_all([word(ack(0)), word(nack(0)), word(pull(1))]).sends_nothing().reports([]);
    s.receives(word(probe(0))).sends_nothing().reports([STRAY]);
}

proptest! {
    #[test]
    fn the_first_window_opens_one_connection_in_any_order(
        order in Just((0..8u32).collect::<Vec<_>>()).prop_shuffle(),
        trims in prop::collection::vec(any::<bool>(), 8),
        zero_last: bool,
    ) {
        let mut order = order;
        if zero_last {
            order.retain(|seq| *seq != 0);
            order.push(0);
        }
        let mut s = host_with(&NdpConfig { initial_window: Packets(8), ..config() });
        let packet = |seq: u32| NdpHeader::Data { conn: CONN, seq, syn: true, last: seq == 7, pulled: false, priority: 0 };
        // Every packet once, some of them trimmed; then those again, whole.
        for seq in &order {
            let arriving = full(packet(*seq));
            s.receives(if trims[*seq as usize] { arriving.trimmed() } else { arriving });
        }
        let answers = s.sent();
        prop_assert_eq!(answers.len(), 8);
        for (seq, sent) in order.iter().zip(&answers) {
            let nacked = matches!(sent.packet.header, NdpHeader::Nack { seq: of, .. } if of == *seq);
            let acked = matches!(sent.packet.header, NdpHeader::Ack { seq: of, .. } if of == *seq);
            prop_assert_eq!((nacked, acked), (trims[*seq as usize], !trims[*seq as usize]));
        }
        for seq in order.iter().filter(|seq| trims[**seq as usize]) {
            s.receives(full(packet(*seq)));
        }
        let events = s.reported();
        let opened = events.iter().filter(|event| matches!(event, Event::Opened { .. })).count();
        let bytes: u32 = events.iter().map(|event| if let Event::Delivered { bytes, .. } = event { *bytes } else { 0 }).sum();
        prop_assert_eq!((opened, bytes), (1, 8 * MTU as u32));
        prop_assert_eq!(events.last(), Some(&RECEIVED));
    }
}

// Rules 2 and 3: full data and headers.

#[test]
fn full_data_is_acked_at_once_and_pulled_in_its_time() {
    let mut s = host_with(&plain());
    s.receives(full(data(0))).sends([ack(0)]);
    s.at(us(1)).sends([pull(1)]);
}

#[test]
fn a_header_is_nacked_at_once_and_pulled_in_its_time() {
    let mut s = host_with(&plain());
    s.receives(header(data(0))).sends([nack(0)]);
    s.at(us(1)).sends([pull(1)]);
}

#[test]
fn answers_are_control_to_switches() {
    let mut s = host();
    s.receives_all([full(data(0)), header(data(1))]);
    s.at(us(100));
    assert!(
        s.sent()
            .iter()
            .all(|sent| sent.packet.class == Class::Control && sent.packet.wire == WireLen::new(CONTROL))
    );
}

#[test]
fn every_packet_earns_one_pull() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), header(data(1)), full(data(2)), header(data(3))]);
    s.sends([ack(0), nack(1), ack(2), nack(3)]);
    s.at(us(100)).sends([pull(1), pull(2), pull(3), pull(4)]);
    s.at(us(200)).sends_nothing();
}

// Rule 4: the pull rides on the answer.

#[test]
fn figure_3_a_pull_rides_on_the_ack_where_nobody_else_waits() {
    let mut s = host();
    s.receives(full(data(0))).sends([ack_pull(0, 1)]);
    // One packet time later the link would be free again.
    s.at(us(8)).receives(full(data(1))).sends([ack_pull(1, 2)]);
}

#[test]
fn figure_3_the_next_pull_within_a_packet_time_waits() {
    let mut s = host();
    s.receives(full(data(0))).sends([ack_pull(0, 1)]);
    s.at(us(3)).receives(full(data(1))).sends([ack(1)]);
    s.at(us(7)).sends_nothing();
    s.at(us(8)).sends([pull(2)]);
}

#[test]
fn a_pull_does_not_overtake_pulls_that_wait() {
    let mut s = host();
    s.receives_all([full(data(0)), full(data(1)), full(data(2))]);
    s.sends([ack_pull(0, 1), ack(1), ack(2)]);
    s.at(us(20)).sends([pull(2), pull(3)]);
}

#[test]
fn without_piggyback_every_pull_is_a_packet() {
    let mut s = host_with(&plain());
    s.receives(full(data(0))).sends([ack(0)]);
    s.at(us(50)).receives(full(data(1)));
    s.at(us(100)).sends([pull(1), ack(1), pull(2)]);
}

// Rule 5: the last packet.

#[test]
fn the_last_packet_ends_the_pulls_when_everything_is_there() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), full(data(1)), full(data(2)), full(last(3))]);
    s.sends([ack(0), ack(1), ack(2), ack(3)]);
    s.reports([OPENED, delivered(0), delivered(1), delivered(2), delivered(3), RECEIVED]);
    s.at(us(100)).sends_nothing();
}

#[test]
fn the_last_packet_leaves_pulls_for_packets_that_were_trimmed() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), header(data(1)), header(data(2)), full(last(3))]);
    s.sends([ack(0), nack(1), nack(2), ack(3)]);
    // Two packets are missing: two pulls, not four.
    s.at(us(100)).sends([pull(1), pull(2)]);
    s.receives_all([full(data(1)), full(data(2))]).sends([ack(1), ack(2)]);
    s.at(us(200)).sends_nothing();
    assert_eq!(s.reported().last(), Some(&RECEIVED));
}

#[test]
fn a_trimmed_last_packet_is_pulled_like_any_other() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), header(last(1))]);
    s.at(us(50)).sends([ack(0), nack(1), pull(1)]);
    s.receives(full(last(1))).sends([ack(1)]);
    assert_eq!(s.reported().last(), Some(&RECEIVED));
}

#[test]
fn the_last_packet_first_does_not_end_the_flow() {
    let mut s = host_with(&plain());
    s.receives(full(last(3))).sends([ack(3)]).reports([OPENED, delivered(3)]);
    s.receives_all([full(data(1)), full(data(0))]);
    s.reports([delivered(1), delivered(0)]);
    s.receives(full(data(2))).reports([delivered(2), RECEIVED]);
}

// Rule 6: duplicates and old data.

#[test]
fn a_duplicate_is_acked_again_and_not_delivered_again() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), full(data(0)), full(data(0))]);
    s.sends([ack(0), ack(0), ack(0)]).reports([OPENED, delivered(0)]);
}

#[test]
fn a_duplicate_earns_no_second_pull() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), full(data(0))]).sent();
    s.at(us(100)).sends([pull(1)]);
}

#[test]
fn a_header_of_a_packet_that_is_there_is_acked_and_pulled() {
    let mut s = host_with(&plain());
    s.receives_all([full(data(0)), header(data(0))]).sends([ack(0), ack(0)]);
    s.at(us(100)).sends([pull(1), pull(2)]);
}

// Rule 7: time-wait.

#[test]
fn time_wait_answers_with_acks_and_without_pulls() {
    let mut s = host();
    s.receives(full(last(0))).sent();
    s.reported();
    s.at(ms(1)).receives_all([full(last(0)), header(last(0))]).sends([ack(0), ack(0)]).reports([]);
    s.at(ms(2)).sends_nothing();
}

#[test]
fn a_connection_in_time_wait_is_not_opened_again() {
    let mut s = host();
    s.receives_all([full(data(0)), full(last(1))]).reported();
    s.at(ms(40)).receives(full(data(0))).reports([]);
    s.at(ms(80)).receives(full(data(1))).reports([]);
}

#[test]
fn time_wait_outlasts_a_sender_that_hears_no_ack() {
    let mut s = host();
    s.receives(full(last(0))).reported();
    // It repeats the packet until it gives up after 5 s, and most repetitions may be lost.
    s.at(ms(5_010)).receives(full(last(0))).reports([]);
    s.at(ms(10_020)).receives(full(last(0))).reports([]);
}

#[test]
fn a_probe_prolongs_time_wait() {
    let mut s = host();
    s.receives(full(last(0))).reported();
    s.at(ms(5_000)).receives(word(probe(0)));
    s.at(ms(10_000)).receives(full(last(0))).reports([]);
}

#[test]
fn a_finished_connection_is_forgotten_in_the_end() {
    let mut s = host();
    s.receives(full(last(0))).reported();
    s.at(ms(60_000));
    assert_eq!(s.deadline(), None);
}

#[test]
fn an_abandoned_connection_is_forgotten_in_the_end() {
    let mut s = host();
    s.receives(full(data(0))).reported();
    assert_eq!(s.open_flows().len(), 1);
    s.at(ms(60_000));
    assert_eq!((s.open_flows().len(), s.deadline()), (0, None));
}

#[test]
fn two_connections_of_one_host_have_pull_numbers_of_their_own() {
    let mut s = host_with(&plain());
    let other = |seq| NdpHeader::Data {
        conn: pullnet_transport::ConnId::new(8),
        seq,
        syn: true,
        last: false,
        pulled: false,
        priority: 0,
    };
    s.receives_all([full(data(0)), full(other(0))]).sent();
    s.at(us(50));
    assert_eq!(pulls(&s.sent()), [1, 1]);
}

// Probes: the sender misses a pull.

#[test]
fn a_probe_for_a_missing_packet_is_nacked_and_pulled() {
    let mut s = host();
    s.receives(header(data(0))).sends([nack_pull(0, 1)]);
    s.at(ms(5)).receives(word(probe(0))).sends([nack_pull(0, 2)]);
}

#[test]
fn a_probe_for_a_packet_that_is_there_is_acked_and_pulled() {
    let mut s = host();
    s.receives(full(data(0))).sends([ack_pull(0, 1)]);
    s.at(ms(5)).receives(word(probe(0))).sends([ack_pull(0, 2)]);
}

#[test]
fn a_probe_adds_no_pull_where_pulls_wait() {
    let mut s = host_with(&plain());
    s.receives_all([header(data(0)), header(data(1))]).sent();
    s.receives(word(probe(0))).sends([nack(0)]);
    s.at(us(100)).sends([pull(1), pull(2)]);
}

#[test]
fn a_probe_in_time_wait_is_acked() {
    let mut s = host();
    s.receives(full(last(0))).sent();
    s.at(ms(5)).receives(word(probe(0))).sends([ack(0)]);
}

// Nonsense from the network.

proptest! {
    #[test]
    fn no_packet_makes_an_endpoint_panic(
        words in prop::collection::vec((0..6u8, any::<u32>(), any::<u32>(), any::<[bool; 3]>(), 0..3u8, 0..3u64), 0..60),
    ) {
        let mut s = host();
        s.opens(flow(10)).opens(pullnet_transport::FlowSpec { conn: pullnet_transport::ConnId::new(3), size: None, ..flow(1) });
        let mut now = 0;
        for (kind, seq, number, [syn, last, carries], fate, wait) in words {
            // Small numbers as often as any.
            let (seq, number) = if carries { (seq % 12, number % 12) } else { (seq, number) };
            let seq = if kind == 0 { seq % 5000 } else { seq };
            let conn = if syn { CONN } else { pullnet_transport::ConnId::new(3) };
            let pull = carries.then_some(number);
            let header = match kind {
                0 => NdpHeader::Data { conn, seq, syn, last, pulled: false, priority: number as u8 },
                1 => NdpHeader::Ack { conn, seq, pull },
                2 => NdpHeader::Nack { conn, seq, pull },
                3 => NdpHeader::Pull { conn, number: number % 1000 },
                _ => NdpHeader::Probe { conn, seq },
            };
            let packet = Arriving::new(THERE, FULL, header);
            s.receives(match fate { 0 => packet, 1 => packet.trimmed(), _ => packet.returned() });
            now += wait * 400_000_000;
            s.at(pullnet_units::Picos(now));
        }
    }
}

// Packet numbers that no peer can have sent.

#[test]
fn a_packet_beyond_every_first_window_opens_nothing() {
    let mut s = host();
    let forged =
        NdpHeader::Data { conn: CONN, seq: 65_535, syn: true, last: true, pulled: false, priority: 0 };
    s.receives(full(forged)).sends_nothing().reports([]);
    assert!(s.open_flows().is_empty());
}

#[test]
fn a_packet_beyond_what_was_pulled_is_refused_and_counted() {
    let mut s = endpoint(&config(), HERE, 1);
    let receive = |s: &mut pullnet_ndp::NdpEndpoint, header, fate| {
        s.handle(
            Instant(0),
            Received { from: THERE, paths: 1, wire: WireLen::new(FULL), fate, ce: false, header },
        );
    };
    let far = |seq| NdpHeader::Data { conn: CONN, seq, syn: false, last: true, pulled: true, priority: 0 };
    receive(&mut s, data(0), Fate::Whole);
    for seq in [u32::MAX, 1 << 20, 70_000] {
        receive(&mut s, far(seq), Fate::Whole);
        receive(&mut s, far(seq), Fate::Trimmed);
    }
    assert_eq!(s.refused(), 6);
    // Nor are they believed about the end of the flow, which goes on.
    [data(1), data(2), last(3)].into_iter().for_each(|header| receive(&mut s, header, Fate::Whole));
    let events: Vec<_> = std::iter::from_fn(|| s.poll_event()).collect();
    assert_eq!(events.last(), Some(&RECEIVED));
    assert_eq!(s.refused(), 6);
}
