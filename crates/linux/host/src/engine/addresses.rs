//! Ethernet addresses. They come from the configuration and from the driver, which queries the kernel. Received frames never
//! change a known address, so that a forged frame cannot redirect this host's packets; only with `learn_macs` the first
//! packet of an unknown host sets its address.

use std::net::IpAddr;

use pullnet_transport::HostAddr;
use pullnet_units::{Instant, Picos};
use pullnet_wire::Mac;

use super::Engine;
use crate::carrier::Carrier;
use crate::error::StreamError;
use crate::handle::StreamId;

/// Number of kernel lookups for the Ethernet address of a silent host before its streams fail.
const LOOKS: u64 = 32;

impl<C: Carrier> Engine<C> {
    /// Returns the next address whose Ethernet address (or that of its next hop) is needed; each once.
    pub fn poll_unresolved(&mut self) -> Option<IpAddr> {
        self.unresolved.pop_front()
    }

    /// Returns the address of a host that wants a token. The driver reports with [`Engine::recognised`] whether its Ethernet
    /// address is known already; it should query the network for only a few of these hosts.
    pub fn poll_stranger(&mut self) -> Option<IpAddr> {
        self.untold.pop_front()
    }

    /// Reports the answer to [`Engine::poll_stranger`]; `None`: it is not known, and the host gets no token now.
    pub fn recognised(&mut self, now: Instant, address: IpAddr, mac: Option<Mac>) {
        mac.into_iter().for_each(|mac| self.peers.resolve(address, mac));
        self.answer_strangers(now, address, mac);
    }

    /// Reports the answer to [`Engine::poll_unresolved`]. `None`: no host answers for the address, and its streams fail
    /// unless its Ethernet address was known before.
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

    /// Called for retransmissions and probes of a stream: if the other host has been silent for long, its Ethernet address
    /// may have changed.
    pub(super) fn suspect_mac(&mut self, now: Instant, index: u32) {
        let Some(stream) = self.streams.get(index) else { return };
        let (peer, patience) = (stream.peer, self.patience());
        if now.since(stream.last_heard) > patience {
            self.ask_again(now, peer);
        }
    }

    /// Compares the source of a frame with the right tag to the known Ethernet address; if they differ, queues a kernel
    /// lookup.
    pub(super) fn compare(&mut self, now: Instant, peer: HostAddr, mac: Mac) {
        if self.peers.get(peer).is_some_and(|peer| peer.mac != Some(mac)) {
            self.ask_again(now, peer);
        }
    }

    /// Queues another lookup of the known Ethernet address of `peer`, at a limited rate.
    pub(super) fn ask_again(&mut self, now: Instant, peer: HostAddr) {
        let patience = self.patience();
        if let Some(address) = self.peers.suspect_mac(now, peer, patience)
            && self.asked.insert(address)
        {
            self.unresolved.push_back(address);
        }
    }

    fn patience(&self) -> Picos {
        Picos(self.give_up().0 / LOOKS)
    }

    /// Queues a lookup of the Ethernet address of `peer` at `address` if it is unknown.
    pub(super) fn ask_for(&mut self, address: IpAddr, peer: HostAddr) {
        let known = self.peers.get(peer).is_some_and(|peer| peer.mac.is_some());
        if !known && self.asked.insert(address) {
            self.unresolved.push_back(address);
        }
    }
}
