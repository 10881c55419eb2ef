//! Names of nodes and links.

use pullnet_units::{HostId, Id, NodeId, PortId};

use crate::model::{HostPeer, Level, Link, Node, NodeKind, Peer};
use crate::names::Names;
use crate::topology::Topology;

impl Topology {
    /// The name of a node: `"tor 3"`, `"host 12"`, or the name in the file.
    pub fn node_name(&self, node: NodeId) -> String {
        let this = &self.nodes[node];
        if let Some(name) = self.names.given.get(node.index()) {
            return name.clone();
        }
        match this.kind {
            NodeKind::Host(host) => format!("host {}", host.get()),
            NodeKind::Switch => format!("{} {}", self.names.tiers[usize::from(this.tier)], this.number),
        }
    }

    /// The node of the given name. `"host 12"`, and `"switch 3"` for the fourth switch, work in every topology.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.by_name.get(name).copied().or_else(|| self.find_numbered(name))
    }

    fn find_numbered(&self, name: &str) -> Option<NodeId> {
        let (word, number) = name.rsplit_once(' ')?;
        let number: u32 = number.parse().ok()?;
        if word == "host" {
            return self.hosts.get(HostId::new(number)).map(|host| host.node);
        }
        let tier = self.names.tiers.iter().position(|tier| *tier == word);
        let first = match tier {
            Some(tier) => self.names.first[tier],
            None if word == "switch" => self.names.first[0],
            None => return None,
        };
        let node = NodeId::new(first.checked_add(number)?);
        let graph = !self.names.given.is_empty();
        let fits = |found: &&Node| graph || tier.is_none_or(|tier| usize::from(found.tier) == tier);
        self.nodes.get(node).filter(fits).map(|_| node)
    }

    /// The name of a port, for instance `"tor 3 -> agg 5"`.
    pub fn port_name(&self, port: PortId) -> String {
        let (from, to) = self.link_ends(LinkRef::Port(port));
        format!("{} -> {}", self.node_name(from), self.node_name(to))
    }

    /// The name of a host's NIC, for instance `"host 3 -> tor 0"`.
    pub fn nic_name(&self, host: HostId) -> String {
        let (from, to) = self.link_ends(LinkRef::Nic(host));
        format!("{} -> {}", self.node_name(from), self.node_name(to))
    }

    /// The tier of a node as a word, such as `"host"`, `"tor"` or `"core"`; `"switch"` where switches have no tiers.
    pub fn tier_name(&self, node: NodeId) -> &'static str {
        let Node { kind, tier, number, .. } = &self.nodes[node];
        let Names { tiers, of_switches, .. } = &self.names;
        match kind {
            NodeKind::Host(_) => "host",
            NodeKind::Switch => {
                of_switches.get(*number as usize).copied().unwrap_or_else(|| tiers[usize::from(*tier)])
            }
        }
    }

    /// The nodes at the start and the end of a link.
    pub fn link_ends(&self, link: LinkRef) -> (NodeId, NodeId) {
        match link {
            LinkRef::Nic(host) => match self.hosts[host].peer {
                HostPeer::Switch { switch, .. } => (self.hosts[host].node, switch),
                HostPeer::Host(other) => (self.hosts[host].node, self.hosts[other].node),
            },
            LinkRef::Port(port) => match self.ports[port].peer {
                Peer::Host(host) => (self.ports[port].node, self.hosts[host].node),
                Peer::Switch(node) => (self.ports[port].node, node),
            },
        }
    }

    /// All directed links: the hosts' NICs, then the ports.
    pub fn links(&self) -> impl Iterator<Item = LinkRef> + '_ {
        self.hosts.ids().map(LinkRef::Nic).chain(self.ports.ids().map(LinkRef::Port))
    }

    /// Rate and delay of a directed link.
    pub fn link(&self, link: LinkRef) -> Link {
        match link {
            LinkRef::Nic(host) => self.hosts[host].link,
            LinkRef::Port(port) => self.ports[port].link,
        }
    }

    /// The link that leads to a host.
    pub fn inbound(&self, host: HostId) -> Link {
        self.link(self.inbound_link(host))
    }

    /// Which link leads to a host.
    pub fn inbound_link(&self, host: HostId) -> LinkRef {
        match self.hosts[host].peer {
            HostPeer::Switch { down, .. } => LinkRef::Port(down),
            HostPeer::Host(other) => LinkRef::Nic(other),
        }
    }

    /// The level of a directed link.
    pub fn level(&self, link: LinkRef) -> Level {
        let (from, to) = self.link_ends(link);
        Level { from: self.tier_name(from), to: self.tier_name(to) }
    }
}

/// One direction of a cable, identified by its sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkRef {
    /// Sent by the NIC of a host.
    Nic(HostId),
    /// Sent by a port of a switch.
    Port(PortId),
}
