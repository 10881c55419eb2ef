//! Deadlocks of lossless networks: ports that have paused each other in a circle.
//!
//! A port waits for the next switch to resume it. That switch waits until the packets that came from the port have left; if
//! all of them stand at ports that wait in the same way, nothing moves any more.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_topology::Peer;
use pullnet_transport::Words;
use pullnet_units::{NodeId, PortId};

use crate::network::Network;
use crate::shard::Shard;

/// A priority of a port.
type PortPriority = (PortId, u8);

/// Places by those that they wait for.
type Waits = BTreeMap<PortPriority, BTreeSet<PortPriority>>;

/// The ports of a circle, in its order, each of which waits for the next one; empty if there is none.
pub fn circle<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> Vec<PortId> {
    let paused = paused(net, shards);
    if paused.is_empty() {
        return Vec::new();
    }
    let waits = stuck(waits(net, shards, &paused));
    let Some(mut place) = waits.keys().next().copied() else { return Vec::new() };
    // A place that waits for ever waits for another such place, so following them must lead to a circle.
    let mut way: Vec<PortPriority> = Vec::new();
    loop {
        if let Some(begin) = way.iter().position(|seen| *seen == place) {
            return way[begin..].iter().map(|(port, _)| *port).collect();
        }
        way.push(place);
        let Some(next) = waits[&place].first() else { return Vec::new() };
        place = *next;
    }
}

/// Places that the other end of their link has paused.
fn paused<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> BTreeSet<PortPriority> {
    let (mut paused, mut ids) = (BTreeSet::new(), net.numbering.port.iter());
    shards.iter().for_each(|shard| {
        shard.ports.each(&mut |port| {
            let id = *ids.next().expect("a port for each process");
            let here = port.line.pause.here;
            paused.extend((0..8).filter(|priority| here >> priority & 1 != 0).map(|priority| (id, priority)));
        });
    });
    paused
}

/// What each paused place waits for: the places at the next switch where packets stand that came from it.
fn waits<W: Words>(net: &Network<W>, shards: &[Shard<W>], paused: &BTreeSet<PortPriority>) -> Waits {
    let topology = net.topology();
    let mut before: BTreeMap<(NodeId, u16), PortId> = BTreeMap::new();
    for (id, _) in paused {
        if let Peer::Switch(node) = topology.ports[*id].peer {
            before.insert((node, topology.ports[*id].ingress), *id);
        }
    }
    let mut waits = Waits::new();
    for shard in shards {
        shard.ports.waiting(&mut |process, ingress, priority| {
            let at = net.numbering.port[process];
            let from = before.get(&(topology.ports[at].node, ingress)).map(|port| (*port, priority));
            if let Some(from) = from.filter(|from| paused.contains(from)) {
                waits.entry(from).or_default().insert((at, priority));
            }
        });
    }
    waits
}

/// Places that wait only for each other: they never end.
fn stuck(mut waits: Waits) -> Waits {
    loop {
        let before = waits.len();
        let left: BTreeSet<PortPriority> = waits.keys().copied().collect();
        waits.retain(|_, others| others.iter().all(|other| left.contains(other)));
        if waits.len() == before {
            return waits;
        }
    }
}
