//! D3's hosts, packet by packet, in the order of the README.

use std::collections::VecDeque;

use pullnet_d3::{Ask, D3, D3Config, D3Endpoint, D3Header, Grants, Late, MOST_HOPS, Rcp, RcpConfig};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, CumulativeAck, DataPacket, Event, FlowSpec, Grant, HostAddr, HostInfo, Protocol,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
/// 1440 B of payload and 60 B at 1 Gb/s: 12 us. Rates are in units of 100 kb/s.
const LINK: u32 = 10_000;

fn host(late: Late) -> Script<D3Endpoint> {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(1) };
    let config = D3Config { late, give_up: Picos::from_millis(50), ..D3Config::default() };
    Script::new(D3::endpoint(&config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64, deadline: Option<Picos>) -> FlowSpec {
    let deadline = deadline.map(|after| Instant(after.0));
    let size = Some(Bytes(packets * 1440));
    FlowSpec { conn: CONN, to: THERE, size, deadline, ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// Grants of two switches: the link rate and `rate`.
fn grants(rate: u32) -> Grants {
    let mut granted = [Grant::default(); MOST_HOPS];
    granted[0] = Grant { rate: LINK, epoch: 1 };
    granted[1] = Grant { rate, epoch: 1 };
    Grants { hops: 2, granted }
}

/// Rate request `number`. `back` holds the previous desired rate and the grant handed back.
fn ask(number: u8, desired: u32, back: Option<(u32, u32)>) -> Ask {
    let (before, rate) = back.unwrap_or_default();
    let held = back.map_or_else(Grants::default, |_| grants(rate));
    Ask { number, desired, before, ends: false, grants: Grants { hops: 0, ..held } }
}

fn request(ask: Ask) -> D3Header {
    D3Header::Request { conn: CONN, quenched: false, ask }
}

fn data(seq: u32, of: u32, ask: Option<Ask>) -> D3Header {
    D3Header::Data { data: DataPacket { conn: CONN, seq, last: seq + 1 == of }, ask }
}

fn arrives(header: D3Header) -> Arriving<D3Header> {
    Arriving::new(THERE, if matches!(header, D3Header::Data { .. }) { 1500 } else { 60 }, header)
}

/// The answer to request `number`, with a grant of `rate`.
fn granted(number: u8, rate: u32) -> Arriving<D3Header> {
    let reply = Some((number, grants(rate)));
    let ack = CumulativeAck { conn: CONN, cumulative: 0, answers: None, finished: false };
    arrives(D3Header::Ack { ack, reply })
}

fn ack_with(cumulative: u32, answers: Option<u32>, reply: Option<(u8, Grants)>) -> D3Header {
    let ack = CumulativeAck { conn: CONN, cumulative, answers, finished: false };
    D3Header::Ack { ack, reply }
}

fn ack(cumulative: u32, answers: u32) -> Arriving<D3Header> {
    arrives(ack_with(cumulative, Some(answers), None))
}

#[test]
fn a_flow_asks_first_and_sends_at_the_least_grant() {
    let mut s = host(Late::Quench);
    s.opens(flow(100, None)).sends([request(ask(1, 0, None))]);
    // A tenth of the link rate: a packet every 120 us. The first one leaves at once, with the next request.
    s.at(us(100)).receives(granted(1, LINK / 10)).sends([data(
        0,
        100,
        Some(ask(2, 0, Some((0, LINK / 10)))),
    )]);
    s.at(us(219)).sends_nothing();
    s.at(us(220)).sends([data(1, 100, None)]);
    // The answer arrives with an ACK and changes the rate at once.
    s.at(us(230)).receives(granted(2, LINK)).sends_nothing();
    s.at(us(232)).sends([data(2, 100, Some(ask(3, 0, Some((0, LINK)))))]);
}

#[test]
fn a_deadline_is_turned_into_a_rate() {
    let mut s = host(Late::Quench);
    // 100 packets of 1500 B in 2.4 ms minus two round trips, assumed to be 200 us each: 600 Mb/s.
    s.opens(flow(100, Some(us(2_400)))).sends([request(ask(1, 6_000, None))]);
    // The measured round trip is 100 us. The packet that carries the request leaves 99 packets for 2.3 ms minus 200 us.
    let desired = (99 * 1500 * 80_000_000u64).div_ceil(us(2_100).0) as u32;
    s.at(us(100)).receives(granted(1, 7_000)).sends([data(
        0,
        100,
        Some(ask(2, desired, Some((6_000, 7_000)))),
    )]);
}

#[test]
fn rcp_ignores_deadlines() {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(1) };
    let mut s = Script::new(Rcp::endpoint(&RcpConfig::default(), info, Seed(1).stream("test.transport", 1)));
    s.opens(flow(100, Some(us(10)))).sends([request(ask(1, 0, None))]);
    s.at(us(100)).receives(granted(1, LINK)).sends([data(0, 100, Some(ask(2, 0, Some((0, LINK)))))]);
}

#[test]
fn a_flow_without_a_rate_asks_again_after_an_interval() {
    let mut s = host(Late::Quench);
    s.opens(flow(100, None)).sends([request(ask(1, 0, None))]);
    s.at(us(60)).receives(granted(1, 0)).sends_nothing();
    s.at(us(99)).sends_nothing();
    s.at(us(100)).sends([request(ask(2, 0, Some((0, 0))))]);
}

#[test]
fn the_last_packet_hands_the_grants_back() {
    let mut s = host(Late::Quench);
    s.opens(flow(2, None)).sends([request(ask(1, 0, None))]);
    // The remaining data leaves within a round trip: no further request.
    s.at(us(100)).receives(granted(1, LINK)).sends([data(0, 2, None)]);
    let last = Ask { ends: true, ..ask(2, 0, Some((0, LINK))) };
    s.at(us(112)).sends([data(1, 2, Some(last))]);
    s.at(us(200)).receives(ack(1, 0)).receives(ack(2, 1)).sends_nothing();
    assert!(s.reported().iter().any(|event| matches!(event, Event::Completed { .. })));
}

#[test]
fn an_end_waits_for_the_answer_that_is_on_its_way() {
    let mut s = host(Late::Quench);
    s.opens(flow(20, None)).sends([request(ask(1, 0, None))]);
    s.at(us(100)).receives(granted(1, LINK)).sends([data(0, 20, Some(ask(2, 0, Some((0, LINK)))))]);
    s.at(us(400)).sends((1..20).map(|seq| data(seq, 20, None)));
    let end = Ask { ends: true, ..ask(3, 0, Some((0, 5))) };
    s.at(us(410)).receives(granted(2, 5)).sends([request(end)]);
}

#[test]
fn late_flows_are_quenched_as_soon_as_their_link_is_too_slow() {
    let mut s = host(Late::Quench);
    // 100 packets take 1.2 ms; there are 2 ms.
    s.opens(flow(100, Some(us(2_000)))).sends([request(ask(1, 7_500, None))]);
    s.at(us(100)).receives(granted(1, 0)).sends([request(ask(2, 7_059, Some((7_500, 0))))]);
    s.at(us(200)).receives(granted(2, 0)).sends([request(ask(3, 7_500, Some((7_059, 0))))]);
    s.at(us(300)).receives(granted(3, 0)).sends([request(ask(4, 8_000, Some((7_500, 0))))]);
    // The flow waits for the answer, which contains the grants to hand back.
    s.at(us(801)).sends_nothing();
    s.at(us(810)).receives(granted(4, 20)).at(us(811));
    let ask = Ask { ends: true, ..ask(5, 0, Some((8_000, 20))) };
    s.sends([D3Header::Request { conn: CONN, quenched: true, ask }]);
    let quenched = |event: &Event| matches!(event, Event::Failed { reason, .. } if reason.as_str().starts_with("quenched"));
    assert!(s.reported().iter().any(quenched));
}

#[test]
fn an_ask_without_an_answer_stops_the_flow_and_hands_nothing_back() {
    let mut s = host(Late::Quench);
    s.opens(flow(100, None)).sends([request(ask(1, 0, None))]);
    // A packet every 3 ms; the answer to the second request is lost. After 2 ms the flow sends a request without grants.
    s.at(us(100)).receives(granted(1, 40)).sends([data(0, 100, Some(ask(2, 0, Some((0, 40)))))]);
    s.at(us(2_099)).sends_nothing();
    s.at(us(2_100)).sends([request(ask(3, 0, None))]);
    // The packet that carried the second request is lost too, and is retransmitted.
    s.at(us(2_200)).receives(granted(3, LINK)).sends([data(0, 100, Some(ask(4, 0, Some((0, LINK)))))]);
}

#[test]
fn the_first_round_trip_may_be_longer_than_any_estimate() {
    let mut s = host(Late::Quench);
    s.opens(flow(100, None)).sends([request(ask(1, 0, None))]);
    s.at(us(2_000)).sends([request(ask(2, 0, None))]);
    // An answer to an earlier request is of no use: its grants are not handed back.
    s.at(us(4_500)).receives(granted(1, LINK)).sends_nothing();
    // The patience has doubled.
    s.at(us(5_999)).sends_nothing();
    s.at(us(6_000)).sends([request(ask(3, 0, None))]);
    s.at(us(10_500)).receives(granted(3, 40)).sends([data(0, 100, Some(ask(4, 0, Some((0, 40)))))]);
}

#[test]
fn a_flow_whose_answers_outlast_their_lease_fails_and_says_so() {
    let mut s = host(Late::Quench);
    s.opens(flow(100, None));
    let mut answers = VecDeque::new();
    for ms in 0..1_000 {
        for sent in s.at(us(ms * 1_000)).sent() {
            let D3Header::Request { ask, quenched: false, .. } = sent.packet.header else { break };
            answers.push_back((ms + 20, ask.number));
        }
        while let Some((_, number)) = answers.pop_front_if(|(at, _)| *at <= ms) {
            s.receives(granted(number, LINK));
        }
    }
    let late =
        |event: &Event| matches!(event, Event::Failed { reason, .. } if reason.as_str().contains("`lease`"));
    assert!(s.reported().iter().any(late));
}

#[test]
fn acks_repeat_the_latest_answer_and_show_when_a_request_is_lost() {
    let mut s = host(Late::Quench);
    s.receives(arrives(request(ask(1, 0, None)))).sends([ack_with(0, None, Some((1, Grants::default())))]);
    let answer = Some((2, grants(LINK)));
    let asked = Ask { grants: grants(LINK), ..ask(2, 0, None) };
    s.receives(arrives(data(0, 100, Some(asked)))).sends([ack_with(1, Some(0), answer)]);
    s.receives(arrives(data(1, 100, None))).sends([ack_with(2, Some(1), answer)]);

    let mut s = host(Late::Quench);
    s.opens(flow(100, None)).sends([request(ask(1, 0, None))]);
    let second = Some(ask(2, 0, Some((0, LINK))));
    s.at(us(100)).receives(granted(1, LINK)).sends([data(0, 100, second)]);
    s.at(us(112)).sends([data(1, 100, None)]);
    s.at(us(124)).sends([data(2, 100, None)]);
    let _ = s.at(us(211)).sent();
    // The packet with the second request is lost: the next one is answered with the first answer.
    s.at(us(212))
        .receives(arrives(ack_with(0, Some(1), Some((1, grants(LINK))))))
        .sends([request(ask(3, 0, None))]);
}
