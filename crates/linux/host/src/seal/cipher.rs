use core::fmt;
use std::net::{IpAddr, SocketAddr};

use pullnet_wire::{AUTHENTICATOR, COVERED, Lock, Seal, Sealed};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

use super::Key;

/// First byte of a nonce: its purpose. The header and the payload of a packet have the same counter.
const HEADER: u8 = 0;
const PAYLOAD: u8 = 1;
/// Separates these keys from others derived from the same secret.
const PURPOSE: &[u8] = b"pullnet packets 4.1";

/// AES-256-GCM under a key for packets from one host to another, derived for one salt.
pub struct Cipher(LessSafeKey);

/// How much of a packet is as the holder of the key has made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authentic {
    /// Not even the header.
    Nothing,
    /// The header. The payload is missing or damaged.
    Header,
    /// Header and payload.
    Whole,
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

/// The form of an address in the context of a derived key: 16 bytes, IPv4 as IPv6 maps it, and the port.
fn name(address: SocketAddr) -> [u8; 18] {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..].copy_from_slice(&address.port().to_be_bytes());
    bytes
}

fn nonce(part: u8, counter: u32) -> Nonce {
    let mut bytes = [0; 12];
    bytes[0] = part;
    bytes[8..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Cipher {
    /// Cipher for packets from `from` to `to` under key number `epoch` and `salt`: HKDF-SHA-256 (RFC 5869) of the key with
    /// the salt; the number and both hosts are the context, so that each direction has a cipher of its own.
    #[must_use]
    pub fn derive(key: &Key, epoch: u16, salt: &[u8; 12], from: SocketAddr, to: SocketAddr) -> Option<Self> {
        let (from, to, epoch) = (name(from), name(to), epoch.to_be_bytes());
        let context: [&[u8]; 4] = [PURPOSE, &epoch, &from, &to];
        let secret = Salt::new(HKDF_SHA256, salt).extract(&key.0);
        let derived = secret.expand(&context, &AES_256_GCM).ok()?;
        Some(Self(LessSafeKey::new(UnboundKey::from(derived))))
    }

    /// Verifies a packet, and decrypts its payload into `text`. The authenticator of a payload covers the header too, so that
    /// that of the header is looked at only where the payload is not there, or not right.
    pub fn open(&self, sealed: &Sealed<'_>, text: &mut Vec<u8>) -> Authentic {
        let counter = sealed.seal.counter;
        text.clear();
        if let Some(body) = sealed.body {
            text.extend_from_slice(body);
            let aad = Aad::from(&sealed.covered);
            if self.0.open_in_place(nonce(PAYLOAD, counter), aad, text).is_ok() {
                text.truncate(body.len() - AUTHENTICATOR);
                return Authentic::Whole;
            }
            text.clear();
        }
        let (mut there, aad) = (sealed.authenticator, Aad::from(&sealed.covered));
        match self.0.open_in_place(nonce(HEADER, counter), aad, &mut there) {
            Ok(_) => Authentic::Header,
            Err(_) => Authentic::Nothing,
        }
    }

    fn seal_part(
        &self,
        nonce: Nonce,
        covered: &[u8; COVERED],
        text: &mut [u8],
    ) -> Option<[u8; AUTHENTICATOR]> {
        let made = self.0.seal_in_place_separate_tag(nonce, Aad::from(covered), text).ok()?;
        made.as_ref().try_into().ok()
    }
}

impl Lock for Cipher {
    fn sign(&self, seal: &Seal, covered: &[u8; COVERED]) -> Option<[u8; AUTHENTICATOR]> {
        self.seal_part(nonce(HEADER, seal.counter), covered, &mut [])
    }

    fn encrypt(
        &self,
        seal: &Seal,
        covered: &[u8; COVERED],
        payload: &mut [u8],
    ) -> Option<[u8; AUTHENTICATOR]> {
        self.seal_part(nonce(PAYLOAD, seal.counter), covered, payload)
    }
}
