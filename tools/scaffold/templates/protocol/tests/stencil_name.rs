//! stencil-name, packet by packet.

use pullnet_rng::Seed;
use pullnet_stencil_name::{StencilName, StencilNameConfig, StencilNameEndpoint, StencilNameHeader};
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{
    ConnId, DataPacket, Event, FailureReason, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts,
};
use pullnet_units::{BitsPerSec, Bytes, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn host() -> Script<StencilNameEndpoint> {
    let config = StencilNameConfig { mtu: Bytes(1000), retries: 2, ..StencilNameConfig::default() };
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    Script::new(StencilName::endpoint(&config, info, Seed(1).stream("test.transport", 1)))
}

fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * 1000)), ..FlowSpec::default() }
}

fn data(seq: u32, last: bool) -> StencilNameHeader {
    StencilNameHeader::Data(DataPacket { conn: CONN, seq, last })
}

fn ack(seq: u32) -> StencilNameHeader {
    StencilNameHeader::Ack { conn: CONN, seq }
}

#[test]
fn an_ack_clocks_out_the_next_packet() {
    let mut sender = host();
    sender.opens(flow(2)).sends([data(0, false)]);
    sender.at(Picos::from_micros(10)).receives(Arriving::new(THERE, 64, ack(0))).sends([data(1, true)]);
    sender.receives(Arriving::new(THERE, 64, ack(1))).sends_nothing();
    let counts = SendCounts { sent: 2, again: 0, timeouts: 0 };
    assert_eq!(sender.reported().last(), Some(&Event::Completed { to: THERE, conn: CONN, counts }));
}

#[test]
fn a_timeout_retransmits_and_the_last_one_fails_the_flow() {
    let mut sender = host();
    sender.opens(flow(1)).sends([data(0, true)]);
    sender.at(Picos::from_millis(1)).sends([data(0, true)]);
    sender.at(Picos::from_millis(2)).sends([data(0, true)]);
    sender.at(Picos::from_millis(3)).sends_nothing();
    let (reason, counts) = (FailureReason::ReceiverSilent, SendCounts { sent: 3, again: 2, timeouts: 3 });
    assert_eq!(sender.reported().last(), Some(&Event::Failed { to: THERE, conn: CONN, reason, counts }));
}

#[test]
fn a_repeated_packet_is_delivered_once_and_acknowledged_again() {
    let mut receiver = host();
    receiver.receives(Arriving::new(THERE, 1064, data(0, true))).sends([ack(0)]);
    receiver.receives(Arriving::new(THERE, 1064, data(0, true))).sends([ack(0)]);
    let delivered = |event: &&Event| matches!(event, Event::Delivered { .. });
    assert_eq!(receiver.reported().iter().filter(delivered).count(), 1);
}
