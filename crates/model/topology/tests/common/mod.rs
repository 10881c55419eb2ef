//! Shared code of the tests of all topologies.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::collections::BTreeSet;

use pullnet_topology::{HostPeer, NodeKind, Peer, Topology};
use pullnet_units::{HostId, Id, NodeId, PortId};

pub fn first_switch(topology: &Topology, host: HostId) -> NodeId {
    match topology.hosts[host].peer {
        HostPeer::Switch { switch, .. } => switch,
        HostPeer::Host(_) => panic!("a tree has switches"),
    }
}

/// Follows ports from `src` towards `dst`: at each switch, the one of `choices` among those that lead there.
pub fn walk_by(
    topology: &Topology,
    src: HostId,
    dst: HostId,
    choices: impl IntoIterator<Item = u32>,
) -> (HostId, Vec<PortId>) {
    let (to, mut choices) = (topology.addr(dst), choices.into_iter());
    walk(topology, src, |at| {
        let ports = topology.choices(at, to);
        ports.get(choices.next().expect("enough choices") % ports.len())
    })
}

/// Follows `next` from `src` until a host is reached.
pub fn walk(
    topology: &Topology,
    src: HostId,
    mut next: impl FnMut(NodeId) -> PortId,
) -> (HostId, Vec<PortId>) {
    let mut at = first_switch(topology, src);
    let mut ports = Vec::new();
    loop {
        assert!(ports.len() < topology.nodes.len(), "a loop: {ports:?}");
        let port = next(at);
        assert!(topology.nodes[at].ports.contains(&port.get()), "{port:?} belongs to another switch");
        ports.push(port);
        match topology.ports[port].peer {
            Peer::Host(host) => return (host, ports),
            Peer::Switch(node) => at = node,
        }
    }
}

/// The cables of a route in the opposite order and direction, without the links to hosts.
pub fn reversed(topology: &Topology, route: &[PortId]) -> Vec<PortId> {
    route.iter().rev().filter_map(|port| topology.ports[*port].reverse).collect()
}

pub fn between_switches(topology: &Topology, route: &[PortId]) -> Vec<PortId> {
    route.iter().copied().filter(|port| topology.ports[*port].reverse.is_some()).collect()
}

/// Every port has its reverse, and the links into each node are numbered 0, 1, ... without gaps or repetition.
pub fn assert_wired(topology: &Topology) {
    let mut into: Vec<Vec<u16>> = vec![Vec::new(); topology.nodes.len()];
    for (id, port) in topology.ports.enumerate() {
        assert!(topology.nodes[port.node].ports.contains(&id.get()));
        match port.peer {
            Peer::Host(host) => {
                into[topology.hosts[host].node.index()].push(port.ingress);
                assert_eq!(port.reverse, None);
                let HostPeer::Switch { switch, down, .. } = topology.hosts[host].peer else {
                    panic!("no switch")
                };
                assert_eq!((switch, down), (port.node, id));
            }
            Peer::Switch(node) => {
                into[node.index()].push(port.ingress);
                let back = port.reverse.expect("a cable has two ends");
                assert_eq!(topology.ports[back].peer, Peer::Switch(port.node));
                assert_eq!((topology.ports[back].node, topology.ports[back].reverse), (node, Some(id)));
            }
        }
    }
    for host in topology.hosts.iter() {
        let HostPeer::Switch { switch, ingress, .. } = host.peer else { panic!("no switch") };
        into[switch.index()].push(ingress);
    }
    for (node, mut numbers) in topology.nodes.iter().zip(into) {
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u16), "{numbers:?}");
        let expected = if node.kind == NodeKind::Switch { node.ports.len() } else { 1 };
        assert_eq!(numbers.len(), expected);
        assert!(node.part < topology.parts);
    }
}

/// All paths between two hosts arrive, differ, have distinct labels, and use the same cables on the way back.
pub fn assert_paths(topology: &Topology, src: HostId, dst: HostId) {
    let (a, b) = (topology.addr(src), topology.addr(dst));
    assert_eq!(topology.path_count(a, b), topology.path_count(b, a));
    let mut routes = BTreeSet::new();
    for path in 0..topology.path_count(a, b) {
        let label = topology.label(a, b, path);
        assert_eq!(topology.path_of_label(a, b, label), path);
        assert_eq!(topology.label(b, a, path), label);
        let (end, route) = walk(topology, src, |at| topology.table_port(at, a, b, label).expect("a port"));
        assert_eq!(end, dst);
        assert_eq!(route, topology.route(src, dst, path));
        let back = topology.route(dst, src, path);
        assert_eq!(between_switches(topology, &back), reversed(topology, &route));
        assert!(routes.insert(route), "path {path} is there twice");
    }
}
