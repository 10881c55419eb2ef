//! Go-back-N word by word, in the order of the README.

use pullnet_go_back_n::{GoBackN, GoBackNConfig, GoBackNEndpoint, GoBackNHeader};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, DataPacket, Event, FailureReason, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts,
};
use pullnet_units::{BitsPerSec, Bytes, PacketSeq, Packets, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn host() -> Script<GoBackNEndpoint> {
    let config =
        GoBackNConfig { mtu: Bytes(1000), window: Packets(3), retries: 2, ..GoBackNConfig::default() };
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    Script::new(GoBackN::endpoint(&config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1000)), ..FlowSpec::default() }
}

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

fn data(seq: u32) -> GoBackNHeader {
    GoBackNHeader::Data(DataPacket { conn: CONN, seq, last: false })
}

fn last(seq: u32) -> GoBackNHeader {
    GoBackNHeader::Data(DataPacket { conn: CONN, seq, last: true })
}

fn ack(next: u32, answers: u32) -> GoBackNHeader {
    GoBackNHeader::Ack { conn: CONN, next, answers }
}

/// A packet as it arrives, full if it is data.
fn arrives(header: GoBackNHeader) -> Arriving<GoBackNHeader> {
    let wire = if matches!(header, GoBackNHeader::Data(..)) { 1064 } else { 64 };
    Arriving::new(THERE, wire, header)
}

#[test]
fn the_window_slides_with_the_acks() {
    let mut s = host();
    s.opens(flow(6)).sends([data(0), data(1), data(2)]);
    s.at(us(10)).receives(arrives(ack(1, 0))).sends([data(3)]);
    s.receives(arrives(ack(3, 2))).sends([data(4), last(5)]);
    s.receives(arrives(ack(6, 5))).sends_nothing();
    let counts = SendCounts { sent: 6, again: 0, timeouts: 0 };
    assert_eq!(s.reported().last(), Some(&Event::Completed { to: THERE, conn: CONN, counts }));
}

#[test]
fn a_timeout_goes_back_to_the_oldest_packet() {
    let mut s = host();
    s.opens(flow(6)).sends([data(0), data(1), data(2)]);
    s.at(us(10)).receives(arrives(ack(1, 0))).sends([data(3)]);
    s.at(us(1009)).sends_nothing();
    s.at(us(1010)).sends([data(1), data(2), data(3)]);
    assert!(s.reported().contains(&Event::TimedOut { to: THERE, conn: CONN, seq: PacketSeq::new(1) }));
}

#[test]
fn an_ack_for_packets_that_left_before_the_timeout_counts() {
    let mut s = host();
    s.opens(flow(6)).sent();
    s.at(us(1000)).sends([data(0), data(1), data(2)]);
    s.at(us(1001)).receives(arrives(ack(3, 2))).sends([data(3), data(4), last(5)]);
}

#[test]
fn acks_that_are_old_or_of_packets_never_sent_change_nothing() {
    let mut s = host();
    s.opens(flow(6)).sent();
    s.at(us(10)).receives(arrives(ack(2, 1))).sends([data(3), data(4)]);
    s.receives(arrives(ack(1, 0)))
        .receives(arrives(ack(6, 5)))
        .receives(arrives(ack(u32::MAX, 0)))
        .sends_nothing();
}

#[test]
fn a_receiver_takes_packets_in_order_and_answers_all() {
    let mut s = host();
    s.receives(arrives(data(0))).sends([ack(1, 0)]);
    s.receives(arrives(data(2))).sends([ack(1, 2)]);
    s.receives(arrives(data(1))).sends([ack(2, 1)]);
    s.receives(arrives(data(1))).sends([ack(2, 1)]);
    s.reports([
        Event::Opened { slot: 0, peer: THERE, conn: CONN },
        Event::Delivered { slot: 0, seq: PacketSeq::new(0), bytes: 1000 },
        Event::Delivered { slot: 0, seq: PacketSeq::new(1), bytes: 1000 },
    ]);
}

#[test]
fn a_late_packet_of_an_ended_connection_is_answered_and_opens_nothing() {
    let mut s = host();
    s.receives_all([arrives(data(0)), arrives(last(1))]).sends([ack(1, 0), ack(2, 1)]);
    s.reported();
    s.receives_all([arrives(data(0)), arrives(last(1))]).sends([ack(1, 0), ack(2, 1)]);
    s.reports([]);
}

#[test]
fn a_flow_to_a_dead_host_fails_and_its_receiver_forgets_it() {
    let mut s = host();
    s.opens(flow(1)).at(us(3000));
    let counts = SendCounts { sent: 3, again: 2, timeouts: 3 };
    let failed = Event::Failed { to: THERE, conn: CONN, reason: FailureReason::ReceiverSilent, counts };
    assert_eq!(s.reported().last(), Some(&failed));

    let mut s = host();
    s.receives(arrives(data(0))).reported();
    s.at(us(6000)).reports([Event::Silent { slot: 0 }]);
}
