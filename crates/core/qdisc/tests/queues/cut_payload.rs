//! Cut Payload.

use pullnet_qdisc::{CutPayload, CutPayloadConfig, DropReason, Occupancy, Outcome};
use pullnet_units::{Packets, QueueSize};

use crate::common::{Pkt, control, data};
use crate::port::{FULL, Port, gone, header};

fn cut(threshold: u32, occupancy: Occupancy, queue: u32) -> Port<CutPayload<Pkt>> {
    let size = |packets| QueueSize::Packets(Packets(packets));
    let (threshold, queue) = (size(threshold), size(queue));
    Port::new(&CutPayloadConfig { threshold, occupancy, queue, ..CutPayloadConfig::default() })
}

#[test]
fn a_header_waits_behind_the_data_that_came_before_it() {
    let mut port = cut(2, Occupancy::Data, 10);
    port.fill([data(0, FULL), data(1, FULL)]);
    assert_eq!(port.put(data(2, FULL)), Some(Outcome::Trimmed(header(2))));
    assert_eq!(port.serve(), Some(data(0, FULL)));
    // There is room again; the new packet keeps its payload and its place behind the header.
    port.fill([data(3, FULL)]);
    let served: Vec<Pkt> = std::iter::from_fn(|| port.serve()).collect();
    assert_eq!(served, [data(1, FULL), header(2), data(3, FULL)]);
}

#[test]
fn headers_that_count_towards_the_threshold_keep_data_out() {
    for (occupancy, kept) in [(Occupancy::All, false), (Occupancy::Data, true)] {
        let mut port = cut(4, occupancy, 10);
        port.fill((10..14).map(header));
        let outcome = port.put(data(0, FULL));
        assert_eq!(outcome.is_none(), kept, "{occupancy:?}: {outcome:?}");
    }
}

#[test]
fn a_full_cut_payload_port_drops_headers_and_returns_none() {
    let mut port = cut(2, Occupancy::Data, 3);
    port.fill([data(0, FULL), data(1, FULL), header(2)]);
    assert_eq!(port.put(data(3, FULL)), Some(gone(header(3), DropReason::ControlQueueFull, true)));
    assert_eq!(port.put(control(4)), Some(gone(control(4), DropReason::ControlQueueFull, false)));
    // The packet in service takes room until it has left.
    port.start();
    assert!(matches!(port.put(header(5)), Some(Outcome::Dropped { .. })));
    port.complete();
    assert_eq!(port.put(header(5)), None);
}
