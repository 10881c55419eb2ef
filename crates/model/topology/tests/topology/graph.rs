//! Graphs: their paths, their numbering, and rejected input.

use std::collections::BTreeSet;

use crate::common::{assert_paths, assert_wired, first_switch, walk_by};
use proptest::prelude::*;
use pullnet_topology::{
    Dumbbell, FatTree, Graph, Hop, HostPeer, Link, NodeKind, Peer, Topology, TopologyError, VertexId,
};
use pullnet_units::HostAddr;
use pullnet_units::{BitsPerSec, HostId, Id, NodeId, Picos, PortId};

const LINK: Link = Link { rate: BitsPerSec::gbps(10), delay: Picos::from_micros(1) };

/// A connected graph: a random tree of switches, more links at random (parallel ones too), hosts at random.
fn any_graph() -> impl Strategy<Value = (Topology, usize)> {
    let indices = |range| prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..4), range);
    (indices(1..9), indices(0..16), prop::collection::vec(any::<u32>(), 2..12), 1u16..40).prop_map(
        |(tree, extra, hosts, max_paths)| {
            let mut graph = Graph::new("random");
            graph.max_paths = max_paths;
            let link = |gbps| Link { rate: BitsPerSec::gbps(gbps), delay: Picos::from_nanos(100 * gbps) };
            let first = graph.switch("s0").unwrap();
            let mut switches = vec![first];
            for (i, (parent, _, rate)) in tree.into_iter().enumerate() {
                let switch = graph.switch(&format!("s{}", i + 1)).unwrap();
                graph.link(switches[parent as usize % switches.len()], switch, link(rate)).unwrap();
                switches.push(switch);
            }
            for (a, b, rate) in extra {
                let (a, b) = (switches[a as usize % switches.len()], switches[b as usize % switches.len()]);
                let _same_switch_is_refused = graph.link(a, b, link(rate));
            }
            for (i, at) in hosts.into_iter().enumerate() {
                let host = graph.host(&format!("h{i}")).unwrap();
                graph.link(switches[at as usize % switches.len()], host, link(2)).unwrap();
            }
            (graph.build().unwrap(), usize::from(max_paths))
        },
    )
}

fn any_graph_and_pair() -> impl Strategy<Value = (Topology, HostId, HostId)> {
    (any_graph(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(
        |((topology, _), a, b)| {
            let hosts = topology.hosts.len();
            let (a, b) = (HostId::from_index(a.index(hosts)), HostId::from_index(b.index(hosts)));
            (topology, a, b)
        },
    )
}

/// All loop-free paths with the least number of links between two switches, found by exhaustive search.
fn all_shortest(topology: &Topology, from: NodeId, to: NodeId) -> BTreeSet<Vec<PortId>> {
    let mut ways = vec![(from, Vec::new())];
    loop {
        let found: BTreeSet<Vec<PortId>> =
            ways.iter().filter(|(at, _)| *at == to).map(|(_, way)| way.clone()).collect();
        if !found.is_empty() {
            return found;
        }
        let mut longer = Vec::new();
        for (at, way) in ways {
            for port in topology.nodes[at].ports.clone().map(PortId::new) {
                if let Peer::Switch(next) = topology.ports[port].peer {
                    let back = way.iter().any(|port: &PortId| topology.ports[*port].node == next);
                    if !back {
                        longer.push((next, way.iter().copied().chain([port]).collect()));
                    }
                }
            }
        }
        ways = longer;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_path_arrives_and_is_its_own_reverse((topology, src, dst) in any_graph_and_pair()) {
        assert_wired(&topology);
        assert_paths(&topology, src, dst);
        prop_assert_eq!(topology.hop(first_switch(&topology, src)), Hop::Table);
    }

    #[test]
    fn paths_are_shortest_and_complete_up_to_the_maximum((topology, max) in any_graph()) {
        let (src, dst) = (HostId::new(0), HostId::new(1));
        let all = all_shortest(&topology, first_switch(&topology, src), first_switch(&topology, dst));
        let count = topology.path_count(topology.addr(src), topology.addr(dst));
        let mut listed: BTreeSet<Vec<PortId>> = (0..count).map(|path| topology.route(src, dst, path)).collect();
        listed = listed.into_iter().map(|mut route| { route.pop(); route }).collect();
        prop_assert!(listed.is_subset(&all));
        prop_assert_eq!(listed.len(), all.len().min(max));
        prop_assert_eq!(listed.len(), usize::from(count));
    }

    #[test]
    fn any_choice_at_switches_arrives((topology, src, dst) in any_graph_and_pair(), choices in prop::collection::vec(any::<u32>(), 12)) {
        let (end, route) = walk_by(&topology, src, dst, choices);
        prop_assert_eq!(end, dst);
        prop_assert_eq!(route.len(), topology.route(src, dst, 0).len());
    }

    #[test]
    fn ideal_time_of_one_packet_is_that_of_the_fastest_path((topology, src, dst) in any_graph_and_pair()) {
        let size = pullnet_units::Bytes(1064);
        let cost = |link: Link| link.rate.serialization(size) + link.delay;
        let time = |path| {
            let route = topology.route(src, dst, path).into_iter().map(|port| cost(topology.ports[port].link));
            route.fold(cost(topology.hosts[src].link), |sum, cost| sum + cost)
        };
        let count = topology.path_count(topology.addr(src), topology.addr(dst));
        let best = (0..count).map(time).min().unwrap();
        let ideal = topology.ideal_fct(src, dst, 1000, 1000, 64);
        let all = all_shortest(&topology, first_switch(&topology, src), first_switch(&topology, dst));
        prop_assert!(ideal <= best);
        prop_assert!(ideal == best || all.len() > usize::from(count));
    }
}

/// The same network as a fat tree, described link by link.
fn as_graph(tree: &Topology) -> Topology {
    let mut graph = Graph::new("as graph");
    graph.max_paths = 1000;
    let vertices: Vec<VertexId> = tree
        .nodes
        .enumerate()
        .map(|(id, node)| match node.kind {
            NodeKind::Host(_) => graph.host(&tree.node_name(id)).unwrap(),
            NodeKind::Switch => graph.switch(&tree.node_name(id)).unwrap(),
        })
        .collect();
    for host in tree.hosts.iter() {
        let HostPeer::Switch { switch, .. } = host.peer else { panic!("no switch") };
        graph.link(vertices[host.node.index()], vertices[switch.index()], host.link).unwrap();
    }
    for (id, port) in tree.ports.enumerate().filter(|(id, port)| port.reverse.is_some_and(|back| *id < back))
    {
        let (from, to) = tree.link_ends(pullnet_topology::LinkRef::Port(id));
        graph.link(vertices[from.index()], vertices[to.index()], port.link).unwrap();
    }
    graph.build().unwrap()
}

#[test]
fn a_fat_tree_as_a_graph_has_the_same_paths() {
    let tree = FatTree { k: 6, oversubscription: [2, 1], ..FatTree::default() }.build().unwrap();
    let graph = as_graph(&tree);
    for src in tree.hosts.ids().step_by(5) {
        for dst in tree.hosts.ids().step_by(7).filter(|dst| *dst != src) {
            let names = |topology: &Topology| -> BTreeSet<Vec<String>> {
                let count = topology.path_count(topology.addr(src), topology.addr(dst));
                let route = |path| {
                    topology.route(src, dst, path).into_iter().map(|port| topology.port_name(port)).collect()
                };
                (0..count).map(route).collect()
            };
            assert_eq!(names(&tree), names(&graph));
            let ideal = |topology: &Topology| topology.ideal_fct(src, dst, 100_000, 9000, 64);
            assert_eq!(ideal(&tree), ideal(&graph));
        }
    }
}

#[test]
fn a_limited_list_spreads_over_the_first_links() {
    let mut limited = Graph::new("four cores only");
    limited.max_paths = 4;
    let ends = [limited.switch("a").unwrap(), limited.switch("b").unwrap()];
    for i in 0..4 {
        let (up, down) =
            (limited.switch(&format!("u{i}")).unwrap(), limited.switch(&format!("d{i}")).unwrap());
        limited.link(ends[0], up, LINK).unwrap();
        (0..4).for_each(|_| limited.link(up, down, LINK).unwrap());
        limited.link(down, ends[1], LINK).unwrap();
    }
    for (i, end) in ends.into_iter().enumerate() {
        let host = limited.host(&format!("h{i}")).unwrap();
        limited.link(host, end, LINK).unwrap();
    }
    let limited = limited.build().unwrap();
    assert_eq!(limited.path_count(HostAddr(0), HostAddr(1)), 4);
    let first: BTreeSet<PortId> =
        (0..4).map(|path| limited.route(HostId::new(0), HostId::new(1), path)[0]).collect();
    assert_eq!(first.len(), 4);
}

#[test]
fn a_dumbbell_has_one_bottleneck() {
    let slow = Link { rate: BitsPerSec::gbps(1), ..LINK };
    let dumbbell = Dumbbell { left: 2, right: 3, bottleneck: slow, ..Dumbbell::default() }.build().unwrap();
    assert_wired(&dumbbell);
    let route = dumbbell.route(HostId::new(1), HostId::new(4), 0);
    let names: Vec<String> = route.iter().map(|port| dumbbell.port_name(*port)).collect();
    assert_eq!(names, ["switch 0 -> switch 1", "switch 1 -> host 4"]);
    assert_eq!(dumbbell.ports[route[0]].link, slow);
    assert_eq!((dumbbell.parts, dumbbell.nodes[NodeId::new(4)].part), (2, 1));
    assert_eq!(dumbbell.find("switch 1"), Some(NodeId::new(6)));
    assert_eq!(dumbbell.find("host 4"), Some(NodeId::new(4)));
    let ideal = dumbbell.ideal_fct(HostId::new(0), HostId::new(2), 18_000, 9000, 0);
    assert_eq!(ideal, Picos::from_nanos(7_200 + 2 * 72_000 + 7_200 + 3_000));
}

#[test]
fn impossible_graphs_are_refused_with_a_remedy() {
    let build = |steps: &dyn Fn(&mut Graph) -> Result<(), TopologyError>| {
        let mut graph = Graph::new("net");
        match steps(&mut graph) {
            Ok(()) => graph.build().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(build(&|_| Ok(())), "net: hosts = 0; a network needs at least 2 hosts");
    let twice = build(&|graph| graph.host("a").and(graph.host("a")).map(|_| ()));
    assert_eq!(twice, "net: there are two nodes named \"a\"; rename one of them");
    let pair = build(&|graph| {
        let ends = (graph.host("a")?, graph.host("b")?);
        graph.link(ends.0, ends.1, LINK)
    });
    assert!(
        pair.starts_with("net: link between \"a\" and \"b\": both ends are hosts; join hosts by a switch"),
        "{pair}"
    );
    let still = build(&|graph| {
        let ends = (graph.host("a")?, graph.switch("s")?);
        graph.link(ends.0, ends.1, Link { delay: Picos::ZERO, ..LINK })
    });
    assert_eq!(
        still,
        "net: link between \"a\" and \"s\": delay = 0; a link needs a delay, for instance \"1 us\""
    );
    let lonely = build(&|graph| graph.host("a").and(graph.host("b")).map(|_| ()));
    assert_eq!(lonely, "net: host \"a\" has no link; add a link or remove it");
    let split = build(&|graph| {
        for (host, switch) in [("a", "s"), ("b", "t")] {
            let ends = (graph.host(host)?, graph.switch(switch)?);
            graph.link(ends.0, ends.1, LINK)?;
        }
        Ok(())
    });
    assert_eq!(split, "net: no path leads from host \"b\" to host \"a\"; add links between their switches");
    let twin = build(&|graph| {
        let (host, s, t) = (graph.host("a")?, graph.switch("s")?, graph.switch("t")?);
        graph.link(host, s, LINK)?;
        graph.link(t, host, LINK)
    });
    assert_eq!(
        twin,
        "net: link between \"t\" and \"a\": host \"a\" has a link already; \
         a host has one NIC; keep one link (host_links = \"first\" does so for all hosts), or use all of them by host_links = \"all\""
    );
    let crowded = build(&|graph| {
        let switch = graph.switch("s")?;
        (0..=65_535).try_for_each(|i| {
            let host = graph.host(&format!("h{i}"))?;
            graph.link(host, switch, LINK)
        })
    });
    assert_eq!(
        crowded,
        "net: link between \"h65535\" and \"s\": \"s\" has 65535 links; spread the links over more switches"
    );
}
