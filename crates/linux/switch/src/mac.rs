use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

/// Ethernet address of an interface, in the low 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(u64);

impl Mac {
    /// From the six bytes of a frame.
    pub const fn new(bytes: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = bytes;
        Self(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The six bytes of a frame.
    pub const fn bytes(self) -> [u8; 6] {
        let [_, _, a, b, c, d, e, f] = self.0.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// Destination address of a frame; `None` if the frame is shorter than an Ethernet header.
    #[inline]
    pub fn destination(frame: &[u8]) -> Option<Self> {
        Self::at(frame, 0)
    }

    /// Source address of a frame; `None` if the frame is shorter than an Ethernet header.
    #[inline]
    pub fn source(frame: &[u8]) -> Option<Self> {
        Self::at(frame, 6)
    }

    #[inline]
    fn at(frame: &[u8], offset: usize) -> Option<Self> {
        if frame.len() < 14 {
            return None;
        }
        frame.get(offset..offset + 6)?.try_into().ok().map(Self::new)
    }

    /// Address of an IPv4 multicast group.
    pub const fn of_group(group: Ipv4Addr) -> Self {
        Self::new(pullnet_wire::Mac::of_group(group).0)
    }

    /// Whether this is a group address (multicast or broadcast).
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0 >> 40 & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.bytes();
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongMac;

impl fmt::Display for WrongMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not an Ethernet address; write six pairs of hexadecimal digits, for instance \"02:00:00:00:00:01\"")
    }
}

impl std::error::Error for WrongMac {}

impl FromStr for Mac {
    type Err = WrongMac;
    fn from_str(text: &str) -> Result<Self, WrongMac> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && !part.starts_with('+')).ok_or(WrongMac)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| WrongMac)?;
        }
        if parts.next().is_some() { Err(WrongMac) } else { Ok(Self::new(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_agree() {
        let mac: Mac = "02:00:00:ab:cd:ef".parse().unwrap();
        assert_eq!((mac.to_string().as_str(), mac.is_group()), ("02:00:00:ab:cd:ef", false));
        assert!("ff:ff:ff:ff:ff:ff".parse::<Mac>().unwrap().is_group());
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:00:00",
            "2:0:0:0:0:0",
            "02:00:00:00:00:0g",
            "+2:00:00:00:00:00",
        ] {
            assert_eq!(wrong.parse::<Mac>(), Err(WrongMac), "{wrong}");
        }
    }
}
