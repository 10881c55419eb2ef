//! Where and when packets are marked.

use pullnet_qdisc::{DropTail, DropTailConfig, MarkWhen, Outcome, Trim, TrimConfig};
use pullnet_units::{Bytes, Packets, QueueSize};

use crate::common::{Pkt, capable, control, data};
use crate::port::{FULL, Port};

#[test]
fn drop_tail_marks_above_its_threshold_on_arrival() {
    let above = Some(QueueSize::Packets(Packets(2)));
    let mut port =
        Port::<DropTail<Pkt>>::new(&DropTailConfig { mark_above: above, ..DropTailConfig::default() });
    port.fill((0..3).map(|id| capable(id, FULL)));
    // Three are held, the limit is two: packets that can be marked are, others wait as they are.
    let marked = |id| Some(Outcome::Marked(Pkt { ce: true, ..capable(id, FULL) }));
    assert_eq!(port.put(capable(3, FULL)), marked(3));
    assert_eq!(port.put(data(4, FULL)), None);
    assert_eq!(port.start().map(|packet| packet.ce), Some(false));
    // The packet in service is held, too.
    assert_eq!(port.put(capable(5, FULL)), marked(5));
    let served: Vec<bool> = (0..5).map(|_| port.start().unwrap().ce).collect();
    assert_eq!(served, [false, false, true, false, true]);
}

#[test]
fn drop_tail_marks_what_leaves_more_than_the_threshold_behind() {
    let (above, at) = (Some(QueueSize::Packets(Packets(1))), MarkWhen::Dequeue);
    let config = DropTailConfig { mark_above: above, mark_at: at, ..DropTailConfig::default() };
    let mut port = Port::<DropTail<Pkt>>::new(&config);
    port.fill((0..4).map(|id| capable(id, FULL)));
    let served: Vec<bool> = (0..4).map(|_| port.serve().unwrap().ce).collect();
    assert_eq!(served, [true, true, false, false]);
}

#[test]
fn a_trimming_port_marks_data_by_the_data_that_it_holds() {
    for (above, unit) in
        [(QueueSize::Packets(Packets(2)), "packets"), (QueueSize::Bytes(Bytes(2 * 9064)), "bytes")]
    {
        let mut port =
            Port::<Trim<Pkt>>::new(&TrimConfig { mark_above: Some(above), ..TrimConfig::default() });
        port.fill((20..30).map(control));
        port.fill((0..3).map(|id| capable(id, FULL)));
        let marked = |id| Some(Outcome::Marked(Pkt { ce: true, ..capable(id, FULL) }));
        assert_eq!(port.put(capable(3, FULL)), marked(3), "{unit}");
        assert!((20..30).all(|id| port.serve().unwrap().id == id));
        assert_eq!(port.serve().unwrap(), capable(0, FULL));
        assert_eq!(port.put(capable(4, FULL)), marked(4), "{unit}");
        port.serve();
        port.serve();
        assert_eq!(port.put(capable(5, FULL)), None, "{unit}");
    }
}
