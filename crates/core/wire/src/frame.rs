//! Ethernet, IP and UDP: where things lie in a frame.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::layout::{ETHERNET, IPV4, IPV6, LABEL_BASE, LABELS};

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Address of an IPv4 multicast group: its low 23 bits behind a fixed prefix (RFC 1112, section 6.4).
    #[must_use]
    pub const fn of_group(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// From where to where a frame goes, and by which path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Ethernet address of the sending interface.
    pub from_mac: Mac,
    /// Ethernet address of the next hop.
    pub to_mac: Mac,
    /// The sending host.
    pub from: IpAddr,
    /// The receiving host; of the same family.
    pub to: IpAddr,
    /// UDP source port: names the path by [`Route::label`], and in a returned header the port that it was sent to.
    pub from_port: u16,
    /// UDP destination port: where the receiving host listens.
    pub to_port: u16,
}

impl Route {
    /// The UDP source port of path `label`, which is taken modulo [`LABELS`].
    #[must_use]
    pub const fn port_of(label: u16) -> u16 {
        LABEL_BASE + label % LABELS
    }

    /// The path that the sender chose; `None` if the source port names none.
    #[must_use]
    pub const fn label(&self) -> Option<u16> {
        self.from_port.checked_sub(LABEL_BASE)
    }
}

const VLAN: u16 = 0x8100;
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(crate) const PROTOCOL_UDP: u8 = 17;

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The IP header of a frame: which family, and where it and what it carries begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ip {
    V4 { at: usize, next: usize },
    V6 { at: usize, next: usize },
}

impl Ip {
    /// Finds the IP header behind Ethernet and at most one VLAN tag. `None`: none is there whole.
    pub fn find(frame: &[u8]) -> Option<Self> {
        let tagged = word(frame, ETHERNET - 2)? == VLAN;
        let at = if tagged { ETHERNET + 4 } else { ETHERNET };
        match word(frame, at - 2)? {
            ETHERTYPE_IPV4 => {
                let first = *frame.get(at)?;
                let next = at + 4 * usize::from(first & 0x0f);
                (first >> 4 == 4 && next >= at + IPV4 && next <= frame.len()).then_some(Self::V4 { at, next })
            }
            ETHERTYPE_IPV6 => {
                let next = at + IPV6;
                (*frame.get(at)? >> 4 == 6 && next <= frame.len()).then_some(Self::V6 { at, next })
            }
            _ => None,
        }
    }

    /// Where UDP begins.
    pub fn next(self) -> usize {
        match self {
            Self::V4 { next, .. } | Self::V6 { next, .. } => next,
        }
    }

    /// The protocol that the IP header names.
    pub fn protocol(self, frame: &[u8]) -> u8 {
        match self {
            Self::V4 { at, .. } => frame[at + 9],
            Self::V6 { at, .. } => frame[at + 6],
        }
    }

    /// Whether this is part of a larger packet.
    pub fn is_fragment(self, frame: &[u8]) -> bool {
        match self {
            Self::V4 { at, .. } => word(frame, at + 6).is_some_and(|field| field & 0x3fff != 0),
            Self::V6 { .. } => false,
        }
    }

    /// Where the packet ends by what the IP header says; may lie beyond the frame.
    pub fn end(self, frame: &[u8]) -> usize {
        match self {
            Self::V4 { at, .. } => at + usize::from(word(frame, at + 2).unwrap_or(0)),
            Self::V6 { at, next } => next + usize::from(word(frame, at + 4).unwrap_or(0)),
        }
    }

    pub fn dscp(self, frame: &[u8]) -> u8 {
        self.traffic_class(frame) >> 2
    }

    /// DSCP and ECN bits.
    pub fn traffic_class(self, frame: &[u8]) -> u8 {
        match self {
            Self::V4 { at, .. } => frame[at + 1],
            Self::V6 { at, .. } => frame[at] << 4 | frame[at + 1] >> 4,
        }
    }

    /// Where the bytes of both addresses lie: those of the sender, and behind them those of the receiver.
    pub fn addresses_at(self) -> (usize, usize) {
        match self {
            Self::V4 { at, .. } => (at + 12, 4),
            Self::V6 { at, .. } => (at + 8, 16),
        }
    }

    /// The bytes of both addresses.
    pub fn addresses(self, frame: &[u8]) -> (&[u8], &[u8]) {
        let (at, long) = self.addresses_at();
        (&frame[at..at + long], &frame[at + long..at + 2 * long])
    }
}

/// An address from its bytes, 4 or 16 of them.
pub(crate) fn address(bytes: &[u8]) -> IpAddr {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        IpAddr::V4(Ipv4Addr::from(v4))
    } else {
        IpAddr::V6(<[u8; 16]>::try_from(bytes).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_low_bits_of_its_ip_address() {
        let mac = Mac::of_group(Ipv4Addr::new(239, 129, 2, 3));
        assert_eq!(mac, Mac([0x01, 0, 0x5e, 1, 2, 3]));
    }
}
