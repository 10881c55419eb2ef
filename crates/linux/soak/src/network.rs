//! The network under test: two leaves, eight spines, and the injected faults.

use std::collections::{BTreeSet, VecDeque};

use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::{
    Counting, Direction, Effect, Entry, Fabric, FabricSettings, Fault, Mac, Ndp, PortLine, PortSettings,
    Selection, Silent, Slot,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, NodeId, Picos, PortId};
use pullnet_wire::{
    DataFields, Mac as WireMac, Marks, PORT, Packet, Shape, is_sealed, parse, parse_sealed, switch,
};

use crate::condition::Condition;

pub(crate) const HOSTS: u32 = 4;
/// Number of leaves. The first half of the hosts is attached to the first leaf.
const LEAVES: u32 = 2;
const SPINES: u32 = 8;
/// Bytes that a frame counts on a link.
pub(crate) const COUNTING: Counting = Counting::Line;
/// Default first window of hosts. Packets.
pub(crate) const FIRST_WINDOW: u32 = 30;
/// Rate of every link.
pub(crate) const RATE: BitsPerSec = BitsPerSec::gbps(1);
const DELAY: Picos = Picos::from_micros(1);
/// Additional delay of each further path, under conditions in which the paths differ.
const LATER: Picos = Picos::from_micros(64);
/// Downtime of switches during a restart.
const AWAY: Picos = Picos::from_millis(5);
/// Capacity of the memory of recently sent first packets; far more than can be in flight.
const REMEMBERED: usize = 65_536;

type Switches = Fabric<Trim<Slot>, Ndp, Silent>;

pub(crate) fn mac(host: u32) -> WireMac {
    WireMac([2, 0, 0, 0, 0, host as u8 + 1])
}

const fn leaf_of(host: u32) -> u32 {
    host / (HOSTS / LEAVES)
}

/// The port of `leaf` that leads to `spine`.
const fn up(leaf: u32, spine: u32) -> PortId {
    PortId::new(HOSTS + leaf * SPINES + spine)
}

/// The port of `spine` that leads to `leaf`.
const fn down(spine: u32, leaf: u32) -> PortId {
    PortId::new(HOSTS + LEAVES * SPINES + spine * LEAVES + leaf)
}

fn ports(condition: Condition) -> Vec<PortSettings> {
    let port = |node, delay, peer: Option<PortId>| PortSettings {
        node: NodeId::new(node),
        rate: RATE,
        delay,
        paced: peer.is_none(),
        peer,
    };
    let delay = |spine: u32| match condition {
        Condition::Reordering => Picos(DELAY.0 + u64::from(spine) * LATER.0),
        _ => DELAY,
    };
    let hosts = (0..HOSTS).map(|host| port(leaf_of(host), DELAY, None));
    let pairs =
        |outer: u32, inner: u32| (0..outer).flat_map(move |one| (0..inner).map(move |other| (one, other)));
    let ups = pairs(LEAVES, SPINES).map(|(leaf, spine)| port(leaf, delay(spine), Some(down(spine, leaf))));
    let downs = pairs(SPINES, LEAVES).map(|(spine, leaf)| port(LEAVES + spine, DELAY, Some(up(leaf, spine))));
    hosts.chain(ups).chain(downs).collect()
}

fn switches(condition: Condition, seed: u64) -> Switches {
    let settings = FabricSettings { seed, counting: COUNTING, ..FabricSettings::default() };
    let config = TrimConfig::default();
    let mut fabric = Fabric::new(&config, settings, &ports(condition), Ndp::default(), Silent)
        .expect("every port names the one that names it");
    for host in 0..HOSTS {
        let mac = Mac::new(mac(host).0);
        let entry = |ports| Entry { ports, selection: Selection::default() };
        for leaf in 0..LEAVES {
            let ways = if leaf == leaf_of(host) {
                vec![PortId::new(host)]
            } else {
                (0..SPINES).map(|spine| up(leaf, spine)).collect()
            };
            fabric.forward(NodeId::new(leaf), mac, entry(ways));
        }
        for spine in 0..SPINES {
            fabric.forward(NodeId::new(LEAVES + spine), mac, entry(vec![down(spine, leaf_of(host))]));
        }
    }
    let share = match condition {
        Condition::Loss => Some(Effect::Loss(0.01)),
        Condition::Duplication => Some(Effect::Duplicate(0.01)),
        Condition::Corruption => Some(Effect::Corrupt(0.001)),
        _ => None,
    };
    let always = |port, effect| {
        let place = PortLine { port, direction: Direction::In };
        Fault { place, from: Instant::ZERO, until: None, effect }
    };
    for host in 0..HOSTS {
        share.into_iter().for_each(|effect| fabric.fault(always(PortId::new(host), effect)));
    }
    fabric
}

/// The packet in `frame`. Encryption leaves its header readable.
fn packet(frame: &[u8], marks: &Marks) -> Option<Packet> {
    if is_sealed(frame) {
        return parse_sealed(frame, marks, PORT).ok().map(|sealed| sealed.packet);
    }
    parse(frame, marks, PORT).ok().map(|arrived| arrived.packet)
}

/// Recently sent first packets: sender, connection and number.
#[derive(Default)]
struct Seen {
    known: BTreeSet<(u32, u32, u32)>,
    order: VecDeque<(u32, u32, u32)>,
}

impl Seen {
    /// Whether `packet` is new.
    fn first(&mut self, packet: (u32, u32, u32)) -> bool {
        let new = self.known.insert(packet);
        if new {
            self.order.push_back(packet);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        new
    }
}

/// Counters of the network.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Done {
    pub trimmed: u64,
    pub lost: u64,
    pub doubled: u64,
    pub damaged: u64,
}

pub(crate) struct FaultyFabric {
    condition: Condition,
    seed: u64,
    fabric: Switches,
    /// End of the restart; until then switches accept no frames.
    away_until: Instant,
    seen: Seen,
    /// Counters from before the last restart.
    done: Done,
    /// Frames that hosts sent unencrypted.
    pub plain: u64,
}

impl FaultyFabric {
    pub fn new(condition: Condition, seed: u64) -> Self {
        let (fabric, seen, done) = (switches(condition, seed), Seen::default(), Done::default());
        Self { condition, seed, fabric, away_until: Instant::ZERO, seen, done, plain: 0 }
    }

    /// Accepts a frame that `host` begins to send now.
    pub fn take(&mut self, now: Instant, host: u32, frame: &mut [u8]) {
        self.plain += u64::from(!is_sealed(frame));
        if now < self.away_until {
            self.done.lost += 1;
            return;
        }
        let long = self.trim(host, frame);
        self.fabric.arrive(PortId::new(host), now, &frame[..long]);
    }

    /// Length of the frame after trimming: under [`Condition::Trimming`], packets of a first window are cut to their header.
    fn trim(&mut self, host: u32, frame: &mut [u8]) -> usize {
        let (whole, marks) = (frame.len(), Marks::default());
        if self.condition != Condition::Trimming
            || switch::mark(frame, &marks) != Some(pullnet_wire::Mark::Data)
        {
            return whole;
        }
        let Some(packet) = packet(frame, &marks) else { return whole };
        let Shape::Data(DataFields { seq, pulled: false, .. }) = packet.shape else { return whole };
        if seq >= FIRST_WINDOW || !self.seen.first((host, packet.conn, seq)) {
            return whole;
        }
        let long = switch::trim(frame, 0, switch::Lengths::Corrected, &marks);
        self.done.trimmed += u64::from(long.is_some());
        long.unwrap_or(whole)
    }

    /// Time of the next event.
    pub fn next(&self) -> Instant {
        self.fabric.next_event()
    }

    /// Processes all events up to `until`, and delivers frames to hosts through `arrives`.
    pub fn advance(&mut self, until: Instant, mut arrives: impl FnMut(u32, &[u8])) {
        self.fabric.advance(until);
        while let Some(left) = self.fabric.poll_departure() {
            arrives(left.port.get(), self.fabric.frame(left.frame));
            self.fabric.release(left.frame);
        }
    }

    /// Restarts all switches; their queued frames are lost.
    pub fn restart(&mut self, now: Instant) {
        self.done = self.done();
        self.done.lost += self.fabric.frames_held() as u64;
        self.seed = self.seed.wrapping_add(1);
        self.fabric = switches(self.condition, self.seed);
        self.fabric.advance(now);
        self.away_until = now.after(AWAY);
    }

    /// Takes one of the paths down, or up again.
    pub fn path(&mut self, now: Instant, is_up: bool) {
        for port in [up(0, 3), up(1, 3)] {
            if is_up {
                self.fabric.clear_faults(port);
            } else {
                let place = PortLine { port, direction: Direction::Both };
                self.fabric.fault(Fault { place, from: now, until: None, effect: Effect::Down });
            }
        }
    }

    /// Counters since the start of the soak.
    pub fn done(&self) -> Done {
        (0..self.fabric.ports() as u32).map(|port| self.fabric.counters(PortId::new(port))).fold(
            self.done,
            |sum, port| Done {
                trimmed: sum.trimmed + port.trim_packets,
                lost: sum.lost + port.fault_lost_packets,
                doubled: sum.doubled + port.fault_duplicated_packets,
                damaged: sum.damaged + port.fault_corrupted_packets,
            },
        )
    }
}

/// Serialisation time of a frame of `long` bytes.
pub(crate) fn on_the_line(long: usize) -> Picos {
    RATE.serialization(Bytes(COUNTING.wire(long as u32).into()))
}
