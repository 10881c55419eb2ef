//! Encryption: packets under keys in both directions, and the choice of streams to encrypt.

use std::net::SocketAddr;

use pullnet_units::Instant;
use pullnet_wire::{Arrived, Fate, Marks, Packet, Route, Sealed, Shape, emit, emit_sealed, parse_sealed};

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::options::EngineOptions;
use crate::proof::Issuer;
use crate::seal::{Keys, Refusal, Vault};
use crate::status::{KeyStatus, Totals};

/// The keys of a host, if it has any.
pub(super) fn vault<T>(options: &EngineOptions<T>, issuer: &Issuer) -> Option<Vault> {
    let own = SocketAddr::new(options.address, options.port);
    options.keys.clone().map(|keys| Vault::new(own, issuer.start(), keys))
}

/// Writes frames, encrypted and plain.
pub(super) struct Writer<'a> {
    marks: &'a Marks,
    vault: &'a mut Option<Vault>,
    totals: &'a mut Totals,
}

impl<'a> Writer<'a> {
    pub fn of(marks: &'a Marks, vault: &'a mut Option<Vault>, totals: &'a mut Totals) -> Self {
        Self { marks, vault, totals }
    }

    /// Writes a frame and returns its length; `None`: it cannot be sent, for example because there is no key.
    pub fn write(
        &mut self,
        frame: &mut [u8],
        route: &Route,
        packet: &Packet,
        payload: &[u8],
        sealed: bool,
    ) -> Option<usize> {
        if !sealed {
            return emit(frame, route, self.marks, packet, payload).ok();
        }
        let (seal, cipher) = self.vault.as_mut()?.next(SocketAddr::new(route.to, route.to_port))?;
        self.totals.sealed += 1;
        emit_sealed(frame, route, self.marks, packet, payload, (&seal, cipher)).ok()
    }
}

impl<C: Carrier> Engine<C> {
    pub(super) fn writer(&mut self) -> Writer<'_> {
        Writer::of(&self.options.marks, &mut self.vault, &mut self.totals)
    }

    /// Replaces the keys. Streams continue under the keys that remain; with a peer that has a newer key, they may use that
    /// too.
    ///
    /// # Errors
    /// If the host was made without keys, or a key differs from an earlier key with the same number.
    pub fn set_keys(&mut self, keys: Keys) -> Result<(), StreamError> {
        self.check_keys(&keys)?;
        if let Some(vault) = &mut self.vault {
            vault.set_keys(keys);
        }
        Ok(())
    }

    /// Checks whether [`Self::set_keys`] would take `keys`.
    ///
    /// # Errors
    /// As there.
    pub fn check_keys(&self, keys: &Keys) -> Result<(), StreamError> {
        let Some(vault) = &self.vault else {
            return Err(StreamError::Options("the host was started without keys".to_string()));
        };
        if let Some((peer, number)) = keys.contradicts(vault.keys()) {
            return Err(StreamError::Options(format!(
                "key {number} for {peer} is another one than before; give a new key a higher number"
            )));
        }
        Ok(())
    }

    /// Whether streams of `service` must be encrypted.
    pub(super) fn encrypts(&self, service: u16) -> bool {
        self.vault.as_ref().is_some_and(|vault| !vault.keys().is_plain(service))
    }

    pub(super) fn has_key(&self, peer: SocketAddr) -> bool {
        self.vault.as_ref().is_some_and(|vault| vault.has(peer))
    }

    pub(super) fn key_status(&self) -> impl Iterator<Item = KeyStatus> + '_ {
        let standing = self.vault.iter().flat_map(Vault::standing);
        standing.map(|of| KeyStatus { peer: of.peer, sends: of.sends, newest: of.newest, theirs: of.theirs })
    }

    /// Handles a frame that claims to be encrypted. No state changes before its header is authenticated.
    pub(super) fn receive_sealed(&mut self, now: Instant, frame: &[u8]) {
        match parse_sealed(frame, &self.options.marks, self.options.port) {
            Ok(sealed) if sealed.route.to == self.options.address => self.unseal(now, &sealed),
            Err(refused) if refused.is_malformed() => self.totals.refused.malformed += 1,
            Ok(_) | Err(_) => self.totals.refused.foreign += 1,
        }
    }

    fn unseal(&mut self, now: Instant, sealed: &Sealed<'_>) {
        let mut text = std::mem::take(&mut self.scratch);
        match self.open(now, sealed, &mut text) {
            Ok(whole) => self.take_unsealed(now, sealed, whole.then_some(&text)),
            Err(refusal) => {
                let refused = &mut self.totals.refused;
                *match refusal {
                    Refusal::NoKey => &mut refused.no_key,
                    Refusal::Unauthentic => &mut refused.unauthentic,
                    Refusal::Replayed => &mut refused.replayed,
                    Refusal::TooFast => &mut refused.too_fast,
                } += 1;
            }
        }
        self.scratch = text;
    }

    /// Verifies a packet, and decrypts its payload into `text`; returns whether the payload is there and right.
    fn open(&mut self, now: Instant, sealed: &Sealed<'_>, text: &mut Vec<u8>) -> Result<bool, Refusal> {
        let port = if sealed.returned { sealed.route.from_port } else { sealed.packet.home };
        let from = SocketAddr::new(sealed.route.from, port);
        self.vault.as_mut().ok_or(Refusal::NoKey)?.open(now, from, sealed, text)
    }

    fn take_unsealed(&mut self, now: Instant, sealed: &Sealed<'_>, payload: Option<&Vec<u8>>) {
        self.totals.unsealed += 1;
        // A payload that fails authentication is pulled again, like a trimmed one.
        let fate = match sealed.packet.shape {
            _ if sealed.returned => Fate::Returned,
            Shape::Data(_) if payload.is_none() => Fate::Trimmed,
            _ => Fate::Whole,
        };
        let arrived = Arrived {
            route: sealed.route,
            packet: sealed.packet,
            fate,
            damaged: sealed.body.is_some() && payload.is_none(),
            payload: payload.map_or(&[], Vec::as_slice),
            mark: sealed.mark,
        };
        self.announced = sealed.seal.newest;
        self.take_in(now, &arrived, true);
    }
}
