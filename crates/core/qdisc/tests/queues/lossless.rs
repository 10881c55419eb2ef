//! The lossless switch, which pauses its neighbours.

use pullnet_qdisc::{DropReason, Pfc, PfcConfig, Signal};
use pullnet_units::Bytes;

use crate::common::{Pkt, data};
use crate::port::{Port, gone};

/// A packet of priority 2 from link `ingress`.
fn from(ingress: u16, id: u64) -> Pkt {
    Pkt { priority: 2, ingress, ..data(id, 1000) }
}

fn pause(ingress: u16, paused: u8) -> (u16, Signal) {
    (ingress, Signal { paused, quanta: 65_535 })
}

/// 10 kB of shared memory; one priority of a link may hold half of the free part; headroom for three packets.
fn lossless() -> Port<Pfc<Pkt>> {
    Port::new(&PfcConfig {
        buffer: Bytes(13_000),
        reserve: Bytes(0),
        headroom: Bytes(3_000),
        alpha: 0.5,
        resume_below: Bytes(1_000),
        ..PfcConfig::default()
    })
}

#[test]
fn a_link_that_fills_its_share_is_paused_and_its_headroom_takes_what_still_comes() {
    let mut port = lossless();
    // 3 kB are held and 7 kB free: a fourth packet makes 4 kB of a threshold of 3.5 kB.
    port.fill((0..3).map(|id| from(0, id)));
    assert_eq!(port.signals, []);
    port.fill((3..6).map(|id| from(0, id)));
    assert_eq!(port.signals, [pause(0, 0b100)], "a pause is sent once");
    let next = from(0, 6);
    assert_eq!(port.put(next), Some(gone(next, DropReason::DataQueueFull, false)), "the headroom is full");
    // Packets of other links find room; other priorities have a share of their own.
    port.fill([from(1, 8), Pkt { priority: 5, ..from(0, 9) }]);
    assert_eq!(port.signals.len(), 1);
}

#[test]
fn a_pause_ends_well_below_the_threshold() {
    let mut port = lossless();
    port.fill((0..6).map(|id| from(0, id)));
    for _ in 0..3 {
        port.serve().unwrap();
    }
    assert_eq!(port.signals, [pause(0, 0b100)], "3 kB of a threshold of 3.5 kB are not low enough");
    port.serve().unwrap();
    assert_eq!(port.signals[1..], [pause(0, 0)]);
}
