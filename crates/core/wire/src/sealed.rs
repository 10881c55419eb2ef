//! Packets of hosts that share a key: version 4. The header says what that of version 2 does, and is authenticated apart from
//! the payload, so that it can be believed after a trim. The payload is encrypted.
//!
//! There is no cipher here: the caller supplies one as a [`Lock`].

use crate::emit::{EmitError, Headers, headers};
use crate::frame::{Ip, PROTOCOL_UDP, Route};
use crate::layout::{HEADER, UDP};
use crate::mark::{Mark, Marks};
use crate::packet::{BadHeader, CHECK, Packet, VERSION};
use crate::parse::{Opened, Refused, open};

/// The version of packets under a key.
const SEALED_VERSION: u8 = 4;
/// Bytes of the header of a packet under a key; a trim leaves all of them.
pub const SEALED_HEADER: usize = 64;
/// Bytes that authenticate a header, and as many a payload.
pub const AUTHENTICATOR: usize = 16;

const EPOCH: usize = CHECK;
const NEWEST: usize = 30;
const COUNTER: usize = 32;
const SALT: usize = 36;
const SIGNED: usize = SEALED_HEADER - AUTHENTICATOR;
/// Bytes at the start of the header that authenticators cover. The counter and the salt behind them, and the addresses,
/// determine nonce and key, so that a changed one fails authentication, too.
pub const COVERED: usize = COUNTER;

/// Under which key a packet is, and what is never the same for two packets under one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal {
    /// Number of the key that both hosts were given.
    pub epoch: u16,
    /// Number of the newest key that the host which made the packet has for the other one.
    pub newest: u16,
    /// Counts the packets under one salt.
    pub counter: u32,
    /// Nonce for the derivation of the cipher's key. No host uses a nonce twice.
    pub salt: [u8; 12],
}

/// A cipher under the key of a [`Seal`].
pub trait Lock {
    /// Authenticator of the header that begins with `covered`; `None`: the cipher has none.
    fn sign(&self, seal: &Seal, covered: &[u8; COVERED]) -> Option<[u8; AUTHENTICATOR]>;

    /// Encrypts `payload` in its place and says what authenticates it, together with `covered`.
    fn encrypt(
        &self,
        seal: &Seal,
        covered: &[u8; COVERED],
        payload: &mut [u8],
    ) -> Option<[u8; AUTHENTICATOR]>;
}

/// A packet under a key that has arrived. Nothing of it can be believed before its authenticator was found to be right.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    /// From where to where, as the frame says: in a returned header the sender is whom it was meant for.
    pub route: Route,
    /// The header.
    pub packet: Packet,
    /// Under which key it is.
    pub seal: Seal,
    /// Whether a switch has sent it back.
    pub returned: bool,
    /// The DSCP as switches left it; `None`: a foreign value.
    pub mark: Option<Mark>,
    /// The start of the header, as authenticators cover it.
    pub covered: [u8; COVERED],
    /// The authenticator of the header.
    pub authenticator: [u8; AUTHENTICATOR],
    /// The encrypted payload and what authenticates it; `None`: not all of it is there, or it is no data.
    pub body: Option<&'a [u8]>,
}

pub(crate) fn has_sealed_header(frame: &[u8], ip: Ip) -> bool {
    let first = frame.get(ip.next() + UDP).copied().unwrap_or(0);
    ip.protocol(frame) == PROTOCOL_UDP && first >> 4 == SEALED_VERSION
}

/// Whether a frame claims to be a packet under a key, if it is a packet of ours at all.
#[must_use]
pub fn is_sealed(frame: &[u8]) -> bool {
    Ip::find(frame).is_some_and(|ip| has_sealed_header(frame, ip))
}

fn word(bytes: &[u8; SEALED_HEADER], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Fields of the header beyond those of version 2, then the header of version 2.
fn read(header: &[u8; SEALED_HEADER]) -> Result<(Packet, Seal), BadHeader> {
    if header[0] >> 4 != SEALED_VERSION {
        return Err(BadHeader::Version(header[0] >> 4));
    }
    let mut plain = [0; HEADER];
    plain[..CHECK].copy_from_slice(&header[..CHECK]);
    plain[0] = VERSION << 4 | header[0] & 0x0f;
    let counter = u32::from(word(header, COUNTER)) << 16 | u32::from(word(header, COUNTER + 2));
    let salt = core::array::from_fn(|at| header[SALT + at]);
    let seal = Seal { epoch: word(header, EPOCH), newest: word(header, NEWEST), counter, salt };
    Ok((Packet::decode(&plain)?, seal))
}

/// Reads a frame under a key that is for UDP port `port`. Its authenticator is not looked at.
///
/// # Errors
/// If the frame is of another protocol, or no host sends such a frame.
pub fn parse_sealed<'a>(frame: &'a [u8], marks: &Marks, port: u16) -> Result<Sealed<'a>, Refused> {
    let Opened { route, mark, returned, datagram, end, .. } = open(frame, marks, port)?;
    let (header, rest) =
        datagram.split_first_chunk::<SEALED_HEADER>().ok_or(Refused::Short(datagram.len()))?;
    let (packet, seal) = read(header)?;
    let there = &rest[..end.saturating_sub(SEALED_HEADER).min(rest.len())];
    let is_data = packet.shape.is_data() && !returned;
    Ok(Sealed {
        route,
        packet,
        seal,
        returned,
        mark,
        covered: core::array::from_fn(|at| header[at]),
        authenticator: core::array::from_fn(|at| header[SIGNED + at]),
        body: there.get(..usize::from(packet.shape.length()) + AUTHENTICATOR).filter(|_| is_data),
    })
}

/// Writes a frame under a key into `out` and returns its length.
///
/// # Errors
/// If the frame does not fit, or header, payload and addresses contradict each other.
pub fn emit_sealed(
    out: &mut [u8],
    route: &Route,
    marks: &Marks,
    packet: &Packet,
    payload: &[u8],
    (seal, lock): (&Seal, &impl Lock),
) -> Result<usize, EmitError> {
    if usize::from(packet.shape.length()) != payload.len() {
        return Err(EmitError::Length { header: packet.shape.length().into(), payload: payload.len() });
    }
    let is_data = packet.shape.is_data();
    let long = SEALED_HEADER + if is_data { payload.len() + AUTHENTICATOR } else { 0 };
    let mark = if is_data { Mark::Data } else { Mark::Control };
    let Headers { needed, body, .. } = headers(out, route, marks.dscp(mark) << 2, long)?;
    let mut covered: [u8; COVERED] = packet.put(SEALED_VERSION);
    covered[EPOCH..NEWEST].copy_from_slice(&seal.epoch.to_be_bytes());
    covered[NEWEST..COUNTER].copy_from_slice(&seal.newest.to_be_bytes());
    let refused = EmitError::Cipher(payload.len());
    // The header is signed before it is copied: loads of 16 B right behind stores of single fields stall.
    let authenticator = lock.sign(seal, &covered).ok_or(refused)?;
    body[..COUNTER].copy_from_slice(&covered);
    body[COUNTER..SALT].copy_from_slice(&seal.counter.to_be_bytes());
    body[SALT..SIGNED].copy_from_slice(&seal.salt);
    body[SIGNED..SEALED_HEADER].copy_from_slice(&authenticator);
    if is_data {
        let (text, end) = body[SEALED_HEADER..].split_at_mut(payload.len());
        text.copy_from_slice(payload);
        end.copy_from_slice(&lock.encrypt(seal, &covered, text).ok_or(refused)?);
    }
    Ok(needed)
}
