//! Tokens: given to others, and used to open streams.

use std::net::{IpAddr, SocketAddr};

use pullnet_units::Instant;
use pullnet_wire::{Mac, Packet, Route, Shape};

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::proof::Token;
use crate::stream::{Receiving, Sending};
use crate::streams::Tag;
use crate::wallet::Unanswered;

/// Maximum number of hosts that wait for a token while their Ethernet address is looked up. The oldest is dropped and
/// repeats its request.
const MOST_STRANGERS: usize = 1024;

impl<C: Carrier> Engine<C> {
    /// Answers a token request of `from`. The token goes to the Ethernet address that is known for it, and no state is kept.
    /// If none is known, the driver is told to look it up in the kernel's tables.
    pub(super) fn on_hello(&mut self, now: Instant, from: SocketAddr, nonce: Tag, from_mac: Mac) {
        if !self.tokens.take(now) {
            return self.totals.refused.too_fast += 1;
        }
        if self.options.learn_macs && self.peers.mac(from.ip()).is_none() {
            self.peers.resolve(from.ip(), from_mac);
        }
        match self.peers.mac(from.ip()) {
            Some(mac) => self.give_token(now, from, nonce, mac),
            None => {
                if self.strangers.len() >= MOST_STRANGERS {
                    self.strangers.pop_front();
                    self.untold.pop_front();
                }
                self.strangers.push_back((from, nonce));
                self.untold.push_back(from.ip());
            }
        }
    }

    /// Sends a token, in a packet of the same length as the request.
    fn give_token(&mut self, now: Instant, to: SocketAddr, nonce: Tag, mac: Mac) {
        let (token, clock) = self.issuer.issue(now, to);
        let route = Route {
            from_mac: self.options.mac,
            to_mac: mac,
            from: self.options.address,
            to: to.ip(),
            from_port: Route::port_of(self.path()),
            to_port: to.port(),
        };
        self.totals.tokens += 1;
        let shape = Shape::Cookie { token, clock };
        let packet = Packet { home: self.options.port, conn: 0, tag: nonce.value, shape };
        self.put_control(route, packet, nonce.sealed);
    }

    /// Sends tokens to the waiting hosts at `address`, if their Ethernet address is known.
    pub(super) fn answer_strangers(&mut self, now: Instant, address: IpAddr, mac: Option<Mac>) {
        let waiting = std::mem::take(&mut self.strangers);
        for (from, nonce) in waiting {
            match mac.filter(|_| from.ip() == address) {
                Some(mac) => self.give_token(now, from, nonce, mac),
                None if from.ip() == address => {}
                None => self.strangers.push_back((from, nonce)),
            }
        }
    }

    /// Takes a token given by `from`; it is valid only if this host requested it.
    pub(super) fn on_cookie(&mut self, now: Instant, from: SocketAddr, nonce: Tag, token: u64, clock: u32) {
        if nonce.sealed != self.has_key(from) {
            return self.totals.refused.plain += 1;
        }
        if !self.wallet.answer(from, nonce.value, Token::new(now, token, clock)) {
            return self.totals.refused.forged += 1;
        }
        if let Some(vault) = self.vault.as_mut().filter(|_| nonce.sealed) {
            vault.heard(from, self.announced);
        }
        let Some(peer) = self.peers.find(from) else { return };
        let waits = |stream: &&crate::stream::Stream| stream.peer == peer && stream.tag.is_none();
        let waiting: Vec<u32> = self.streams.iter().filter(waits).map(|stream| stream.id.index).collect();
        for index in waiting {
            self.queue_offers(index);
        }
    }

    /// Sets the tag of a stream that this host opens. False: a token must be requested first.
    pub(super) fn take_tag(&mut self, now: Instant, index: u32) -> bool {
        let Some(stream) = self.streams.get(index) else { return false };
        let Some(address) = self.peers.get(stream.peer).map(|peer| peer.address) else { return false };
        if self.wallet.wants(now, address) {
            let nonce = self.issuer.nonce(now, address);
            self.wallet.ask(now, address, nonce);
            self.hello(address, nonce);
        }
        let Some(token) = self.wallet.usable(now, address) else { return false };
        if let Some(stream) = self.streams.get_mut(index) {
            stream.stamp = token.stamp(now);
            stream.token = token.value;
            stream.tag = Some(pullnet_wire::tag(token.value, stream.number, stream.stamp));
        }
        true
    }

    fn hello(&mut self, to: SocketAddr, nonce: u64) {
        let path = self.path();
        let Some(peer) = self.peers.find(to) else { return };
        if let Some(route) = self.route(peer, path) {
            let packet = Packet { home: self.options.port, conn: 0, tag: nonce, shape: Shape::Hello };
            self.put_control(route, packet, self.has_key(to));
        }
    }

    /// Repeats unanswered HELLOs, and fails the streams that wait for a host given up.
    pub(super) fn look_after_tokens(&mut self, now: Instant) {
        while let Some((address, what)) = self.wallet.overdue(now) {
            match what {
                Unanswered::Again(nonce) => {
                    let peer = self.peers.find(address);
                    peer.into_iter().for_each(|peer| self.ask_again(now, peer));
                    self.vault.iter_mut().for_each(|vault| vault.unheard(address));
                    self.hello(address, nonce);
                }
                Unanswered::GivenUp => self.fail_untagged(now, address),
            }
        }
    }

    fn fail_untagged(&mut self, now: Instant, address: SocketAddr) {
        let Some(peer) = self.peers.find(address) else { return };
        let waits = |stream: &&crate::stream::Stream| {
            let wants = stream.out.bytes() > 0 || stream.out.is_finished();
            stream.peer == peer && stream.tag.is_none() && wants
        };
        let waiting: Vec<u32> = self.streams.iter().filter(waits).map(|stream| stream.id.index).collect();
        waiting.into_iter().for_each(|index| self.fail(now, index, &StreamError::Silent));
    }

    /// Handles a refused tag of a stream that this host opened: the other host was restarted, or the stream is too old.
    /// Returns true if the stream may go on with another tag: it has sent one packet once, which that host has just refused,
    /// so that the host before the restart cannot have carried out anything.
    pub(super) fn opens_anew(&mut self, now: Instant, index: u32) -> bool {
        let Some(stream) = self.streams.get_mut(index).filter(|stream| stream.ours) else { return false };
        let (peer, token) = (stream.peer, stream.token);
        let fresh = stream.counts.sent == 1 && stream.counts.repeated == 0;
        let untaken = stream.sending == Sending::Open && stream.receiving == Receiving::Unopened;
        if let Some(address) = self.peers.get(peer).map(|peer| peer.address) {
            self.wallet.spent(address, token);
        }
        if !fresh || !untaken {
            return false;
        }
        if let Some(stream) = self.streams.get_mut(index) {
            stream.tag = None;
        }
        if self.take_tag(now, index) {
            tracing::debug!("a stream has another token");
        }
        true
    }

    /// Whether an opening comes from a host that has proved its address, and is recent enough.
    pub(super) fn is_proven(&self, now: Instant, from: SocketAddr, packet: &Packet, stamp: u32) -> bool {
        self.issuer.accepts(now, from, packet.conn, stamp, packet.tag)
    }
}
