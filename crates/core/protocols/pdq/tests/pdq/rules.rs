//! PDQ's hosts, packet by packet, in the order of the README.

use pullnet_pdq::{Ask, Pdq, PdqConfig, PdqEndpoint, PdqHeader, Reply};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, CumulativeAck, DataPacket, Event, FlowSpec, HostAddr, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

const HERE: HostAddr = HostAddr(1);
const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);
/// 1444 B of payload and 56 B at 1 Gb/s: 12 us. Rates are in units of 100 kb/s.
const LINK: u32 = 10_000;
/// A packet's time in units of 10 ns.
const PACKET: u32 = 1_200;

fn host() -> Script<PdqEndpoint> {
    let info = HostInfo { addr: HERE, rate: BitsPerSec::gbps(1) };
    let config = PdqConfig { give_up: Picos::from_millis(50), ..PdqConfig::default() };
    Script::new(Pdq::endpoint(&config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64, deadline: Option<Picos>) -> FlowSpec {
    let deadline = deadline.map(|after| Instant(after.0));
    let size = Some(Bytes(packets * 1444));
    FlowSpec { conn: CONN, to: THERE, size, deadline, ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// Question `number` of a flow with `left` packets left and a round trip of `rtt` microseconds.
fn ask(number: u8, left: u32, rtt: u32) -> Ask {
    let rounds = (left * 12 * 100 / rtt) as u16;
    let deadline = (1 << 48) - 1;
    Ask { number, from: HERE, offered: LINK, deadline, work: left * PACKET, rounds, ..Ask::default() }
}

fn probe(ask: Ask) -> PdqHeader {
    PdqHeader::Probe { conn: CONN, given_up: false, ask }
}

fn data(seq: u32, of: u32, ask: Ask) -> PdqHeader {
    PdqHeader::Data { data: DataPacket { conn: CONN, seq, last: seq + 1 == of }, ask }
}

fn arrives(header: PdqHeader) -> Arriving<PdqHeader> {
    Arriving::new(THERE, if matches!(header, PdqHeader::Data { .. }) { 1500 } else { 56 }, header)
}

fn acked(answers: Option<u32>, reply: Option<Reply>) -> Arriving<PdqHeader> {
    let ack = CumulativeAck { conn: CONN, cumulative: 0, answers, finished: false };
    arrives(PdqHeader::Ack { ack, reply })
}

fn rate(number: u8, rate: u32) -> Reply {
    Reply { number, rate, ..Reply::default() }
}

fn paused(number: u8, by: u8, probe_after: u16) -> Reply {
    Reply { number, rate: 0, paused_by: Some(by), probe_after }
}

#[test]
fn a_flow_probes_first_and_sends_at_the_rate_that_it_gets() {
    let mut s = host();
    s.opens(flow(100, None)).sends([probe(ask(1, 100, 200))]);
    s.at(us(99)).sends_nothing();
    // Half of the link rate: a packet every 24 us. Every packet says how fast the flow sends, and what is left after it.
    let sending = |left| Ask { sending: LINK / 2, ..ask(1, left, 100) };
    s.at(us(100)).receives(acked(None, Some(rate(1, LINK / 2)))).sends([data(0, 100, sending(99))]);
    s.at(us(123)).sends_nothing();
    s.at(us(124)).sends([data(1, 100, sending(98))]);
    // The answer to a data packet changes the rate at once.
    s.at(us(130)).receives(acked(None, Some(rate(1, LINK)))).sends_nothing();
    s.at(us(136)).sends([data(2, 100, Ask { sending: LINK, ..ask(1, 97, 100) })]);
}

#[test]
fn a_paused_flow_probes_as_rarely_as_the_switch_demands() {
    let mut s = host();
    s.opens(flow(100, None)).sends([probe(ask(1, 100, 200))]);
    let by_first = |number| Ask { paused_by: Some(0), ..ask(number, 100, 100) };
    s.at(us(100)).receives(acked(None, Some(paused(1, 0, 250)))).sends_nothing();
    s.at(us(249)).sends_nothing();
    s.at(us(250)).sends([probe(by_first(2))]);
    // Without an answer the interval doubles with every probe from the second one on.
    s.at(us(500)).sends([probe(by_first(3))]);
    s.at(us(999)).sends_nothing();
    s.at(us(1_000)).sends([probe(by_first(4))]);
    // Not more often than once per round trip, which is 93.75 us with this sample.
    s.at(us(1_050)).receives(acked(None, Some(paused(4, 0, 40)))).sends_nothing();
    s.at(us(1_093)).sends_nothing();
    s.at(us(1_094));
    assert_eq!(s.sent().len(), 1);
}

#[test]
fn switches_before_the_one_that_pauses_are_told_at_once() {
    let mut s = host();
    s.opens(flow(100, None)).sends([probe(ask(1, 100, 200))]);
    s.at(us(50)).receives(acked(None, Some(paused(1, 2, 0))));
    let told = |number| Ask { paused_by: Some(2), ..ask(number, 100, 50) };
    s.sends([probe(told(2))]);
    // They know now: the next answer of the same switch causes no probe.
    s.at(us(90)).receives(acked(None, Some(paused(2, 2, 500)))).sends_nothing();
}

#[test]
fn the_last_packet_takes_the_flow_off_the_lists() {
    let mut s = host();
    s.opens(flow(2, None)).sends([probe(ask(1, 2, 200))]);
    let sending = |left| Ask { sending: LINK, ..ask(1, left, 100) };
    s.at(us(100)).receives(acked(None, Some(rate(1, LINK)))).sends([data(0, 2, sending(1))]);
    s.at(us(112)).sends([data(1, 2, Ask { ends: true, ..sending(0) })]);
    // An answer from before the end does not let it send.
    s.at(us(200)).receives(acked(Some(0), Some(rate(1, LINK)))).sends_nothing();
    s.at(us(212)).receives(acked(Some(1), None)).sends_nothing();
    assert!(s.reported().iter().any(|event| matches!(event, Event::Completed { .. })));
}

#[test]
fn a_lost_last_packet_needs_a_new_turn() {
    let mut s = host();
    s.opens(flow(2, None));
    s.at(us(100)).receives(acked(None, Some(rate(1, LINK))));
    s.at(us(200)).receives(acked(Some(0), None)).sent();
    // It left at 112 us and counts as lost after 2 ms.
    s.at(us(2_111)).sends_nothing();
    s.at(us(2_112)).sends([probe(ask(3, 1, 100))]);
    s.receives(acked(None, Some(rate(3, LINK))));
    s.sends([data(1, 2, Ask { ends: true, sending: LINK, ..ask(3, 0, 87) })]);
}

#[test]
fn a_flow_without_answers_stops_and_probes() {
    let mut s = host();
    s.opens(flow(10_000, None));
    s.at(us(100)).receives(acked(None, Some(rate(1, LINK))));
    s.at(us(2_099));
    let sent = s.sent();
    assert!(sent.len() > 160, "{}", sent.len());
    // The next packet would leave at 2104 us. The probe leaves a round trip after the latest packet that asked.
    s.at(us(2_191)).sends_nothing();
    s.at(us(2_192));
    let sent: Vec<_> = s.sent().into_iter().map(|sent| sent.packet.header).collect();
    assert!(matches!(sent[..], [PdqHeader::Probe { ask: Ask { sending: 0, .. }, .. }]), "{sent:?}");
    // The answer to an earlier packet arrives late: it is not what the switches say now.
    s.at(us(2_193)).receives(acked(Some(0), Some(rate(1, LINK)))).sends_nothing();
}

#[test]
fn a_flow_that_cannot_be_in_time_gives_up() {
    let fails = |s: &mut Script<PdqEndpoint>| {
        let sent = s.sent().last().map(|sent| sent.packet.header);
        let told = matches!(sent, Some(PdqHeader::Probe { given_up: true, ask: Ask { ends: true, .. }, .. }));
        told && s.reported().iter().any(|event| matches!(event, Event::Failed { .. }))
    };
    // 100 packets take 1.2 ms.
    let mut s = host();
    s.opens(flow(100, Some(us(1_300)))).at(us(100));
    assert!(!fails(&mut s));
    s.at(us(101));
    assert!(fails(&mut s));
    // A paused flow gives up when its deadline is closer than a round trip, measured as 90 us.
    let mut s = host();
    s.opens(flow(1, Some(us(300)))).at(us(90)).receives(acked(None, Some(paused(1, 0, 0))));
    s.at(us(210));
    assert!(!fails(&mut s));
    s.at(us(211));
    assert!(fails(&mut s));
}

#[test]
fn the_receiver_echoes_the_answer_up_to_its_own_rate() {
    let mut s = host();
    let asked = Ask { offered: 3 * LINK, ..ask(9, 10, 100) };
    s.receives(arrives(data(0, 10, asked)));
    let ack = CumulativeAck { conn: CONN, cumulative: 1, answers: Some(0), finished: false };
    let ack = |reply| PdqHeader::Ack { ack, reply: Some(reply) };
    s.sends([ack(rate(9, LINK))]);
    s.receives(arrives(data(0, 10, Ask { paused_by: Some(1), offered: 0, probe_after: 60, ..asked })));
    s.sends([ack(paused(9, 1, 60))]);
}
