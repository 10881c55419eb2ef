//! Streams: data that becomes known piece by piece, to receivers that may be slow.

mod common;

use common::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint};
use pullnet_transport::script::Script;
use pullnet_transport::{Event, SendCounts, Streaming};
use pullnet_units::Picos;

const OPENED: Event = Event::Opened { slot: 0, peer: THERE, conn: CONN };
const STRAY: Event = Event::Stray { peer: THERE, conn: CONN };

/// What the application does, as steps of a script.
trait Application {
    fn begins(&mut self) -> &mut Self;
    /// Offers so many full packets.
    fn offers(&mut self, packets: u32) -> &mut Self;
    /// Offers a packet of so many bytes.
    fn offers_short(&mut self, payload: u16) -> &mut Self;
    /// Offers an empty last packet.
    fn ends(&mut self) -> &mut Self;
    fn holds(&mut self, held: bool) -> &mut Self;
    fn dismisses(&mut self) -> &mut Self;
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

    fn holds(&mut self, held: bool) -> &mut Self {
        self.does(|host, now| host.hold(now, 0, held))
    }

    fn dismisses(&mut self) -> &mut Self {
        self.does(|host, now| host.dismiss(now, 0))
    }
}

/// A host whose pulls never ride on answers.
fn plain() -> Script<NdpEndpoint> {
    host_with(&NdpConfig { piggyback: false, ..config() })
}

fn acked(latency: Picos) -> Event {
    Event::Acked { to: THERE, conn: CONN, latency }
}

fn delivered(seq: u32, bytes: u32) -> Event {
    Event::Delivered { slot: 0, seq, bytes }
}

// Sender: the first window.

#[test]
fn nothing_leaves_before_something_is_offered() {
    let mut s = host();
    s.begins().sends_nothing();
    s.at(ms(60_000)).sends_nothing().reports([]);
    assert_eq!(s.deadline(), None);
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
    let wires: Vec<_> = s.sent().iter().map(|sent| sent.packet.wire).collect();
    assert_eq!(wires, [CONTROL + 1, FULL, CONTROL + 300]);
    // Also when they are sent again.
    s.at(us(20)).receives(word(nack_pull(2, 1)));
    assert_eq!(s.sent()[0].packet.wire, CONTROL + 300);
}

#[test]
fn an_idle_stream_keeps_its_window_and_no_more() {
    let mut s = host();
    s.begins().offers(4).sent();
    s.at(us(20)).receives_all((0..4).map(|seq| word(ack_pull(seq, seq + 1)))).sends_nothing();
    // Later data is pushed again: a whole window at once, and the rest on pulls.
    s.at(ms(100)).offers(6).sends((4..8).map(data));
    s.at(us(100_020)).receives(word(ack_pull(4, 5))).sends([data(8)]);
}

#[test]
fn pulls_without_data_do_not_pile_up() {
    let mut s = host();
    s.begins().offers(2).sent();
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1)), word(pull(60))]).sends_nothing();
    // Two of the first window were left, two were pulled.
    s.at(ms(1)).offers(9).sends([data(2), data(3), data(4), data(5)]);
}

#[test]
fn an_empty_last_packet_ends_the_stream() {
    let mut s = host();
    s.begins().offers(1).ends().sends([data(0), last(1)]);
    s.at(us(20)).receives_all([word(ack(0)), word(ack(1))]);
    let counts = SendCounts { sent: 2, again: 0, timeouts: 0 };
    s.reports([acked(us(20)), acked(us(20)), Event::Completed { to: THERE, conn: CONN, counts }]);
}

// Receiver: back-pressure.

#[test]
fn a_held_receiver_answers_and_pulls_after_the_release() {
    let mut s = plain();
    s.receives(full(data(0))).sends([ack(0)]).reports([OPENED, delivered(0, MTU as u32)]);
    s.holds(true).receives(header(data(1))).sends([nack(1)]);
    s.at(ms(10)).sends_nothing();
    s.holds(false);
    s.at(ms(11)).sends([pull(1), pull(2)]);
}

#[test]
fn a_dismissed_connection_is_not_answered_and_not_opened_again() {
    let mut s = plain();
    s.receives_all([full(data(0)), header(data(1))]).sent();
    s.reported();
    s.dismisses();
    s.at(ms(1)).receives_all([full(data(2)), word(probe(1))]).sends_nothing().reports([STRAY, STRAY]);
    s.at(ms(60_000));
    assert_eq!(s.deadline(), None);
}

#[test]
fn a_receiver_says_when_it_forgets_a_silent_sender() {
    let mut s = plain();
    s.receives(full(data(0))).sends([ack(0)]).reports([OPENED, delivered(0, MTU as u32)]);
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
