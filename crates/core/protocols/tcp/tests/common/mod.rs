//! The words in which the scripts of this folder are written.
#![allow(dead_code, reason = "every test uses a part of it")]

use pullnet_rng::Seed;
use pullnet_tcp::{Segment, Tcp, TcpConfig, TcpEndpoint};
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo, Protocol, SendCounts};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};

/// The host that the script is about.
pub const HERE: HostAddr = HostAddr(1);
/// The host that the script plays.
pub const THERE: HostAddr = HostAddr(2);
/// The connection, if there is one only.
pub const CONN: ConnId = ConnId::new(7);
/// Payload of a full packet.
pub const MTU: u64 = 1000;
/// A full packet and an ACK without ranges on the wire.
pub const FULL: u16 = 1058;
pub const ACK: u16 = 64;

pub const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

pub const fn ms(n: u64) -> Picos {
    Picos::from_millis(n)
}

/// Every packet is acknowledged, data leaves at once, the first window is of two packets: as in the figures of the RFCs.
pub fn plain() -> TcpConfig {
    TcpConfig {
        mtu: Bytes(MTU),
        initial_window: Packets(2),
        handshake: false,
        delayed_ack: false,
        sack: false,
        ..TcpConfig::default()
    }
}

/// The same with SACK.
pub fn sacking() -> TcpConfig {
    TcpConfig { sack: true, ..plain() }
}

pub fn endpoint(config: &TcpConfig, addr: HostAddr, seed: u64) -> TcpEndpoint {
    let chance = Seed(seed).stream("test.transport", addr.0.into());
    Tcp::endpoint(config, HostInfo { addr, rate: BitsPerSec::gbps(10) }, chance)
}

pub fn host(config: &TcpConfig) -> Script<TcpEndpoint> {
    Script::new(endpoint(config, HERE, 1))
}

/// A flow of so many full packets.
pub fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * MTU)), paths: 4, ..FlowSpec::default() }
}

/// A connection that has sent packets 0 to `window` - 1, at time 0, and waits for their ACKs. Its flow is of 1000 packets.
pub fn in_flight(config: &TcpConfig, window: u32) -> Script<TcpEndpoint> {
    let mut s = host(&TcpConfig { initial_window: Packets(window), ..config.clone() });
    s.opens(flow(1000)).sends((0..window).map(first));
    s
}

/// Packet `seq` before anything was acknowledged: it may open the connection.
pub fn first(seq: u32) -> Segment {
    Segment::Data { conn: CONN, seq, opens: true, last: false }
}

/// Packet `seq` of a connection that is known to be open.
pub fn data(seq: u32) -> Segment {
    Segment::Data { conn: CONN, seq, opens: false, last: false }
}

/// The same as the last of its flow.
pub fn last(seq: u32) -> Segment {
    Segment::Data { conn: CONN, seq, opens: false, last: true }
}

/// A duplicate of ACK `cumulative`, or the ACK itself, as it arrives.
pub fn ack(cumulative: u32) -> Arriving<Segment> {
    sack(cumulative, &[])
}

/// The same with SACK ranges, each with the number of its first packet and one past its last.
pub fn sack(cumulative: u32, ranges: &[(u32, u32)]) -> Arriving<Segment> {
    Arriving::new(THERE, ACK, acks(cumulative, cumulative.saturating_sub(1), ranges))
}

/// The ACK itself, caused by packet `answers`.
pub fn acks(cumulative: u32, answers: u32, ranges: &[(u32, u32)]) -> Segment {
    let ranges = ranges.iter().copied().collect();
    Segment::Ack { conn: CONN, cumulative, answers, echo: false, finished: false, ranges }
}

/// The ACK of everything.
pub fn finished(cumulative: u32, answers: u32) -> Segment {
    let ranges = Default::default();
    Segment::Ack { conn: CONN, cumulative, answers, echo: false, finished: true, ranges }
}

/// A full packet as it arrives.
pub fn full(header: Segment) -> Arriving<Segment> {
    Arriving::new(THERE, FULL, header)
}

/// A packet without payload as it arrives.
pub fn word(header: Segment) -> Arriving<Segment> {
    Arriving::new(THERE, ACK, header)
}

pub fn counts(sent: u32, again: u32, timeouts: u32) -> SendCounts {
    SendCounts { sent, again, timeouts }
}
