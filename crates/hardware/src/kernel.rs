//! Random frames with the software switch's outcome, for the switch inside the kernel, which Rust code cannot call.

use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::{Fabric, Ndp, Silent, Slot};
use pullnet_units::{BitsPerSec, Bytes, NodeId, PortId, QueueSize};

use crate::agreement::{Frames, PORTS, Profile};

/// What becomes of one frame in an idle switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It leaves no port.
    Dropped,
    /// These bytes leave by a port.
    Left(u32, Vec<u8>),
}

/// A frame for a port of the switch, and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Ingress port.
    pub port: usize,
    /// Bytes of the frame.
    pub bytes: Vec<u8>,
    /// Outcome where queues have room.
    pub room: Outcome,
    /// Outcome where no queue has room for data.
    pub full: Outcome,
}

/// A software switch whose ports serve each frame before the next one arrives.
struct Idle(Fabric<Trim<Slot>, Ndp, Silent>);

impl Idle {
    fn new(profile: &Profile, queues: &TrimConfig) -> Self {
        let port = pullnet_switch::PortSettings::outside(NodeId::new(0), BitsPerSec::gbps(10));
        let mut fabric = Fabric::new(queues, profile.fabric(), &[port; PORTS], Ndp::default(), Silent)
            .expect("ports without peers are right");
        Profile::entries().for_each(|(mac, entry)| fabric.forward(NodeId::new(0), mac, entry));
        (0..PORTS as u32).for_each(|port| fabric.pause(PortId::new(port)));
        Self(fabric)
    }

    fn outcome(&mut self, port: usize, bytes: &[u8]) -> Outcome {
        let fabric = &mut self.0;
        let now = fabric.now();
        fabric.arrive(PortId::new(port as u32), now, bytes);
        fabric.advance(now);
        for port in (0..PORTS as u32).map(PortId::new) {
            fabric.resume(port);
            fabric.pause(port);
            if fabric.serving(port).is_some() {
                fabric.finish(port);
                fabric.advance(fabric.now());
            }
        }
        let mut outcome = Outcome::Dropped;
        while let Some(departure) = fabric.poll_departure() {
            outcome = Outcome::Left(departure.port.get(), fabric.frame(departure.frame).to_vec());
            fabric.release(departure.frame);
        }
        outcome
    }
}

/// Whether the switch inside the kernel reads the headers of a frame: it knows neither VLAN tags nor IPv4 options.
fn is_read(bytes: &[u8]) -> bool {
    let ether = bytes.get(12..14);
    let options = ether == Some(&[0x08, 0x00]) && bytes.get(14).is_some_and(|first| first & 15 > 5);
    bytes.len() >= 14 && ether != Some(&[0x81, 0x00]) && !options
}

/// `count` random frames whose headers the kernel switch reads, with their outcomes. Equal seeds give equal frames.
pub fn cases(seed: u64, count: u64) -> impl Iterator<Item = Case> {
    let profile = Profile::probe(false, false, false, false, false, false);
    let queues = profile.trim();
    let mut room = Idle::new(&profile, &queues);
    let mut full = Idle::new(&profile, &TrimConfig { data_queue: QueueSize::Bytes(Bytes(1)), ..queues });
    Frames::new(profile, seed, u64::MAX)
        .filter(|(_, given)| !given.wrong && is_read(&given.bytes))
        .map(move |(port, given)| Case {
            port,
            room: room.outcome(port, &given.bytes),
            full: full.outcome(port, &given.bytes),
            bytes: given.bytes,
        })
        .take(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_of_every_kind() {
        let found: Vec<_> = cases(1, 2000).collect();
        let count = |holds: fn(&Case) -> bool| found.iter().filter(|case| holds(case)).count();
        let whole = count(|case| matches!(&case.room, Outcome::Left(_, bytes) if *bytes == case.bytes));
        let nowhere = count(|case| case.room == Outcome::Dropped && case.full == Outcome::Dropped);
        let trimmed =
            count(|case| matches!(&case.full, Outcome::Left(_, bytes) if bytes.len() < case.bytes.len()));
        let passed = count(|case| matches!(&case.full, Outcome::Left(_, bytes) if *bytes == case.bytes));
        let full = count(|case| case.room != Outcome::Dropped && case.full == Outcome::Dropped);
        assert_eq!(whole + nowhere, 2000, "an idle switch alters no frame");
        assert!([nowhere, trimmed, passed, full].iter().all(|kind| *kind > 50), "{found:?}");
    }
}
