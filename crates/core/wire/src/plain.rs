//! Headers of transports other than NDP: a kind, flags and words, as a simulated packet carries them.
//!
//! The first 32 bytes have home port, connection, payload length and check at the same offsets as NDP, so that switches
//! trim, return and spread these packets without further knowledge. `docs/wire.md` has the table.

use thiserror::Error;

use pullnet_transport::{Header, Packed, Words};

use crate::frame::{Ip, PROTOCOL_UDP};
use crate::layout::{HEADER, UDP};

/// The version in the first four bits: NDP's header is version 2.
const VERSION: u8 = 3;
/// Flag: payload follows the header and its words.
const CARRIES: u8 = 0x01;
/// Offset of the check, which covers all bytes before it and the words behind the header.
const CHECK: usize = 28;
/// Offsets of the first four words.
const WORDS: [usize; 4] = [4, 8, 20, 24];
/// Most words of a header: as many as the largest packed form has.
const MOST_WORDS: usize = 27;
/// Most bytes of words behind the first 32.
pub(crate) const MOST_EXTRA: usize = 4 * (MOST_WORDS - WORDS.len());

/// Why bytes are not the header of a transport.
#[derive(Clone, Copy, PartialEq, Eq, Error, Debug)]
pub enum BadPlain {
    /// Another version.
    #[error("byte 0: version {0}; this transport has version 3")]
    Version(u8),
    /// The header of another transport.
    #[error("byte 16: transport number {carried}; this host speaks number {own}")]
    Protocol {
        /// Protocol number in the header.
        carried: u8,
        /// Protocol number of this host.
        own: u8,
    },
    /// More words than any header has.
    #[error("byte 14: {0} words behind the header; there are at most {most}", most = MOST_WORDS - WORDS.len())]
    Words(u8),
    /// Fewer bytes than the header announces.
    #[error("{there} B behind the header, where its words have {needed} B")]
    Short {
        /// Bytes available.
        there: usize,
        /// Bytes of the words.
        needed: usize,
    },
    /// A byte that must be 0.
    #[error("byte {at}: {value:#04x}, which must be 0")]
    Reserved {
        /// Offset of the byte.
        at: u8,
        /// Value of the byte.
        value: u8,
    },
    /// No packet of this transport has such a type, flag or number.
    #[error("type {kind}, flags {flags:#04x}: no packet of this transport has these fields")]
    Fields {
        /// The packet type.
        kind: u8,
        /// The flags.
        flags: u8,
    },
}

/// A header, and the fields common to all packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plain<H> {
    pub protocol: u8,
    pub home: u16,
    /// Payload bytes when it was sent; `None` if it is not a data packet.
    pub payload: Option<u16>,
    pub header: H,
}

/// The bytes of a header: the first 32 and the words behind them.
pub(crate) struct Bytes {
    bytes: [u8; HEADER + MOST_EXTRA],
    long: usize,
}

impl Bytes {
    pub fn get(&self) -> &[u8] {
        &self.bytes[..self.long]
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Number of words behind the first 32 bytes; the last of them is not 0.
fn behind(words: &[u32]) -> usize {
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    used.saturating_sub(WORDS.len())
}

impl<H: Header> Plain<H> {
    /// Bytes of the header.
    pub fn long(&self) -> usize {
        HEADER + 4 * behind(self.header.pack().words.get())
    }

    /// The bytes of the header with its check. The check also covers `addresses`, of the sender and of the receiver.
    pub fn encode(&self, (from, to): (&[u8], &[u8])) -> Bytes {
        let Packed { kind, words } = self.header.pack();
        let words = words.get();
        let extra = behind(words);
        let mut bytes = [0; HEADER + MOST_EXTRA];
        bytes[0] = VERSION << 4 | kind & 0x0f;
        bytes[1] = kind & 0xf0 | if self.payload.is_some() { CARRIES } else { 0 };
        bytes[2..4].copy_from_slice(&self.home.to_be_bytes());
        bytes[12..14].copy_from_slice(&self.payload.unwrap_or(0).to_be_bytes());
        bytes[14] = extra as u8;
        bytes[16] = self.protocol;
        let behind = (0..extra).map(|number| HEADER + 4 * number);
        for (at, word) in WORDS.into_iter().chain(behind).zip(words) {
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let long = HEADER + 4 * extra;
        let check = crate::check::crc32c(&[from, to, &bytes[..CHECK], &bytes[HEADER..long]]);
        bytes[CHECK..HEADER].copy_from_slice(&check.to_be_bytes());
        Bytes { bytes, long }
    }

    /// The header in the first 32 bytes of `bytes`, and the words behind it. `bytes` must hold at least 32. The
    /// header's check is not verified.
    pub fn decode(bytes: &[u8], protocol: u8) -> Result<Self, BadPlain> {
        let extra = extra(bytes)?;
        if bytes[16] != protocol {
            return Err(BadPlain::Protocol { carried: bytes[16], own: protocol });
        }
        if let Some(at) = [15, 17, 18, 19].into_iter().find(|at| bytes[*at] != 0) {
            return Err(BadPlain::Reserved { at: at as u8, value: bytes[at] });
        }
        let (kind, flags) = (bytes[0] & 0x0f, bytes[1]);
        let carries = flags & CARRIES != 0;
        let length = u16::from_be_bytes([bytes[12], bytes[13]]);
        let packed = packed::<H::Words>(bytes, kind | flags & 0xf0, extra);
        let header = packed.map(H::unpack);
        // Packing the header again must give the same bytes: otherwise some input would have been ignored.
        let known = flags & 0x0e == 0 && (carries || length == 0) && usize::from(kind) < H::KINDS.len();
        match (header, packed) {
            (Some(header), Some(packed)) if known && header.pack() == packed => {
                let home = u16::from_be_bytes([bytes[2], bytes[3]]);
                Ok(Self { protocol, home, payload: carries.then_some(length), header })
            }
            _ => Err(BadPlain::Fields { kind, flags }),
        }
    }
}

/// Bytes of the words behind the first 32 bytes of a header of version 3; 0 for other frames.
pub(crate) fn words_behind(frame: &[u8], ip: Ip) -> usize {
    let datagram = frame.get(ip.next() + UDP..).unwrap_or(&[]);
    let plain = ip.protocol(frame) == PROTOCOL_UDP && datagram.len() >= HEADER;
    if plain { extra(datagram).map_or(0, |words| 4 * words) } else { 0 }
}

/// Number of words behind the first 32 bytes; all are present.
fn extra(bytes: &[u8]) -> Result<usize, BadPlain> {
    if bytes[0] >> 4 != VERSION {
        return Err(BadPlain::Version(bytes[0] >> 4));
    }
    let (extra, there) = (usize::from(bytes[14]), bytes.len() - HEADER);
    if extra > MOST_WORDS - WORDS.len() {
        return Err(BadPlain::Words(bytes[14]));
    }
    if 4 * extra > there {
        return Err(BadPlain::Short { there, needed: 4 * extra });
    }
    Ok(extra)
}

/// Length of the header at the beginning of `bytes`, and its correct check.
pub(crate) fn measure(bytes: &[u8], (from, to): (&[u8], &[u8])) -> Result<(usize, u32), BadPlain> {
    let long = HEADER + 4 * extra(bytes)?;
    Ok((long, crate::check::crc32c(&[from, to, &bytes[..CHECK], &bytes[HEADER..long]])))
}

/// The packed form. `None` if it has no room for the words, or if the last word is 0 and should have been omitted.
fn packed<W: Words>(bytes: &[u8], kind: u8, extra: usize) -> Option<Packed<W>> {
    let mut words = W::default();
    let behind = (0..extra).map(|number| HEADER + 4 * number);
    for (number, at) in WORDS.into_iter().chain(behind).enumerate() {
        let read = word(bytes, at);
        match words.get_mut().get_mut(number) {
            Some(word) => *word = read,
            None if read != 0 => return None,
            None => {}
        }
    }
    let last = (extra > 0).then(|| word(bytes, HEADER + 4 * (extra - 1)));
    (last != Some(0)).then_some(Packed { kind, words })
}
