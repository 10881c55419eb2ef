//! Builds the nodes and ports of a tree from its shape.

use pullnet_units::{HostId, IdVec, NodeId, PortId};

use crate::error::TopologyError;
use crate::model::{Host, HostPeer, Link, Node, NodeKind, Peer, Port};
use crate::names::Names;
use crate::topology::{Routing, Topology};
use crate::tree::{Shape, Tree, bits};

/// Most ports of any topology; more would take gigabytes for the ports alone.
const MAX_PORTS: u64 = 1 << 26;

/// Names of a tree's tiers.
const fn words(tiers: u8) -> &'static [&'static str] {
    match tiers {
        1 => &["switch"],
        2 => &["tor", "spine"],
        _ => &["tor", "agg", "core"],
    }
}

/// Number of the first switch and port of each tier.
struct Layout<'a> {
    shape: &'a Shape,
    nodes: [u32; 3],
    ports: [u32; 3],
}

impl<'a> Layout<'a> {
    fn new(shape: &'a Shape) -> Self {
        let (mut nodes, mut ports) = ([0; 3], [0; 3]);
        let (mut node, mut port) = (shape.host_count(), 0);
        for tier in 0..shape.tiers {
            nodes[usize::from(tier)] = node;
            ports[usize::from(tier)] = port;
            node += shape.switches(tier);
            port += shape.switches(tier) * shape.degree(tier);
        }
        Self { shape, nodes, ports }
    }

    fn node(&self, tier: u8, number: u32) -> NodeId {
        NodeId::new(self.nodes[usize::from(tier)] + number)
    }

    fn port(&self, tier: u8, number: u32, index: u32) -> PortId {
        PortId::new(self.ports[usize::from(tier)] + number * self.shape.degree(tier) + index)
    }

    fn parts(&self) -> u32 {
        match self.shape.tiers {
            1 => 1,
            2 => self.shape.racks,
            _ => self.shape.pods,
        }
    }

    /// Part of a switch: its pod, or its rack with two tiers; the switches above are spread evenly over the parts.
    fn part(&self, tier: u8, number: u32) -> u32 {
        let shape = self.shape;
        match (shape.tiers, tier) {
            (1, _) => 0,
            (2, 0) => number,
            (3, 0) => number / shape.racks,
            (3, 1) => number / shape.aggs,
            _ => (u64::from(number) * u64::from(self.parts()) / u64::from(shape.switches(tier))) as u32,
        }
    }

    fn host(&self, index: u32) -> Host {
        let (tor, ingress) = (index / self.shape.hosts, index % self.shape.hosts);
        let (switch, down) = (self.node(0, tor), self.port(0, tor, ingress));
        let peer = HostPeer::Switch { switch, down, ingress: ingress as u16 };
        Host { node: NodeId::new(index), link: self.shape.links[0].up, peer }
    }

    fn host_node(&self, index: u32) -> Node {
        let part = self.part(0, index / self.shape.hosts);
        Node { kind: NodeKind::Host(HostId::new(index)), tier: 0, number: index, part, ports: 0..0 }
    }

    fn switch_node(&self, tier: u8, number: u32) -> Node {
        let start = self.port(tier, number, 0).get();
        let ports = start..start + self.shape.degree(tier);
        Node { kind: NodeKind::Switch, tier, number, part: self.part(tier, number), ports }
    }

    /// Creates port `index` of a switch: ports down come first, by child and lane, then ports up, by parent and lane.
    fn make_port(&self, tier: u8, number: u32, index: u32) -> Port {
        let (children, lanes) = self.shape.below(tier);
        if index >= children * lanes {
            self.up_port(tier, number, index - children * lanes)
        } else if tier == 0 {
            self.host_port(number, index)
        } else {
            self.down_port(tier, number, index)
        }
    }

    fn host_port(&self, number: u32, index: u32) -> Port {
        let host = HostId::new(number * self.shape.hosts + index);
        let link = self.shape.links[0].down;
        Port { node: self.node(0, number), peer: Peer::Host(host), reverse: None, link, ingress: 0 }
    }

    fn up_port(&self, tier: u8, number: u32, index: u32) -> Port {
        let (parents, lanes) = self.shape.above(tier);
        let (parent, lane) = (index / lanes, index % lanes);
        let (group, child) = self.group(tier, number);
        let above = group * parents + parent;
        let ingress = child * lanes + lane;
        let link = self.shape.links[usize::from(tier) + 1].up;
        self.switch_port((tier, number), (tier + 1, above), ingress, link)
    }

    fn down_port(&self, tier: u8, number: u32, index: u32) -> Port {
        let (_, lanes) = self.shape.below(tier);
        let (parents, _) = self.shape.above(tier - 1);
        let (child, lane) = (index / lanes, index % lanes);
        let (group, parent) = (number / parents, number % parents);
        let below = self.ungroup(tier - 1, group, child);
        let (children, child_lanes) = self.shape.below(tier - 1);
        let ingress = children * child_lanes + parent * lanes + lane;
        let link = self.shape.links[usize::from(tier)].down;
        self.switch_port((tier, number), (tier - 1, below), ingress, link)
    }

    /// Switches of a tier with the same parents form a group: a pod's ToRs, or the `a`-th aggregations of all pods, joined
    /// by cores. Returns the group of `number` and its index in the group.
    fn group(&self, tier: u8, number: u32) -> (u32, u32) {
        match tier {
            0 => (number / self.shape.racks, number % self.shape.racks),
            _ => (number % self.shape.aggs, number / self.shape.aggs),
        }
    }

    fn ungroup(&self, tier: u8, group: u32, place: u32) -> u32 {
        match tier {
            0 => group * self.shape.racks + place,
            _ => place * self.shape.aggs + group,
        }
    }

    fn switch_port(
        &self,
        (tier, number): (u8, u32),
        (peer_tier, peer): (u8, u32),
        ingress: u32,
        link: Link,
    ) -> Port {
        Port {
            node: self.node(tier, number),
            peer: Peer::Switch(self.node(peer_tier, peer)),
            reverse: Some(self.port(peer_tier, peer, ingress)),
            link,
            ingress: ingress as u16,
        }
    }

    fn switches(&self) -> impl Iterator<Item = (u8, u32)> + '_ {
        (0..self.shape.tiers)
            .flat_map(|tier| (0..self.shape.switches(tier)).map(move |number| (tier, number)))
    }
}

/// Builds the tree `shape`; `kind` is its name in errors.
pub(crate) fn build(kind: &'static str, name: String, shape: Shape) -> Result<Topology, TopologyError> {
    check(kind, &shape)?;
    let layout = Layout::new(&shape);
    let host_ids = 0..shape.host_count();
    let switch_nodes = layout.switches().map(|(tier, number)| layout.switch_node(tier, number));
    let nodes = host_ids.clone().map(|i| layout.host_node(i)).chain(switch_nodes).collect();
    let hosts = host_ids.map(|i| layout.host(i)).collect();
    let ports: IdVec<PortId, Port> = layout
        .switches()
        .flat_map(|(tier, number)| (0..shape.degree(tier)).map(move |index| (tier, number, index)))
        .map(|(tier, number, index)| layout.make_port(tier, number, index))
        .collect();
    let names = Names::tiers(words(shape.tiers), layout.nodes);
    let parts = layout.parts();
    let routing = Routing::Tree(Tree::new(shape));
    Ok(Topology { name, nodes, ports, hosts, parts, cut_through: None, names, routing })
}

/// Number of ports of a switch of `tier`; may exceed the limit.
fn wide_degree(shape: &Shape, tier: u8) -> u64 {
    let ((children, lanes), (parents, up_lanes)) = (shape.below(tier), shape.above(tier));
    u64::from(children) * u64::from(lanes) + u64::from(parents) * u64::from(up_lanes)
}

/// Checks that numbers, addresses and labels fit their fields.
fn check(kind: &'static str, shape: &Shape) -> Result<(), TopologyError> {
    let refuse = |key, value: u64, remedy: &str| {
        Err(TopologyError::Parameter { kind, key, value: value.to_string(), remedy: remedy.to_string() })
    };
    for link in shape.links[..usize::from(shape.tiers)].iter().flat_map(|duplex| [duplex.up, duplex.down]) {
        if link.delay.0 == 0 {
            return refuse("delay", 0, "a link needs a delay, for instance \"1 us\"");
        }
    }
    if bits(shape.hosts) + bits(shape.racks) + bits(shape.pods) > 24 {
        let hosts = u64::from(shape.pods) * u64::from(shape.racks) * u64::from(shape.hosts);
        return refuse(
            "hosts",
            hosts,
            "pod, rack and host number must fit 24 bits together; use fewer or fuller ones",
        );
    }
    let degrees = (0..shape.tiers).map(|tier| (tier, wide_degree(shape, tier)));
    if let Some((_, degree)) = degrees.clone().find(|(_, degree)| *degree > 65_535) {
        return refuse("ports per switch", degree, "use at most 65535");
    }
    let ports = degrees.map(|(tier, degree)| degree * u64::from(shape.switches(tier))).sum();
    if ports > MAX_PORTS {
        return refuse("ports", ports, &format!("use at most {MAX_PORTS} in all"));
    }
    let paths = u64::from(shape.ups(0)) * u64::from(shape.ups(1).max(1));
    if paths > 65_535 || bits(shape.ups(0)) + bits(shape.ups(1)) > 16 {
        return refuse(
            "paths",
            paths,
            "the choices of ToR and aggregation must fit 16 bits together; use fewer uplinks",
        );
    }
    Ok(())
}
