//! Drop-tail.

use pullnet_qdisc::{DropReason, DropTail, DropTailConfig, Outcome};
use pullnet_units::{Bytes, Packets, QueueSize};

use crate::common::{Pkt, control, data};
use crate::port::{FULL, Port, gone};

#[test]
fn drop_tail_holds_its_packets_and_drops_the_next() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig {
        queue: QueueSize::Packets(Packets(3)),
        ..DropTailConfig::default()
    });
    port.fill([data(0, FULL), control(1), data(2, FULL)]);
    let full = |packet, why| gone(packet, why, false);
    assert_eq!(port.put(data(3, 65)), Some(full(data(3, 65), DropReason::DataQueueFull)));
    assert_eq!(port.put(control(4)), Some(full(control(4), DropReason::ControlQueueFull)));
    assert_eq!((0..3).map(|_| port.serve().unwrap().id).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn drop_tail_counts_the_packet_in_service() {
    let mut port = Port::<DropTail<Pkt>>::new(&DropTailConfig {
        queue: QueueSize::Bytes(Bytes(10_000)),
        ..DropTailConfig::default()
    });
    port.fill([data(0, FULL)]);
    port.start();
    port.fill([data(1, 936)]);
    assert!(matches!(port.put(data(2, 1)), Some(Outcome::Dropped { .. })));
    port.complete();
    port.fill([data(3, FULL)]);
}
