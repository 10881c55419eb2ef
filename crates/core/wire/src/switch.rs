//! Operations of a switch on the bytes of a frame. A switch knows marks, lengths and addresses, but no connections.

use crate::check::internet_checksum;
use crate::frame::{Ip, PROTOCOL_UDP, Route, word};
use crate::layout::{HEADER, LABEL_BASE, UDP};
use crate::mark::{Mark, Marks};
use crate::parse::route_of;
use crate::plain::words_behind;
use crate::sealed::{SEALED_HEADER, has_sealed_header};

/// Mark of a frame; `None` if it is not IP or its DSCP is unknown.
#[must_use]
pub fn mark(frame: &[u8], marks: &Marks) -> Option<Mark> {
    marks.mark(Ip::find(frame)?.dscp(frame))
}

/// The path label that the sender chose, from the UDP source port; `None`: not UDP, or no label.
#[must_use]
pub fn label(frame: &[u8]) -> Option<u16> {
    let ip = Ip::find(frame)?;
    if ip.protocol(frame) != PROTOCOL_UDP || ip.is_fragment(frame) {
        return None;
    }
    word(frame, ip.next())?.checked_sub(LABEL_BASE)
}

/// The DSCP of a frame; `None`: not IP.
#[must_use]
pub fn dscp(frame: &[u8]) -> Option<u8> {
    Ip::find(frame).map(|ip| ip.dscp(frame))
}

/// Route and payload of a UDP frame; `None` if it is not UDP. Only the layout of the headers is checked.
#[must_use]
pub fn datagram(frame: &[u8]) -> Option<(Route, &[u8])> {
    let ip = Ip::find(frame)?;
    let (udp, end) = (ip.next(), ip.end(frame).min(frame.len()));
    let carried = frame.get(udp + UDP..end)?;
    (ip.protocol(frame) == PROTOCOL_UDP && !ip.is_fragment(frame))
        .then(|| (route_of(frame, ip, udp), carried))
}

/// Writes a UDP frame of this traffic class (DSCP and ECN bits) that carries `carried`; returns its length, or `None` if it does not fit.
#[must_use]
pub fn put_headers(out: &mut [u8], route: &Route, class: u8, carried: &[u8]) -> Option<usize> {
    let headers = crate::emit::headers(out, route, class, carried.len()).ok()?;
    headers.body.copy_from_slice(carried);
    Some(headers.needed)
}

/// The least that a trim has to leave of this frame; `None`: not IP.
#[must_use]
pub fn least(frame: &[u8]) -> Option<usize> {
    let ip = Ip::find(frame)?;
    let header = if has_sealed_header(frame, ip) { SEALED_HEADER } else { HEADER + words_behind(frame, ip) };
    Some(ip.next() + UDP + header)
}

/// Where begins what the IP header of a frame carries; `None`: not IP.
#[must_use]
pub fn behind_ip(frame: &[u8]) -> Option<usize> {
    Some(Ip::find(frame)?.next())
}

/// Treatment of the lengths in the IP and UDP headers by a switch that trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lengths {
    /// Set to the length that is left.
    Corrected,
    /// Unchanged.
    Kept,
}

/// Trims a frame to `keep` bytes, or to [`least`] if that is more, and marks it. Returns the new length. Returns `None`
/// and changes nothing if the frame is not IP, or no longer than that already.
pub fn trim(frame: &mut [u8], keep: usize, lengths: Lengths, marks: &Marks) -> Option<usize> {
    let ip = Ip::find(frame)?;
    let (udp, long) = (ip.next(), keep.max(least(frame)?));
    if long >= frame.len() {
        return None;
    }
    if lengths == Lengths::Corrected {
        let datagram = (long - udp) as u16;
        frame[udp + 4..udp + 6].copy_from_slice(&datagram.to_be_bytes());
        let (at, total) = match ip {
            Ip::V4 { at, .. } => (at + 2, (long - at) as u16),
            Ip::V6 { at, .. } => (at + 4, datagram),
        };
        frame[at..at + 2].copy_from_slice(&total.to_be_bytes());
    }
    set_dscp(frame, ip, marks.dscp(Mark::Trimmed));
    Some(long)
}

/// Sets the UDP checksum of a frame to 0, "none". Returns false and changes nothing if the frame is not UDP over IP.
pub fn clear_udp_checksum(frame: &mut [u8]) -> bool {
    let Some(ip) = Ip::find(frame).filter(|ip| ip.protocol(frame) == PROTOCOL_UDP) else { return false };
    let at = ip.next() + 6;
    frame.get_mut(at..at + 2).is_some_and(|checksum| {
        checksum.fill(0);
        true
    })
}

/// Returns a trimmed frame to its sender: exchanges Ethernet and IP addresses, addresses the UDP port that the sender
/// listens on, and marks the frame. Returns false and changes nothing if the frame is not UDP over IP with a header.
pub fn send_back(frame: &mut [u8], marks: &Marks) -> bool {
    let Some(ip) = Ip::find(frame) else { return false };
    let udp = ip.next();
    if ip.protocol(frame) != PROTOCOL_UDP || frame.len() < udp + UDP + HEADER {
        return false;
    }
    for byte in 0..6 {
        frame.swap(byte, 6 + byte);
    }
    let (at, long) = ip.addresses_at();
    for byte in at..at + long {
        frame.swap(byte, byte + long);
    }
    // From the UDP port that it was sent to, to the port that its sender listens on.
    frame.copy_within(udp + 2..udp + 4, udp);
    frame.copy_within(udp + UDP + 2..udp + UDP + 4, udp + 2);
    set_dscp(frame, ip, marks.dscp(Mark::Returned));
    true
}

/// Sets the mark of a frame, and updates the checksum of its IPv4 header. False if the frame is not IP.
pub fn set_mark(frame: &mut [u8], mark: Mark, marks: &Marks) -> bool {
    Ip::find(frame).is_some_and(|ip| {
        set_dscp(frame, ip, marks.dscp(mark));
        true
    })
}

fn set_dscp(frame: &mut [u8], ip: Ip, dscp: u8) {
    match ip {
        Ip::V4 { at, next } => {
            frame[at + 1] = dscp << 2 | frame[at + 1] & 3;
            frame[at + 10..at + 12].fill(0);
            let sum = internet_checksum(&frame[at..next]);
            frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        }
        Ip::V6 { at, .. } => {
            frame[at] = frame[at] & 0xf0 | dscp >> 2;
            frame[at + 1] = dscp << 6 | frame[at + 1] & 0x3f;
        }
    }
}
