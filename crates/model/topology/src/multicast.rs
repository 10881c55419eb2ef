//! Trees from one host to several others, along which switches copy packets.

use std::collections::VecDeque;

use pullnet_units::{HostId, Id, NodeId, PortId};

use crate::model::{HostPeer, Peer};
use crate::naming::LinkRef;
use crate::topology::Topology;

/// How far switches are from one of them, in links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distances {
    /// By node; `u32::MAX` for what cannot be reached.
    links: Vec<u32>,
}

impl Distances {
    fn of(&self, node: NodeId) -> u32 {
        self.links[node.index()]
    }
}

/// A tree from one host to several others: shortest ways that part once and never meet again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MulticastTree {
    /// Ports by which switches send a packet on, in the order of the switches.
    branches: Vec<(NodeId, PortId)>,
    /// By receiver: links that lead to it alone or that an earlier receiver does not need; `None` if no way leads there.
    links: Vec<Option<u16>>,
}

impl MulticastTree {
    /// The ports by which the switch `node` sends copies.
    pub fn branches(&self, node: NodeId) -> impl Iterator<Item = PortId> + '_ {
        let begin = self.branches.partition_point(|(at, _)| *at < node);
        self.branches[begin..].iter().take_while(move |(at, _)| *at == node).map(|(_, port)| *port)
    }

    /// Links that receiver number `receiver` adds to those of the receivers before it: over all receivers these are the links
    /// of the tree, the sender's NIC included. `None` if no way leads there.
    pub fn links(&self, receiver: usize) -> Option<u16> {
        self.links.get(receiver).copied().flatten()
    }
}

impl Topology {
    /// How far all switches are from the switch of `src`, over the links that `works` says carry packets.
    pub fn distances(&self, src: HostId, works: &dyn Fn(LinkRef) -> bool) -> Distances {
        let mut links = vec![u32::MAX; self.nodes.len()];
        let mut queue = VecDeque::new();
        if let HostPeer::Switch { switch, .. } = self.hosts[src].peer {
            links[switch.index()] = 0;
            queue.push_back(switch);
        }
        while let Some(at) = queue.pop_front() {
            for port in self.nodes[at].ports.clone().map(PortId::new) {
                if let Peer::Switch(peer) = self.ports[port].peer
                    && links[peer.index()] == u32::MAX
                    && works(LinkRef::Port(port))
                {
                    links[peer.index()] = links[at.index()] + 1;
                    queue.push_back(peer);
                }
            }
        }
        Distances { links }
    }

    /// Number of trees from `src` to `receivers`: as many as there are paths to the one with the most.
    pub fn multicast_trees(&self, src: HostId, receivers: &[HostId]) -> u16 {
        let from = self.addr(src);
        receivers.iter().map(|to| self.path_count(from, self.addr(*to))).max().unwrap_or(1)
    }

    /// Tree number `number` from the host that `distances` were found for to `receivers`, over links that work. Like a label,
    /// the number has a digit for each hop at which there is a choice, so that trees spread over all links. Ways to different
    /// receivers share what they can: in a tree topology, a packet passes one core switch.
    pub fn multicast_tree(
        &self,
        distances: &Distances,
        receivers: &[HostId],
        number: u16,
        works: &dyn Fn(LinkRef) -> bool,
    ) -> MulticastTree {
        let mut tree = MulticastTree::default();
        let mut reached = vec![false; self.nodes.len()];
        for (index, receiver) in receivers.iter().enumerate() {
            let way = self.way_back(distances, *receiver, number, works, &mut reached);
            // The first receiver that is reached brings the sender's NIC with it.
            let nic = u16::from(tree.links.iter().all(Option::is_none));
            debug_assert_eq!(tree.links.len(), index);
            tree.links.push(way.as_ref().map(|way| way.len() as u16 + nic));
            tree.branches.extend(way.into_iter().flatten());
        }
        tree.branches.sort_unstable();
        tree
    }

    /// The links from the part of a tree that is there to `receiver`, each with its switch; marks the switches on the way.
    fn way_back(
        &self,
        distances: &Distances,
        receiver: HostId,
        mut number: u16,
        works: &dyn Fn(LinkRef) -> bool,
        reached: &mut [bool],
    ) -> Option<Vec<(NodeId, PortId)>> {
        let HostPeer::Switch { switch: mut at, down, .. } = self.hosts[receiver].peer else { return None };
        if distances.of(at) == u32::MAX || !works(LinkRef::Port(down)) {
            return None;
        }
        let mut way = vec![(at, down)];
        while !reached[at.index()] {
            reached[at.index()] = true;
            if distances.of(at) == 0 {
                break;
            }
            let mut nearer = self.links_into(distances, at, works);
            if nearer.iter().any(|(node, _)| reached[node.index()]) {
                nearer.retain(|(node, _)| reached[node.index()]);
            }
            let count = nearer.len() as u16;
            let link = nearer[usize::from(number % count)];
            number /= count;
            way.push(link);
            at = link.0;
        }
        Some(way)
    }

    /// The links into switch `at` from switches that are nearer to the source; there is one at least.
    fn links_into(
        &self,
        distances: &Distances,
        at: NodeId,
        works: &dyn Fn(LinkRef) -> bool,
    ) -> Vec<(NodeId, PortId)> {
        let into = |port: PortId| {
            let (Peer::Switch(peer), Some(reverse)) = (self.ports[port].peer, self.ports[port].reverse)
            else {
                return None;
            };
            let nearer = distances.of(peer).checked_add(1) == Some(distances.of(at));
            (nearer && works(LinkRef::Port(reverse))).then_some((peer, reverse))
        };
        self.nodes[at].ports.clone().map(PortId::new).filter_map(into).collect()
    }
}
