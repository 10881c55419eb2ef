//! Frames from headers and payloads.

use core::net::IpAddr;

use thiserror::Error;

use crate::check::internet_checksum;
use crate::frame::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, PROTOCOL_UDP, Route};
use crate::layout::{DATA_HEADER, ETHERNET, HEADER, IPV4, IPV6, LABEL_BASE, UDP};
use crate::mark::{Mark, Marks};
use crate::packet::Packet;

/// Initial TTL: the number of routers that a packet may pass.
const TTL: u8 = 64;

/// Why a frame cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
pub enum EmitError {
    /// The buffer is too short.
    #[error("a frame of {needed} B does not fit into a buffer of {room} B")]
    Room {
        /// Bytes of the frame.
        needed: usize,
        /// Bytes of the buffer.
        room: usize,
    },
    /// The IP length field has 16 bits: at most 65,535 B.
    #[error("a payload of {0} B does not fit into an IP packet")]
    TooLong(usize),
    /// The length in the header differs from the payload's.
    #[error("the header says {header} B of payload, but there are {payload} B")]
    Length {
        /// Payload length stated in the header. Bytes.
        header: usize,
        /// Payload length given. Bytes.
        payload: usize,
    },
    /// The marks have no value for this priority: data has 0 and, with the default marks, 2 to 7; control packets have 0 only.
    #[error("priority {0}: no DSCP value stands for it; data has 0 and 2 to 7, control packets have 0")]
    Priority(u8),
    /// The cipher does not take it.
    #[error("the cipher takes no payload of {0} B")]
    Cipher(usize),
    /// One address of each family.
    #[error("from {from} to {to}: both addresses must be of one family")]
    Family {
        /// The sending host.
        from: IpAddr,
        /// The receiving host.
        to: IpAddr,
    },
}

/// Both addresses as bytes, and the number of valid bytes of each.
fn address_bytes(route: &Route) -> Result<([u8; 32], usize), EmitError> {
    let mut bytes = [0; 32];
    match (route.from, route.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            bytes[..4].copy_from_slice(&from.octets());
            bytes[4..8].copy_from_slice(&to.octets());
            Ok((bytes, 4))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            bytes[..16].copy_from_slice(&from.octets());
            bytes[16..].copy_from_slice(&to.octets());
            Ok((bytes, 16))
        }
        (from, to) => Err(EmitError::Family { from, to }),
    }
}

fn ipv4(out: &mut [u8], class: u8, total: u16, addresses: &[u8]) {
    let [high, low] = total.to_be_bytes();
    // The packet must not be fragmented, so the identification has no meaning (RFC 6864).
    out[..12].copy_from_slice(&[0x45, class, high, low, 0, 0, 0x40, 0, TTL, PROTOCOL_UDP, 0, 0]);
    out[12..IPV4].copy_from_slice(addresses);
    let sum = internet_checksum(&out[..IPV4]);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn ipv6(out: &mut [u8], class: u8, length: u16, label: u16, addresses: &[u8]) {
    let [high, low] = length.to_be_bytes();
    let [label_high, label_low] = label.to_be_bytes();
    let start = [0x60 | class >> 4, class << 4, label_high, label_low, high, low, PROTOCOL_UDP, TTL];
    out[..8].copy_from_slice(&start);
    out[8..IPV6].copy_from_slice(addresses);
}

/// The headers of a frame, already written, and the space behind them for the datagram's `body`.
pub(crate) struct Headers<'a> {
    /// The bytes of both addresses, `family` each.
    pub addresses: [u8; 32],
    pub family: usize,
    /// Length of the frame.
    pub needed: usize,
    pub body: &'a mut [u8],
}

/// Writes Ethernet, IP and UDP headers for a datagram of `long` bytes. `class`: DSCP and ECN bits.
pub(crate) fn headers<'a>(
    out: &'a mut [u8],
    route: &Route,
    class: u8,
    long: usize,
) -> Result<Headers<'a>, EmitError> {
    let (addresses, family) = address_bytes(route)?;
    let (ip, kind) = if family == 4 { (IPV4, ETHERTYPE_IPV4) } else { (IPV6, ETHERTYPE_IPV6) };
    let needed = ETHERNET + ip + UDP + long;
    let total = u16::try_from(ip + UDP + long).map_err(|_| EmitError::TooLong(long))?;
    let (room, datagram) = (out.len(), (UDP + long) as u16);
    let out = out.get_mut(..needed).ok_or(EmitError::Room { needed, room })?;
    out[..6].copy_from_slice(&route.to_mac.0);
    out[6..12].copy_from_slice(&route.from_mac.0);
    out[12..ETHERNET].copy_from_slice(&kind.to_be_bytes());
    let (network, rest) = out[ETHERNET..].split_at_mut(ip);
    if family == 4 {
        ipv4(network, class, total, &addresses[..8]);
    } else {
        ipv6(network, class, datagram, route.from_port.wrapping_sub(LABEL_BASE), &addresses);
    }
    let (udp, body) = rest.split_at_mut(UDP);
    udp[..2].copy_from_slice(&route.from_port.to_be_bytes());
    udp[2..4].copy_from_slice(&route.to_port.to_be_bytes());
    udp[4..6].copy_from_slice(&datagram.to_be_bytes());
    udp[6..].fill(0);
    Ok(Headers { addresses, family, needed, body })
}

/// Writes a frame into `out` and returns its length.
///
/// The UDP checksum is 0: a checksum over the payload would be wrong after a trim. The header has a check of its own,
/// and so has the payload, as RFC 6935 and RFC 6936 require for a zero checksum over IPv6.
///
/// # Errors
/// If the frame does not fit, or header, payload and addresses contradict each other.
pub fn emit(
    out: &mut [u8],
    route: &Route,
    marks: &Marks,
    packet: &Packet,
    payload: &[u8],
) -> Result<usize, EmitError> {
    if usize::from(packet.shape.length()) != payload.len() {
        return Err(EmitError::Length { header: packet.shape.length().into(), payload: payload.len() });
    }
    let is_data = packet.shape.is_data();
    let long = if is_data { DATA_HEADER + payload.len() } else { HEADER };
    let mark = if is_data { Mark::Data } else { Mark::Control };
    let Headers { addresses, family, needed, body } = headers(out, route, marks.dscp(mark) << 2, long)?;
    let header = packet.encode((&addresses[..family], &addresses[family..2 * family]));
    body[..HEADER].copy_from_slice(&header);
    if is_data {
        body[HEADER..DATA_HEADER].copy_from_slice(&crate::check::crc32c(&[payload]).to_be_bytes());
        body[DATA_HEADER..].copy_from_slice(payload);
    }
    Ok(needed)
}
