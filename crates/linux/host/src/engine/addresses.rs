//! Ethernet addresses. They come from what was given and from the driver, which asks the kernel; frames that arrive teach
//! nothing, so that nobody can redirect what this host sends by forging one.

use std::net::IpAddr;

use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

use super::Engine;
use crate::carrier::Carrier;
use crate::{StreamError, StreamId};

/// So often the kernel is asked again for the Ethernet address of a silent host, before a stream fails.
const LOOKS: u64 = 32;

impl<C: Carrier> Engine<C> {
    /// An address whose Ethernet address (or that of the next hop to it) is needed; each once.
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        self.unresolved.pop_front()
    }

    /// An address of a host that wants a token. Whether its Ethernet address is known already is to be answered with
    /// [`Engine::recognised`]; the network should not be asked for more than a few of these.
    pub fn poll_stranger(&mut self) -> Option<IpAddr> {
        self.untold.pop_front()
    }

    /// The answer to [`Engine::poll_stranger`]; `None`: it is not known, and the host gets no token now.
    pub fn recognised(&mut self, now: Instant, address: IpAddr, mac: Option<Mac>) {
        mac.into_iter().for_each(|mac| self.peers.resolve(address, mac));
        self.answer_strangers(now, address, mac);
    }

    /// The answer to [`Engine::poll_unresolved`]; `None`: nobody answers for it, and its streams fail unless its Ethernet
    /// address was known before.
    pub fn resolved(&mut self, now: Instant, address: IpAddr, mac: Option<Mac>) {
        self.asked.remove(&address);
        mac.into_iter().for_each(|mac| self.peers.resolve(address, mac));
        let there = |peer| self.peers.get(peer).is_some_and(|peer| peer.address.ip() == address);
        let streams: Vec<StreamId> =
            self.streams.iter().filter(|stream| there(stream.peer)).map(|stream| stream.id).collect();
        for id in streams {
            let known = self.streams.named(id).and_then(|stream| self.peers.get(stream.peer)?.mac).is_some();
            if known {
                self.queue_offers(id.index);
            } else {
                self.fail(now, id.index, &StreamError::Unreachable(address));
            }
        }
    }

    /// A packet of a stream leaves that repeats one, or asks: if the other host has been silent for long, its Ethernet
    /// address may have changed.
    pub(super) fn doubt(&mut self, now: Instant, index: u32) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, patience) = (stream.peer, self.patience());
        if now.since(stream.last_heard) > patience {
            self.ask_again(now, peer);
        }
    }

    /// A frame with the right tag has come from another Ethernet address than the one that is known: the kernel is asked.
    pub(super) fn compare(&mut self, now: Instant, peer: HostAddr, mac: Mac) {
        if self.peers.get(peer).is_some_and(|peer| peer.mac != Some(mac)) {
            self.ask_again(now, peer);
        }
    }

    /// Asks for the Ethernet address of `peer` though one is known, now and then.
    pub(super) fn ask_again(&mut self, now: Instant, peer: HostAddr) {
        let patience = self.patience();
        if let Some(address) = self.peers.doubt(now, peer, patience)
            && self.asked.insert(address)
        {
            self.unresolved.push_back(address);
        }
    }

    fn patience(&self) -> Picos {
        Picos(self.give_up().0 / LOOKS)
    }

    /// Asks for the Ethernet address of `peer` at `address` if it is not known.
    pub(super) fn ask_for(&mut self, address: IpAddr, peer: HostAddr) {
        let known = self.peers.get(peer).is_some_and(|peer| peer.mac.is_some());
        if !known && self.asked.insert(address) {
            self.unresolved.push_back(address);
        }
    }
}
