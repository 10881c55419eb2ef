//! Streams: data that becomes known piece by piece, to receivers that may be slow.

use crate::common::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_transport::script::{Script, Sent};
use pullnet_transport::{ConnId, Event, FailureReason, FlowSpec, SendCounts, Streaming, TimerKind};
use pullnet_units::{PacketSeq, Picos, WireLen};

const OPENED: Event = Event::Opened { slot: 0, peer: THERE, conn: CONN };
const RECEIVED: Event = Event::Received { slot: 0 };
const STRAY: Event = Event::Stray { peer: THERE, conn: CONN };
/// A second connection of the other host.
const OTHER: ConnId = ConnId::new(8);

/// Actions of applications, as steps of a script.
trait Application {
    /// Begins the stream.
    fn begins(&mut self) -> &mut Self;
    /// Offers so many full packets.
    fn offers(&mut self, packets: u32) -> &mut Self;
    /// Offers a packet of so many bytes.
    fn offers_short(&mut self, payload: u16) -> &mut Self;
    /// Offers an empty last packet.
    fn ends(&mut self) -> &mut Self;
    /// The receiver of the first connection reads no more.
    fn holds(&mut self) -> &mut Self;
    /// It reads again.
    fn releases(&mut self) -> &mut Self;
    /// The receiver wants no more of the first connection.
    fn dismisses(&mut self) -> &mut Self;
    /// Packets acknowledged without a gap.
    fn acknowledged(&mut self) -> Option<u32>;
}

impl Application for Script<NdpEndpoint> {
    fn begins(&mut self) -> &mut Self {
        self.does(|host, now| host.open_stream(now, flow(0)))
    }

    fn offers(&mut self, packets: u32) -> &mut Self {
        (0..packets).for_each(|_| {
            self.offers_short(MTU as u16);
        });
        self
    }

    fn offers_short(&mut self, payload: u16) -> &mut Self {
        self.does(|host, now| host.offer(now, THERE, CONN, payload, false))
    }

    fn ends(&mut self) -> &mut Self {
        self.does(|host, now| host.offer(now, THERE, CONN, 0, true))
    }

    fn holds(&mut self) -> &mut Self {
        self.does(|host, now| host.hold(now, 0, true))
    }

    fn releases(&mut self) -> &mut Self {
        self.does(|host, now| host.hold(now, 0, false))
    }

    fn dismisses(&mut self) -> &mut Self {
        self.does(|host, now| host.dismiss(now, 0))
    }

    fn acknowledged(&mut self) -> Option<u32> {
        let mut count = None;
        self.does(|host, _| count = host.acknowledged(THERE, CONN));
        count
    }
}

/// A host whose pulls never ride on answers.
fn plain() -> Script<NdpEndpoint> {
    host_with(&NdpConfig { piggyback: false, ..config() })
}

fn acked(latency: Picos) -> Event {
    Event::Acked { to: THERE, conn: CONN, latency }
}

fn completed(sent: u32, again: u32, timeouts: u32) -> Event {
    Event::Completed { to: THERE, conn: CONN, counts: SendCounts { sent, again, timeouts } }
}

fn delivered(seq: u32, bytes: u64) -> Event {
    Event::Delivered { slot: 0, seq: PacketSeq::new(seq), bytes: bytes as u32 }
}

/// The same packet without SYN, as a stream sends it whose receiver knows it.
fn known(header: NdpHeader) -> NdpHeader {
    match header {
        NdpHeader::Data { conn, seq, last, pulled, priority, .. } => {
            NdpHeader::Data { conn, seq, syn: false, last, pulled, priority }
        }
        other => other,
    }
}

/// The same packet of the other connection.
fn other(header: NdpHeader) -> NdpHeader {
    match header {
        NdpHeader::Data { seq, syn, last, pulled, priority, .. } => {
            NdpHeader::Data { conn: OTHER, seq, syn, last, pulled, priority }
        }
        _ => header,
    }
}

/// Whose pulls were sent, in order.
fn pulled_of(sent: &[Sent<NdpHeader>]) -> Vec<ConnId> {
    let pull = |sent: &Sent<NdpHeader>| match sent.packet.header {
        NdpHeader::Pull { conn, .. } => Some(conn),
        _ => None,
    };
    sent.iter().filter_map(pull).collect()
}

fn is_probe(sent: &Sent<NdpHeader>) -> bool {
    matches!(sent.packet.header, NdpHeader::Probe { .. })
}

/// A stream with a whole window acknowledged and pulled at 20 us.
fn idle() -> Script<NdpEndpoint> {
    let mut s = host();
    s.begins().offers(4);
    s.at(us(20)).receives_all((0..4).map(|seq| word(ack_pull(seq, seq + 1))));
    s.sent();
    s.reported();
    s
}

/// Answers every question of an idle stream, within a millisecond and with a pull. Returns how many there were.
fn lives(s: &mut Script<NdpEndpoint>, millis: std::ops::Range<u64>) -> u32 {
    let mut probes = 0;
    for millisecond in millis {
        s.at(ms(millisecond));
        for sent in s.sent() {
            assert_eq!(sent.packet.header, probe(3));
            probes += 1;
            s.receives(word(ack_pull(3, 4 + probes)));
        }
    }
    probes
}

// Sender: what leaves when.

#[test]
fn nothing_leaves_before_something_is_offered() {
    let mut s = host();
    s.begins().sends_nothing();
    s.at(ms(60_000)).sends_nothing().reports([]);
    assert_eq!((s.deadline(), s.open_flows().len()), (None, 1));
}

#[test]
fn what_is_offered_leaves_at_once_up_to_the_first_window() {
    let mut s = host();
    s.begins().offers(1).sends([data(0)]);
    s.at(us(5)).offers(5).sends([data(1), data(2), data(3)]);
    s.at(us(20)).receives(word(ack_pull(0, 1))).sends([data(4)]);
}

#[test]
fn packets_are_as_long_as_they_were_offered() {
    let mut s = host();
    s.begins().offers_short(1).offers(1).offers_short(300);
    let wires: Vec<_> = s.sent().iter().map(|sent| sent.packet.wire.get()).collect();
    assert_eq!(wires, [CONTROL + 1, FULL, CONTROL + 300]);
    // Also for retransmissions, and with ACKs for other packets in between.
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1)), word(nack_pull(2, 1))]);
    assert_eq!(s.sent()[0].packet.wire, WireLen::new(CONTROL + 300));
    assert_eq!(s.open_flows()[0].bytes, 1 + MTU);
}

#[test]
fn an_idle_stream_sends_a_whole_window_at_once_and_never_more() {
    let mut s = idle();
    s.at(ms(100)).offers(6).sends((4..8).map(data));
    s.at(us(100_020)).receives(word(ack_pull(4, 5))).sends([data(8)]);
}

#[test]
fn a_window_that_was_never_filled_is_kept_too() {
    let mut s = host();
    s.begins().offers(1).sends([data(0)]);
    s.at(us(20)).receives(word(ack_pull(0, 1))).sends_nothing();
    // Three of the first window are left, and one pull was not needed yet.
    s.at(ms(1)).offers(6).sends([known(data(1)), known(data(2)), known(data(3)), data(4)]);
}

#[test]
fn pulls_without_data_do_not_pile_up() {
    let mut s = host();
    s.begins().offers(2).sent();
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1)), word(pull(60))]).sends_nothing();
    s.at(ms(1)).offers(9).sends([known(data(2)), known(data(3)), data(4), data(5)]);
}

#[test]
fn a_later_pull_makes_up_for_lost_ones() {
    let mut s = host();
    s.begins().offers(4).sent();
    // Three pulls are lost.
    s.at(us(20)).receives_all((0..4).map(|seq| word(ack(seq))));
    s.at(ms(2)).offers(1).sends_nothing();
    // The sender asks, and the answer says how many were sent in all.
    s.at(ms(10));
    assert!(s.sent().iter().all(is_probe));
    s.receives(word(ack_pull(3, 4))).sends([data(4)]);
    s.offers(4).sends([data(5), data(6), data(7)]);
}

#[test]
fn an_idle_time_does_not_make_a_stream_patient() {
    let mut s = idle();
    assert!(lives(&mut s, 1..20_000) > 0);
    s.at(ms(20_000)).offers(4);
    s.at(us(20_000_020)).receives_all((4..8).map(|seq| word(ack_pull(seq, 96 + seq))));
    // Another window leaves; the fifth packet waits for a pull, and all of them are lost.
    s.offers(5).sent();
    s.at(us(20_000_040)).receives_all((8..12).map(|seq| word(ack(seq))));
    s.at(ms(20_010));
    assert!(s.sent().iter().any(is_probe), "it asks for a pull within four timeouts");
}

#[test]
fn a_packet_opens_the_connection_until_the_first_one_is_acknowledged() {
    let mut s = host();
    s.begins().offers(2).sends([data(0), data(1)]);
    s.at(us(20)).receives(word(ack(1))).offers(1).sends([data(2)]);
    s.at(us(30)).receives(word(ack(0))).offers(1).sends([known(data(3))]);
}

// Sender: the end.

#[test]
fn an_empty_last_packet_ends_the_stream() {
    let mut s = host();
    s.begins().offers(1).ends().sends([data(0), last(1)]);
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1))]);
    s.reports([acked(us(20)), acked(us(20)), completed(2, 0, 0)]);
    assert_eq!(s.acknowledged(), None);
}

#[test]
fn a_stream_without_data_is_one_empty_packet() {
    let mut s = host();
    s.begins().ends();
    let sent = s.sent();
    assert_eq!((sent.len(), sent[0].packet.wire.get(), sent[0].packet.header), (1, CONTROL, last(0)));
    s.at(us(20)).receives(word(ack(0))).reports([acked(us(20)), completed(1, 0, 0)]);
}

#[test]
fn a_last_packet_with_payload_ends_the_stream_too() {
    let mut s = host();
    s.begins().does(|host, now| host.offer(now, THERE, CONN, 5, true)).sends([last(0)]);
    s.at(us(20)).receives(word(ack(0))).reports([acked(us(20)), completed(1, 0, 0)]);
}

#[test]
fn an_empty_last_packet_is_repeated_until_it_is_acknowledged() {
    let mut s = idle();
    s.at(ms(1)).ends().sends([last(4)].map(pulled));
    s.at(ms(3)).sends([unasked(last(4))]);
    s.receives(word(nack_pull(4, 5))).sends([last(4)]);
    s.at(us(3_020)).receives(word(ack(4)));
    assert_eq!(s.reported().last(), Some(&completed(7, 2, 1)));
}

#[test]
fn nothing_follows_the_last_packet() {
    let mut s = host();
    s.begins().offers(1).ends().offers(3).ends().sends([data(0), last(1)]);
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1))]);
    s.reports([acked(us(20)), acked(us(20)), completed(2, 0, 0)]);
    s.offers(1).ends().sends_nothing().reports([]);
}

#[test]
fn what_is_acknowledged_is_counted_without_gaps() {
    let mut s = host();
    s.begins().offers(3);
    s.at(us(20)).receives(word(ack(1)));
    assert_eq!(s.acknowledged(), Some(0));
    s.receives(word(ack(0)));
    assert_eq!(s.acknowledged(), Some(2));
}

#[test]
fn an_abandoned_stream_is_forgotten_and_its_number_rests() {
    let mut s = host();
    s.begins().offers(9).sent();
    s.does(|host, now| host.abandon(now, THERE, CONN));
    s.at(us(20)).receives_all([word(ack_pull(0, 1)), word(pull(4))]).sends_nothing().reports([]);
    assert!(s.open_flows().is_empty());
    s.begins();
    assert!(matches!(s.reported()[..], [Event::Failed { to: THERE, conn: CONN, .. }]));
    s.at(ms(6_000)).begins().offers(1).sends([data(0)]).reports([]);
}

#[test]
fn a_number_in_use_is_refused_and_the_stream_goes_on() {
    let mut s = host();
    s.begins().offers(1).begins().opens(flow(1));
    let reported = s.reported();
    assert!(matches!(reported[..], [Event::Failed { .. }, Event::Failed { .. }]), "{reported:?}");
    s.offers(1).sends([data(0), data(1)]);
}

#[test]
fn reports_of_equal_numbers_say_to_whom() {
    let mut s = host();
    let elsewhere = pullnet_transport::HostAddr(3);
    s.begins().ends().does(|host, now| {
        host.open_stream(now, FlowSpec { to: elsewhere, ..flow(0) });
        host.offer(now, elsewhere, CONN, 0, true);
    });
    s.at(us(20)).receives(word(ack(0)).from(elsewhere));
    let reported = s.reported();
    assert!(
        matches!(reported[..], [Event::Acked { to, .. }, Event::Completed { to: whose, .. }] if to == elsewhere && whose == elsewhere)
    );
    assert_eq!(s.acknowledged(), Some(0));
}

// Sender: signs of life.

#[test]
fn an_idle_stream_asks_for_signs_of_life_and_lives_as_long_as_they_come() {
    let mut s = idle();
    // One in every quarter of 5 s.
    assert_eq!(lives(&mut s, 1..60_000), 47);
    s.reports([]);
    s.offers(5).sends((4..8).map(data));
}

#[test]
fn an_idle_stream_finds_out_that_its_receiver_is_dead() {
    let mut s = idle();
    s.at(ms(5_000)).reports([]);
    s.at(ms(5_001));
    let reported = s.reported();
    assert!(
        matches!(
            reported[..],
            [Event::Failed { to: THERE, conn: CONN, reason: FailureReason::ReceiverSilent, .. }]
        ),
        "{reported:?}"
    );
    // It did not rely on one question.
    assert!(s.sent().iter().filter(|sent| is_probe(sent)).count() >= 16);
}

#[test]
fn a_held_sender_asks_less_and_less_and_never_fails() {
    let mut s = host();
    s.begins().offers(9).sent();
    s.at(us(20)).receives_all((0..4).map(|seq| word(ack(seq))));
    let mut probes = Vec::new();
    for tick in 1..60_000 {
        s.at(ms(tick));
        for sent in s.sent() {
            assert!(is_probe(&sent), "nothing is pulled");
            probes.push(sent.at);
            s.receives(word(ack(3)));
        }
    }
    assert!(!s.reported().iter().any(|event| matches!(event, Event::Failed { .. })));
    // Seven a second at most, once it has backed off.
    assert!(probes.len() < 450, "{} in a minute", probes.len());
    assert!(probes[1].since(probes[0]) < ms(20) && probes[20].since(probes[19]) >= ms(150));
    s.receives(word(pull(1))).sends([data(4)]);
}

// Receiver: empty packets.

#[test]
fn an_empty_packet_is_delivered_under_its_number() {
    let mut s = plain();
    s.receives(full(data(0))).receives(full(last(1)).long(CONTROL)).sends([ack(0), ack(1)]);
    s.reports([OPENED, delivered(0, MTU), delivered(1, 0), RECEIVED]);
}

#[test]
fn an_empty_packet_does_not_hurry_pulls_for_others() {
    let mut s = plain();
    s.receives_all([header(data(0)), header(data(1)), header(data(2))]);
    s.receives(full(last(3)).long(CONTROL)).sent();
    s.at(us(100));
    let at: Vec<_> = s.sent().iter().map(|sent| sent.at).collect();
    assert_eq!(at.len(), 3);
    assert!(at.windows(2).all(|pair| pair[1].since(pair[0]) == PACE), "{at:?}");
}

// Receiver: back-pressure.

#[test]
fn a_held_receiver_answers_and_pulls_after_the_release() {
    let mut s = plain();
    s.receives(full(data(0))).sends([ack(0)]).reports([OPENED, delivered(0, MTU)]);
    s.holds().receives(header(data(1))).sends([nack(1)]);
    // Data pushed or pulled before still arrives.
    s.at(ms(5)).receives(full(data(2))).sends([ack(2)]).reports([delivered(2, MTU)]);
    s.at(ms(10)).sends_nothing();
    s.releases();
    s.at(ms(11)).sends([pull(1), pull(2), pull(3)]);
}

#[test]
fn a_held_receiver_puts_no_pull_on_its_answers() {
    let mut s = host();
    s.receives(full(data(0))).sends([ack_pull(0, 1)]);
    s.at(ms(1)).holds().receives(full(data(1))).sends([ack(1)]);
    s.at(ms(2)).releases();
    s.at(ms(3)).sends([pull(2)]);
    s.receives(full(data(2))).sends([ack_pull(2, 3)]);
}

#[test]
fn pulls_of_a_held_connection_do_not_delay_others() {
    let mut s = plain();
    s.receives_all((0..4).map(|seq| header(data(seq)))).receives(header(other(data(0)))).sent();
    s.holds().at(us(1));
    assert_eq!(pulled_of(&s.sent()), [OTHER]);
    s.at(ms(1)).sends_nothing();
}

#[test]
fn released_pulls_take_turns_with_those_of_others() {
    let mut s = plain();
    s.receives_all((0..3).map(|seq| header(data(seq)))).holds();
    s.receives_all((0..3).map(|seq| header(other(data(seq))))).releases();
    s.sent();
    s.at(ms(1));
    assert_eq!(pulled_of(&s.sent()), [OTHER, CONN, OTHER, CONN, OTHER, CONN]);
}

#[test]
fn holding_and_releasing_twice_is_doing_so_once() {
    let mut s = plain();
    s.receives_all([header(data(0)), header(data(1))]).holds().holds().sent();
    s.at(ms(1)).sends_nothing();
    s.releases().releases();
    s.at(ms(2)).sends([pull(1), pull(2)]);
    assert!(s.deadline().is_some_and(|deadline| deadline.timer != TimerKind::PullPacer));
}

#[test]
fn released_pulls_keep_their_pace() {
    let mut s = plain();
    s.receives_all((0..3).map(|seq| header(data(seq)))).holds().sent();
    s.at(ms(1)).releases();
    s.at(ms(2));
    let at: Vec<_> = s.sent().iter().map(|sent| sent.at.since(pullnet_units::Instant::ZERO)).collect();
    assert_eq!(at, [ms(1), ms(1).saturating_add(PACE), ms(1).saturating_add(PACE).saturating_add(PACE)]);
}

#[test]
fn the_last_packet_leaves_a_held_receiver_pulls_for_what_is_missing() {
    let mut s = plain();
    s.receives(full(data(0))).holds().sent();
    s.receives_all([full(data(1)), header(data(2)), full(last(3))]).sends([ack(1), nack(2), ack(3)]);
    // Four packets earned pulls, one is missing.
    s.at(ms(1)).releases();
    s.at(ms(2)).sends([pull(1)]);
    s.receives(full(data(2)));
    assert_eq!(s.reported().last(), Some(&RECEIVED));
}

#[test]
fn a_held_receiver_can_become_complete() {
    let mut s = plain();
    s.receives(full(data(0))).holds().receives(full(last(1)).long(CONTROL));
    assert_eq!(s.reported().last(), Some(&RECEIVED));
    s.releases();
    s.at(ms(1)).sends([ack(0), ack(1)]);
}

#[test]
fn probes_of_a_held_receiver_are_answered_and_earn_one_pull() {
    let mut s = plain();
    s.receives(header(data(0)));
    s.at(us(20)).holds().sent();
    s.at(ms(5)).receives(word(probe(0))).sends([nack(0)]);
    s.at(ms(10)).receives_all([word(probe(0)), word(probe(0))]).sends([nack(0), nack(0)]);
    // The pull before was lost, for all that the receiver knows.
    s.releases().at(ms(11)).sends([pull(2)]);
}

// Receiver: other wishes.

#[test]
fn a_preferred_connection_goes_first_whatever_the_sender_asks_for() {
    let mut s = plain();
    let urgent =
        |seq| NdpHeader::Data { conn: OTHER, seq, syn: true, last: false, pulled: false, priority: 5 };
    s.receives_all([header(data(0)), header(data(1)), header(urgent(0)), header(urgent(1))]).sent();
    s.does(|host, _| host.prefer(0, 9));
    s.receives(header(data(2))).sent();
    s.at(ms(1));
    assert_eq!(pulled_of(&s.sent()), [CONN, CONN, CONN, OTHER, OTHER]);
}

#[test]
fn a_receiver_remembers_a_stream_that_only_shows_that_it_is_alive() {
    let mut s = plain();
    s.receives(full(data(0))).reported();
    for second in 1..60 {
        s.at(ms(1000 * second)).receives(word(probe(0)));
    }
    s.sent();
    s.receives(full(known(data(1)))).sends([ack(1)]).reports([delivered(1, MTU)]);
}

#[test]
fn a_dismissed_connection_is_not_answered_and_not_opened_again() {
    let mut s = plain();
    s.receives_all([full(data(0)), header(data(1))]).sent();
    s.dismisses().reported();
    // Its pulls are gone.
    s.at(ms(1)).sends_nothing();
    s.receives_all([full(data(2)), word(probe(1))]).sends_nothing().reports([STRAY, STRAY]);
    s.at(ms(5_000)).receives(full(data(3))).sends_nothing().reports([STRAY]);
    // It is remembered for as long as its sender may still repeat packets (and a 64th of that), and no longer.
    s.at(ms(10_000)).receives(full(data(0))).sends_nothing().reports([STRAY]);
    s.at(ms(10_000 + 5_050 + 79));
    assert_eq!(s.deadline(), None);
    s.receives(full(data(0))).reports([OPENED, delivered(0, MTU)]);
}

#[test]
fn a_slot_without_a_connection_has_nothing_to_hold_or_dismiss() {
    let mut s = plain();
    s.holds().releases().dismisses().does(|host, _| host.prefer(3, 1)).sends_nothing().reports([]);
    s.receives(full(data(0))).dismisses().holds().dismisses().reported();
    s.receives(full(other(data(0))))
        .reports([Event::Opened { slot: 0, peer: THERE, conn: OTHER }, delivered(0, MTU)]);
    s.sent();
    s.at(ms(1));
    assert_eq!(pulled_of(&s.sent()), [OTHER]);
}

#[test]
fn a_receiver_says_when_it_forgets_a_silent_sender() {
    let mut s = plain();
    s.receives(full(data(0))).sends([ack(0)]).reports([OPENED, delivered(0, MTU)]);
    s.at(ms(9_999)).reports([]);
    s.at(ms(10_100)).reports([Event::Silent { slot: 0 }]);
    assert_eq!(s.deadline(), None);
}

#[test]
fn what_is_received_or_dismissed_is_remembered_for_a_while() {
    let remembers = |s: &mut Script<NdpEndpoint>| {
        let mut remembers = false;
        s.does(|host, _| remembers = host.remembers(THERE, CONN));
        remembers
    };
    for (packet, dismissed) in [(last(0), false), (data(0), true)] {
        let mut s = plain();
        assert!(!remembers(&mut s));
        s.receives(full(packet));
        if dismissed {
            s.dismisses();
        }
        assert!(remembers(&mut s));
        s.at(ms(60_000));
        assert!(!remembers(&mut s));
    }
}
