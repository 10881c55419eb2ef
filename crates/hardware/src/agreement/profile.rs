//! Settings for comparing RTL and reference, and their translation for both.

use pullnet_qdisc::{DropTailConfig, TrimConfig, Victim};
use pullnet_switch::{Entry, FabricSettings, Mac, Ndp, Prefix, Selection, Unknown};
use pullnet_units::{Bytes, Packets, Picos, PortId, QueueSize};

use super::layout::Layout;

/// Ports of the switch.
pub const PORTS: usize = 4;

/// Capacity of a queue in the RTL, in frames or in bytes.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// Frames.
    Frames(u32),
    /// Bytes.
    Bytes(u32),
}

impl Room {
    fn size(self) -> QueueSize {
        match self {
            Self::Frames(frames) => QueueSize::Packets(Packets(frames)),
            Self::Bytes(bytes) => QueueSize::Bytes(Bytes(bytes.into())),
        }
    }

    fn number(self) -> u32 {
        let (Self::Frames(number) | Self::Bytes(number)) = self;
        number
    }

    fn in_bytes(self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

/// Backpressure of the test bench, with its number in `hardware/sim/main.cpp`.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// None: streams and lines run at full speed.
    Full = 0,
    /// Streams and lines pause independently of each other.
    Pauses = 1,
    /// All lines stop together until every queue is full, while streams run at full speed.
    Stops = 2,
}

/// One set of settings.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    data: Room,
    control: Room,
    control_per_data: u8,
    trim_to: u8,
    coin: bool,
    send_back: bool,
    mark_above: Option<u8>,
    learn: bool,
    /// Whether frames to unknown addresses are flooded.
    pub flood: bool,
    /// Whether the test bench applies backpressure.
    pub pace: Pace,
    /// Percentage of frames to the first port: an incast.
    pub incast: u32,
    /// Percentage of the other frames whose address is unknown.
    pub unknown: u32,
    /// Whether payloads are short, so that frames come faster than a flood takes them in.
    pub short: bool,
    /// Percentage of control frames.
    pub control_share: u32,
    /// One in so many control frames has a payload.
    pub long_control: u32,
    /// Whether the forwarding table has [`ROUTES`].
    pub routed: bool,
    /// Whether frames are in the format of the NDP paper's artifact.
    pub artifact: bool,
    /// Whether this is the trimming switch; otherwise the reference switch, which drops tails.
    pub trims: bool,
}

const BASE: Profile = Profile {
    name: "base",
    data: Room::Frames(8),
    control: Room::Frames(56),
    control_per_data: 10,
    trim_to: 64,
    coin: true,
    send_back: true,
    mark_above: None,
    learn: true,
    flood: true,
    pace: Pace::Pauses,
    incast: 50,
    unknown: 0,
    short: false,
    control_share: 20,
    long_control: 30,
    routed: false,
    artifact: false,
    trims: true,
};

const TAIL: Profile = Profile { name: "tail", trims: false, coin: false, send_back: false, ..BASE };

/// Profiles of the reference switch.
pub const REFERENCE_PROFILES: [Profile; 3] = [
    TAIL,
    Profile { name: "tail-bytes", data: Room::Bytes(3500), incast: 30, routed: true, ..TAIL },
    Profile {
        name: "tail-mark",
        data: Room::Frames(6),
        mark_above: Some(2),
        flood: false,
        control_share: 40,
        ..TAIL
    },
];

/// Profiles of the trimming switch; together they cover every part of the rule.
pub const PROFILES: [Profile; 10] = [
    BASE,
    Profile {
        name: "returns",
        data: Room::Frames(3),
        control: Room::Frames(6),
        flood: false,
        incast: 70,
        control_share: 30,
        ..BASE
    },
    Profile {
        name: "bytes",
        data: Room::Bytes(880),
        control: Room::Bytes(320),
        control_per_data: 3,
        mark_above: Some(2),
        ..BASE
    },
    Profile {
        name: "arriving",
        coin: false,
        send_back: false,
        control: Room::Frames(4),
        trim_to: 100,
        learn: false,
        mark_above: Some(4),
        ..BASE
    },
    Profile { name: "burst", pace: Pace::Full, incast: 90, control_share: 5, ..BASE },
    Profile {
        name: "mark",
        mark_above: Some(0),
        data: Room::Frames(5),
        control: Room::Frames(10),
        control_per_data: 1,
        incast: 60,
        ..BASE
    },
    Profile { name: "routes", data: Room::Frames(4), control: Room::Frames(8), routed: true, ..BASE },
    Profile {
        name: "artifact",
        data: Room::Frames(6),
        control: Room::Frames(12),
        trim_to: 54,
        send_back: false,
        mark_above: Some(3),
        artifact: true,
        ..BASE
    },
    // Each frame takes three offers, and each offer may send a header back.
    Profile {
        name: "flooded",
        data: Room::Frames(3),
        control: Room::Frames(6),
        pace: Pace::Stops,
        incast: 0,
        unknown: 95,
        short: true,
        control_share: 5,
        ..BASE
    },
    // All queues fill with frames of several cells: control, whole data, and headers of flooded data.
    Profile {
        name: "long",
        pace: Pace::Stops,
        incast: 20,
        unknown: 20,
        control_share: 50,
        long_control: 2,
        ..BASE
    },
];

/// Fixed entries: equal ports, and the label bits that select one.
pub const FIXED: [(u8, &[u32], u8, u16); 8] = [
    (0, &[0], 0, 0xffff),
    (1, &[1], 0, 0xffff),
    (2, &[2], 0, 0xffff),
    (3, &[3], 0, 0xffff),
    (4, &[2, 3], 0, 0xffff),
    (5, &[3, 1], 2, 0x0001),
    (6, &[0, 1, 2, 3], 1, 0x0003),
    (7, &[3, 2, 1, 0], 3, 0x00ff),
];

/// Network, prefix length, equal ports, and the label bits that select one: a shift and a mask.
pub type Route = ([u8; 4], u8, &'static [u32], u8, u16);

/// IPv4 prefix routes, longest first as the RTL requires.
pub const ROUTES: [Route; 8] = [
    ([10, 0, 3, 7], 32, &[2], 0, 0xffff),
    ([10, 0, 0, 0], 24, &[0], 0, 0xffff),
    ([10, 0, 1, 0], 24, &[1], 0, 0xffff),
    ([10, 0, 2, 0], 24, &[2], 0, 0xffff),
    ([10, 0, 3, 0], 24, &[3], 0, 0xffff),
    ([10, 1, 0, 0], 16, &[0, 1, 2, 3], 1, 0x0003),
    ([10, 2, 0, 0], 15, &[3, 1], 2, 0x0001),
    ([10, 0, 0, 0], 8, &[1, 2], 0, 0xffff),
];

/// The address of a host of the test.
pub fn mac(number: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, number])
}

impl Profile {
    /// Settings for a probe of one part of the rule: little room, no randomness, no backpressure.
    pub fn probe(
        learn: bool,
        flood: bool,
        routed: bool,
        artifact: bool,
        few_headers: bool,
        marks: bool,
    ) -> Self {
        Self {
            name: "probe",
            data: Room::Frames(3),
            control: Room::Frames(if few_headers { 3 } else { 40 }),
            coin: false,
            send_back: !artifact,
            trim_to: if artifact { 54 } else { 64 },
            mark_above: marks.then_some(1),
            learn,
            flood,
            pace: Pace::Full,
            routed,
            artifact,
            ..BASE
        }
    }

    /// Capacity for data and for control frames.
    pub fn rooms(&self) -> [u32; 2] {
        [self.data.number(), self.control.number()]
    }

    /// Number of data frames above which congestion is marked.
    pub fn marks_above(&self) -> Option<u16> {
        self.mark_above.map(Into::into)
    }

    /// Settings of the reference's queues.
    pub fn trim(&self) -> TrimConfig {
        TrimConfig {
            data_queue: self.data.size(),
            control_queue: self.control.size(),
            control_per_data: self.control_per_data.into(),
            trim_to: Bytes(self.trim_to.into()),
            victim: if self.coin { Victim::Coin } else { Victim::Arriving },
            return_to_sender: self.send_back,
            mark_above: self.mark_above.map(|above| QueueSize::Packets(Packets(above.into()))),
            ..TrimConfig::default()
        }
    }

    /// The same for the reference switch.
    pub fn drop_tail(&self) -> DropTailConfig {
        DropTailConfig {
            queue: self.data.size(),
            mark_above: self.mark_above.map(|above| QueueSize::Packets(Packets(above.into()))),
            ..DropTailConfig::default()
        }
    }

    /// Settings of the reference's switch. Its clock stands still: learned addresses do not age, and returned headers are
    /// delivered on command.
    pub fn fabric(&self) -> FabricSettings {
        FabricSettings {
            ageing: self.learn.then_some(Picos::from_secs(1000)),
            unknown: if self.flood { Unknown::Flood } else { Unknown::Drop },
            recirculation: Picos::from_secs(1000),
            ..FabricSettings::default()
        }
    }

    /// Fixed entries of the reference.
    pub fn entries() -> impl Iterator<Item = (Mac, Entry)> {
        FIXED.into_iter().map(|(number, ports, shift, mask)| {
            let ports = ports.iter().copied().map(PortId::new).collect();
            (mac(number), Entry { ports, selection: Selection { shift, mask } })
        })
    }

    /// Routes of the reference.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix, Entry)> {
        let used = if self.routed { &ROUTES[..] } else { &[] };
        used.iter().map(|(net, length, ports, shift, mask)| {
            let ports = ports.iter().copied().map(PortId::new).collect();
            let selection = Selection { shift: *shift, mask: *mask };
            (Prefix::new((*net).into(), *length), Entry { ports, selection })
        })
    }

    /// How NDP lies in frames.
    pub fn layout(&self) -> Layout {
        if self.artifact { Layout::Artifact } else { Layout::Udp(Ndp::default()) }
    }

    /// The profile as values of the RTL's registers (`hardware/rtl/registers.sv`).
    pub fn registers(&self) -> Vec<(u8, u32)> {
        let flags = [
            self.data.in_bytes(),
            self.control.in_bytes(),
            self.coin,
            self.send_back,
            self.mark_above.is_some(),
            self.learn,
            self.flood,
            self.artifact,
        ];
        let bits = (0..).zip(flags).map(|(at, flag)| u32::from(flag) << at).sum();
        let above = u32::from(self.mark_above.unwrap_or(0));
        let service = u32::from(self.control_per_data) | u32::from(self.trim_to) << 8 | above << 16;
        let mut words =
            vec![(0x01, bits), (0x02, self.data.number()), (0x03, self.control.number()), (0x04, service)];
        for (at, (number, ports, shift, mask)) in (0..).zip(FIXED) {
            let [a, b, c, d, e, f] = mac(number).bytes();
            let places: u32 = (0..).zip(ports).map(|(at, port)| port << (4 * at)).sum();
            let base = 0x40 + 4 * at;
            words.push((base, u32::from_be_bytes([c, d, e, f])));
            words.push((base + 1, 1 << 16 | u32::from(a) << 8 | u32::from(b)));
            words.push((base + 2, places | ports.len().ilog2() << 16 | u32::from(shift) << 20));
            words.push((base + 3, mask.into()));
        }
        for (at, (prefix, entry)) in (0..).zip(self.routes()) {
            let places: u32 = (0..).zip(&entry.ports).map(|(at, port)| port.get() << (4 * at)).sum();
            let base = 0x60 + 4 * at;
            words.push((base, prefix.net().into()));
            words.push((base + 1, prefix.bits()));
            let Selection { shift, mask } = entry.selection;
            let count = entry.ports.len().ilog2();
            words.push((base + 2, 1 << 31 | places | count << 16 | u32::from(shift) << 20));
            words.push((base + 3, mask.into()));
        }
        words
    }
}
