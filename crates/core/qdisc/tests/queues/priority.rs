//! Strict priority.

use pullnet_qdisc::{DropReason, Outcome, Priority, PriorityConfig, Sharing};
use pullnet_units::{Packets, QueueSize};

use crate::common::{Pkt, data};
use crate::port::{FULL, Port, gone};

pub const fn urgent(id: u64, priority: u8) -> Pkt {
    Pkt { priority, ..data(id, FULL) }
}

#[test]
fn the_most_urgent_class_is_served_first_and_in_order() {
    let mut port = Port::<Priority<Pkt>>::new(&PriorityConfig::default());
    port.fill((0..8).map(|id| urgent(id, id as u8 / 2 * 2)));
    port.start();
    // A packet in service is not interrupted.
    port.fill([urgent(8, 7)]);
    port.complete();
    let served: Vec<_> = (0..8).map(|_| port.serve().unwrap().id).collect();
    assert_eq!(served, [8, 7, 4, 5, 2, 3, 0, 1]);
}

#[test]
fn classes_share_the_room_of_the_port_or_have_their_own() {
    let config = |sharing| PriorityConfig {
        queue: QueueSize::Packets(Packets(2)),
        sharing,
        mark_above: Some(QueueSize::Packets(Packets(1))),
        ..PriorityConfig::default()
    };
    let mut shared = Port::<Priority<Pkt>>::new(&config(Sharing::Port));
    shared.fill([urgent(0, 0), urgent(1, 0)]);
    let dropped = gone(urgent(2, 7), DropReason::DataQueueFull, false);
    assert_eq!(shared.put(urgent(2, 7)), Some(dropped));
    let mut own = Port::<Priority<Pkt>>::new(&config(Sharing::Class));
    own.fill([urgent(0, 0), urgent(1, 0), urgent(2, 7)]);
    own.start();
    // The packet in service holds room of its class, and the threshold counts that class alone.
    assert_eq!(own.put(Pkt { ect: true, ..urgent(3, 7) }), None);
    assert!(matches!(own.put(urgent(4, 7)), Some(Outcome::Dropped { .. })));
    assert_eq!(own.put(Pkt { ect: true, ..urgent(5, 3) }), None);
    own.complete();
    assert_eq!(own.put(urgent(6, 7)), None);
    assert_eq!((0..4).map(|_| own.serve().unwrap().id).collect::<Vec<_>>(), [3, 6, 5, 0]);
}
