//! Packet filters.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::classify::{Headers, headers};
use crate::error::FilterError;
use crate::packet::{Direction, Packet};

/// Conditions on packets; a packet must meet all that are set.
///
/// As text: terms joined by commas, of `in`, `out`, `tcp`, `udp`, `icmp` (with ICMPv6), `proto N`, `src PREFIX`,
/// `dst PREFIX`, `net PREFIX` (either end), `interface N`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    direction: Option<Direction>,
    interface: Option<u32>,
    protocols: Vec<u8>,
    prefixes: Vec<(AddressField, Prefix)>,
}

/// Result of a filter for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet matches.
    Counted,
    /// The packet does not match.
    Other,
    /// Undecidable: too few bytes were captured, the link type is unknown, or the capture records no direction.
    Unclassified,
}

/// The address that a prefix is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressField {
    /// The source.
    Source,
    /// The destination.
    Destination,
    /// Either.
    Any,
}

/// An address prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Filter {
    /// Applies the filter to a packet.
    pub fn verdict(&self, packet: &Packet<'_>) -> Verdict {
        if self.interface.is_some_and(|wanted| wanted != packet.interface) {
            return Verdict::Other;
        }
        match (self.direction, packet.direction) {
            (None, _) => {}
            (Some(_), Direction::Unknown) => return Verdict::Unclassified,
            (Some(wanted), is) if wanted != is => return Verdict::Other,
            _ => {}
        }
        if self.protocols.is_empty() && self.prefixes.is_empty() {
            return Verdict::Counted;
        }
        match headers(packet.link, packet.data) {
            Headers::Unknown => Verdict::Unclassified,
            Headers::NotIp => Verdict::Other,
            Headers::Ip { src, dst, protocol } => self.of_ip(src, dst, protocol),
        }
    }

    fn of_ip(&self, src: IpAddr, dst: IpAddr, protocol: Option<u8>) -> Verdict {
        let holds = |(side, prefix): &(AddressField, Prefix)| match side {
            AddressField::Source => prefix.contains(src),
            AddressField::Destination => prefix.contains(dst),
            AddressField::Any => prefix.contains(src) || prefix.contains(dst),
        };
        if !self.prefixes.iter().all(holds) {
            return Verdict::Other;
        }
        match protocol {
            _ if self.protocols.is_empty() => Verdict::Counted,
            None => Verdict::Unclassified,
            Some(protocol) if self.protocols.contains(&protocol) => Verdict::Counted,
            Some(_) => Verdict::Other,
        }
    }

    fn term(&mut self, text: &str) -> Result<(), FilterError> {
        let mut words = text.split_whitespace();
        let word = words.next().unwrap_or("");
        let rest = words.collect::<Vec<_>>().join(" ");
        match word {
            "in" | "out" | "tcp" | "udp" | "icmp" if !rest.is_empty() => Err(FilterError::Word(text.into())),
            "in" => self.direct(Direction::In),
            "out" => self.direct(Direction::Out),
            "tcp" => self.protocol(&[6], text),
            "udp" => self.protocol(&[17], text),
            "icmp" => self.protocol(&[1, 58], text),
            "proto" => self.protocol(&[number(word, &rest, 255, "proto 47")? as u8], text),
            "interface" => self.on(number(word, &rest, u32::MAX, "interface 0")?, text),
            "src" => self.prefix(AddressField::Source, word, &rest),
            "dst" => self.prefix(AddressField::Destination, word, &rest),
            "net" => self.prefix(AddressField::Any, word, &rest),
            _ => Err(FilterError::Word(text.into())),
        }
    }

    fn direct(&mut self, direction: Direction) -> Result<(), FilterError> {
        match self.direction.replace(direction) {
            Some(before) if before != direction => Err(FilterError::Twice("in".into(), "out".into())),
            _ => Ok(()),
        }
    }

    fn protocol(&mut self, numbers: &[u8], text: &str) -> Result<(), FilterError> {
        if !self.protocols.is_empty() && self.protocols != numbers {
            let before = self.protocols.iter().map(u8::to_string).collect::<Vec<_>>().join("/");
            return Err(FilterError::Twice(format!("proto {before}"), text.into()));
        }
        self.protocols = numbers.to_vec();
        Ok(())
    }

    fn on(&mut self, interface: u32, text: &str) -> Result<(), FilterError> {
        match self.interface.replace(interface) {
            Some(before) if before != interface => {
                Err(FilterError::Twice(format!("interface {before}"), text.into()))
            }
            _ => Ok(()),
        }
    }

    fn prefix(&mut self, side: AddressField, word: &str, rest: &str) -> Result<(), FilterError> {
        if rest.is_empty() {
            return Err(FilterError::Missing(word.into(), "src 10.0.0.0/8"));
        }
        self.prefixes.push((side, rest.parse()?));
        Ok(())
    }
}

fn number(word: &str, text: &str, most: u32, example: &'static str) -> Result<u32, FilterError> {
    if text.is_empty() {
        return Err(FilterError::Missing(word.into(), example));
    }
    let value = text.parse().ok().filter(|value| *value <= most);
    value.ok_or_else(|| FilterError::Number(text.into(), most))
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        if text.trim().is_empty() {
            return Err(FilterError::Empty);
        }
        let mut filter = Self::default();
        for term in text.split(',') {
            filter.term(term.trim())?;
        }
        Ok(filter)
    }
}

impl Prefix {
    /// Whether `address` is in the prefix. False for addresses of the other family.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => self.cut4(other) == own,
            (IpAddr::V6(own), IpAddr::V6(other)) => self.cut6(other) == own,
            _ => false,
        }
    }

    fn cut4(&self, address: Ipv4Addr) -> Ipv4Addr {
        let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
        Ipv4Addr::from(u32::from(address) & mask)
    }

    fn cut6(&self, address: Ipv6Addr) -> Ipv6Addr {
        let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
        Ipv6Addr::from(u128::from(address) & mask)
    }

    fn cut(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => self.cut4(address).into(),
            IpAddr::V6(address) => self.cut6(address).into(),
        }
    }
}

impl FromStr for Prefix {
    type Err = FilterError;

    /// Parses `10.0.0.0/8`, or a single address as its full-length prefix.
    fn from_str(text: &str) -> Result<Self, FilterError> {
        let no_prefix = || FilterError::Prefix(text.into());
        let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
        let address: IpAddr = address.parse().map_err(|_| no_prefix())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(most), |text| text.parse().ok().filter(|length| *length <= most));
        let prefix = Self { address, length: length.ok_or_else(no_prefix)? };
        if prefix.cut() != address {
            let meant = format!("{}/{}", prefix.cut(), prefix.length);
            return Err(FilterError::HostBits { given: text.into(), meant });
        }
        Ok(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{LinkType, Time};

    const UDP: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9];

    fn verdict(filter: &str, data: &[u8], direction: Direction) -> Verdict {
        let link = LinkType(101);
        let packet = Packet { time: Time(0), wire_len: 20, interface: 3, direction, link, data };
        filter.parse::<Filter>().unwrap().verdict(&packet)
    }

    #[test]
    fn every_term_has_to_hold() {
        let of_udp = |filter: &str| verdict(filter, &UDP, Direction::Out);
        let counted = [
            "udp",
            "proto 17",
            "out",
            "src 10.0.0.0/8",
            "dst 192.0.2.9",
            "net 192.0.2.0/24",
            "net 0.0.0.0/0",
        ];
        for filter in counted.into_iter().chain(["out, udp, src 10.0.0.0/8, interface 3"]) {
            assert_eq!(of_udp(filter), Verdict::Counted, "{filter}");
        }
        for filter in ["tcp", "in", "dst 10.0.0.0/8", "udp, net 10.1.0.0/16", "net ::/0", "interface 2"] {
            assert_eq!(of_udp(filter), Verdict::Other, "{filter}");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_unclassified() {
        assert_eq!(verdict("in", &UDP, Direction::Unknown), Verdict::Unclassified);
        assert_eq!(verdict("udp", &UDP[..9], Direction::Unknown), Verdict::Unclassified);
        assert_eq!(verdict("udp", &[], Direction::Unknown), Verdict::Unclassified);
    }

    #[test]
    fn errors_say_what_would_work() {
        let text = |filter: &str| filter.parse::<Filter>().unwrap_err().to_string();
        assert!(text("port 80").starts_with("`port 80` is no filter; use in, out, tcp"));
        assert_eq!(text("src"), "`src` has nothing behind it; write for instance `src 10.0.0.0/8`");
        assert_eq!(
            text("dst 10.0.0.0/33"),
            "`10.0.0.0/33` is not a prefix; write for instance 10.0.0.0/8 or 2001:db8::/32"
        );
        assert_eq!(text("net 10.1.2.3/8"), "`10.1.2.3/8` has bits behind its length; write 10.0.0.0/8");
        assert_eq!(text("proto 300"), "`300` is not a number from 0 to 255");
        assert_eq!(text("tcp, udp"), "`proto 6` and `udp` ask for two things at once; no packet is both");
        assert_eq!(text(" "), "an empty filter; leave it out to count every packet");
    }
}
