//! A frame as it arrived: what it says, and what became of it on its way.

use thiserror::Error;

use crate::check::internet_checksum;
use crate::frame::{Ip, PROTOCOL_UDP, address, word};
use crate::packet::{carried_check, header_check};
use crate::{BadHeader, HEADER, Mac, Mark, Marks, Packet, Route, UDP};

/// What became of a packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Everything is there, and its check is right.
    Whole,
    /// Payload is missing.
    Trimmed,
    /// All of the payload is there, but it is not what was sent. The header is.
    Damaged,
    /// A switch sent the header back.
    Returned,
}

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived<'a> {
    /// From where to where, as the frame says: in a returned header the sender is whom it was meant for.
    pub route: Route,
    /// The header.
    pub packet: Packet,
    /// What became of it.
    pub fate: Fate,
    /// The payload if the packet is whole; else empty.
    pub payload: &'a [u8],
    /// What the switches made of the DSCP; `None`: a value that is none of ours.
    pub mark: Option<Mark>,
}

/// Why a frame is not a packet for us.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
pub enum Refused {
    /// Not UDP over IP for our port: somebody else's traffic.
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
        /// What it carries.
        carried: u32,
        /// What it should carry.
        computed: u32,
    },
    /// Not a header.
    #[error("{0}")]
    Header(#[from] BadHeader),
}

impl Refused {
    /// Whether the frame was meant for us and is wrong, rather than somebody else's.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        *self != Self::Foreign
    }
}

/// Finds UDP for `port`: the IP header, and where UDP begins.
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
    let mac = |at: usize| Mac(core::array::from_fn(|byte| frame[at + byte]));
    Route {
        from_mac: mac(6),
        to_mac: mac(0),
        from: address(from),
        to: address(to),
        from_port: word(frame, udp).unwrap_or(0),
        to_port: word(frame, udp + 2).unwrap_or(0),
    }
}

/// What is there of the payload: whole with its check right, whole with its check wrong, or not whole. `body` is what
/// follows the header, up to where the frame or the IP packet ends, whichever is earlier.
fn payload_of(body: &[u8], length: usize) -> (Fate, &[u8]) {
    let Some((check, rest)) = body.split_first_chunk::<4>() else { return (Fate::Trimmed, &[]) };
    match rest.get(..length) {
        None => (Fate::Trimmed, &[]),
        Some(payload) if crate::crc32c(&[payload]) == u32::from_be_bytes(*check) => (Fate::Whole, payload),
        Some(_) => (Fate::Damaged, &[]),
    }
}

/// Reads a frame that is for UDP port `port`.
///
/// What counts is what is there: a data packet is whole if all of its payload has arrived and the check is right,
/// whatever its mark says, and trimmed if payload is missing, whether or not the switch corrected the lengths in the
/// IP and UDP headers.
///
/// # Errors
/// If the frame is somebody else's, or not what any host sends. Nothing of such a frame can be believed.
pub fn parse<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Arrived<'a>, Refused> {
    let (ip, udp) = find_udp(frame, port)?;
    let datagram = frame.get(udp + UDP..).unwrap_or(&[]);
    let (header, rest) = datagram.split_first_chunk::<HEADER>().ok_or(Refused::Short(datagram.len()))?;
    let mark = marks.mark(ip.dscp(frame));
    let (from, to) = ip.addresses(frame);
    // A switch that sends a header back has exchanged the addresses.
    let returned = mark == Some(Mark::Returned);
    let (computed, carried) =
        (header_check(header, if returned { (to, from) } else { (from, to) }), carried_check(header));
    if computed != carried {
        return Err(Refused::Check { carried, computed });
    }
    let packet = Packet::decode(header)?;
    let (fate, payload) = match packet.shape.is_data() {
        _ if returned => (Fate::Returned, &[][..]),
        false => (Fate::Whole, &[][..]),
        true => {
            // Where a switch has corrected the length, padding may follow.
            let end = ip.end(frame).saturating_sub(udp + UDP + HEADER).min(rest.len());
            payload_of(&rest[..end], packet.shape.length().into())
        }
    };
    Ok(Arrived { route: route_of(frame, ip, udp), packet, fate, payload, mark })
}
