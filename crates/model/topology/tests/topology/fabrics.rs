//! Fabrics of publications: degrees, numbers of paths, bisection, and paths that arrive and differ, for all small parameters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::common::{assert_paths, assert_wired, between_switches, first_switch};
use proptest::prelude::*;
use pullnet_topology::{
    AbFatTree, Graph, HostLinks, Jellyfish, Jupiter, Link, NodeKind, Peer, Planes, Topology, Vl2,
};
use pullnet_units::{BitsPerSec, HostId, Id, NodeId, Picos, PortId};

fn vl2() -> impl Strategy<Value = Topology> {
    (1u32..=4, 2u32..=6, 1u32..=3)
        .prop_filter("whole numbers of ToRs", |(half, di, _)| (2 * half * di).is_multiple_of(4))
        .prop_filter("two hosts", |(half, di, hosts_per_tor)| half * di / 2 * hosts_per_tor >= 2)
        .prop_map(|(half, di, hosts_per_tor)| Vl2 { da: 2 * half, di, hosts_per_tor, ..Vl2::default() })
        .prop_map(|vl2| vl2.build().unwrap())
}

fn jellyfish() -> impl Strategy<Value = Topology> {
    (5u32..=14, 3u32..=4, 1u32..=3, any::<u64>())
        .prop_filter("an even number of ends", |(switches, degree, ..)| (switches * degree).is_multiple_of(2))
        .prop_map(|(switches, degree, hosts, seed)| {
            let jellyfish =
                Jellyfish { switches, ports: degree + hosts, degree, seed, ..Jellyfish::default() };
            jellyfish.build().unwrap()
        })
}

fn jupiter() -> impl Strategy<Value = Topology> {
    (1u32..=3, 1u32..=3, 1u32..=3, 1u32..=2, 3u32..=4, 1u32..=3).prop_map(
        |(blocks, tors_per_block, middle_blocks, tor_lanes, spine_blocks, block_lanes)| {
            let shape = Jupiter { blocks, tors_per_block, middle_blocks, tor_lanes, ..Jupiter::default() };
            Jupiter { spine_blocks, block_lanes, hosts_per_tor: 2, ..shape }.build().unwrap()
        },
    )
}

fn planes() -> impl Strategy<Value = Topology> {
    (1u32..=4, 1u32..=3, 1u32..=3, 2u32..=3).prop_map(|(planes, leaves, spines, hosts_per_leaf)| {
        Planes { planes, leaves, spines, hosts_per_leaf, ..Planes::default() }.build().unwrap()
    })
}

fn any_fabric() -> impl Strategy<Value = Topology> {
    let ab = (2u32..=4).prop_map(|half| AbFatTree { k: 2 * half, ..AbFatTree::default() }.build().unwrap());
    prop_oneof![vl2(), jellyfish(), jupiter(), planes(), ab]
}

/// Numbers of links to other switches, by the word of a switch's name.
fn degrees(topology: &Topology) -> BTreeMap<String, BTreeSet<usize>> {
    let mut degrees: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (id, node) in topology.nodes.enumerate().filter(|(_, node)| node.kind == NodeKind::Switch) {
        let name = topology.node_name(id);
        let word = name.rsplit_once(' ').map_or(name.as_str(), |(word, number)| match number {
            "nics" => "nics",
            _ => word,
        });
        let up =
            node.ports.clone().filter(|port| topology.ports[PortId::new(*port)].reverse.is_some()).count();
        degrees.entry(word.to_owned()).or_default().insert(up);
    }
    degrees
}

fn all_of(degrees: &BTreeMap<String, BTreeSet<usize>>, word: &str, degree: u32) {
    assert_eq!(degrees[word], BTreeSet::from([degree as usize]), "{word}");
}

/// Most that can flow from the switches of one half of the hosts to those of the other, in Gb/s, over the links between
/// switches (Edmonds and Karp).
fn bisection(topology: &Topology) -> u64 {
    let (source, sink) = (topology.nodes.len(), topology.nodes.len() + 1);
    let mut room: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for port in topology.ports.iter() {
        if let Peer::Switch(peer) = port.peer {
            *room.entry((port.node.index(), peer.index())).or_default() +=
                port.link.rate.get() / 1_000_000_000;
        }
    }
    let hosts = topology.hosts.len();
    for host in topology.hosts.ids() {
        let switch = first_switch(topology, host).index();
        let ends = if host.index() < hosts / 2 { (source, switch) } else { (switch, sink) };
        *room.entry(ends).or_default() += 1_000_000;
    }
    let mut total = 0;
    while let Some(path) = augmenting(&room, source, sink) {
        let least = path.windows(2).map(|pair| room[&(pair[0], pair[1])]).min().unwrap_or(0);
        for pair in path.windows(2) {
            *room.entry((pair[0], pair[1])).or_default() -= least;
            *room.entry((pair[1], pair[0])).or_default() += least;
        }
        total += least;
    }
    total
}

fn augmenting(room: &BTreeMap<(usize, usize), u64>, source: usize, sink: usize) -> Option<Vec<usize>> {
    let (mut before, mut todo) = (BTreeMap::from([(source, source)]), VecDeque::from([source]));
    while let Some(at) = todo.pop_front() {
        for ((_, next), left) in room.range((at, 0)..=(at, usize::MAX)) {
            if *left > 0 && !before.contains_key(next) {
                before.insert(*next, at);
                todo.push_back(*next);
            }
        }
    }
    let mut path = vec![sink];
    while *path.last()? != source {
        path.push(*before.get(path.last()?)?);
    }
    path.reverse();
    Some(path)
}

fn paths(topology: &Topology, a: u32, b: u32) -> u16 {
    topology.path_count(topology.addr(HostId::new(a)), topology.addr(HostId::new(b)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn every_path_arrives_differs_and_is_its_own_reverse(
        topology in any_fabric(),
        a in any::<prop::sample::Index>(),
        b in any::<prop::sample::Index>(),
    ) {
        assert_wired(&topology);
        let hosts = topology.hosts.len();
        let (src, dst) = (HostId::from_index(a.index(hosts)), HostId::from_index(b.index(hosts)));
        if src != dst {
            assert_paths(&topology, src, dst);
            let lengths: BTreeSet<usize> = (0..topology.path_count(topology.addr(src), topology.addr(dst)))
                .map(|path| topology.route(src, dst, path).len())
                .collect();
            prop_assert_eq!(lengths.len(), 1, "paths of equal cost");
        }
    }

    #[test]
    fn a_jellyfish_may_use_the_shortest_paths_of_any_length(
        seed: u64, max_paths in 1u16..=20, a in 0u32..24, b in 0u32..24,
    ) {
        let shortest = Jellyfish { seed, ..Jellyfish::default() };
        let longer = Jellyfish { max_paths, longer_paths: true, ..shortest.clone() }.build().unwrap();
        let (src, dst) = (HostId::new(a), HostId::new(b));
        prop_assume!(first_switch(&longer, src) != first_switch(&longer, dst));
        assert_paths(&longer, src, dst);
        // In this graph of 12 switches with 4 links each, any two have far more than 20 paths.
        prop_assert_eq!(paths(&longer, a, b), max_paths);
        let lengths: Vec<usize> = (0..max_paths).map(|path| longer.route(src, dst, path).len()).collect();
        prop_assert!(lengths.is_sorted(), "{:?}", lengths);
        let shortest = shortest.build().unwrap();
        prop_assert_eq!(lengths[0], shortest.route(src, dst, 0).len());
        let least = lengths.iter().filter(|length| **length == lengths[0]).count();
        prop_assert_eq!(least, usize::from(paths(&shortest, a, b).min(max_paths)), "all of least length come first");
    }

    #[test]
    fn a_jellyfish_is_regular_connected_and_depends_on_its_seed_alone(
        half in 3u32..=12, degree in 3u32..=6, hosts in 1u32..=2, seed: u64,
    ) {
        let switches = 2 * half;
        prop_assume!(degree < switches);
        let plan = Jellyfish { switches, ports: degree + hosts, degree, seed, ..Jellyfish::default() };
        let topology = plan.build().unwrap();
        all_of(&degrees(&topology), "switch", degree);
        prop_assert_eq!(topology.hosts.len() as u32, switches * hosts);
        for port in topology.ports.iter().filter(|port| port.reverse.is_some()) {
            let peers = |node: NodeId| topology.nodes[node].ports.clone().map(|port| topology.ports[PortId::new(port)].peer);
            let again = peers(port.node).filter(|peer| *peer == port.peer).count();
            prop_assert_eq!(again, 1, "no parallel links");
        }
        let wires = |topology: &Topology| topology.ports.iter().map(|port| port.peer).collect::<Vec<_>>();
        prop_assert_eq!(wires(&plan.build().unwrap()), wires(&topology));
    }
}

#[test]
fn another_seed_draws_another_jellyfish() {
    let wires = |seed| {
        let topology = Jellyfish { switches: 20, seed, ..Jellyfish::default() }.build().unwrap();
        topology.ports.iter().map(|port| port.peer).collect::<Vec<_>>()
    };
    assert_ne!(wires(1), wires(2));
}

/// Degrees, paths and bisection of VL2, figure 5 of the paper.
#[test]
fn vl2_is_as_its_paper_has_it() {
    for (da, di) in [(4, 4), (8, 4), (4, 8), (4, 3), (8, 5)] {
        let topology = Vl2 { da, di, hosts_per_tor: 20, ..Vl2::default() }.build().unwrap();
        let degrees = degrees(&topology);
        all_of(&degrees, "tor", 2);
        all_of(&degrees, "agg", da);
        all_of(&degrees, "intermediate", di);
        assert_eq!(topology.hosts.len() as u32, da * di / 4 * 20);
        // Between ToRs below different aggregation switches: up to either, any intermediate switch, down by either.
        if di >= 4 {
            assert_eq!(u32::from(paths(&topology, 0, 20)), 2 * da);
            let tors = da * di / 4;
            assert_eq!(bisection(&topology), u64::from(tors) * 20 / 2, "half of the ToRs fill their links");
        }
    }
    let topology = Vl2::default().build().unwrap();
    let together = Vl2 { da: 8, ..Vl2::default() }.build().unwrap();
    assert_eq!(
        (paths(&topology, 0, 1), paths(&together, 0, 8)),
        (1, 2),
        "one ToR, and two that share both switches"
    );
}

/// A fat tree in degrees, paths and bisection; only the pods of two types meet at other aggregation switches.
#[test]
fn an_ab_fat_tree_is_a_fat_tree_with_two_types_of_pods() {
    for k in [4, 6, 8] {
        let topology = AbFatTree { k, ..AbFatTree::default() }.build().unwrap();
        let (half, hosts) = (k / 2, k * k * k / 4);
        let degrees = degrees(&topology);
        all_of(&degrees, "tor", half);
        all_of(&degrees, "agg", k);
        all_of(&degrees, "core", k);
        assert_eq!(topology.hosts.len() as u32, hosts);
        let pod = hosts / k;
        assert_eq!(u32::from(paths(&topology, 0, pod)), half * half, "pods of different types");
        assert_eq!(u32::from(paths(&topology, 0, 2 * pod)), half * half, "pods of the same type");
        assert_eq!(u32::from(paths(&topology, 0, half)), half, "one pod");
        assert_eq!(bisection(&topology), u64::from(hosts / 2) * 10, "full bisection bandwidth");
    }
}

/// The purpose of F10: below the cores of one switch, a pod of the other type hangs by all of its aggregation switches.
#[test]
fn cores_above_one_aggregation_switch_spread_over_the_switches_of_the_other_type() {
    let topology = AbFatTree { k: 6, ..AbFatTree::default() }.build().unwrap();
    let above = |agg: &str, word: &str| -> BTreeSet<NodeId> {
        let node = topology.find(agg).unwrap();
        let peers = topology.nodes[node].ports.clone().filter_map(|port| {
            match topology.ports[PortId::new(port)].peer {
                Peer::Switch(peer) => Some(peer),
                Peer::Host(_) => None,
            }
        });
        peers.filter(|peer| topology.node_name(*peer).starts_with(word)).collect()
    };
    let cores = above("agg 0", "core");
    let shared = |agg: &str| above(agg, "core").intersection(&cores).count();
    assert_eq!([shared("agg 3"), shared("agg 4"), shared("agg 5")], [1, 1, 1], "pod 1 is of type B");
    assert_eq!([shared("agg 6"), shared("agg 7"), shared("agg 8")], [3, 0, 0], "pod 2 is of type A");
}

#[test]
fn a_fabric_like_jupiter_has_the_links_that_its_keys_say() {
    let plan =
        Jupiter { blocks: 3, tors_per_block: 4, middle_blocks: 4, spine_blocks: 8, ..Jupiter::default() };
    let topology = plan.build().unwrap();
    let degrees = degrees(&topology);
    all_of(&degrees, "tor", 4 * 2);
    all_of(&degrees, "middle", 4 * 2 + 8 * 2 / 4);
    all_of(&degrees, "spine", 3 * 2);
    assert_eq!(topology.hosts.len(), 3 * 4 * 4);
    // Any of two middle blocks up to each spine block, and down from it, by two links to and from each.
    assert_eq!(paths(&topology, 0, 16), 8 * 2 * 2 * 2 * 2);
    assert_eq!(paths(&topology, 0, 4), 4 * 2 * 2, "within a block");
    // Both halves of the middle block of ToRs reach it by their own links alone.
    assert!(bisection(&topology) >= 16 * 10 * 6 / 4, "{}", bisection(&topology));
}

#[test]
fn hosts_of_several_planes_send_by_all_their_nics() {
    let host_link = Link { rate: BitsPerSec::gbps(25), delay: Picos::from_nanos(501) };
    let plan = Planes { planes: 4, leaves: 2, spines: 3, hosts_per_leaf: 2, host_link, ..Planes::default() };
    let topology = plan.build().unwrap();
    let degrees = degrees(&topology);
    all_of(&degrees, "nics", 4);
    all_of(&degrees, "leaf", 3 + 2);
    all_of(&degrees, "spine", 2);
    assert_eq!(topology.hosts.len(), 4);
    assert_eq!(topology.hosts[HostId::new(0)].link.rate, BitsPerSec::gbps(100), "four NICs");
    assert_eq!(topology.inbound(HostId::new(3)).rate, BitsPerSec::gbps(100));
    assert_eq!(
        (paths(&topology, 0, 1), paths(&topology, 0, 2)),
        (4, 12),
        "one for each plane, and spine of it"
    );
    let route = topology.route(HostId::new(0), HostId::new(1), 0);
    let delay: u64 = route.iter().map(|port| topology.ports[*port].link.delay.0).sum();
    assert_eq!(
        delay + topology.hosts[HostId::new(0)].link.delay.0,
        2 * 501_000,
        "two cables, the NICs included"
    );
    let planes: BTreeSet<PortId> =
        (0..12).map(|path| topology.route(HostId::new(0), HostId::new(2), path)[0]).collect();
    assert_eq!(planes.len(), 4, "paths go through every NIC");
    assert_eq!(between_switches(&topology, &route).len(), 2);
    assert_eq!(topology.node_name(first_switch(&topology, HostId::new(2))), "host 2 nics");
}

#[test]
fn nics_with_different_links_are_joined_by_direction() {
    let link = |gbps, delay| Link { rate: BitsPerSec::gbps(gbps), delay: Picos(delay) };
    let mut graph = Graph::new("two ways");
    graph.host_links = HostLinks::All;
    let (a, b) = (graph.host("a").unwrap(), graph.host("b").unwrap());
    let (s, t) = (graph.switch("s").unwrap(), graph.switch("t").unwrap());
    graph.link_each_way(a, s, link(10, 1000), link(1, 3000)).unwrap();
    graph.link_each_way(t, a, link(2, 5000), link(40, 2001)).unwrap();
    graph.link(b, s, link(10, 1000)).unwrap();
    graph.link(s, t, link(10, 1000)).unwrap();
    let topology = graph.build().unwrap();
    assert_wired(&topology);
    assert_eq!(topology.hosts[HostId::new(0)].link, link(50, 500));
    assert_eq!(topology.inbound(HostId::new(0)), link(3, 1500));
    let nics = topology.find("a nics").unwrap();
    let ways: Vec<Link> =
        topology.nodes[nics].ports.clone().map(|port| topology.ports[PortId::new(port)].link).collect();
    assert_eq!(ways, [link(3, 1500), link(10, 500), link(40, 1501)]);
    assert_eq!(topology.hosts[HostId::new(1)].link, link(10, 1000), "a host with one link keeps it");
}

#[test]
fn nics_that_cannot_be_joined_are_refused() {
    let mut graph = Graph::new("short");
    graph.host_links = HostLinks::All;
    let (a, s) = (graph.host("a").unwrap(), graph.switch("s").unwrap());
    let b = graph.host("b").unwrap();
    for (host, delay) in [(a, 1), (a, 5), (b, 5)] {
        graph.link(host, s, Link { rate: BitsPerSec::gbps(10), delay: Picos(delay) }).unwrap();
    }
    let error = graph.build().unwrap_err().to_string();
    assert!(
        error.starts_with("short: the NICs of host \"a\" cannot be joined; give each a delay of 2 ps"),
        "{error}"
    );
}

fn refused(built: Result<Topology, pullnet_topology::TopologyError>) -> String {
    built.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn impossible_parameters_are_refused_with_a_remedy() {
    let vl2 = |da, di| refused(Vl2 { da, di, ..Vl2::default() }.build());
    assert_eq!(vl2(5, 4), "vl2: da = 5 is not possible; half of its ports lead up; use an even number");
    assert!(vl2(6, 5).contains("di = 5 is not possible; there are da * di / 4 ToRs"), "{}", vl2(6, 5));
    assert!(vl2(300, 4).contains("use 2 to 256"));
    let ab = |k| refused(AbFatTree { k, ..AbFatTree::default() }.build());
    assert_eq!(ab(7), "ab-fat-tree: k = 7 is not possible; use an even number from 4 to 64");
    let jellyfish = |switches, ports, degree| {
        refused(Jellyfish { switches, ports, degree, ..Jellyfish::default() }.build())
    };
    assert!(jellyfish(10, 6, 6).ends_with("leave a port for a host: use at most 5"));
    assert!(jellyfish(4, 9, 4).ends_with("a switch has one link to each other one: use at most 3"));
    assert!(jellyfish(5, 9, 3).contains("switches * degree is odd"));
    assert!(jellyfish(12, 4, 1).contains("none of 100 random graphs was connected; use 3 or more"));
    let many = Jellyfish { max_paths: 257, longer_paths: true, ..Jellyfish::default() };
    assert!(refused(many.build()).contains("max_paths = 257 is not possible; use 1 to 256"));
    let jupiter = Jupiter { middle_blocks: 9, spine_blocks: 4, block_lanes: 2, ..Jupiter::default() };
    assert!(refused(jupiter.build()).ends_with("one or more for each; use at most 8"));
    let many = Jupiter { blocks: 64, tors_per_block: 256, hosts_per_tor: 65_000, ..Jupiter::default() };
    assert!(refused(many.build()).contains("use at most 2097152, by fewer switches or hosts"));
    assert!(refused(Planes { planes: 17, ..Planes::default() }.build()).contains("use 1 to 16"));
}

/// Levels of all directed links.
fn levels(topology: &Topology) -> BTreeSet<String> {
    topology.links().map(|link| topology.level(link).to_string()).collect()
}

/// Both directions of each pair of tiers.
fn both_ways(pairs: &[[&str; 2]]) -> BTreeSet<String> {
    pairs.iter().flat_map(|[low, high]| [format!("{low}->{high}"), format!("{high}->{low}")]).collect()
}

#[test]
fn levels_are_named_after_tiers() {
    let vl2 = Vl2::default().build().unwrap();
    assert_eq!(levels(&vl2), both_ways(&[["host", "tor"], ["tor", "agg"], ["agg", "intermediate"]]));
    let ab = AbFatTree::default().build().unwrap();
    assert_eq!(levels(&ab), both_ways(&[["host", "tor"], ["tor", "agg"], ["agg", "core"]]));
    let jupiter = Jupiter::default().build().unwrap();
    assert_eq!(levels(&jupiter), both_ways(&[["host", "tor"], ["tor", "middle"], ["middle", "spine"]]));
    let planes = Planes::default().build().unwrap();
    assert_eq!(levels(&planes), both_ways(&[["host", "nics"], ["nics", "leaf"], ["leaf", "spine"]]));
    let jellyfish = Jellyfish::default().build().unwrap();
    let mut flat = both_ways(&[["host", "switch"]]);
    flat.insert("switch->switch".to_owned());
    assert_eq!(levels(&jellyfish), flat);
}
