//! The words in which the scripts of this folder are written.
#![allow(dead_code, reason = "every test uses a part of it")]

pub mod weather;

use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};

/// The host that the script is about.
pub const HERE: HostAddr = HostAddr(1);
/// The host that the script plays.
pub const THERE: HostAddr = HostAddr(2);
/// The connection, if there is one only.
pub const CONN: ConnId = ConnId::new(7);
/// The first window of every script, packets.
pub const WINDOW: u32 = 4;
/// Payload of a full packet.
pub const MTU: u64 = 9000;
/// A full packet and a control packet on the wire.
pub const FULL: u16 = 9064;
pub const CONTROL: u16 = 64;
/// Time between two pulls for full packets at 10 Gb/s: 9064 bytes.
pub const PACE: Picos = Picos(7_251_200);

/// When a packet sent at 0 is sent again in a crowd, the sixteenth of a timeout by which it may be late included: 1 ms
/// and 3375 headers, ten with each full packet.
pub const CROWD: Picos = us(3_700);

pub const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

pub const fn ms(n: u64) -> Picos {
    Picos::from_millis(n)
}

pub fn config() -> NdpConfig {
    NdpConfig { initial_window: Packets(WINDOW), mtu: Bytes(MTU), ..NdpConfig::default() }
}

pub fn endpoint(config: &NdpConfig, addr: HostAddr, seed: u64) -> NdpEndpoint {
    let chance = Seed(seed).stream("test.transport", addr.0.into());
    NdpEndpoint::new(config, HostInfo { addr, rate: BitsPerSec::gbps(10) }, chance)
}

/// A host with the usual settings.
pub fn host() -> Script<NdpEndpoint> {
    host_with(&config())
}

pub fn host_with(config: &NdpConfig) -> Script<NdpEndpoint> {
    Script::new(endpoint(config, HERE, 1))
}

/// A flow of so many full packets.
pub fn flow(packets: u64) -> FlowSpec {
    FlowSpec { conn: CONN, to: THERE, size: Some(Bytes(packets * MTU)), paths: 16, ..FlowSpec::default() }
}

/// Packet `seq` of a longer flow, as the sender sends it for the first time: on a pull if it is beyond the first window.
pub fn data(seq: u32) -> NdpHeader {
    NdpHeader::Data { conn: CONN, seq, syn: seq < WINDOW, last: false, pulled: seq >= WINDOW, priority: 0 }
}

/// The packet `header` sent again on a pull.
pub fn pulled(header: NdpHeader) -> NdpHeader {
    with_pulled(header, true)
}

/// The packet `header` sent again without a pull.
pub fn unasked(header: NdpHeader) -> NdpHeader {
    with_pulled(header, false)
}

fn with_pulled(header: NdpHeader, pulled: bool) -> NdpHeader {
    match header {
        NdpHeader::Data { conn, seq, syn, last, priority, .. } => {
            NdpHeader::Data { conn, seq, syn, last, pulled, priority }
        }
        other => other,
    }
}

/// The same as the last of its flow.
pub fn last(seq: u32) -> NdpHeader {
    NdpHeader::Data { conn: CONN, seq, syn: seq < WINDOW, last: true, pulled: seq >= WINDOW, priority: 0 }
}

pub fn ack(seq: u32) -> NdpHeader {
    NdpHeader::Ack { conn: CONN, seq, pull: None }
}

pub fn nack(seq: u32) -> NdpHeader {
    NdpHeader::Nack { conn: CONN, seq, pull: None }
}

/// An ACK that carries pull number `pull`.
pub fn ack_pull(seq: u32, pull: u32) -> NdpHeader {
    NdpHeader::Ack { conn: CONN, seq, pull: Some(pull) }
}

/// A NACK that carries pull number `pull`.
pub fn nack_pull(seq: u32, pull: u32) -> NdpHeader {
    NdpHeader::Nack { conn: CONN, seq, pull: Some(pull) }
}

pub fn pull(number: u32) -> NdpHeader {
    NdpHeader::Pull { conn: CONN, number }
}

pub fn probe(seq: u32) -> NdpHeader {
    NdpHeader::Probe { conn: CONN, seq }
}

/// A control packet from the other host.
pub fn word(header: NdpHeader) -> Arriving<NdpHeader> {
    Arriving::new(THERE, CONTROL, header)
}

/// A full data packet from the other host.
pub fn full(header: NdpHeader) -> Arriving<NdpHeader> {
    Arriving::new(THERE, FULL, header)
}

/// The header that a trim left of a full data packet from the other host.
pub fn header(header: NdpHeader) -> Arriving<NdpHeader> {
    full(header).trimmed()
}

/// The header of one of our packets, sent back by a switch.
pub fn back(header: NdpHeader) -> Arriving<NdpHeader> {
    full(header).returned()
}
