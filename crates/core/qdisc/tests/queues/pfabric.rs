//! pFabric.

use pullnet_qdisc::{DropReason, Outcome, Pfabric, PfabricConfig};
use pullnet_units::{Packets, QueueSize};

use crate::common::{Pkt, data};
use crate::port::{FULL, Port, gone};

pub const fn ranked(id: u64, flow: u64, rank: u32) -> Pkt {
    Pkt { flow, rank, ..data(id, FULL) }
}

pub fn pfabric(packets: u32) -> Port<Pfabric<Pkt>> {
    Port::new(&PfabricConfig { queue: QueueSize::Packets(Packets(packets)) })
}

#[test]
fn the_earliest_packet_of_the_most_urgent_flow_is_served() {
    let mut port = pfabric(9);
    // Later packets of a flow are more urgent, and carry its earlier ones along.
    port.fill([ranked(0, 1, 9), ranked(1, 2, 5), ranked(2, 1, 3), ranked(3, 3, 5)]);
    let served: Vec<_> = (0..4).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [0, 2, 1, 3]);
}

#[test]
fn the_least_urgent_packets_make_room() {
    let mut port = pfabric(3);
    port.fill([ranked(0, 1, 9)]);
    port.start();
    port.fill([ranked(1, 2, 5), ranked(2, 3, 5)]);
    let full = |packet| Some(gone(packet, DropReason::DataQueueFull, false));
    assert_eq!(port.put(ranked(3, 4, 1)), full(ranked(2, 3, 5)), "the newest of the largest rank");
    assert_eq!(port.put(ranked(4, 5, 8)), full(ranked(4, 5, 8)), "the arriving one itself");
    // The packet in service has the largest rank of all, and stays.
    port.complete();
    assert_eq!((0..2).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn packets_without_a_rank_are_served_in_order() {
    let mut port = pfabric(3);
    port.fill((0..3).map(|id| data(id, FULL)));
    assert!(matches!(port.put(data(3, FULL)), Some(Outcome::Dropped { packet: Pkt { id: 3, .. }, .. })));
    assert_eq!((0..3).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [0, 1, 2]);
}
