//! The wire format of transports: a header of 32 bytes in UDP over IPv4 or IPv6 in Ethernet.
//!
//! `docs/wire.md` specifies it byte by byte. Three layers:
//! - [`Packet`] is an NDP header as a value that cannot hold invalid combinations; `encode` and `decode` are exact
//!   inverses.
//! - [`emit`] and [`parse`] write and read whole frames, which may be whole, trimmed or returned. [`Framed`] does the
//!   same for every transport.
//! - [`switch`] holds the operations of a switch on the bytes of a frame: read its mark, trim it, send it back.
//!
//! [`Flow`] joins frames of one flow into bursts, and takes bursts apart.
//!
//! No input makes this crate panic.
#![no_std]
#![forbid(unsafe_code)]

mod burst;
mod check;
mod emit;
mod frame;
mod framed;
mod hop;
mod mark;
mod packet;
mod parse;
mod plain;
mod sealed;
pub mod switch;
mod tag;

pub use burst::{BURST_HEADERS, Flow, UdpChecksum, complete_checksum};
pub use check::crc32c;
pub use emit::{EmitError, emit};
pub use frame::{Mac, Route};
pub use framed::{Arrival, FRAME_HEADERS, Framed, HeaderOf};
pub use hop::answer;
pub use mark::{BadMarks, Mark, Marks};
pub use packet::{BadHeader, Packet, Reason, Shape};
pub use parse::{Arrived, Refused, parse};
pub use plain::BadPlain;
pub use pullnet_transport::Fate;
pub use sealed::{
    AUTHENTICATOR, Covered, Lock, SEALED_HEADER, Seal, Sealed, emit_sealed, is_sealed, parse_sealed,
};
pub use tag::tag;

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
