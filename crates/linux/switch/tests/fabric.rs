//! Switching of frames: each rule by itself, and invariants for random traffic.

mod common;

use common::{Frame, Log, Toy, id_of, kind_of, mac};
use proptest::prelude::*;
use pullnet_qdisc::{DropTail, DropTailConfig, Pfc, PfcConfig, Trim, TrimConfig};
use pullnet_switch::{
    Counting, Direction, Dropped, Effect, Entry, Event, Fabric, FabricSettings, Fault, Forwarding, Kind, Mac,
    PortLine, PortSettings, Selection, Slot, Unknown, WrongPort,
};
use pullnet_units::{BitsPerSec, Instant, NodeId, Packets, Picos, PortId, QueueSize};

type Trims = Fabric<Trim<Slot>, Toy, Log>;

fn port(node: u32, peer: Option<u32>) -> PortSettings {
    let peer = peer.map(PortId::new);
    PortSettings { peer, ..PortSettings::outside(NodeId::new(node), BitsPerSec::gbps(1)) }
}

fn only(port: u32) -> Entry {
    Entry { ports: vec![PortId::new(port)], selection: Selection::default() }
}

/// `hosts` hosts at one switch.
fn star(hosts: u32, config: &TrimConfig, settings: FabricSettings) -> Trims {
    let ports = vec![port(0, None); hosts as usize];
    let mut fabric = Fabric::new(config, settings, &ports, Toy, Log::default()).unwrap();
    (0..hosts).for_each(|host| fabric.forward(NodeId::new(0), mac(host as u8), only(host)));
    fabric
}

fn frame(from: u8, to: u8, kind: Kind, id: u64, length: usize) -> Vec<u8> {
    Frame { from, to, kind, label: 0, id, length }.bytes()
}

/// Everything that departs until `until`: time in nanoseconds, port, number, kind.
fn departures(fabric: &mut Trims, until: u64) -> Vec<(u64, u32, u64, Kind)> {
    fabric.advance(Instant(until * 1000));
    let mut all = Vec::new();
    while let Some(gone) = fabric.poll_departure() {
        let bytes = fabric.frame(gone.frame);
        all.push((gone.at.0 / 1000, gone.port.get(), id_of(bytes), kind_of(bytes)));
        fabric.release(gone.frame);
    }
    all
}

fn dropped(fabric: &mut Trims) -> Vec<(u64, Dropped)> {
    let drop = |(.., event, id, _): &(_, _, Event, u64, _)| match event {
        Event::Dropped(why) => Some((*id, *why)),
        _ => None,
    };
    fabric.observer().0.iter().filter_map(drop).collect()
}

fn fault(port: u32, direction: Direction, from_ns: u64, until_ns: u64, effect: Effect) -> Fault {
    let (from, until) = (Instant(from_ns * 1000), Some(Instant(until_ns * 1000)));
    Fault { place: PortLine { port: PortId::new(port), direction }, from, until, effect }
}

#[test]
fn frames_leave_one_after_the_other_at_the_rate_of_the_port() {
    let mut fabric = star(3, &TrimConfig::default(), FabricSettings::default());
    fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, 1, 1500));
    fabric.arrive(PortId::new(2), Instant(1), &frame(2, 0, Kind::Data, 2, 1500));
    // An idle line starts at once, without rounding to a multiple of the frame time.
    fabric.arrive(PortId::new(1), Instant(30_000_000), &frame(1, 0, Kind::Data, 3, 500));
    let gone = departures(&mut fabric, 100_000);
    assert_eq!(gone, [(12_000, 0, 1, Kind::Data), (24_000, 0, 2, Kind::Data), (34_000, 0, 3, Kind::Data)]);
    let counters = fabric.counters(PortId::new(0));
    assert_eq!((counters.if_out_octets, counters.if_out_ucast_pkts, counters.busy_ps), (3500, 3, 28_000_000));
}

#[test]
fn a_frame_to_a_group_leaves_once_by_each_of_its_ports() {
    let mut fabric = star(5, &TrimConfig::default(), FabricSettings::default());
    let group = Mac::of_group([239, 1, 0, 1].into());
    fabric.group(NodeId::new(0), group, vec![PortId::new(0), PortId::new(1), PortId::new(3)]);
    let to_group = |id: u64| {
        let mut bytes = frame(4, 0, Kind::Data, id, 1500);
        bytes[..6].copy_from_slice(&group.bytes());
        bytes
    };
    fabric.arrive(PortId::new(4), Instant(0), &to_group(1));
    // One that comes from a member goes to the others.
    fabric.arrive(PortId::new(0), Instant(20_000_000), &to_group(2));
    let gone: Vec<_> = departures(&mut fabric, 100_000).iter().map(|gone| (gone.1, gone.2)).collect();
    assert_eq!(gone, [(0, 1), (1, 1), (3, 1), (1, 2), (3, 2)]);
    let sent = [0, 1, 2, 3, 4].map(|port| fabric.counters(PortId::new(port)).if_out_non_ucast_pkts);
    assert_eq!((sent, fabric.frames_held()), ([1, 2, 0, 2, 0], 0), "once for each link");
    // Another group is unknown, and dropped.
    let mut other = to_group(3);
    other[5] = 9;
    fabric.arrive(PortId::new(4), Instant(50_000_000), &other);
    assert!(departures(&mut fabric, 200_000).is_empty());
}

#[test]
fn a_group_spans_switches_and_each_link_carries_a_frame_once() {
    // Hosts at ports 0 and 1 of the first switch, and at ports 4 and 5 of the second; a line joins ports 2 and 3.
    let ports =
        [port(0, None), port(0, None), port(0, Some(3)), port(1, Some(2)), port(1, None), port(1, None)];
    let config = TrimConfig::default();
    let mut fabric =
        Fabric::<Trim<Slot>, _, _>::new(&config, FabricSettings::default(), &ports, Toy, Log::default())
            .unwrap();
    let group = Mac::of_group([239, 1, 0, 1].into());
    fabric.group(NodeId::new(0), group, vec![PortId::new(1), PortId::new(2)]);
    fabric.group(NodeId::new(1), group, vec![PortId::new(3), PortId::new(4), PortId::new(5)]);
    let mut bytes = frame(9, 0, Kind::Data, 1, 1500);
    bytes[..6].copy_from_slice(&group.bytes());
    fabric.arrive(PortId::new(0), Instant(0), &bytes);
    let gone: Vec<_> = departures(&mut fabric, 100_000).iter().map(|gone| gone.1).collect();
    assert_eq!(gone, [1, 4, 5]);
    let sent = [0, 1, 2, 3, 4, 5].map(|port| fabric.counters(PortId::new(port)).if_out_non_ucast_pkts);
    assert_eq!(sent, [0, 1, 1, 0, 1, 1]);
}

#[test]
fn a_paced_line_delivers_no_faster_than_it_could_carry() {
    let paced = PortSettings { paced: true, ..port(0, None) };
    let mut fabric = Fabric::<Trim<Slot>, _, _>::new(
        &TrimConfig::default(),
        FabricSettings::default(),
        &[port(0, None), paced],
        Toy,
        Log::default(),
    )
    .unwrap();
    fabric.forward(NodeId::new(0), mac(0), only(0));
    (0..3).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    let times: Vec<_> = departures(&mut fabric, 100_000).iter().map(|gone| gone.0).collect();
    assert_eq!(times, [24_000, 36_000, 48_000]);
}

#[test]
fn a_full_queue_trims_data_and_drops_what_must_stay_whole() {
    let config = TrimConfig { data_queue: QueueSize::Packets(Packets(2)), ..TrimConfig::default() };
    let mut fabric = star(3, &config, FabricSettings::default());
    for (id, kind) in (0..).zip([Kind::Data, Kind::Foreign, Kind::Data, Kind::Foreign]) {
        fabric.next_coin(PortId::new(0), true);
        fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, kind, id, 1500));
        fabric.advance(Instant(0));
    }
    assert_eq!(dropped(&mut fabric), [(3, Dropped::DataQueueFull)]);
    let gone = departures(&mut fabric, 100_000);
    let header = (12_512, 0, 2, Kind::Header);
    assert_eq!(gone, [(12_000, 0, 0, Kind::Data), header, (24_512, 0, 1, Kind::Foreign)]);
    assert_eq!(fabric.counters(PortId::new(0)).trim_packets, 1);
}

#[test]
fn a_header_without_room_goes_back_by_the_port_of_its_sender() {
    let config = TrimConfig {
        data_queue: QueueSize::Packets(Packets(1)),
        control_queue: QueueSize::Packets(Packets(1)),
        ..TrimConfig::default()
    };
    let mut fabric = star(3, &config, FabricSettings::default());
    (0..3).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    let gone = departures(&mut fabric, 100_000);
    assert_eq!(gone[0], (512, 1, 2, Kind::Returned));
    assert_eq!(fabric.counters(PortId::new(0)).returned_packets, 1);
    assert_eq!(fabric.counters(PortId::new(1)).if_out_ucast_pkts, 1);
}

#[test]
fn a_returned_header_comes_round_when_a_replay_says_so() {
    let config = TrimConfig {
        control_queue: QueueSize::Packets(Packets(1)),
        data_queue: QueueSize::Packets(Packets(1)),
        ..TrimConfig::default()
    };
    let settings = FabricSettings { recirculation: Picos::from_secs(1000), ..FabricSettings::default() };
    let mut fabric = star(3, &config, settings);
    assert!(!fabric.come_round(), "nothing waits");
    fabric.pause(PortId::new(0));
    for id in 0..3 {
        fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1000));
    }
    fabric.advance(Instant(0));
    assert_eq!(fabric.counters(PortId::new(0)).returned_packets, 1);
    assert_eq!(fabric.held(PortId::new(1)).control_packets, 0);
    fabric.pause(PortId::new(1));
    assert!(fabric.come_round());
    assert_eq!(fabric.held(PortId::new(1)).control_packets, 1);
    assert!(!fabric.come_round());
}

/// Host 1 behind switch 0, host 0 behind switch 1 on a link that is ten times slower than the trunk.
fn two_lossless_switches() -> Fabric<Pfc<Slot>, Toy, Log> {
    let config = PfcConfig {
        buffer: "60 kB".parse().unwrap(),
        reserve: "0 B".parse().unwrap(),
        headroom: "10 kB".parse().unwrap(),
        ..PfcConfig::default()
    };
    let fast = |node, peer| PortSettings { rate: BitsPerSec::gbps(10), ..port(node, peer) };
    let ports = [fast(0, None), fast(0, Some(2)), fast(1, Some(1)), port(1, None)];
    let mut fabric = Fabric::new(&config, FabricSettings::default(), &ports, Toy, Log::default()).unwrap();
    fabric.forward(NodeId::new(0), mac(0), only(1));
    fabric.forward(NodeId::new(1), mac(0), only(3));
    fabric
}

#[test]
fn a_pause_frame_stops_the_trunk_and_another_lets_it_go_on() {
    let mut fabric = two_lossless_switches();
    for id in 0..100 {
        // A hundred frames at 5 Gb/s; the slow link can carry a fifth of them.
        fabric.advance(Instant(id * 2_400_000));
        fabric.arrive(PortId::new(0), fabric.now(), &frame(1, 0, Kind::Data, id, 1500));
    }
    fabric.advance(Instant(5_000_000_000));
    let counts = |port: u32, fabric: &Fabric<Pfc<Slot>, Toy, Log>| {
        let counters = fabric.counters(PortId::new(port));
        (counters.pause_tx_pkts, counters.pause_rx_pkts)
    };
    let (sent, _) = counts(2, &fabric);
    assert!(sent >= 4 && sent % 2 == 0, "{sent} pause frames: each pause is taken back");
    assert_eq!(counts(1, &fabric), (0, sent));
    // While the trunk is paused, switch 0 fills up and then pauses the host. No frame is lost if the host obeys; this one
    // does not.
    let lost =
        fabric.observer().0.iter().filter(|(.., event, _, _)| matches!(event, Event::Dropped(_))).count();
    let gone: usize =
        std::iter::from_fn(|| fabric.poll_departure()).filter(|gone| gone.port == PortId::new(3)).count();
    assert_eq!(gone + lost, 100);
    let asked = std::iter::from_fn(|| fabric.poll_departure()).count();
    assert_eq!(asked, 0);
}

#[test]
fn a_port_obeys_a_pause_frame_from_outside_for_as_long_as_it_says() {
    let mut fabric = two_lossless_switches();
    // 100 quanta at 1 Gb/s are 51.2 us; the frame is 60 bytes long and arrives at once.
    fabric.arrive(PortId::new(3), Instant(0), &common::pause_frame(1, 100));
    fabric.arrive(PortId::new(0), Instant(0), &frame(1, 0, Kind::Data, 7, 1500));
    fabric.advance(Instant(1_000_000_000));
    let gone = fabric.poll_departure().unwrap();
    assert_eq!((gone.port, gone.at), (PortId::new(3), Instant(51_200_000 + 12_000_000)));
    assert_eq!(fabric.counters(PortId::new(3)).pause_rx_pkts, 1);
}

#[test]
fn a_switch_that_does_not_pause_keeps_pause_frames_to_itself() {
    let settings = FabricSettings { unknown: Unknown::Flood, ..FabricSettings::default() };
    let mut fabric = star(3, &TrimConfig::default(), settings);
    fabric.arrive(PortId::new(1), Instant(0), &common::pause_frame(0xff, 65_535));
    fabric.arrive(PortId::new(2), Instant(0), &frame(2, 1, Kind::Data, 1, 1500));
    assert_eq!(departures(&mut fabric, 100_000).len(), 1, "nothing is flooded, and nothing waits");
    assert_eq!((fabric.counters(PortId::new(1)).pause_rx_pkts, fabric.frames_held()), (1, 0));
}

#[test]
fn unknown_addresses_are_flooded_until_they_are_learned() {
    let settings = FabricSettings {
        ageing: Some(Picos::from_secs(1)),
        unknown: Unknown::Flood,
        ..FabricSettings::default()
    };
    let ports = vec![port(0, None); 4];
    let mut fabric: Trims =
        Fabric::new(&TrimConfig::default(), settings, &ports, Toy, Log::default()).unwrap();
    fabric.arrive(PortId::new(1), Instant(0), &frame(11, 12, Kind::Foreign, 1, 100));
    let flooded: Vec<_> = departures(&mut fabric, 10_000).iter().map(|gone| gone.1).collect();
    assert_eq!(flooded, [0, 2, 3]);
    fabric.arrive(PortId::new(2), fabric.now(), &frame(12, 11, Kind::Foreign, 2, 100));
    let answered: Vec<_> = departures(&mut fabric, 20_000).iter().map(|gone| gone.1).collect();
    assert_eq!(answered, [1]);
    assert_eq!(fabric.frames_held(), 0);
    let mut group = frame(11, 0, Kind::Foreign, 3, 100);
    group[..6].fill(0xff);
    fabric.arrive(PortId::new(1), fabric.now(), &group);
    assert_eq!(departures(&mut fabric, 30_000).len(), 3);
    assert_eq!(fabric.counters(PortId::new(1)).if_in_non_ucast_pkts, 1);
    assert!(Mac::destination(&group).unwrap().is_group());
}

#[test]
fn what_has_no_way_is_counted_where_it_came_in() {
    let mut fabric = star(2, &TrimConfig::default(), FabricSettings::default());
    fabric.arrive(PortId::new(0), Instant(0), &frame(0, 77, Kind::Data, 1, 100));
    fabric.arrive(PortId::new(0), Instant(0), &frame(0, 0, Kind::Data, 2, 100));
    fabric.arrive(PortId::new(0), Instant(0), &[0; 13]);
    assert_eq!(departures(&mut fabric, 10_000), []);
    let drops = dropped(&mut fabric);
    assert_eq!(drops, [(u64::MAX, Dropped::TooShort), (1, Dropped::NoRoute), (2, Dropped::SamePort)]);
    let counters = fabric.counters(PortId::new(0));
    assert_eq!((counters.if_in_discards, counters.if_in_errors), (2, 1));
}

/// Two hosts at leaf 0, two at leaf 1, two spines: ports 0, 1 and 4, 5 to hosts; 2, 3 and 6, 7 up; 8, 9 and 10, 11 down.
fn two_leaves(forwarding: Forwarding) -> Trims {
    let peers =
        [None, None, Some(8), Some(10), None, None, Some(9), Some(11), Some(2), Some(6), Some(3), Some(7)];
    let nodes = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3];
    let ports: Vec<_> = nodes.iter().zip(peers).map(|(node, peer)| port(*node, peer)).collect();
    let settings = FabricSettings { forwarding, ..FabricSettings::default() };
    let mut fabric = Fabric::new(&TrimConfig::default(), settings, &ports, Toy, Log::default()).unwrap();
    for (host, here) in [(0, 0), (1, 1), (2, 4), (3, 5)] {
        let leaf = here / 4;
        fabric.forward(NodeId::new(leaf), mac(host), only(here));
        let up = if leaf == 0 { [6, 7] } else { [2, 3] };
        fabric.forward(
            NodeId::new(1 - leaf),
            mac(host),
            Entry { ports: up.map(PortId::new).to_vec(), selection: Selection::default() },
        );
        fabric.forward(NodeId::new(2), mac(host), only(8 + leaf));
        fabric.forward(NodeId::new(3), mac(host), only(10 + leaf));
    }
    fabric
}

/// Frames sent up to each of the two spines.
fn spread(forwarding: Forwarding, fault: Option<Fault>) -> [u64; 2] {
    let mut fabric = two_leaves(forwarding);
    fault.into_iter().for_each(|fault| fabric.fault(fault));
    for id in 0..100u16 {
        let frame = Frame { from: 0, to: 2, kind: Kind::Data, label: id, id: id.into(), length: 100 }.bytes();
        fabric.arrive(PortId::new(0), Instant(u64::from(id) * 1_000_000), &frame);
    }
    let gone = departures(&mut fabric, 1_000_000);
    let up = [2, 3].map(|port| fabric.counters(PortId::new(port)).if_out_ucast_pkts);
    assert!(gone.iter().all(|gone| gone.1 == 4));
    assert_eq!(gone.len() as u64 + dropped(&mut fabric).len() as u64, 100);
    up
}

#[test]
fn paths_are_chosen_by_the_sender_by_chance_or_by_flow() {
    assert_eq!(spread(Forwarding::Path, None), [50, 50]);
    let [left, right] = spread(Forwarding::Random, None);
    assert!(left + right == 100 && left > 20 && right > 20, "{left} {right}");
    let flow = spread(Forwarding::Ecmp, None);
    assert!(flow == [100, 0] || flow == [0, 100]);
    let [left, right] = spread(Forwarding::LeastLoaded, None);
    assert!(
        left + right == 100 && left > 20 && right > 20,
        "idle ports are chosen by chance: {left} {right}"
    );
}

#[test]
fn the_port_with_the_fewest_frames_is_chosen() {
    let mut fabric = two_leaves(Forwarding::LeastLoaded);
    fabric.pause(PortId::new(2));
    for id in 0..8u16 {
        let frame = Frame { from: 0, to: 2, kind: Kind::Data, label: 0, id: id.into(), length: 100 }.bytes();
        fabric.arrive(PortId::new(0), Instant(0), &frame);
    }
    fabric.pause(PortId::new(3));
    fabric.advance(Instant(0));
    assert_eq!([2, 3].map(|port| fabric.held(PortId::new(port)).data_packets), [4, 4]);
}

#[test]
fn a_port_that_is_down_is_passed_over_unless_the_sender_chose_it() {
    let down = |port| Some(fault(port, Direction::Both, 0, u64::MAX / 1000, Effect::Down));
    assert_eq!(spread(Forwarding::Random, down(2)), [0, 100]);
    assert_eq!(spread(Forwarding::Ecmp, down(3)), [100, 0]);
    assert_eq!(spread(Forwarding::LeastLoaded, down(2)), [0, 100]);
    assert_eq!(spread(Forwarding::Path, down(2)), [50, 50]);
}

#[test]
fn a_line_inside_carries_to_the_picosecond() {
    let mut fabric = two_leaves(Forwarding::Path);
    fabric.arrive(PortId::new(0), Instant(0), &frame(0, 3, Kind::Data, 1, 1500));
    assert_eq!(departures(&mut fabric, 1_000_000), [(36_000, 5, 1, Kind::Data)]);
}

#[test]
fn a_line_that_is_down_loses_what_is_on_it() {
    let mut fabric = star(2, &TrimConfig::default(), FabricSettings::default());
    fabric.fault(fault(0, Direction::Out, 14_000, 15_000, Effect::Down));
    fabric.fault(fault(1, Direction::In, 100_000, 101_000, Effect::Down));
    (0..3).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    fabric.arrive(PortId::new(1), Instant(100_500_000), &frame(1, 0, Kind::Data, 3, 1500));
    fabric.arrive(PortId::new(1), Instant(101_000_000), &frame(1, 0, Kind::Data, 4, 1500));
    let gone: Vec<_> = departures(&mut fabric, 1_000_000).iter().map(|gone| gone.2).collect();
    assert_eq!(gone, [0, 2, 4]);
    assert_eq!([0, 1].map(|port| fabric.counters(PortId::new(port)).fault_lost_packets), [1, 1]);
    assert_eq!(fabric.frames_held(), 0);
}

#[test]
fn a_slow_line_is_slow_for_as_long_as_it_is_said_to_be() {
    let mut fabric = star(2, &TrimConfig::default(), FabricSettings::default());
    let slow = Effect::Rate(BitsPerSec::new(100_000_000).unwrap());
    fabric.fault(fault(0, Direction::Out, 10_000, 20_000, slow));
    (0..3).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    let times: Vec<_> = departures(&mut fabric, 1_000_000).iter().map(|gone| gone.0).collect();
    assert_eq!(times, [12_000, 132_000, 144_000]);
}

#[test]
fn losses_damage_and_doubles_come_as_often_as_asked_and_the_same_each_time() {
    let run = || {
        let mut fabric = star(2, &TrimConfig::default(), FabricSettings::default());
        for effect in [Effect::Loss(0.2), Effect::Corrupt(0.1), Effect::Duplicate(0.3)] {
            fabric.fault(fault(0, Direction::Out, 0, u64::MAX / 1000, effect));
        }
        for id in 0..2000 {
            fabric.advance(Instant(id * 2_000_000));
            fabric.arrive(PortId::new(1), Instant(id * 2_000_000), &frame(1, 0, Kind::Data, id, 100));
        }
        (departures(&mut fabric, 10_000_000), *fabric.counters(PortId::new(0)))
    };
    let ((gone, counters), again) = (run(), run());
    assert_eq!((&gone, counters), (&again.0, again.1));
    assert_eq!(gone.len() as u64, 2000 - counters.fault_lost_packets + counters.fault_duplicated_packets);
    let near = |count: u64, expected: f64| (count as f64 - expected).abs() < 5.0 * expected.sqrt();
    assert!(near(counters.fault_lost_packets, 400.0), "{counters:?}");
    assert!(near(counters.fault_corrupted_packets, 160.0), "{counters:?}");
    assert!(near(counters.fault_duplicated_packets, 480.0), "{counters:?}");
}

#[test]
fn no_sender_takes_the_losses_of_equally_paced_ones() {
    for (senders, seed) in [(2, 1), (3, 2), (5, 3), (8, 4), (16, 5)]
        .into_iter()
        .flat_map(|(n, s)| (0..10).map(move |k| (n, s + k)))
    {
        let config = DropTailConfig { queue: QueueSize::Packets(Packets(8)), ..DropTailConfig::default() };
        let settings = FabricSettings { seed, ..FabricSettings::default() };
        let ports: Vec<_> = (0..=senders).map(|_| port(0, None)).collect();
        let mut fabric =
            Fabric::<DropTail<Slot>, _, _>::new(&config, settings, &ports, Toy, Log::default()).unwrap();
        fabric.forward(
            NodeId::new(0),
            mac(0),
            Entry { ports: vec![PortId::new(0)], selection: Selection::default() },
        );
        // Every sender offers a frame for port 0 in each frame time of the line.
        let (rounds, mut lost) = (4000u64, vec![0u64; senders as usize]);
        for round in 0..rounds {
            for from in 1..=senders {
                let bytes = frame(from as u8, 0, Kind::Data, u64::from(from), 1500);
                fabric.arrive(PortId::new(from), Instant(round * 12_000_000), &bytes);
            }
            fabric.advance(Instant(round * 12_000_000 + 6_000_000));
            while let Some(gone) = fabric.poll_departure() {
                fabric.release(gone.frame);
            }
        }
        for (_, _, event, id, _) in &fabric.observer().0 {
            if matches!(event, Event::Dropped(_)) {
                lost[*id as usize - 1] += 1;
            }
        }
        let all: u64 = lost.iter().sum();
        for share in lost.iter().map(|lost| *lost as f64 / all as f64) {
            assert!((share - 1.0 / f64::from(senders)).abs() < 0.02, "seed {seed}: {lost:?} of {all}");
        }
    }
}

#[test]
fn memory_is_bounded_and_what_finds_none_is_counted() {
    let settings = FabricSettings { most_frames: 10, ..FabricSettings::default() };
    let mut fabric = star(2, &TrimConfig::default(), settings);
    (0..50).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    assert_eq!((fabric.frames_held(), fabric.counters(PortId::new(1)).if_in_discards), (10, 40));
    assert_eq!(departures(&mut fabric, 1_000_000).len(), 10);
}

#[test]
fn what_comes_to_a_long_queue_is_marked() {
    let mark_above = Some(QueueSize::Packets(Packets(2)));
    let config = TrimConfig { mark_above, ..TrimConfig::default() };
    let mut fabric = star(2, &config, FabricSettings::default());
    (0..5).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Data, id, 1500)));
    fabric.advance(Instant(Picos::from_millis(1).0));
    let gone = std::iter::from_fn(|| fabric.poll_departure()).collect::<Vec<_>>();
    let marked: Vec<_> = gone.iter().map(|gone| fabric.frame(gone.frame)[13]).collect();
    assert_eq!(marked, [0, 0, 0, 1, 1]);
    assert_eq!(fabric.counters(PortId::new(0)).ecn_marked_packets, 2);
}

#[test]
fn ports_that_do_not_agree_on_being_joined_are_refused() {
    let make = |ports: &[PortSettings]| {
        Trims::new(&TrimConfig::default(), FabricSettings::default(), ports, Toy, Log::default()).map(|_| ())
    };
    let wrong = |port, peer| Err(WrongPort { port: PortId::new(port), peer: PortId::new(peer) });
    assert_eq!(make(&[port(0, Some(1)), port(1, None)]), wrong(0, 1));
    assert_eq!(make(&[port(0, Some(0))]), wrong(0, 0));
    assert_eq!(make(&[port(0, Some(9))]), wrong(0, 9));
    assert_eq!(make(&[port(0, Some(1)), port(1, Some(0))]), Ok(()));
}

#[test]
fn drop_tail_carries_any_frame_and_counts_the_line() {
    let config = DropTailConfig { queue: QueueSize::Packets(Packets(2)), ..DropTailConfig::default() };
    let settings = FabricSettings { counting: Counting::Line, ..FabricSettings::default() };
    let ports = [port(0, None), port(0, None)];
    let mut fabric =
        Fabric::<DropTail<Slot>, _, _>::new(&config, settings, &ports, Toy, Log::default()).unwrap();
    fabric.forward(NodeId::new(0), mac(0), only(0));
    (0..3).for_each(|id| fabric.arrive(PortId::new(1), Instant(0), &frame(1, 0, Kind::Foreign, id, 1514)));
    fabric.advance(Instant(Picos::from_millis(1).0));
    let times: Vec<_> = std::iter::from_fn(|| fabric.poll_departure()).map(|gone| gone.at.0 / 1000).collect();
    assert_eq!(times, [12_304, 24_608]);
    assert_eq!(fabric.counters(PortId::new(0)).if_out_discards, 1);
}

proptest! {
    /// Every frame that came in has left, was dropped with a reason, or is still held.
    #[test]
    fn nothing_is_lost_without_a_reason(
        frames in prop::collection::vec((0u64..60_000, 0u8..4, 0u8..6, 0usize..5, 14usize..2000, any::<u16>()), 0..200),
        forwarding in prop_oneof![Just(Forwarding::Path), Just(Forwarding::Random), Just(Forwarding::Ecmp)],
        broken in prop::collection::vec((0u32..12, 0u64..2_000_000, 0u64..2_000_000, 0usize..4), 0..6),
    ) {
        let mut fabric = two_leaves(forwarding);
        for (port, from, long, effect) in broken {
            let effects = [Effect::Down, Effect::Loss(0.5), Effect::Corrupt(0.5), Effect::Rate(BitsPerSec::new(9_000_000).unwrap())];
            fabric.fault(fault(port, Direction::Both, from, from + long + 1, effects[effect]));
        }
        let kinds = [Kind::Data, Kind::Control, Kind::Header, Kind::Returned, Kind::Foreign];
        let (mut at, count) = (0, frames.len());
        for (id, (gap, from, to, kind, length, label)) in (0..).zip(frames) {
            at += gap * 1000;
            let bytes = Frame { from, to, kind: kinds[kind], label, id, length }.bytes();
            fabric.advance(Instant(at));
            fabric.arrive(PortId::new([0, 1, 4, 5][usize::from(from)]), Instant(at), &bytes);
        }
        fabric.advance(Instant(u64::MAX - 1));
        let mut gone = 0;
        let mut last = Instant(0);
        while let Some(departure) = fabric.poll_departure() {
            prop_assert!(departure.at >= last, "in order of time");
            last = departure.at;
            fabric.release(departure.frame);
            gone += 1;
        }
        prop_assert_eq!(gone + dropped(&mut fabric).len(), count);
        prop_assert_eq!(fabric.frames_held(), 0);
        for port in (0..12).map(PortId::new) {
            prop_assert!(fabric.counters(port).queue_watermark_data_packets <= 8);
        }
    }
}
