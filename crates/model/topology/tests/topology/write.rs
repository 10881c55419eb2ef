//! Topologies survive the way into a file and back.

use proptest::prelude::*;
use pullnet_topology::{
    AbFatTree, BackToBack, Dumbbell, FatTree, Graph, Jellyfish, Jupiter, LeafSpine, Link, LoadOptions,
    Planes, Star, Topology, Vl2, load, save,
};
use pullnet_units::{BitsPerSec, HostId, Id, Picos};

fn link() -> impl Strategy<Value = Link> {
    (1u64..=400_000_000_000, 1u64..=3_000_000).prop_map(|(rate, delay)| {
        let rate = BitsPerSec::new(rate / 1000 * 1000 + 1000).unwrap();
        Link { rate, delay: Picos(delay) }
    })
}

/// Any built topology: trees, and graphs of every make.
fn any_topology() -> impl Strategy<Value = Topology> {
    (link(), link(), link(), 0u32..9, any::<u64>()).prop_map(|(host_link, fabric_link, core, which, seed)| {
        let (spine_link, links) = (fabric_link, [host_link, fabric_link, core]);
        let built = match which {
            0 => FatTree { k: 4, links, ..FatTree::default() }.build(),
            1 => FatTree { k: 4, tiers: 2, oversubscription: [2, 1], links }.build(),
            2 => LeafSpine { lanes: 3, host_link, spine_link, ..LeafSpine::default() }.build(),
            3 => Star { hosts: 5, link: host_link }.build(),
            4 => Dumbbell { host_link, bottleneck: core, ..Dumbbell::default() }.build(),
            5 => Vl2 { host_link, fabric_link, ..Vl2::default() }.build(),
            6 => Jellyfish { seed, host_link, fabric_link, ..Jellyfish::default() }.build(),
            7 => Jupiter { host_link, tor_link: core, spine_link, ..Jupiter::default() }.build(),
            _ => AbFatTree { host_link, fabric_link, ..AbFatTree::default() }.build(),
        };
        built.unwrap()
    })
}

/// The same hosts, switches, ports and links, with the same numbers; `names` says whether names are the same, too.
fn same(one: &Topology, other: &Topology, names: bool) {
    assert_eq!((one.hosts.len(), one.nodes.len()), (other.hosts.len(), other.nodes.len()));
    for host in one.hosts.ids() {
        assert_eq!(
            (one.hosts[host].link, one.hosts[host].peer),
            (other.hosts[host].link, other.hosts[host].peer)
        );
    }
    for port in one.ports.ids() {
        let facts = |topology: &Topology| {
            let port = &topology.ports[port];
            (port.node, port.peer, port.reverse, port.link)
        };
        assert_eq!(facts(one), facts(other), "{port:?}");
    }
    for node in one.nodes.ids().filter(|_| names) {
        assert_eq!(one.node_name(node), other.node_name(node));
    }
}

fn again(topology: &Topology, name: &str) -> Topology {
    let text = save(topology, name).unwrap_or_else(|error| panic!("{error}"));
    let options =
        LoadOptions { max_paths: (!name.ends_with("topo")).then_some(65_535), ..LoadOptions::default() };
    load(name, &text, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]

    #[test]
    fn own_files_and_those_of_hpcc_hold_every_topology(topology in any_topology()) {
        let own = again(&topology, "net.toml");
        same(&topology, &own, true);
        prop_assert_eq!(&own.name, &topology.name);
        same(&topology, &again(&topology, "net.txt"), false);
        let (a, b) = (HostId::new(0), HostId::from_index(topology.hosts.len() - 1));
        let count = |topology: &Topology| topology.path_count(topology.addr(a), topology.addr(b));
        // Of parallel links a tree uses the same one up and down, a graph any two.
        prop_assert!(count(&own) >= count(&topology));
    }

    #[test]
    fn files_of_htsim_hold_every_tree(
        (host, agg, core) in (link(), link(), link()), half in 1u32..=3, tiers in 2u32..=3, tor in 1u32..=3,
    ) {
        let tree = FatTree { k: 2 * half, tiers, oversubscription: [tor, 1], links: [host, agg, core] };
        let tree = tree.build().unwrap();
        let back = again(&tree, "net.topo");
        same(&tree, &back, true);
        for path in 0..tree.path_count(tree.addr(HostId::new(0)), tree.addr(HostId::new(1))) {
            prop_assert_eq!(tree.route(HostId::new(0), HostId::new(1), path), back.route(HostId::new(0), HostId::new(1), path));
        }
    }
}

#[test]
fn latencies_of_switches_in_htsim_files_survive() {
    let text = "Nodes 8\nTiers 3\nPodsize 4\n\
                Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 12.5\n\
                Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 500\nSwitch_Latency_ns 30\n\
                Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 2000\nSwitch_Latency_ns 7\nBundle 2\n";
    let topology = load("net.topo", text, &LoadOptions::default()).unwrap();
    same(&topology, &again(&topology, "net.topo"), true);
    same(&topology, &again(&topology, "net.toml"), true);
    let error = save(&topology, "net.txt").unwrap_err().to_string();
    assert!(error.contains("the link between \"host 0\" and \"tor 0\" differs by direction"), "{error}");
}

#[test]
fn nics_directions_and_odd_names_survive_in_own_files() {
    let planes = Planes::default().build().unwrap();
    same(&planes, &again(&planes, "net.toml"), true);
    same(&planes, &again(&planes, "net.txt"), false);
    let link = |gbps, delay| Link { rate: BitsPerSec::gbps(gbps), delay: Picos(delay) };
    let mut graph = Graph::new("odd \"net\"\n");
    let (s, t) = (graph.switch("a \"quoted\" \\ name").unwrap(), graph.switch("t\tä").unwrap());
    for (name, switch) in [("h", s), ("i", t)] {
        let host = graph.host(name).unwrap();
        graph.link_each_way(host, switch, link(10, 1500), link(25, 7)).unwrap();
    }
    graph.link_each_way(s, t, link(40, 1), link(1, 2_000_000)).unwrap();
    graph.link(t, s, link(100, 5)).unwrap();
    let topology = graph.build().unwrap();
    let back = again(&topology, "net.toml");
    same(&topology, &back, true);
    assert_eq!(back.name, topology.name);
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    let refused = |topology: Topology, name: &str| save(&topology, name).unwrap_err().to_string();
    let pair = || BackToBack::default().build().unwrap();
    assert_eq!(
        refused(pair(), "a.toml"),
        "a.toml: two hosts without a switch fit no format; write kind = \"back-to-back\""
    );
    let star = || Star::default().build().unwrap();
    assert!(
        refused(star(), "a.topo").contains("trees of two or three tiers only; write a .toml or .txt file")
    );
    assert!(refused(star(), "a.xml").contains("use .toml (own format), .topo (htsim) or .txt (HPCC)"));
}
