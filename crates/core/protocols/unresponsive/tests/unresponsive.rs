//! Unresponsive hosts word by word, in the order of the README.

use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, DataPacket, Event, FailureReason, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};
use pullnet_unresponsive::{Unresponsive, UnresponsiveConfig, UnresponsiveEndpoint, UnresponsiveHeader};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn config() -> UnresponsiveConfig {
    let (rate, give_up) = (Some(BitsPerSec::gbps(1)), Picos::from_millis(50));
    UnresponsiveConfig { mtu: Bytes(936), rate, give_up, ..UnresponsiveConfig::default() }
}

fn host(config: &UnresponsiveConfig) -> Script<UnresponsiveEndpoint> {
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    Script::new(Unresponsive::endpoint(config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 936)), ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

fn data(seq: u32) -> UnresponsiveHeader {
    UnresponsiveHeader::Data(DataPacket { conn: CONN, seq, last: false })
}

fn last(seq: u32) -> UnresponsiveHeader {
    UnresponsiveHeader::Data(DataPacket { conn: CONN, seq, last: true })
}

fn ack(seq: u32, cumulative: u32) -> UnresponsiveHeader {
    UnresponsiveHeader::Ack { conn: CONN, seq, cumulative, finished: false }
}

fn finished(seq: u32, cumulative: u32) -> UnresponsiveHeader {
    UnresponsiveHeader::Ack { conn: CONN, seq, cumulative, finished: true }
}

/// A packet as it arrives, full if it is data.
fn arrives(header: UnresponsiveHeader) -> Arriving<UnresponsiveHeader> {
    let wire = if matches!(header, UnresponsiveHeader::Data(..)) { 1000 } else { 64 };
    Arriving::new(THERE, wire, header)
}

#[test]
fn packets_leave_at_the_rate_whatever_is_heard() {
    let mut s = host(&config());
    s.opens(flow(100)).sends([data(0)]);
    // 1000 B at 1 Gb/s are 8 us.
    s.at(us(7)).sends_nothing();
    s.at(us(8)).sends([data(1)]);
    s.receives(arrives(data(0)).trimmed()).receives(arrives(data(1)).returned()).sends_nothing();
    s.at(us(16)).receives(arrives(ack(0, 1))).sends([data(2)]);
    s.at(us(80)).sends((3..=10).map(data));
    let times: Vec<_> = s.at(us(160)).sent().iter().map(|sent| sent.at).collect();
    assert_eq!(times, (11..=20).map(|n| Instant::ZERO.after(us(8 * n))).collect::<Vec<_>>());
}

#[test]
fn a_flow_begins_within_its_phase_and_keeps_it() {
    let mut s = host(&UnresponsiveConfig { phase: us(8), ..config() });
    let times: Vec<_> = s.opens(flow(100)).at(us(80)).sent().iter().map(|sent| sent.at).collect();
    let begin = times[0].since(Instant::ZERO);
    assert!(begin > Picos::ZERO && begin < us(8), "{begin:?}");
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == us(8)));
}

#[test]
fn without_a_rate_the_link_is_the_limit() {
    let mut s = host(&UnresponsiveConfig { rate: None, ..config() });
    s.opens(flow(5)).sends([data(0), data(1), data(2), data(3), last(4)]);
}

#[test]
fn what_is_missing_is_repeated_after_the_last_new_packet_in_the_order_of_departure() {
    let mut s = host(&config());
    s.opens(flow(5)).at(us(32)).sends([data(0), data(1), data(2), data(3), last(4)]);
    s.receives_all([ack(0, 1), ack(3, 1)].map(arrives)).at(us(10_007)).sends_nothing();
    // 10 ms after packet 1 left, and no faster than the rate.
    s.at(us(10_008)).sends([data(1)]);
    s.at(us(10_016)).sends([data(2)]);
    s.receives(arrives(ack(1, 2))).at(us(10_032)).sends([last(4)]);
    s.at(us(20_015)).sends_nothing();
    s.at(us(20_016)).sends([data(2)]);
    s.receives(arrives(finished(2, 5))).at(us(90_000)).sends_nothing();
    let counts = SendCounts { sent: 9, again: 4, timeouts: 4 };
    assert_eq!(s.reported().last(), Some(&Event::Completed { to: THERE, conn: CONN, counts }));
}

#[test]
fn a_flow_without_any_ack_fails() {
    let mut s = host(&config());
    s.opens(flow(1)).at(us(49_999));
    let failed = |event: &Event| matches!(event, Event::Failed { reason: FailureReason::ReceiverSilent, .. });
    assert!(!s.reported().iter().any(failed));
    assert!(s.at(us(50_000)).reported().iter().any(failed));
    assert!(s.open_flows().is_empty());
}

#[test]
fn a_receiver_takes_packets_in_any_order_once_and_opens_with_any() {
    let mut s = host(&config());
    s.receives(arrives(data(2))).sends([ack(2, 0)]);
    s.receives(arrives(data(2))).sends([ack(2, 0)]);
    s.receives(arrives(data(0)).trimmed()).sends_nothing();
    s.receives(arrives(data(0))).sends([ack(0, 1)]);
    s.receives(arrives(last(3))).sends([ack(3, 1)]);
    s.receives(arrives(data(1))).sends([finished(1, 4)]);
    // The last ACK was lost.
    s.receives(arrives(last(3))).sends([finished(3, 4)]);
    let delivered = |event: &Event| matches!(event, Event::Delivered { .. });
    assert_eq!(s.reported().iter().filter(|event| delivered(event)).count(), 4);
}

#[test]
fn acks_of_packets_that_were_never_sent_are_ignored() {
    let mut s = host(&config());
    s.opens(flow(5)).sends([data(0)]);
    s.receives_all([ack(1, 0), ack(0, 2), finished(0, 5)].map(arrives));
    assert_eq!(s.open_flows()[0].bytes, 0);
    s.receives(arrives(ack(0, 1)));
    assert_eq!(s.open_flows()[0].bytes, 936);
}
