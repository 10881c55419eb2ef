use pullnet_units::HostAddr;
use pullnet_units::{HostId, IdVec, NodeId, PathLabel, PortId};

use crate::model::{CutThrough, Hop, Host, HostPeer, Node, NodeKind, Peer, Port};
use crate::names::Names;
use crate::paths::Paths;
use crate::tree::Tree;

/// Hosts, switches, the links between them and the paths through them.
///
/// All numbers follow from the description: hosts come first among the nodes, in their own order, then the switches tier by
/// tier; ports are numbered switch by switch, ports down (child by child, lane by lane) before ports up. Hosts of trees are
/// numbered pod by pod, rack by rack. Core `c` of a three-tier tree is connected to aggregation switch `c / n` of every pod,
/// where `n` is the number of cores per aggregation switch.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Name of the topology in results.
    pub name: String,
    /// Hosts, then switches.
    pub nodes: IdVec<NodeId, Node>,
    /// Egress ports of the switches.
    pub ports: IdVec<PortId, Port>,
    /// End systems.
    pub hosts: IdVec<HostId, Host>,
    /// Number of parts that [`Node::part`] divides the nodes into, at least 1.
    pub parts: u32,
    /// How switches cut through; `None` if they store and forward, as every new topology does.
    pub cut_through: Option<CutThrough>,
    pub(crate) names: Names,
    pub(crate) routing: Routing,
}

/// Method of finding paths.
#[derive(Clone, Debug)]
pub(crate) enum Routing {
    /// By arithmetic.
    Tree(Tree),
    /// Tables filled on first use.
    Graph(Paths),
    /// Two hosts and no switch.
    Direct,
}

impl Topology {
    /// The address that packets carry: at most 24 bits. In trees `pod | rack | host`, elsewhere the host's number.
    pub fn addr(&self, host: HostId) -> HostAddr {
        match &self.routing {
            Routing::Tree(tree) => tree.addr(host),
            Routing::Graph(_) | Routing::Direct => HostAddr(host.get()),
        }
    }

    /// How many consecutive addresses a rack has, not all of which need to be hosts; `None` where racks are no ranges of addresses.
    pub fn rack_addresses(&self) -> Option<u32> {
        match &self.routing {
            Routing::Tree(tree) => Some(tree.rack_addresses()),
            Routing::Graph(_) | Routing::Direct => None,
        }
    }

    /// The host at `addr`, or `None` if there is none.
    pub fn host(&self, addr: HostAddr) -> Option<HostId> {
        match &self.routing {
            Routing::Tree(tree) => tree.host(addr),
            Routing::Graph(paths) => paths.host(addr),
            Routing::Direct => Some(HostId::new(addr.0)).filter(|host| self.hosts.get(*host).is_some()),
        }
    }

    /// Label-based forwarding of the switch `node`.
    pub fn hop(&self, node: NodeId) -> Hop {
        match (&self.routing, self.nodes[node].kind) {
            (Routing::Tree(tree), NodeKind::Switch) => Hop::Tree(tree.hop(&self.nodes[node])),
            _ => Hop::Table,
        }
    }

    /// Number of paths from `a` to `b`, at least 1 and the same in both directions.
    #[inline]
    pub fn path_count(&self, a: HostAddr, b: HostAddr) -> u16 {
        match &self.routing {
            Routing::Tree(tree) => tree.path_count(a, b),
            Routing::Graph(paths) => paths.path_count(a, b),
            Routing::Direct => 1,
        }
    }

    /// The label of path number `path`, which must be below [`path_count`](Self::path_count). The same number selects the
    /// same cables from `b` to `a`.
    #[inline]
    pub fn label(&self, a: HostAddr, b: HostAddr, path: u16) -> PathLabel {
        match &self.routing {
            Routing::Tree(tree) => tree.label(a, b, path),
            Routing::Graph(_) | Routing::Direct => PathLabel::new(path),
        }
    }

    /// The path number of a label from [`label`](Self::label).
    #[inline]
    pub fn path_of_label(&self, a: HostAddr, b: HostAddr, label: PathLabel) -> u16 {
        match &self.routing {
            Routing::Tree(tree) => tree.path_of_label(a, b, label),
            Routing::Graph(_) | Routing::Direct => label.get(),
        }
    }

    /// The port by which the switch `at` forwards a packet from `src` to `dst` with `label`; `None` if `at` is not on that
    /// path.
    pub fn table_port(&self, at: NodeId, src: HostAddr, dst: HostAddr, label: PathLabel) -> Option<PortId> {
        match (&self.routing, self.nodes[at].kind) {
            (Routing::Tree(tree), NodeKind::Switch) => Some(tree.hop(&self.nodes[at]).port(dst.0, label)),
            (Routing::Graph(paths), _) => paths.port(&self.ports, at, src, dst, label),
            _ => None,
        }
    }

    /// All ports of the switch `at` on shortest paths to `dst`.
    pub fn choices(&self, at: NodeId, dst: HostAddr) -> Choices<'_> {
        match (&self.routing, self.nodes[at].kind) {
            (Routing::Tree(tree), NodeKind::Switch) => {
                let hop = tree.hop(&self.nodes[at]);
                let up = hop.up.get()..hop.up.get() + u32::from(hop.ups);
                let down = hop.down_port(dst.0, PathLabel::new(0)).get();
                Choices::Range(if hop.below(dst.0) { down..down + u32::from(hop.lanes) } else { up })
            }
            (Routing::Graph(paths), _) => Choices::List(paths.choices(at, dst)),
            _ => Choices::List(&[]),
        }
    }

    /// The switch ports on path number `path`, in order, without the NIC.
    pub fn route(&self, src: HostId, dst: HostId, path: u16) -> Vec<PortId> {
        let (from, to) = (self.addr(src), self.addr(dst));
        let label = self.label(from, to, path);
        let mut ports = Vec::new();
        let mut at = self.hosts[src].peer;
        while let HostPeer::Switch { switch, .. } = at {
            let Some(port) = self.table_port(switch, from, to, label) else { break };
            ports.push(port);
            match self.ports[port].peer {
                Peer::Host(_) => break,
                Peer::Switch(next) => at = HostPeer::Switch { switch: next, down: port, ingress: 0 },
            }
        }
        ports
    }
}

/// Ports on shortest paths to a destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choices<'a> {
    /// Consecutive ports, as [`PortId`] numbers.
    Range(core::ops::Range<u32>),
    /// Arbitrary ports.
    List(&'a [PortId]),
}

impl Choices<'_> {
    /// Number of ports; 0 only if the destination is unreachable.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Range(range) => range.end - range.start,
            Self::List(ports) => ports.len() as u32,
        }
    }

    /// Whether the destination is unreachable.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The port with index `index`, which must be below [`len`](Self::len).
    #[inline]
    pub fn get(&self, index: u32) -> PortId {
        match self {
            Self::Range(range) => PortId::new(range.start + index),
            Self::List(ports) => ports[index as usize],
        }
    }

    /// All ports in order.
    pub fn iter(&self) -> impl Iterator<Item = PortId> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}
