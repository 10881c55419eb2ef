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
mod layout;
mod mark;
mod packet;
mod parse;
mod plain;
mod sealed;
pub mod switch;
mod tag;

pub use burst::{BURST_HEADERS, Flow, UdpChecksum, finish_checksum};
pub use check::crc32c;
pub use emit::{EmitError, emit};
pub use frame::{Mac, Route};
pub use framed::{Arrival, FRAME_HEADERS, Framed, HeaderOf};
pub use hop::answer;
pub use layout::{
    DATA_HEADER, ETHERNET, HEADER, IPV4, IPV6, LABEL_BASE, LABELS, PORT, REPLY, STAMP_MASK, TRIM_IPV4,
    TRIM_IPV6, UDP, payload_room,
};
pub use mark::{BadMarks, Mark, Marks};
pub use packet::{BadHeader, DataFields, Packet, Reason, Shape};
pub use parse::{Arrived, Refused, parse};
pub use plain::BadPlain;
pub use pullnet_transport::Fate;
pub use sealed::{
    AUTHENTICATOR, COVERED, Lock, SEALED_HEADER, Seal, Sealed, emit_sealed, is_sealed, parse_sealed,
};
pub use tag::tag;
