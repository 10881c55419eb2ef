//! The ideal time of a flow, against a step-by-step calculation and against schedules that try to beat it.

use proptest::prelude::*;
use pullnet_topology::{
    BackToBack, CutThrough, Dumbbell, Effect, FatTree, Fault, LeafSpine, Link, LinkRef, Place, Star,
    Topology, schedules,
};
use pullnet_units::{BitsPerSec, Bytes, HostId, Instant, Picos};

fn packets(payload: u64, mtu: u32, header: u32) -> Vec<Bytes> {
    let count = payload.div_ceil(u64::from(mtu)).max(1);
    let size = |i| if i + 1 < count { u64::from(mtu) } else { payload - (count - 1) * u64::from(mtu) };
    (0..count).map(|i| Bytes(size(i) + u64::from(header))).collect()
}

/// Sends the packets in order, packet `i` over path `paths(i)`; each link serves packets in the order of arrival.
fn simulate(
    topology: &Topology,
    (src, dst): (HostId, HostId),
    sizes: &[Bytes],
    paths: impl Fn(usize) -> u16,
) -> u64 {
    let nic = topology.hosts[src].link;
    let mut free = 0;
    let mut waiting: Vec<(u64, usize, usize, Vec<_>)> = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        let route = topology.route(src, dst, paths(i));
        let next = route.first().map(|port| topology.ports[*port].link);
        waiting.push((free + onward(topology, nic, next, *size), i, 0, route));
        free += nic.rate.serialization(*size).0;
    }
    let mut free = vec![0u64; topology.ports.len()];
    let mut done =
        waiting.iter().filter(|(.., route)| route.is_empty()).map(|(at, ..)| *at).max().unwrap_or(0);
    waiting.retain(|(.., route)| !route.is_empty());
    while let Some(next) =
        waiting.iter().enumerate().min_by_key(|(_, (at, i, ..))| (*at, *i)).map(|(place, _)| place)
    {
        let (at, i, hop, route) = waiting.swap_remove(next);
        let port = route[hop];
        let link = topology.ports[port].link;
        let start = at.max(free[port.get() as usize]);
        free[port.get() as usize] = start + link.rate.serialization(sizes[i]).0;
        let next = route.get(hop + 1).map(|port| topology.ports[*port].link);
        let arrival = start + onward(topology, link, next, sizes[i]);
        if hop + 1 == route.len() {
            done = done.max(arrival)
        } else {
            waiting.push((arrival, i, hop + 1, route))
        }
    }
    done
}

/// Time from the first bit of a packet on `link` to the moment at which it can go on by `next`; `None` for a host.
fn onward(topology: &Topology, link: Link, next: Option<Link>, size: Bytes) -> u64 {
    let through =
        |next: Link| topology.cut_through.filter(|cut| cut.to_faster || link.rate.get() >= next.rate.get());
    let head = next.and_then(through).map_or(u64::MAX, |cut| cut.head.into());
    link.rate.serialization(Bytes(size.0.min(head))).0 + link.delay.0
}

fn any_switching() -> impl Strategy<Value = Option<CutThrough>> {
    prop::option::of((1u32..200, any::<bool>()).prop_map(|(head, to_faster)| CutThrough { head, to_faster }))
}

fn switching(mut topology: Topology, cut_through: Option<CutThrough>) -> Topology {
    topology.cut_through = cut_through;
    topology
}

fn any_link() -> impl Strategy<Value = Link> {
    (1u64..=40, 1u64..=3_000_000)
        .prop_map(|(gbps, delay)| Link { rate: BitsPerSec::gbps(gbps), delay: Picos(delay) })
}

fn single_path() -> impl Strategy<Value = (Topology, HostId, HostId)> {
    let direct =
        any_link().prop_map(|link| (BackToBack { link }.build().unwrap(), HostId::new(0), HostId::new(1)));
    let star = any_link()
        .prop_map(|link| (Star { hosts: 3, link }.build().unwrap(), HostId::new(0), HostId::new(2)));
    let chain = (any_link(), any_link(), any_link()).prop_map(|(a, b, c)| {
        let tree = FatTree { k: 2, tiers: 3, oversubscription: [2, 1], links: [a, b, c] }.build().unwrap();
        (tree, HostId::new(0), HostId::new(3))
    });
    (prop_oneof![direct, star, chain], any_switching())
        .prop_map(|((topology, src, dst), cut_through)| (switching(topology, cut_through), src, dst))
}

fn several_paths() -> impl Strategy<Value = Topology> {
    let fat = (any_link(), any_link(), any_link()).prop_map(|(a, b, c)| {
        FatTree { k: 4, tiers: 3, oversubscription: [1, 1], links: [a, b, c] }.build().unwrap()
    });
    let leaf = (any_link(), any_link(), 1u32..4).prop_map(|(host_link, spine_link, lanes)| {
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 8, lanes, host_link, spine_link }.build().unwrap()
    });
    (prop_oneof![fat, leaf], any_switching())
        .prop_map(|(topology, cut_through)| switching(topology, cut_through))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn one_path_is_exact((topology, src, dst) in single_path(), payload in 0u64..100_000, mtu in 64u32..9000, header in 0u32..100) {
        let sizes = packets(payload, mtu, header);
        prop_assume!(sizes.len() < 40 && sizes[0].0 > 0);
        let expected = simulate(&topology, (src, dst), &sizes, |_| 0);
        prop_assert_eq!(topology.ideal_fct(src, dst, payload, mtu, header), Picos(expected));
    }

    #[test]
    fn no_choice_of_paths_beats_it(topology in several_paths(), payload in 1u64..60_000, mtu in 500u32..9000, choice in prop::collection::vec(any::<u16>(), 40)) {
        let (src, dst) = (HostId::new(0), HostId::new(15));
        let sizes = packets(payload, mtu, 64);
        prop_assume!(sizes.len() <= 40);
        let paths = topology.path_count(topology.addr(src), topology.addr(dst));
        let spread = simulate(&topology, (src, dst), &sizes, |i| i as u16 % paths);
        let chosen = simulate(&topology, (src, dst), &sizes, |i| choice[i] % paths);
        let single = simulate(&topology, (src, dst), &sizes, |_| choice[0] % paths);
        let ideal = topology.ideal_fct(src, dst, payload, mtu, 64).0;
        prop_assert!(ideal <= spread && ideal <= chosen && ideal <= single);
        if sizes.len() == 1 {
            prop_assert_eq!(ideal, single);
        }
    }

    #[test]
    fn equal_links_and_full_packets_are_exact(count in 1u64..60, path in 0u16..4) {
        let topology = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
        let ends = (HostId::new(0), HostId::new(15));
        let expected = simulate(&topology, ends, &packets(9000 * count, 9000, 64), |_| path);
        prop_assert_eq!(topology.ideal_fct(ends.0, ends.1, 9000 * count, 9000, 64), Picos(expected));
    }
}

#[test]
fn a_short_last_packet_waits_for_a_long_train() {
    let topology = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let ends = (HostId::new(0), HostId::new(15));
    for (full, rest) in [(6, 1), (6, 4000), (20, 8999)] {
        let payload = 9000 * full + rest;
        let sizes = packets(payload, 9000, 64);
        let expected = simulate(&topology, ends, &sizes, |i| i as u16 % 4);
        assert_eq!(topology.ideal_fct(ends.0, ends.1, payload, 9000, 64), Picos(expected));
    }
}

#[test]
fn one_full_packet_between_pods() {
    let topology = FatTree::default().build().unwrap();
    assert_eq!(
        topology.ideal_fct(HostId::new(0), HostId::new(127), 9000, 9000, 64),
        Picos(6 * (7_251_200 + 1_000_000))
    );
}

#[test]
fn enormous_flows_do_not_overflow() {
    let topology = FatTree::default().build().unwrap();
    let slow = Link { rate: BitsPerSec::new(1).unwrap(), delay: Picos::MAX };
    let slowest = FatTree { links: [slow; 3], ..FatTree::default() }.build().unwrap();
    for (topology, to) in [(&topology, 1), (&topology, 127), (&slowest, 1), (&slowest, 127)] {
        assert_eq!(topology.ideal_fct(HostId::new(0), HostId::new(to), u64::MAX, 1, u32::MAX), Picos::MAX);
        assert_eq!(topology.ideal_fct(HostId::new(0), HostId::new(to), u64::MAX, 2, u32::MAX), Picos::MAX);
    }
}

const MICRO: u64 = 1_000_000;

/// A fault of `place` over `span`, in microseconds.
fn fault(place: &str, span: (u64, Option<u64>), effect: Effect) -> Fault {
    let [from, until] = [Some(span.0), span.1].map(|at| at.map(|at| Instant(at * MICRO)));
    Fault { place: place.parse::<Place>().unwrap(), from: from.expect("a fault begins"), until, effect }
}

/// The ideal time of 90 kB between the first hosts on each side of a dumbbell, for a flow from 0 to 1 ms.
fn under(faults: &[Fault]) -> Picos {
    let topology = Dumbbell { left: 2, right: 2, ..Dumbbell::default() }.build().unwrap();
    let schedules = schedules(&topology, faults).unwrap();
    let span = (Instant(0), Instant(1000 * MICRO));
    topology.ideal_fct_under(&schedules, span, (HostId::new(0), HostId::new(2)), 90_000, 9000, 64)
}

#[test]
fn a_link_counts_with_the_best_rate_that_it_had_meanwhile() {
    let sound = under(&[]);
    let topology = Dumbbell { left: 2, right: 2, ..Dumbbell::default() }.build().unwrap();
    assert_eq!(sound, topology.ideal_fct(HostId::new(0), HostId::new(2), 90_000, 9000, 64));
    let bottleneck = topology.port_name(topology.route(HostId::new(0), HostId::new(2), 0)[0]);
    let slow = Effect::Rate(BitsPerSec::gbps(1));
    let all_along = under(&[fault(&bottleneck, (0, None), slow)]);
    // Ten packets of 72.512 us in sequence at 1 Gb/s, plus 7.2512 us on each of the other two links.
    assert_eq!(all_along, Picos(10 * 72_512_000 + 2 * 7_251_200 + 3 * MICRO));
    for some_time in [(0, Some(500)), (500, None), (2000, None)] {
        assert_eq!(under(&[fault(&bottleneck, some_time, slow)]), sound, "{some_time:?}");
    }
    let slower = Effect::Rate(BitsPerSec::gbps(2));
    let changing = under(&[fault(&bottleneck, (0, None), slower), fault(&bottleneck, (300, None), slow)]);
    assert_eq!(changing, Picos(10 * 36_256_000 + 2 * 7_251_200 + 3 * MICRO));
    assert_eq!(
        under(&[fault(&bottleneck, (0, None), Effect::Down)]),
        sound,
        "no way is left to compare with"
    );
}

/// The link to the receiver carries all that several senders send together, at the rate that it had.
#[test]
fn a_fetch_under_faults_takes_the_link_to_the_receiver_as_long_as_all_data_need() {
    let topology = Dumbbell { left: 2, right: 2, ..Dumbbell::default() }.build().unwrap();
    let (sources, dst) = ([HostId::new(0), HostId::new(1), HostId::new(2)], HostId::new(3));
    let under = |faults: &[Fault]| {
        let schedules = schedules(&topology, faults).unwrap();
        let span = (Instant(0), Instant(1000 * MICRO));
        topology.ideal_fetch_under(&schedules, span, (&sources, dst), 90_000, 9000, 64)
    };
    let sound = topology.ideal_fetch(&sources, dst, 90_000, 9000, 64);
    assert!(sound > Picos(10 * 7_251_200), "ten packets");
    assert_eq!(under(&[]), sound);
    let slow = |place: &str, from| fault(place, (from, None), Effect::Rate(BitsPerSec::gbps(1)));
    assert_eq!(under(&[slow("host 3", 500)]), sound, "it was as fast as built for some time");
    let slowed = under(&[slow("host 3", 0)]);
    assert!(slowed > Picos(10 * 72_512_000), "a tenth of the rate all along: {slowed}");
    assert_eq!(under(&[slow("host 0", 0)]), sound, "the others are as fast as before");
}

#[test]
fn links_that_are_down_all_the_time_carry_nothing() {
    let topology = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let ends = (HostId::new(0), HostId::new(15));
    let down = topology.route(ends.0, ends.1, 0)[0];
    let fault = |until| Fault {
        place: topology.port_name(down).parse::<Place>().unwrap(),
        from: Instant(0),
        until,
        effect: Effect::Down,
    };
    let least = |fault: Fault| {
        let schedules = schedules(&topology, &[fault]).unwrap();
        assert!(schedules.get(LinkRef::Port(down)).is_some());
        topology.ideal_fct_under(&schedules, (Instant(0), Instant(1000 * MICRO)), ends, 900_000, 9000, 64)
    };
    let sound = topology.ideal_fct(ends.0, ends.1, 900_000, 9000, 64);
    assert_eq!(least(fault(Some(Instant(10)))), sound);
    assert_eq!(least(fault(None)), sound, "the other link up is as fast as the host's");
    let few = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, lanes: 1, ..LeafSpine::default() };
    let slow = Link { rate: BitsPerSec::gbps(5), delay: Picos::from_micros(1) };
    let few = LeafSpine { spine_link: slow, ..few }.build().unwrap();
    let up = few.route(HostId::new(0), HostId::new(2), 0)[0];
    let broken = Fault {
        place: few.port_name(up).parse::<Place>().unwrap(),
        from: Instant(0),
        until: None,
        effect: Effect::Down,
    };
    let schedules = schedules(&few, &[broken]).unwrap();
    let span = (Instant(0), Instant(1000 * MICRO));
    let halved = few.ideal_fct_under(&schedules, span, (HostId::new(0), HostId::new(2)), 900_000, 9000, 64);
    assert!(
        halved.0 > few.ideal_fct(HostId::new(0), HostId::new(2), 900_000, 9000, 64).0 * 18 / 10,
        "half of the links up are gone"
    );
}
