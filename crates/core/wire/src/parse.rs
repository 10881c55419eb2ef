//! Frames as they arrive: their fields, and changes on the way.

use pullnet_transport::Fate;
use thiserror::Error;

use crate::check::internet_checksum;
use crate::frame::{Ip, Mac, PROTOCOL_UDP, Route, address, word};
use crate::layout::{HEADER, UDP};
use crate::mark::{Mark, Marks};
use crate::packet::{BadHeader, Packet, carried_check, header_check};
use crate::plain::BadPlain;

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived<'a> {
    /// Source and destination, as the frame says: the source of a returned header is the host that the packet was meant
    /// for.
    pub route: Route,
    /// The header.
    pub packet: Packet,
    /// Whether the packet arrived whole, trimmed or returned. A damaged payload counts as trimmed: the header still
    /// says which packet must be retransmitted.
    pub fate: Fate,
    /// Whether the payload is complete but differs from what was sent.
    pub damaged: bool,
    /// The payload if the packet is whole; else empty.
    pub payload: &'a [u8],
    /// Mark left by the switches in the DSCP; `None` for an unknown value.
    pub mark: Option<Mark>,
}

/// Why a frame is not a packet for us.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
pub enum Refused {
    /// Not UDP over IP for our port: other traffic.
    #[error("not UDP for our port")]
    Foreign,
    /// A part of a larger IP packet.
    #[error("a fragment of an IP packet")]
    Fragment,
    /// The checksum of the IPv4 header is wrong.
    #[error("a wrong checksum of the IPv4 header")]
    Ipv4Checksum,
    /// Shorter than a header.
    #[error("{0} B behind UDP, where a header has 32 B")]
    Short(usize),
    /// The header's check is wrong.
    #[error("the header's check is {carried:#010x}, where {computed:#010x} would be right")]
    Check {
        /// Check in the header.
        carried: u32,
        /// Check computed over the header.
        computed: u32,
    },
    /// Not a header.
    #[error("{0}")]
    Header(#[from] BadHeader),
    /// Not the header of this transport.
    #[error("{0}")]
    Plain(#[from] BadPlain),
}

impl Refused {
    /// Whether the frame is for this port and wrong; false for other traffic.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        *self != Self::Foreign
    }
}

/// Finds UDP for `port`: the IP header, and the offset of the UDP header.
fn find_udp(frame: &[u8], port: u16) -> Result<(Ip, usize), Refused> {
    let ip = Ip::find(frame).ok_or(Refused::Foreign)?;
    if ip.protocol(frame) != PROTOCOL_UDP {
        return Err(Refused::Foreign);
    }
    if ip.is_fragment(frame) {
        return Err(Refused::Fragment);
    }
    let udp = ip.next();
    if word(frame, udp + 2) != Some(port) {
        return Err(Refused::Foreign);
    }
    match ip {
        Ip::V4 { at, next } if internet_checksum(&frame[at..next]) != 0 => Err(Refused::Ipv4Checksum),
        _ => Ok((ip, udp)),
    }
}

pub(crate) fn route_of(frame: &[u8], ip: Ip, udp: usize) -> Route {
    let (from, to) = ip.addresses(frame);
    let mac = |at: usize| Mac(frame[at..].first_chunk().copied().unwrap_or_default());
    Route {
        from_mac: mac(6),
        to_mac: mac(0),
        from: address(from),
        to: address(to),
        from_port: word(frame, udp).unwrap_or(0),
        to_port: word(frame, udp + 2).unwrap_or(0),
    }
}

/// The payload that has arrived, and whether it is damaged: whole with a correct check, whole with a wrong check, or
/// incomplete. `body` runs from the end of the header to the end of the frame or of the IP packet, whichever is
/// earlier.
pub(crate) fn payload_of(body: &[u8], length: usize) -> (Fate, bool, &[u8]) {
    let Some((check, rest)) = body.split_first_chunk::<4>() else { return (Fate::Trimmed, false, &[]) };
    match rest.get(..length) {
        None => (Fate::Trimmed, false, &[]),
        Some(payload) if crate::check::crc32c(&[payload]) == u32::from_be_bytes(*check) => {
            (Fate::Whole, false, payload)
        }
        Some(_) => (Fate::Trimmed, true, &[]),
    }
}

/// A frame for this port, parsed up to the part that differs between transports.
pub(crate) struct Opened<'a> {
    pub route: Route,
    pub mark: Option<Mark>,
    /// Whether a switch has sent it back.
    pub returned: bool,
    /// Whether a switch has marked it.
    pub ce: bool,
    /// The UDP payload and any bytes behind it; at least a header.
    pub datagram: &'a [u8],
    /// End of the UDP payload by the lengths in the IP header. Offset in bytes.
    pub end: usize,
    /// Addresses of the host that made the packet, and of the host that it is for.
    pub addresses: (&'a [u8], &'a [u8]),
}

pub(crate) fn open<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Opened<'a>, Refused> {
    let (ip, udp) = find_udp(frame, port)?;
    let datagram = frame.get(udp + UDP..).unwrap_or(&[]);
    if datagram.len() < HEADER {
        return Err(Refused::Short(datagram.len()));
    }
    let mark = marks.mark(ip.dscp(frame));
    let (from, to) = ip.addresses(frame);
    // A switch that returns a header has exchanged the addresses.
    let returned = mark == Some(Mark::Returned);
    Ok(Opened {
        route: route_of(frame, ip, udp),
        mark,
        returned,
        ce: is_marked(ip.traffic_class(frame)),
        datagram,
        // If a switch has corrected the length, padding may follow.
        end: ip.end(frame).saturating_sub(udp + UDP).min(datagram.len()),
        addresses: if returned { (to, from) } else { (from, to) },
    })
}

/// Reads a frame addressed to UDP port `port`.
///
/// The bytes that have arrived decide, not the mark: a data packet is whole if all of its payload is there and the
/// check is right, and trimmed if payload is missing, even if the switch did not correct the lengths in the IP and UDP
/// headers.
///
/// # Errors
/// If the frame belongs to other traffic, or is not one that any host sends. No field of such a frame can be trusted.
pub fn parse<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Arrived<'a>, Refused> {
    let Opened { route, mark, returned, datagram, end, addresses, .. } = open(frame, marks, port)?;
    let (header, rest) = datagram.split_first_chunk::<HEADER>().ok_or(Refused::Short(datagram.len()))?;
    let (computed, carried) = (header_check(header, addresses), carried_check(header));
    if computed != carried {
        return Err(Refused::Check { carried, computed });
    }
    let packet = Packet::decode(header)?;
    let (fate, damaged, payload) = match packet.shape.is_data() {
        _ if returned => (Fate::Returned, false, &[][..]),
        false => (Fate::Whole, false, &[][..]),
        true => payload_of(&rest[..end.saturating_sub(HEADER)], packet.shape.length().into()),
    };
    Ok(Arrived { route, packet, fate, damaged, payload, mark })
}

/// Congestion experienced, in the traffic class (RFC 3168, section 5).
const CE: u8 = 0b11;

/// Whether a traffic class says congestion experienced.
fn is_marked(class: u8) -> bool {
    class & CE == CE
}
