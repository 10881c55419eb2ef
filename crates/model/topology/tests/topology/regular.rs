//! Invariants of every regular topology, for all parameters.

use std::collections::BTreeSet;

use crate::common::{assert_paths, assert_wired, first_switch, walk, walk_by};
use proptest::prelude::*;
use pullnet_topology::{BackToBack, FatTree, Hop, HostPeer, LeafSpine, LinkRef, Peer, Star, Topology};
use pullnet_units::HostAddr;
use pullnet_units::{HostId, Id, PortId};

/// Any regular topology small enough for exhaustive checks.
fn any_tree() -> impl Strategy<Value = Topology> {
    let fat =
        (1u32..=5, 2u32..=3, 1u32..=3, any::<prop::sample::Index>()).prop_map(|(half, tiers, tor, agg)| {
            let divisors: Vec<u32> = (1..=half).filter(|n| half % n == 0).collect();
            let agg = if tiers == 2 { 1 } else { *agg.get(&divisors) };
            FatTree { k: 2 * half, tiers, oversubscription: [tor, agg], ..FatTree::default() }
                .build()
                .unwrap()
        });
    let leaf =
        (1u32..=6, 1u32..=5, 1u32..=6, 1u32..=4).prop_map(|(leaves, spines, hosts_per_leaf, lanes)| {
            LeafSpine { leaves, spines, hosts_per_leaf, lanes, ..LeafSpine::default() }.build().unwrap()
        });
    let star = (2u32..=20).prop_map(|hosts| Star { hosts, ..Star::default() }.build().unwrap());
    prop_oneof![3 => fat, 2 => leaf, 1 => star]
}

fn any_tree_and_pair() -> impl Strategy<Value = (Topology, HostId, HostId)> {
    (any_tree(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(topology, a, b)| {
        let hosts = topology.hosts.len();
        let (a, b) = (HostId::from_index(a.index(hosts)), HostId::from_index(b.index(hosts)));
        (topology, a, b)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_path_arrives_and_is_its_own_reverse((topology, src, dst) in any_tree_and_pair()) {
        assert_paths(&topology, src, dst);
        let (a, b) = (topology.addr(src), topology.addr(dst));
        for label in (0..topology.path_count(a, b)).map(|path| topology.label(a, b, path)) {
            let (end, route) = walk(&topology, src, |at| match topology.hop(at) {
                Hop::Tree(hop) => hop.port(b.0, label),
                Hop::Table => panic!("a tree needs no table"),
            });
            prop_assert_eq!(end, dst);
            prop_assert!(route.len() <= 5);
        }
    }

    #[test]
    fn any_choice_at_switches_arrives((topology, src, dst) in any_tree_and_pair(), choices in prop::array::uniform6(any::<u32>())) {
        let (end, route) = walk_by(&topology, src, dst, choices);
        prop_assert_eq!(end, dst);
        prop_assert_eq!(route.len(), topology.route(src, dst, 0).len());
    }

    #[test]
    fn paths_use_all_choices((topology, src, dst) in any_tree_and_pair()) {
        let (a, b) = (topology.addr(src), topology.addr(dst));
        let used: BTreeSet<PortId> = (0..topology.path_count(a, b)).map(|path| topology.route(src, dst, path)[0]).collect();
        let offered: BTreeSet<PortId> = topology.choices(first_switch(&topology, src), b).iter().collect();
        prop_assert_eq!(used, offered);
    }

    #[test]
    fn addresses_and_hosts_are_inverse(topology in any_tree()) {
        let addresses: BTreeSet<HostAddr> = topology.hosts.ids().map(|host| topology.addr(host)).collect();
        prop_assert_eq!(addresses.len(), topology.hosts.len());
        for host in topology.hosts.ids() {
            prop_assert_eq!(topology.host(topology.addr(host)), Some(host));
        }
        let beyond = addresses.last().unwrap().0 + 2;
        for addr in (0..2 * beyond).map(HostAddr).chain([HostAddr(1 << 24), HostAddr(u32::MAX)]) {
            prop_assert_eq!(topology.host(addr).is_some(), addresses.contains(&addr));
        }
    }

    #[test]
    fn links_into_a_node_are_numbered_densely(topology in any_tree()) {
        assert_wired(&topology);
    }
}

fn fat_tree(k: u32) -> FatTree {
    FatTree { k, ..FatTree::default() }
}

#[test]
fn sizes_of_fat_trees() {
    let expected = [(4, 16), (6, 54), (8, 128), (10, 250), (12, 432), (16, 1024), (32, 8192)];
    for (k, hosts) in expected {
        let topology = fat_tree(k).build().unwrap();
        assert_eq!(topology.hosts.len(), hosts);
        let last = HostId::from_index(hosts - 1);
        let paths = |a: HostId, b: HostId| u32::from(topology.path_count(topology.addr(a), topology.addr(b)));
        assert_eq!(paths(HostId::new(0), last), (k / 2) * (k / 2));
        assert_eq!(paths(HostId::new(0), HostId::new(k / 2)), k / 2);
        assert_eq!(paths(HostId::new(0), HostId::new(1)), 1);
        assert_eq!(topology.nodes.len(), hosts + (k * k + k * k / 4) as usize);
    }
}

#[test]
fn path_numbers_between_pods_are_core_numbers() {
    let topology = fat_tree(6).build().unwrap();
    for path in 0..9 {
        let route = topology.route(HostId::new(0), HostId::new(53), path);
        let Peer::Switch(core) = topology.ports[route[1]].peer else { panic!("no core") };
        assert_eq!(topology.node_name(core), format!("core {path}"));
    }
}

#[test]
fn oversubscribed_tors_as_in_the_ndp_paper() {
    let topology = FatTree { oversubscription: [4, 1], ..fat_tree(8) }.build().unwrap();
    assert_eq!(topology.hosts.len(), 512);
    let tor = &topology.nodes[first_switch(&topology, HostId::new(0))];
    assert_eq!(tor.ports.len(), 16 + 4);
    assert_eq!(topology.path_count(topology.addr(HostId::new(0)), topology.addr(HostId::new(511))), 16);
}

#[test]
fn oversubscribed_aggregation_has_fewer_cores() {
    let topology = FatTree { oversubscription: [1, 4], ..fat_tree(8) }.build().unwrap();
    assert_eq!(topology.hosts.len(), 128);
    assert_eq!(topology.nodes.iter().filter(|node| node.tier == 2).count(), 4);
}

#[test]
fn large_trees_are_built_whole() {
    for topology in [fat_tree(64).build().unwrap(), fat_tree(32).build().unwrap()] {
        assert_wired(&topology);
    }
}

#[test]
fn names_say_where() {
    let topology = fat_tree(4).build().unwrap();
    let route = topology.route(HostId::new(1), HostId::new(15), 3);
    let names: Vec<String> = route.iter().map(|port| topology.port_name(*port)).collect();
    assert_eq!(
        names,
        ["tor 0 -> agg 1", "agg 1 -> core 3", "core 3 -> agg 7", "agg 7 -> tor 7", "tor 7 -> host 15"]
    );
    let levels: Vec<String> =
        route.iter().map(|port| topology.level(LinkRef::Port(*port)).to_string()).collect();
    assert_eq!(levels, ["tor->agg", "agg->core", "core->agg", "agg->tor", "tor->host"]);
    assert_eq!(topology.nic_name(HostId::new(1)), "host 1 -> tor 0");
}

#[test]
fn hosts_back_to_back_need_no_switch() {
    let topology = BackToBack::default().build().unwrap();
    assert_eq!(topology.hosts[HostId::new(0)].peer, HostPeer::Host(HostId::new(1)));
    assert!(topology.route(HostId::new(0), HostId::new(1), 0).is_empty());
    assert_eq!(topology.nic_name(HostId::new(1)), "host 1 -> host 0");
    assert_eq!(topology.host(HostAddr(2)), None);
}

#[test]
fn impossible_parameters_are_refused_with_a_remedy() {
    let text = |tree: FatTree| tree.build().unwrap_err().to_string();
    assert_eq!(text(fat_tree(7)), "fat-tree: k = 7 is not possible; use an even number from 2 to 128");
    assert_eq!(text(FatTree { tiers: 4, ..fat_tree(4) }), "fat-tree: tiers = 4 is not possible; use 2 or 3");
    assert_eq!(
        text(FatTree { oversubscription: [1, 3], ..fat_tree(8) }),
        "fat-tree: oversubscription of the aggregation switches = 3 is not possible; use a divisor of k/2 = 4"
    );
    let mut still = fat_tree(4);
    still.links[1].delay = pullnet_units::Picos::ZERO;
    assert_eq!(
        text(still),
        "fat-tree: delay = 0 is not possible; a link needs a delay, for instance \"1 us\""
    );
    let huge = LeafSpine { leaves: 65_535, spines: 60_000, ..LeafSpine::default() };
    assert_eq!(
        huge.build().unwrap_err().to_string(),
        "leaf-spine: ports = 7864724280 is not possible; use at most 67108864 in all"
    );
    let full = LeafSpine { leaves: 65_535, hosts_per_leaf: 4000, ..LeafSpine::default() };
    assert_eq!(
        full.build().unwrap_err().to_string(),
        "leaf-spine: hosts = 262140000 is not possible; pod, rack and host number must fit 24 bits together; \
         use fewer or fuller ones"
    );
    let wide = LeafSpine { hosts_per_leaf: 65_534, spines: 2, ..LeafSpine::default() };
    assert_eq!(
        wide.build().unwrap_err().to_string(),
        "leaf-spine: ports per switch = 65536 is not possible; use at most 65535"
    );
}
