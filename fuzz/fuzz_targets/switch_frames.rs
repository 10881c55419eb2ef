//! Arbitrary frames at arbitrary times pass through a switch with faults. The switch does not panic and holds no frame for
//! ever. Every frame that arrived has left or was dropped with a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::{
    Direction, Effect, Event, Fabric, FabricSettings, Fault, Mac, Ndp, Observer, PortLine, PortSettings,
    Slot, Unknown,
};
use pullnet_units::{BitsPerSec, Instant, NodeId, Packets, Picos, PortId, QueueSize};

const PORTS: u32 = 4;

/// Ingress port, time since the previous frame (100 ns), kind, and the frame's bytes or those after its headers.
type Arrival = (u8, u16, u8, u8, Vec<u8>);

/// Counts the switch's events for frames.
#[derive(Default)]
struct Tally {
    dropped: u64,
    sent: u64,
}

impl Observer for Tally {
    fn event(&mut self, _: Instant, _: PortId, event: Event, _: &[u8]) {
        self.dropped += u64::from(matches!(event, Event::Dropped(_)));
        self.sent += u64::from(event == Event::Sent);
    }
}

/// Ethernet, IPv4 and UDP with a DSCP of NDP or another, before `rest`.
fn framed(to: u8, from: u8, dscp: u8, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to % 6, 2, 0, 0, 0, 0, from % 6, 8, 0];
    let total = (28 + rest.len()) as u16;
    frame.extend([0x45, dscp << 2, (total >> 8) as u8, total as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, from, 10, 0, 0, to, 0xc0, from, 0xef, 0x0f, 0, 0, 0, 0]);
    frame.extend(rest);
    frame
}

fuzz_target!(|input: (u8, u8, Vec<Arrival>)| {
    let (room, broken, arrivals) = input;
    let config = TrimConfig {
        data_queue: QueueSize::Packets(Packets(1 + u32::from(room & 7))),
        control_queue: QueueSize::Packets(Packets(1 + u32::from(room >> 4))),
        ..TrimConfig::default()
    };
    let settings = FabricSettings {
        ageing: Some(Picos::from_millis(1)),
        unknown: Unknown::Flood,
        most_frames: 256,
        ..FabricSettings::default()
    };
    let port = PortSettings {
        node: NodeId::new(0),
        rate: BitsPerSec::gbps(1),
        delay: Picos::from_micros(1),
        paced: room & 8 != 0,
        peer: None,
    };
    let ports = [port; PORTS as usize];
    let fabric = Fabric::<Trim<Slot>, _, _>::new(&config, settings, &ports, Ndp::default(), Tally::default());
    let mut fabric = fabric.expect("no port has a peer");
    let effects = [Effect::Down, Effect::Loss(0.3), Effect::Corrupt(0.5), Effect::Duplicate(0.5)];
    for (number, effect) in effects.into_iter().enumerate().filter(|(number, _)| broken >> number & 1 == 1) {
        let (port, from) = (PortId::new(number as u32), Instant(u64::from(broken) * 1_000_000));
        fabric.fault(Fault {
            place: PortLine { port, direction: Direction::Both },
            from,
            until: Some(from.after(Picos::from_micros(50))),
            effect,
        });
    }
    let mut at = Instant::ZERO;
    for (port, gap, kind, dscp, bytes) in arrivals.iter().take(200) {
        at = at.after(Picos::from_nanos(100 * u64::from(*gap)));
        let dscps = [3, 11, 7, 15, *dscp & 63];
        let dscp = dscps[usize::from(*kind) % dscps.len()];
        let frame = if kind & 0x80 == 0 { framed(*port >> 2, *port, dscp, bytes) } else { bytes.clone() };
        assert!(Mac::destination(&frame).is_some() || frame.len() < 14);
        fabric.advance(at);
        fabric.arrive(PortId::new(u32::from(*port) % PORTS), at, &frame);
    }
    fabric.advance(Instant(u64::MAX - 1));
    let mut last = Instant::ZERO;
    while let Some(gone) = fabric.poll_departure() {
        assert!(gone.at >= last);
        last = gone.at;
        fabric.release(gone.frame);
    }
    assert_eq!(fabric.frames_held(), 0);
});
