//! Numbers of the format: ports, labels, and the bytes of each header.

/// Default UDP port that hosts listen on. Lies outside of the ephemeral ports of Linux (32768 to 60999).
pub const PORT: u16 = 61199;
/// UDP source port of path label 0; label `n` is `n` above it.
pub const LABEL_BASE: u16 = 49152;
/// Number of path labels.
pub const LABELS: u16 = 1 << 14;
/// Bit of a connection number that says "the way back": this flow answers the flow that the other host opened under the
/// same number without the bit.
pub const REPLY: u32 = 1 << 31;

/// Bits of a stamp: milliseconds of the receiver's clock, modulo 4.6 hours.
pub const STAMP_MASK: u32 = (1 << 24) - 1;

/// Bytes of the header that a trim must leave: all of it.
pub const HEADER: usize = 32;
/// Bytes before the payload of a data packet: the header and the check of the payload.
pub const DATA_HEADER: usize = HEADER + 4;
/// Bytes of Ethernet, without preamble and frame check sequence.
pub const ETHERNET: usize = 14;
/// Bytes of IPv4, without options.
pub const IPV4: usize = 20;
/// Bytes of IPv6.
pub const IPV6: usize = 40;
/// Bytes of UDP.
pub const UDP: usize = 8;
/// Smallest IPv4 frame that a trim may leave: its headers still identify the packet. Bytes.
pub const TRIM_IPV4: usize = ETHERNET + IPV4 + UDP + HEADER;
/// Smallest IPv6 frame that a trim may leave. Bytes.
pub const TRIM_IPV6: usize = ETHERNET + IPV6 + UDP + HEADER;

/// Payload of a full data packet if IP packets have at most `mtu` bytes: 1436 B of 1500 and 8936 B of 9000 over IPv4,
/// 20 fewer over IPv6. 0 if not even a header fits.
#[must_use]
pub const fn payload_room(mtu: usize, ipv6: bool) -> usize {
    let ip = if ipv6 { IPV6 } else { IPV4 };
    mtu.saturating_sub(ip + UDP + DATA_HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_specification() {
        assert_eq!((TRIM_IPV4, TRIM_IPV6), (74, 94));
        assert_eq!([1500, 9000].map(|mtu| payload_room(mtu, false)), [1436, 8936]);
        assert_eq!([1500, 9000].map(|mtu| payload_room(mtu, true)), [1416, 8916]);
        assert_eq!(payload_room(63, false), 0);
    }
}
