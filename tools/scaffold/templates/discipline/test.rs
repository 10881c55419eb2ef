//! The rule of stencil-name, packet by packet.

mod common;
#[path = "queues/port.rs"]
#[allow(dead_code, reason = "this file uses a part of it")]
mod port;

use common::{Pkt, control, data};
use port::{FULL, Port, gone};
use pullnet_qdisc::{DropReason, StencilName, StencilNameConfig};
use pullnet_units::{Packets, QueueSize};

#[test]
fn packets_leave_in_order_and_one_without_room_is_dropped() {
    let config = StencilNameConfig { queue: QueueSize::Packets(Packets(2)) };
    let mut port = Port::<StencilName<Pkt>>::new(&config);
    port.fill([data(0, FULL), control(1)]);
    assert_eq!(port.put(data(2, FULL)), Some(gone(data(2, FULL), DropReason::DataQueueFull, false)));
    assert_eq!(port.serve().map(|packet| packet.id), Some(0));
    assert_eq!(port.serve().map(|packet| packet.id), Some(1));
    assert_eq!(port.serve(), None);
}
