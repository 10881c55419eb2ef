//! NDP with the formats of [`pullnet_wire`]: the DSCP gives the kind of frame, the UDP source port the path.

use std::net::Ipv4Addr;

use pullnet_protocols::for_each_framed;
use pullnet_transport::Hop;
use pullnet_wire::switch::{Lengths, behind_ip, clear_udp_checksum, label, least, mark, send_back, trim};
use pullnet_wire::{Mark, Marks, answer};

use crate::codec::{Class, Codec, Kind};

/// Codec for frames with the DSCP values of NDP; all others are foreign.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ndp {
    /// The DSCP values.
    pub marks: Marks,
    /// Whether a trim sets the UDP checksum to 0, which covers what is cut: else a kernel's UDP drops the header. Switches without
    /// room for that leave it.
    pub clears_checksum: bool,
}

const UDP_PROTOCOL: u8 = 17;

/// The IP packet inside a frame: offset of its header, bytes of both addresses, protocol, and payload.
struct Inside<'a> {
    addresses: &'a [u8],
    protocol: u8,
    rest: &'a [u8],
}

impl<'a> Inside<'a> {
    /// `None` if the frame holds no IP packet.
    fn of(frame: &'a [u8]) -> Option<Self> {
        let next = behind_ip(frame)?;
        let at = ip_at(frame);
        let (protocol, addresses) = if frame.get(at)? >> 4 == 4 { (9, 12..20) } else { (6, 8..40) };
        Some(Self {
            addresses: frame.get(at + addresses.start..at + addresses.end)?,
            protocol: *frame.get(at + protocol)?,
            rest: frame.get(next..)?,
        })
    }

    /// Destination address; `None` unless the packet is IPv4.
    fn to(&self) -> Option<Ipv4Addr> {
        let [_, _, _, _, a, b, c, d] = self.addresses.try_into().ok()?;
        Some(Ipv4Addr::new(a, b, c, d))
    }

    /// Flow hash. For NDP: addresses, listening port and connection, without the path. For others: addresses and ports.
    fn flow(&self, ndp: bool) -> u64 {
        let what = if ndp { [2..4, 12..16] } else { [0..4, 0..0] };
        let parts = what.map(|range| self.rest.get(range).unwrap_or(&[]));
        [self.addresses, &[self.protocol], parts[0], parts[1]].concat_hash()
    }
}

/// Sets the congestion mark if the IP packet's transport supports it (RFC 3168); `None` if not.
fn congested(frame: &mut [u8]) -> Option<()> {
    least(frame)?;
    let at = ip_at(frame);
    if *frame.get(at)? >> 4 == 4 {
        let before = u16::from_be_bytes([frame[at], frame[at + 1]]);
        (frame[at + 1] & 3 != 0).then_some(())?;
        frame[at + 1] |= 3;
        let after = u16::from_be_bytes([frame[at], frame[at + 1]]);
        let sum = u16::from_be_bytes([frame[at + 10], frame[at + 11]]);
        frame[at + 10..at + 12].copy_from_slice(&changed(sum, before, after).to_be_bytes());
    } else {
        (frame[at + 1] & 0x30 != 0).then_some(())?;
        frame[at + 1] |= 0x30;
    }
    Some(())
}

/// Whether the IP packet declares an ECN-capable transport (RFC 3168), and the priority in its DSCP.
fn class_of_service(frame: &[u8]) -> Option<(bool, u8)> {
    least(frame)?;
    let at = ip_at(frame);
    let word = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
    // Traffic class: the second byte in IPv4, four bits earlier in IPv6.
    let class = if word >> 12 == 4 { word as u8 } else { (word >> 4) as u8 };
    Some((class & 3 != 0, class >> 5))
}

/// Updates a header checksum after a change of one word (RFC 1624, equation 3).
fn changed(sum: u16, before: u16, after: u16) -> u16 {
    let next = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let next = (next & 0xffff) + (next >> 16);
    !((next & 0xffff) + (next >> 16)) as u16
}

/// Offset of the IP header in a frame that holds one.
fn ip_at(frame: &[u8]) -> usize {
    if frame.get(12..14) == Some(&[0x81, 0x00]) { 18 } else { 14 }
}

/// FNV-1a (Fowler, Noll, Vo) over several slices: the keys are short and need no seed.
trait ConcatHash {
    fn concat_hash(&self) -> u64;
}

impl ConcatHash for [&[u8]] {
    fn concat_hash(&self) -> u64 {
        let bytes = self.iter().flat_map(|part| part.iter());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

impl Codec for Ndp {
    fn classify(&self, frame: &[u8]) -> Class {
        let foreign = Class { kind: Kind::Foreign, ..Class::default() };
        let Some(inside) = Inside::of(frame) else { return foreign };
        let least = least(frame).unwrap_or(usize::MAX);
        let kind = match mark(frame, &self.marks) {
            _ if inside.protocol != UDP_PROTOCOL || frame.len() < least => Kind::Foreign,
            Some(Mark::Data) if frame.len() > least => Kind::Data,
            Some(Mark::Control) => Kind::Control,
            Some(Mark::Trimmed) => Kind::Header,
            Some(Mark::Returned) => Kind::Returned,
            Some(Mark::Data) | None => Kind::Foreign,
        };
        let ndp = kind != Kind::Foreign;
        let label = if ndp { label(frame) } else { None };
        let (ect, priority) = class_of_service(frame).unwrap_or_default();
        let headers = least.try_into().unwrap_or(u16::MAX);
        Class { kind, headers, label, flow: inside.flow(ndp), ect, priority, to: inside.to() }
    }

    fn trim(&self, frame: &mut Vec<u8>, keep: usize) {
        if let Some(length) = trim(frame, keep, Lengths::Corrected, &self.marks) {
            frame.truncate(length);
            if self.clears_checksum {
                clear_udp_checksum(frame);
            }
        }
    }

    fn mark(&self, frame: &mut [u8]) -> bool {
        congested(frame).is_some()
    }

    fn turn_round(&self, frame: &mut [u8]) {
        send_back(frame, &self.marks);
    }

    /// The header says which transport it belongs to.
    fn at_hop(&self, frame: &mut [u8], hop: &mut dyn Hop) {
        let mut answered = false;
        for_each_framed!(|P| answered = answered || answer::<P>(frame, hop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_wire::{Arrived, DataFields, Fate, Mac, PORT, Packet, Route, Shape, emit, parse};

    fn frame(payload: usize, label: u16, ipv6: bool) -> Vec<u8> {
        let ends = if ipv6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
        let [from, to] = ends.map(|text| text.parse().unwrap());
        let (from_mac, to_mac) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let route = Route { from_mac, to_mac, from, to, from_port: Route::port_of(label), to_port: PORT };
        let length = payload as u16;
        let shape =
            Shape::Data(DataFields { seq: 5, syn: true, length, service: 1, ..DataFields::default() });
        let packet = Packet { home: PORT, conn: 7, tag: 9, shape };
        let mut out = vec![0; 10_000];
        let long = emit(&mut out, &route, &Marks::default(), &packet, &vec![0xa5; payload]).unwrap();
        out.truncate(long);
        out
    }

    #[test]
    fn a_trim_leaves_the_header_and_a_turn_sends_it_home() {
        for (ipv6, least) in [(false, 74), (true, 94)] {
            let (codec, mut bytes) = (Ndp::default(), frame(1400, 3, ipv6));
            let class = codec.classify(&bytes);
            assert_eq!((class.kind, class.headers, class.label), (Kind::Data, least, Some(3)));
            codec.trim(&mut bytes, 74);
            assert_eq!((bytes.len(), codec.classify(&bytes).kind), (least.into(), Kind::Header));
            let Arrived { fate, packet, .. } = parse(&bytes, &codec.marks, PORT).unwrap();
            assert_eq!((fate, packet.shape.length()), (Fate::Trimmed, 1400));
            codec.turn_round(&mut bytes);
            assert_eq!(codec.classify(&bytes).kind, Kind::Returned);
            assert_eq!(crate::mac::Mac::destination(&bytes), Some(crate::mac::Mac::new([2, 0, 0, 0, 0, 1])));
            assert_eq!(parse(&bytes, &codec.marks, PORT).unwrap().fate, Fate::Returned);
        }
    }

    #[test]
    fn congestion_is_marked_where_the_sender_can_be_told() {
        let codec = Ndp::default();
        for ipv6 in [false, true] {
            let mut bytes = frame(100, 0, ipv6);
            let whole = bytes.clone();
            assert!(!codec.mark(&mut bytes));
            assert_eq!(bytes, whole, "it cannot be told");
            // ECT(0), with a matching checksum.
            bytes[15] |= if ipv6 { 0x20 } else { 0x02 };
            if !ipv6 {
                pullnet_wire::switch::set_mark(&mut bytes, Mark::Data, &codec.marks);
            }
            assert!(codec.mark(&mut bytes));
            let marked = bytes.clone();
            assert!(codec.mark(&mut bytes), "once more changes nothing");
            assert_eq!(bytes, marked);
            assert_eq!(bytes[15] & if ipv6 { 0x30 } else { 0x03 }, if ipv6 { 0x30 } else { 0x03 });
            assert!(parse(&bytes, &codec.marks, PORT).is_ok(), "its checksum is right");
        }
    }

    #[test]
    fn the_path_is_no_part_of_the_flow() {
        let codec = Ndp::default();
        let [a, b] = [3, 9].map(|label| codec.classify(&frame(100, label, false)));
        assert_eq!((a.flow, a.label, b.label), (b.flow, Some(3), Some(9)));
    }

    #[test]
    fn what_only_pretends_stays_foreign() {
        let codec = Ndp::default();
        let whole = frame(100, 0, false);
        for length in 0..whole.len() {
            let class = codec.classify(&whole[..length]);
            assert!(
                class.kind == Kind::Foreign || length > usize::from(class.headers),
                "{length}: {class:?}"
            );
        }
        let mut tcp = whole.clone();
        tcp[14 + 9] = 6;
        assert_eq!(codec.classify(&tcp).kind, Kind::Foreign);
    }
}
