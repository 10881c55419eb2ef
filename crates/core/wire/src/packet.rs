//! The header: 32 bytes that no trim removes.

use thiserror::Error;

use crate::layout::{HEADER, STAMP_MASK};

/// The version that this crate speaks.
pub(crate) const VERSION: u8 = 2;

/// Offset of the tag.
const TAG: usize = 20;
/// Where the check begins, which covers everything before it.
pub(crate) const CHECK: usize = 28;

const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const PULL: u8 = 3;
const PROBE: u8 = 4;
const RESET: u8 = 5;
const HELLO: u8 = 6;
const COOKIE: u8 = 7;

const SYN: u8 = 0x01;
const LAST: u8 = 0x02;
const PULLED: u8 = 0x04;
const CARRIES_PULL: u8 = 0x08;
const BY_SENDER: u8 = 0x10;
const AGAIN: u8 = 0x20;

/// A header without its check, as a value that cannot hold invalid combinations.
///
/// `home` is the UDP port that the host that made the packet listens on. `conn` is the connection as its opener numbers
/// it, with [`REPLY`](crate::layout::REPLY) for the way back; it is 0 in [`Shape::Hello`] and [`Shape::Cookie`], which belong to no
/// connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// UDP port that the host that made the packet listens on.
    pub home: u16,
    /// The connection.
    pub conn: u32,
    /// Secret of the stream, known only to its two hosts. In a HELLO and its COOKIE, a number chosen by the host that
    /// sent the HELLO.
    pub tag: u64,
    /// Packet type and its fields.
    pub shape: Shape,
}

/// Fields of a packet with payload.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DataFields {
    /// Packet number: with `syn` also the offset from the first packet of the connection.
    pub seq: u32,
    /// Belongs to the first window: may open the connection.
    pub syn: bool,
    /// The last packet of the connection.
    pub last: bool,
    /// Sent on a pull.
    pub pulled: bool,
    /// Was sent before.
    pub again: bool,
    /// Payload bytes when it was sent.
    pub length: u16,
    /// Service at the receiving host.
    pub service: u16,
    /// Priority that the sender requests; higher goes first.
    pub priority: u8,
    /// With `syn`, when the stream was opened, by the receiver's clock: see [`STAMP_MASK`]. 0 without `syn`.
    pub stamp: u32,
}

/// Packet type and its fields. Packet numbers count from 0 within a connection, pull numbers from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Payload, possibly trimmed.
    Data(DataFields),
    /// Packets arrived whole.
    Ack {
        /// The one with the highest number.
        seq: u32,
        /// Earlier ones: bit `n` stands for packet `seq - 1 - n`.
        also: u32,
        /// The pull that it carries, if any.
        pull: Option<u32>,
    },
    /// The packet arrived without its payload.
    Nack {
        /// Which packet.
        seq: u32,
        /// The pull that it carries, if any.
        pull: Option<u32>,
    },
    /// Send the packets that this number is ahead of the last.
    Pull {
        /// Pulls sent on this connection so far.
        number: u32,
    },
    /// Asks about the state of a packet. It requests a pull that may have been lost, and keeps an idle connection
    /// alive.
    Probe {
        /// Which packet.
        seq: u32,
    },
    /// The sender of this packet has ended the connection; nothing answers it.
    Reset {
        /// Whether the data's sender sent it; otherwise the data's receiver did.
        by_sender: bool,
        /// Reason for the end.
        reason: Reason,
    },
    /// Requests a token with which this host may open streams.
    Hello,
    /// The answer to HELLO, sent to the address that HELLO came from.
    Cookie {
        /// Token that proves that its holder receives packets sent to its address.
        token: u64,
        /// Clock of the host that made the token: milliseconds, modulo 2^24.
        clock: u32,
    },
}

/// Why a connection was reset. Any value may arrive; hosts send the ones below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reason(pub u8);

impl Reason {
    /// No application listens for the service.
    pub const NO_LISTENER: Self = Self(1);
    /// The host does not know the connection; it may have been restarted.
    pub const UNKNOWN: Self = Self(2);
    /// The application dropped it.
    pub const ABORTED: Self = Self(3);
    /// The host has reached its limit of connections.
    pub const FULL: Self = Self(4);
    /// The other side violated the protocol.
    pub const PROTOCOL: Self = Self(5);
    /// The host is shutting down.
    pub const SHUTDOWN: Self = Self(6);
    /// The opening carries no valid token, or is too old: the host was restarted, or the packet is a copy.
    pub const STALE: Self = Self(7);
    /// The service takes encrypted streams only.
    pub const KEYED: Self = Self(8);

    /// The reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NO_LISTENER => "no application listens at the service",
            Self::UNKNOWN => "the other host does not know the connection",
            Self::ABORTED => "the other application dropped the connection",
            Self::FULL => "the other host has reached its limit of connections",
            Self::PROTOCOL => "the other host reports a violation of the protocol",
            Self::SHUTDOWN => "the other host is shutting down",
            Self::STALE => "the other host was restarted, or the request is too old",
            Self::KEYED => "the service accepts encrypted streams only: both hosts need a key for each other",
            _ => "the other host reset the connection",
        }
    }
}

/// Why 32 bytes are not a valid header.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
pub enum BadHeader {
    /// Another version.
    #[error("byte 0: version {0}; this host speaks version 2")]
    Version(u8),
    /// An unknown packet type.
    #[error("byte 0: packet type {0}; there are 0 to 7")]
    Kind(u8),
    /// A flag that the packet type does not have.
    #[error("byte 1: flags {flags:#04x} of packet type {kind}, which has none but {known:#04x}")]
    Flags {
        /// The packet type.
        kind: u8,
        /// The byte.
        flags: u8,
        /// Flags that the packet type may have.
        known: u8,
    },
    /// A byte that must be 0.
    #[error("byte {at}: {value:#04x}, which must be 0 in packet type {kind}")]
    Reserved {
        /// Offset of the byte.
        at: u8,
        /// Value of the byte.
        value: u8,
        /// The packet type.
        kind: u8,
    },
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

/// The parts of a header that depend on the packet type.
struct Fields {
    kind: u8,
    flags: u8,
    number: u32,
    second: [u8; 4],
    priority: u8,
    stamp: u32,
}

fn answer(kind: u8, seq: u32, also: u32, pull: Option<u32>) -> Fields {
    let flags = flag(pull.is_some(), CARRIES_PULL);
    let [priority, a, b, c] = also.to_be_bytes();
    let stamp = u32::from_be_bytes([0, a, b, c]);
    Fields { kind, flags, number: seq, second: pull.unwrap_or(0).to_be_bytes(), priority, stamp }
}

impl Shape {
    fn fields(self) -> Fields {
        let plain = |kind, number| Fields { kind, flags: 0, number, second: [0; 4], priority: 0, stamp: 0 };
        match self {
            Self::Data(DataFields { seq, syn, last, pulled, again, length, service, priority, stamp }) => {
                let flags = flag(syn, SYN) | flag(last, LAST) | flag(pulled, PULLED) | flag(again, AGAIN);
                let ([a, b], [c, d]) = (length.to_be_bytes(), service.to_be_bytes());
                let stamp = if syn { stamp & STAMP_MASK } else { 0 };
                Fields { kind: DATA, flags, number: seq, second: [a, b, c, d], priority, stamp }
            }
            Self::Ack { seq, also, pull } => answer(ACK, seq, also, pull),
            Self::Nack { seq, pull } => answer(NACK, seq, 0, pull),
            Self::Pull { number } => plain(PULL, number),
            Self::Probe { seq } => plain(PROBE, seq),
            Self::Reset { by_sender, reason } => {
                Fields { flags: flag(by_sender, BY_SENDER), second: [reason.0, 0, 0, 0], ..plain(RESET, 0) }
            }
            Self::Hello => plain(HELLO, 0),
            Self::Cookie { token, clock } => {
                let second = (token as u32).to_be_bytes();
                Fields { second, stamp: clock & STAMP_MASK, ..plain(COOKIE, (token >> 32) as u32) }
            }
        }
    }

    /// Packets that an ACK reports beside the one with the highest number, in ascending order.
    pub fn also(&self) -> impl Iterator<Item = u32> + use<> {
        let (seq, mut also) = if let Self::Ack { seq, also, .. } = *self { (seq, also) } else { (0, 0) };
        let bits = core::iter::from_fn(move || {
            let bit = also.checked_ilog2()?;
            also ^= 1 << bit;
            Some(bit)
        });
        bits.filter_map(move |bit| seq.checked_sub(bit + 1))
    }

    /// Whether it may carry payload.
    #[must_use]
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Data(_))
    }

    /// Payload bytes when it was sent; 0 for all types but data.
    #[must_use]
    pub fn length(&self) -> u16 {
        if let Self::Data(DataFields { length, .. }) = *self { length } else { 0 }
    }
}

/// Fields that a packet type may have beside the common ones.
struct Rules {
    /// Flags of byte 1.
    flags: u8,
    /// Bits that may be set in bytes 4 to 19, read as one number.
    used: u128,
}

/// Offset of the first byte that [`Rules::used`] is about; it is about all before the tag.
const USED: usize = 4;
/// The fields in these bytes.
const CONN: u128 = 0xffff_ffff << 96;
const NUMBER: u128 = 0xffff_ffff << 64;
const SECOND: u128 = 0xffff_ffff << 32;
const REASON: u128 = 0xff << 56;
const PRIORITY: u128 = 0xff << 24;
const STAMP: u128 = STAMP_MASK as u128;

fn rules(kind: u8, flags: u8) -> Option<Rules> {
    // Without the flag there is no pull number. Only a packet that may open a connection carries the time of opening.
    let pull = if flags & CARRIES_PULL != 0 { SECOND } else { 0 };
    let stamp = if flags & SYN != 0 { STAMP } else { 0 };
    let (flags, used) = match kind {
        DATA => (SYN | LAST | PULLED | AGAIN, CONN | NUMBER | SECOND | PRIORITY | stamp),
        ACK => (CARRIES_PULL, CONN | NUMBER | pull | PRIORITY | STAMP),
        NACK => (CARRIES_PULL, CONN | NUMBER | pull),
        PULL | PROBE => (0, CONN | NUMBER),
        RESET => (BY_SENDER, CONN | REASON),
        HELLO => (0, 0),
        COOKIE => (0, NUMBER | SECOND | STAMP),
        _ => return None,
    };
    Some(Rules { flags, used })
}

fn check_rules(bytes: &[u8; HEADER]) -> Result<(), BadHeader> {
    let (version, kind, flags) = (bytes[0] >> 4, bytes[0] & 0x0f, bytes[1]);
    if version != VERSION {
        return Err(BadHeader::Version(version));
    }
    let Rules { flags: known, used } = rules(kind, flags).ok_or(BadHeader::Kind(kind))?;
    if flags & !known != 0 {
        return Err(BadHeader::Flags { kind, flags, known });
    }
    let high = u128::from(double(bytes, USED)) << 64;
    let wrong = (high | u128::from(double(bytes, USED + 8))) & !used;
    if wrong == 0 {
        return Ok(());
    }
    let at = USED + wrong.leading_zeros() as usize / 8;
    Err(BadHeader::Reserved { at: at as u8, value: bytes[at], kind })
}

fn long(bytes: &[u8; HEADER], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn double(bytes: &[u8; HEADER], at: usize) -> u64 {
    u64::from(long(bytes, at)) << 32 | u64::from(long(bytes, at + 4))
}

fn short(bytes: &[u8; HEADER], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

impl Packet {
    /// The bytes of the header, its check included. `addresses` are the bytes of two IP addresses that the check
    /// covers: of the host that made the packet, and of the host that it is for.
    #[must_use]
    pub fn encode(&self, addresses: (&[u8], &[u8])) -> [u8; HEADER] {
        let mut bytes = self.put(VERSION);
        let check = header_check(&bytes, addresses);
        bytes[CHECK..].copy_from_slice(&check.to_be_bytes());
        bytes
    }

    /// The bytes of the header as `version` has them, with nothing where the check belongs.
    pub(crate) fn put(&self, version: u8) -> [u8; HEADER] {
        let Fields { kind, flags, number, second, priority, stamp } = self.shape.fields();
        let mut bytes = [0; HEADER];
        bytes[0] = version << 4 | kind;
        bytes[1] = flags;
        bytes[2..4].copy_from_slice(&self.home.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.conn.to_be_bytes());
        bytes[8..12].copy_from_slice(&number.to_be_bytes());
        bytes[12..16].copy_from_slice(&second);
        bytes[16] = priority;
        bytes[17..TAG].copy_from_slice(&stamp.to_be_bytes()[1..]);
        bytes[TAG..CHECK].copy_from_slice(&self.tag.to_be_bytes());
        bytes
    }

    /// Decodes a header from 32 bytes. Its check is not verified (see [`header_check`]).
    ///
    /// # Errors
    /// If [`Packet::encode`] cannot produce these bytes.
    pub fn decode(bytes: &[u8; HEADER]) -> Result<Self, BadHeader> {
        check_rules(bytes)?;
        let (flags, seq) = (bytes[1], long(bytes, 8));
        let pull = (flags & CARRIES_PULL != 0).then(|| long(bytes, 12));
        let stamp = long(bytes, 16) & STAMP_MASK;
        let shape = match bytes[0] & 0x0f {
            DATA => Shape::Data(DataFields {
                seq,
                syn: flags & SYN != 0,
                last: flags & LAST != 0,
                pulled: flags & PULLED != 0,
                again: flags & AGAIN != 0,
                length: short(bytes, 12),
                service: short(bytes, 14),
                priority: bytes[16],
                stamp,
            }),
            ACK => Shape::Ack { seq, also: long(bytes, 16), pull },
            NACK => Shape::Nack { seq, pull },
            PULL => Shape::Pull { number: seq },
            PROBE => Shape::Probe { seq },
            RESET => Shape::Reset { by_sender: flags & BY_SENDER != 0, reason: Reason(bytes[12]) },
            HELLO => Shape::Hello,
            _ => Shape::Cookie { token: double(bytes, 8), clock: stamp },
        };
        Ok(Self { home: short(bytes, 2), conn: long(bytes, 4), tag: double(bytes, TAG), shape })
    }
}

/// The bytes that the check covers, `LONG` of them: in one piece they take 7 ns instead of 17.
fn covered<const ADDRESS: usize, const LONG: usize>(
    header: &[u8; HEADER],
    from: &[u8; ADDRESS],
    to: &[u8; ADDRESS],
) -> [u8; LONG] {
    let mut bytes = [0; LONG];
    bytes[..ADDRESS].copy_from_slice(from);
    bytes[ADDRESS..2 * ADDRESS].copy_from_slice(to);
    bytes[2 * ADDRESS..].copy_from_slice(&header[..CHECK]);
    bytes
}

/// The check of a header: CRC-32C of the sender's and the receiver's address and bytes 0 to 27.
pub(crate) fn header_check(header: &[u8; HEADER], (from, to): (&[u8], &[u8])) -> u32 {
    if let (Some(from), Some(to)) = (from.as_array(), to.as_array()) {
        return crate::check::crc32c(&[&covered::<4, { 2 * 4 + CHECK }>(header, from, to)]);
    }
    if let (Some(from), Some(to)) = (from.as_array(), to.as_array()) {
        return crate::check::crc32c(&[&covered::<16, { 2 * 16 + CHECK }>(header, from, to)]);
    }
    crate::check::crc32c(&[from, to, &header[..CHECK]])
}

/// The check that a header carries.
pub(crate) fn carried_check(header: &[u8; HEADER]) -> u32 {
    long(header, CHECK)
}
