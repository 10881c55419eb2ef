//! The outermost IP header of a packet. VLAN tags, MPLS labels and PPPoE headers are skipped; tunnels are not entered.

use std::net::IpAddr;

use crate::packet::LinkType;

/// Header fields of a packet that filters use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// Another network protocol, ARP for instance.
    NotIp,
    /// IP.
    Ip {
        /// Source.
        src: IpAddr,
        /// Destination.
        dst: IpAddr,
        /// Transport protocol number, after the extension headers of IPv6. `None`: not captured.
        protocol: Option<u8>,
    },
    /// The link type is not supported, or too few bytes were captured.
    Unknown,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// VLAN tags: customer, service, and an obsolete one.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;
/// Most stacked tags or labels; no network uses as many.
const MOST_STACKED: usize = 16;

/// Finds the outermost IP header of a packet of a link.
pub fn headers(link: LinkType, data: &[u8]) -> Headers {
    match link.0 {
        0 | 108 => ip(data, 4),
        1 => ether_type(data, 12),
        9 => ppp(data, if data.first() == Some(&0xff) { 2 } else { 0 }),
        12 | 14 | 101 | 228 | 229 => ip(data, 0),
        113 => ether_type(data, 14),
        276 => sll2(data),
        _ => Headers::Unknown,
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

/// Version 2 of Linux' cooked header starts with the protocol type.
fn sll2(data: &[u8]) -> Headers {
    u16_at(data, 0).map_or(Headers::Unknown, |kind| behind(kind, data, 20))
}

fn ether_type(data: &[u8], at: usize) -> Headers {
    u16_at(data, at).map_or(Headers::Unknown, |kind| behind(kind, data, at + 2))
}

/// The header after an EtherType.
fn behind(mut kind: u16, data: &[u8], mut at: usize) -> Headers {
    for _ in 0..MOST_STACKED {
        if !TAGS.contains(&kind) {
            break;
        }
        let Some(next) = u16_at(data, at + 2) else { return Headers::Unknown };
        (kind, at) = (next, at + 4);
    }
    match kind {
        IPV4 | IPV6 => ip(data, at),
        PPPOE => ppp(data, at + 6),
        kind if MPLS.contains(&kind) => mpls(data, at),
        _ => Headers::NotIp,
    }
}

fn ppp(data: &[u8], at: usize) -> Headers {
    match u16_at(data, at) {
        Some(0x0021 | 0x0057) => ip(data, at + 2),
        Some(_) => Headers::NotIp,
        None => Headers::Unknown,
    }
}

fn mpls(data: &[u8], mut at: usize) -> Headers {
    for _ in 0..MOST_STACKED {
        let Some(label) = data.get(at..at + 4) else { return Headers::Unknown };
        at += 4;
        if label[2] & 1 == 1 {
            // The last label does not name the next protocol; an IP version in the first four bits identifies IP.
            return ip(data, at);
        }
    }
    Headers::Unknown
}

fn ip(data: &[u8], at: usize) -> Headers {
    let bytes = data.get(at..).unwrap_or(&[]);
    match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4(bytes),
        Some(6) => ipv6(bytes),
        Some(_) => Headers::NotIp,
        None => Headers::Unknown,
    }
}

fn ipv4(bytes: &[u8]) -> Headers {
    let address = |at: usize| <[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok().map(IpAddr::from);
    match (address(12), address(16)) {
        (Some(src), Some(dst)) => Headers::Ip { src, dst, protocol: Some(bytes[9]) },
        _ => Headers::Unknown,
    }
}

fn ipv6(bytes: &[u8]) -> Headers {
    let address = |at: usize| <[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok().map(IpAddr::from);
    match (address(8), address(24)) {
        (Some(src), Some(dst)) => Headers::Ip { src, dst, protocol: behind_extensions(bytes) },
        _ => Headers::Unknown,
    }
}

/// The protocol after hop-by-hop, routing, fragment, authentication and destination headers.
fn behind_extensions(bytes: &[u8]) -> Option<u8> {
    let (mut next, mut at) = (bytes[6], 40);
    for _ in 0..MOST_STACKED {
        let unit = match next {
            0 | 43 | 60 => 8,
            44 => 0,
            51 => 4,
            _ => return Some(next),
        };
        let head = bytes.get(at..at + 2)?;
        let length = 8 + usize::from(head[1]) * unit;
        (next, at) = (head[0], at + length);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp4() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9];
        bytes.extend([0; 8]);
        bytes
    }

    fn udp6(extensions: &[u8], first: u8) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 8, first, 64];
        bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend(extensions);
        bytes.extend([0; 8]);
        bytes
    }

    fn ethernet(head: &[u8], rest: &[u8]) -> Vec<u8> {
        [&[0; 12], head, rest].concat()
    }

    fn found4() -> Headers {
        Headers::Ip { src: [10, 0, 0, 1].into(), dst: [192, 0, 2, 9].into(), protocol: Some(17) }
    }

    #[test]
    fn ip_is_found_behind_tags_labels_and_pppoe() {
        let heads: [&[u8]; 5] = [
            &[8, 0],
            &[0x81, 0, 0, 5, 8, 0],
            &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0],
            &[0x88, 0x47, 0, 1, 0, 9, 0, 2, 1, 9],
            &[0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21],
        ];
        for head in heads {
            assert_eq!(headers(LinkType(1), &ethernet(head, &udp4())), found4(), "{head:02x?}");
        }
    }

    #[test]
    fn ip_is_found_on_every_known_link() {
        let before: [(u16, usize); 4] = [(0, 4), (101, 0), (228, 0), (108, 4)];
        for (link, length) in before {
            let data = [vec![2; length], udp4()].concat();
            assert_eq!(headers(LinkType(link), &data), found4(), "link {link}");
        }
        let cooked = [&[0u8; 14][..], &[8, 0], &udp4()].concat();
        assert_eq!(headers(LinkType(113), &cooked), found4());
        let cooked2 = [&[8u8, 0][..], &[0; 18], &udp4()].concat();
        assert_eq!(headers(LinkType(276), &cooked2), found4());
        assert_eq!(headers(LinkType(9), &[&[0xff, 3, 0, 0x21][..], &udp4()].concat()), found4());
        assert_eq!(headers(LinkType(9), &[&[0, 0x21][..], &udp4()].concat()), found4());
    }

    #[test]
    fn extension_headers_are_passed() {
        let protocol = |data: &[u8]| match headers(LinkType(101), data) {
            Headers::Ip { protocol, .. } => protocol,
            other => panic!("{other:?}"),
        };
        assert_eq!(protocol(&udp6(&[], 17)), Some(17));
        assert_eq!(protocol(&udp6(&[44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0], 0)), Some(17));
        assert_eq!(protocol(&udp6(&[6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 51)), Some(6));
        assert_eq!(protocol(&udp6(&[0, 9], 0)), None);
    }

    #[test]
    fn what_is_no_ip_or_cut_off_is_said_so() {
        assert_eq!(headers(LinkType(1), &ethernet(&[8, 6], &[0; 28])), Headers::NotIp);
        assert_eq!(headers(LinkType(1), &ethernet(&[8, 0], &udp4()[..18])), Headers::Unknown);
        assert_eq!(headers(LinkType(1), &[0; 13]), Headers::Unknown);
        assert_eq!(headers(LinkType(105), &udp4()), Headers::Unknown);
    }
}
