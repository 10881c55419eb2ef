//! Trees for packets that switches copy.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_topology::{FatTree, Graph, LeafSpine, Link, LinkRef, MulticastTree, Peer, Topology};
use pullnet_units::{BitsPerSec, HostId, NodeId, Picos, PortId};

const SOUND: &dyn Fn(LinkRef) -> bool = &|_| true;

fn tree(
    topology: &Topology,
    src: u32,
    to: &[u32],
    number: u16,
    works: &dyn Fn(LinkRef) -> bool,
) -> MulticastTree {
    let receivers: Vec<_> = to.iter().copied().map(HostId::new).collect();
    topology.multicast_tree(&topology.distances(HostId::new(src), works), &receivers, number, works)
}

/// Follows copies from the switch of `src`: how often each host gets the packet, and the links that it crosses.
fn follow(topology: &Topology, src: u32, tree: &MulticastTree) -> (BTreeMap<u32, u32>, BTreeSet<PortId>) {
    let (mut hosts, mut links) = (BTreeMap::new(), BTreeSet::new());
    let mut at: Vec<NodeId> = vec![topology.link_ends(LinkRef::Nic(HostId::new(src))).1];
    while let Some(node) = at.pop() {
        for port in tree.branches(node) {
            assert!(links.insert(port), "a packet crosses a link twice");
            match topology.ports[port].peer {
                Peer::Host(host) => *hosts.entry(host.get()).or_default() += 1,
                Peer::Switch(next) => at.push(next),
            }
        }
    }
    (hosts, links)
}

/// Every receiver gets one copy, by a shortest way, and links add up.
fn check(topology: &Topology, src: u32, to: &[u32], number: u16) -> BTreeSet<PortId> {
    let tree = tree(topology, src, to, number, SOUND);
    let (hosts, links) = follow(topology, src, &tree);
    assert_eq!(hosts, to.iter().map(|host| (*host, 1)).collect(), "receivers of {src}");
    let sum: usize = (0..to.len()).map(|index| usize::from(tree.links(index).unwrap())).sum();
    assert_eq!(sum, links.len() + 1, "the links of the tree and the NIC");
    links
}

#[test]
fn trees_of_a_fat_tree_pass_one_core_each_and_use_all_of_them() {
    let topology = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let to = [1, 2, 4, 7, 9, 15];
    assert_eq!(topology.multicast_trees(HostId::new(0), &to.map(HostId::new)), 4);
    let mut cores = BTreeSet::new();
    for number in 0..4 {
        let links = check(&topology, 0, &to, number);
        let passed: BTreeSet<_> = links.iter().map(|port| topology.ports[*port].node).collect();
        let passed: Vec<_> = passed.into_iter().filter(|node| topology.nodes[*node].tier == 2).collect();
        assert_eq!(passed.len(), 1, "tree {number}");
        cores.extend(passed);
        // What each receiver adds to those before it.
        assert_eq!(links.len(), 1 + 3 + 4 + 2 + 3 + 3, "tree {number}: {links:?}");
    }
    assert_eq!(cores.len(), 4);
}

#[test]
fn trees_of_a_leaf_spine_network_spread_over_the_spines() {
    let topology =
        LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
    let used: BTreeSet<_> = (0..3).flat_map(|number| check(&topology, 0, &[3, 5, 7], number)).collect();
    let up = used.iter().filter(|port| topology.nodes[topology.ports[**port].node].tier == 0);
    let up: BTreeSet<_> = up.filter(|port| matches!(topology.ports[**port].peer, Peer::Switch(_))).collect();
    assert_eq!(up.len(), 3, "a link up for each tree");
}

#[test]
fn trees_of_every_kind_reach_everybody_once() {
    let fat = FatTree { k: 8, ..FatTree::default() }.build().unwrap();
    for src in [0, 17, 127] {
        let to: Vec<u32> = (0..128).filter(|host| *host != src && host % 3 != 1).collect();
        (0..16).for_each(|number| drop(check(&fat, src, &to, number)));
    }
    // A ring of five switches with a parallel link and two hosts each.
    let link = Link { rate: BitsPerSec::gbps(10), delay: Picos::from_micros(1) };
    let mut graph = Graph::new("ring");
    let switches: Vec<_> = (0..5).map(|n| graph.switch(&format!("s{n}")).unwrap()).collect();
    for n in 0..5 {
        graph.link(switches[n], switches[(n + 1) % 5], link).unwrap();
        for host in 0..2 {
            let host = graph.host(&format!("h{n}{host}")).unwrap();
            graph.link(host, switches[n], link).unwrap();
        }
    }
    graph.link(switches[0], switches[1], link).unwrap();
    let ring = graph.build().unwrap();
    (0..8).for_each(|number| drop(check(&ring, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9], number)));
}

#[test]
fn a_tree_goes_round_a_failed_link_and_names_whom_nobody_reaches() {
    let topology = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let to = [4, 9, 15];
    for number in 0..4 {
        let before = follow(&topology, 0, &tree(&topology, 0, &to, number, SOUND)).1;
        for failed in before {
            let works = |link| link != LinkRef::Port(failed);
            let left = tree(&topology, 0, &to, number, &works);
            let (hosts, links) = follow(&topology, 0, &left);
            assert!(!links.contains(&failed));
            match topology.ports[failed].peer {
                // Its only link: the others get theirs.
                Peer::Host(host) => {
                    let lost = to.iter().position(|receiver| *receiver == host.get()).unwrap();
                    assert_eq!((left.links(lost), hosts.len()), (None, 2));
                }
                Peer::Switch(_) => assert_eq!(hosts.len(), 3, "{failed:?} of tree {number}"),
            }
        }
    }
}
