//! Random frames, valid and invalid.

use pullnet_rng::{Seed, SmallRandomStream};
use pullnet_switch::Codec;
use pullnet_wire::{HEADER, SEALED_HEADER, UDP};

use super::layout::{Layout, checksum};
use super::profile::{PORTS, Pace, Profile, ROUTES};

/// Longest frame that the RTL accepts: 13 cells of 128 B.
pub const LONGEST: usize = 1664;
const SHORTEST: usize = 14;
const HOME: u16 = 61000;
/// Byte of a header of version 3, that of other transports than NDP, that counts the words behind it.
const WORDS_AT: usize = 14;

/// A frame for a port of the switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Idle cycles before the frame.
    pub gap: u16,
    /// Whether the check sequence is wrong.
    pub wrong: bool,
}

impl Given {
    /// Whether the switch must reject the frame on arrival.
    pub fn is_bad(&self) -> bool {
        self.wrong || !(SHORTEST..=LONGEST).contains(&self.bytes.len())
    }

    /// Whether the reference does not model the frame: check sequences and oversize frames are specific to the hardware.
    pub fn is_unknown_to_reference(&self) -> bool {
        self.wrong || self.bytes.len() > LONGEST
    }
}

/// All frames of a run, in the order of generation. Equal seeds give equal frames.
pub struct Frames {
    profile: Profile,
    chance: SmallRandomStream,
    left: u64,
}

impl Frames {
    /// `count` frames.
    pub fn new(profile: Profile, seed: u64, count: u64) -> Self {
        Self { profile, chance: Seed(seed).small_stream(profile.name, 0), left: count }
    }

    fn one_in(&mut self, bound: u32) -> bool {
        self.chance.below(bound) == 0
    }

    fn byte(&mut self) -> u8 {
        self.chance.bits() as u8
    }

    fn word(&mut self) -> [u8; 2] {
        (self.chance.bits() as u16).to_be_bytes()
    }

    fn payload_len(&mut self) -> usize {
        if self.profile.short {
            return self.chance.below(20) as usize;
        }
        match self.chance.below(10) {
            0..4 => 1436,
            4..6 => self.chance.below(64) as usize,
            _ => self.chance.below(1430) as usize,
        }
    }

    /// Destination address: often behind one port, sometimes equal ports, a learned host, an unknown address or a group.
    fn destination(&mut self) -> [u8; 6] {
        if self.chance.below(100) < self.profile.incast {
            return [2, 0, 0, 0, 0, 0];
        }
        if self.profile.unknown > 0 && self.chance.below(100) < self.profile.unknown {
            return [2, 0, 0, 0, 9, self.byte()];
        }
        match self.chance.below(40) {
            0 => [255; 6],
            1 => [2, 0, 0, 0, 9, self.byte()],
            2..6 => [2, 0, 0, 0, 0, 100 + self.chance.below(8) as u8],
            _ => [2, 0, 0, 0, 0, self.chance.below(8) as u8],
        }
    }

    /// Source address: hosts with an entry, hosts to be learned, and rarely a group, which is invalid.
    fn source(&mut self, port: usize) -> [u8; 6] {
        match self.chance.below(60) {
            // A flooded header returned to a group would be flooded again, which the RTL refuses.
            0 if !self.profile.flood => [3, 0, 0, 0, 0, 1],
            1 => [2, 0, 0, 0, 0, 100 + self.chance.below(8) as u8],
            2..20 => [2, 0, 0, 0, 0, 100 + port as u8],
            _ => [2, 0, 0, 0, 0, port as u8],
        }
    }

    fn ethernet(&mut self, port: usize, ether: u16) -> Vec<u8> {
        let (to, from) = (self.destination(), self.source(port));
        let mut bytes = [to, from].concat();
        if self.one_in(8) {
            bytes.extend([0x81, 0x00]);
            bytes.extend(self.word());
        }
        bytes.extend(ether.to_be_bytes());
        bytes
    }

    /// Appends IPv4 with options, or IPv6, with a correct checksum.
    fn ip(&mut self, bytes: &mut Vec<u8>, dscp: u8, protocol: u8, carried: usize) {
        let tos = dscp << 2 | if self.one_in(3) { self.chance.below(4) as u8 } else { 0 };
        let at = bytes.len();
        if bytes[at - 1] == 0xdd {
            bytes.extend([0x60 | tos >> 4, tos << 4 | self.byte() & 15, self.byte(), self.byte()]);
            bytes.extend((carried as u16).to_be_bytes());
            bytes.extend([protocol, 64]);
            (0..32).for_each(|_| bytes.push(self.chance.bits() as u8));
            return;
        }
        let words = if self.one_in(6) { self.chance.below(11) } else { 0 };
        let header = 20 + 4 * words as usize;
        bytes.extend([0x45 + words as u8, tos]);
        bytes.extend(((header + carried) as u16).to_be_bytes());
        bytes.extend(self.word());
        let fragment = if self.one_in(12) { self.word() } else { [0x40, 0] };
        bytes.extend(fragment);
        bytes.extend([64, protocol, 0, 0]);
        (20..header + 8).for_each(|_| bytes.push(self.chance.bits() as u8));
        if self.profile.routed {
            let hosts = [self.home(), self.routed()];
            bytes[at + 12..at + 20].copy_from_slice(&hosts.concat());
        }
        let sum = checksum(&bytes[at..]);
        bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    }

    /// IPv4 address behind one port.
    fn home(&mut self) -> [u8; 4] {
        [10, 0, self.chance.below(PORTS as u32) as u8, self.byte()]
    }

    /// IPv4 destination: often behind the first port, behind any route, or without a matching route.
    fn routed(&mut self) -> [u8; 4] {
        if self.chance.below(100) < self.profile.incast {
            return [10, 0, 0, self.byte()];
        }
        match self.chance.below(10) {
            0 => [192, 168, self.byte(), self.byte()],
            1 => ROUTES[0].0,
            2 => [10, 1, self.byte(), self.byte()],
            3 => [10, 2 + self.byte() % 2, self.byte(), self.byte()],
            4 => [10, 4 + self.byte() % 200, self.byte(), self.byte()],
            _ => self.home(),
        }
    }

    fn datagram(&mut self, port: usize, dscp: u8, payload: usize) -> Vec<u8> {
        let mut bytes = self.ethernet_ip(port);
        let (version, words) = match self.chance.below(8) {
            0 | 1 => (4, 0),
            2 | 3 => (3, self.chance.below(26) as u8),
            _ => (2, 0),
        };
        // Sometimes there are more words than the version allows, or fewer than the header says.
        let header = match version {
            4 => SEALED_HEADER,
            _ if self.one_in(8) => HEADER,
            _ => HEADER + 4 * usize::from(words),
        };
        let carried = UDP + header + payload;
        self.ip(&mut bytes, dscp, 17, carried);
        let to_port = if self.one_in(9) { self.word() } else { HOME.to_be_bytes() };
        bytes.extend((49152 + (self.chance.bits() as u16 & 0x3fff)).to_be_bytes());
        bytes.extend(to_port);
        bytes.extend((carried as u16).to_be_bytes());
        bytes.extend([0, 0, version << 4, 0]);
        bytes.extend(HOME.to_be_bytes());
        let first = bytes.len() - 4;
        (4..header + payload).for_each(|_| bytes.push(self.chance.bits() as u8));
        if version == 3 {
            bytes[first + WORDS_AT] = words;
        }
        bytes
    }

    fn ethernet_ip(&mut self, port: usize) -> Vec<u8> {
        let ether = if self.one_in(4) { 0x86dd } else { 0x0800 };
        self.ethernet(port, ether)
    }

    fn foreign(&mut self, port: usize) -> Vec<u8> {
        let long = self.payload_len();
        if self.one_in(4) {
            let mut bytes = self.ethernet(port, 0x0806);
            (0..long).for_each(|_| bytes.push(self.chance.bits() as u8));
            return bytes;
        }
        let mut bytes = self.ethernet_ip(port);
        let dscp = self.byte() & 63;
        let protocol = if self.one_in(5) { 17 } else { 6 };
        self.ip(&mut bytes, dscp, protocol, 20 + long);
        (0..20 + long).for_each(|_| bytes.push(self.chance.bits() as u8));
        bytes
    }

    /// The artifact's layout: flags, a checksum, ports, and two further fields.
    fn artifact(&mut self, port: usize, flags: u16, carried: usize) -> Vec<u8> {
        let mut bytes = self.ethernet_ip(port);
        let dscp = self.byte() & 63;
        self.ip(&mut bytes, dscp, 199, 20 + carried);
        bytes.extend(flags.to_be_bytes());
        (0..18 + carried).for_each(|_| bytes.push(self.chance.bits() as u8));
        bytes
    }

    fn whole_artifact(&mut self, port: usize) -> Vec<u8> {
        let (share, long) = (self.profile.control_share, self.payload_len());
        match self.chance.below(100) {
            kind if kind < share / 2 => self.artifact(port, 2, 0),
            kind if kind < share => self.artifact(port, 4, 0),
            kind if kind < share + 5 => self.artifact(port, 8, long),
            kind if kind < share + 15 => self.foreign(port),
            kind if kind < share + 20 => self.datagram(port, 3, long),
            _ => self.artifact(port, 1 | (256 * u16::from(long > 700)), long),
        }
    }

    fn whole(&mut self, port: usize) -> Vec<u8> {
        if self.profile.artifact {
            return self.whole_artifact(port);
        }
        let share = self.profile.control_share;
        match self.chance.below(100) {
            kind if kind < share => {
                let long = if self.one_in(self.profile.long_control) { self.payload_len() } else { 0 };
                self.datagram(port, 11, long)
            }
            kind if kind < share + 6 => self.datagram(port, 7, 0),
            kind if kind < share + 8 => {
                let long = self.payload_len();
                self.datagram(port, 7, long)
            }
            kind if kind < share + 12 => self.datagram(port, 15, 0),
            kind if kind < share + 22 => self.foreign(port),
            _ => {
                let long = self.payload_len();
                // A third of the data has a priority; priority 1 means control.
                let priority = if self.one_in(3) { 2 + self.chance.below(6) as u8 } else { 0 };
                self.datagram(port, 3 | priority << 3, long)
            }
        }
    }

    /// Applies a random transmission error to a frame.
    fn spoil(&mut self, given: &mut Given) {
        let long = given.bytes.len() as u32;
        match self.chance.below(40) {
            0 => given.wrong = true,
            1 => given.bytes.truncate(1 + self.chance.below(63) as usize),
            2 => given.bytes.truncate(1 + self.chance.below(long) as usize),
            3 => given.bytes.resize(LONGEST - 2 + self.chance.below(400) as usize, 0x5a),
            4 | 5 => {
                let at = self.chance.below(long.min(80)) as usize;
                // The RTL learns fewer addresses than the reference, so source addresses are not modified.
                let at = if (6..12).contains(&at) { at - 6 } else { at };
                given.bytes[at] ^= 1 << self.chance.below(8);
            }
            // An error in the checksum of the IP header.
            6 if long > 30 => given.bytes[25] ^= 0x10,
            7 if long > 20 => given.bytes[14] = self.byte(),
            _ => {}
        }
    }
}

/// In the RTL the label alone selects among equal ports; there is no hash of flows. Frames without a label therefore go to
/// addresses behind one port.
fn settle(bytes: &mut [u8], profile: &Profile) {
    if profile.routed {
        settle_routes(bytes, profile);
    }
    for at in [0, 6] {
        let several =
            bytes.len() >= 14 && bytes[at..at + 5] == [2, 0, 0, 0, 0] && (4..8).contains(&bytes[at + 5]);
        if several && (at == 6 || profile.layout().classify(bytes).label.is_none()) {
            bytes[at + 5] -= 4;
        }
    }
}

/// The same for routes.
fn settle_routes(bytes: &mut [u8], profile: &Profile) {
    let Some(addresses) = Layout::addresses(bytes) else { return };
    let at = if bytes[12..14] == [0x81, 0x00] { 18 } else { 14 };
    for (field, address) in [(at + 12, addresses[0]), (at + 16, addresses[1])] {
        let address = u32::from(address);
        let mut routes = profile.routes();
        let route = routes.find(|(prefix, _)| address & prefix.bits() == u32::from(prefix.net()));
        let several = route.is_some_and(|(_, entry)| entry.ports.len() > 1);
        if several && (field == at + 12 || profile.layout().classify(bytes).label.is_none()) {
            bytes[field..field + 4].copy_from_slice(&[10, 0, address as u8 & 3, 1]);
        }
    }
}

impl Iterator for Frames {
    type Item = (usize, Given);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let port = self.chance.below(PORTS as u32) as usize;
        let bytes = self.whole(port);
        let gap = match self.chance.below(8) {
            _ if matches!(self.profile.pace, Pace::Stops) => 0,
            0 => self.chance.below(400) as u16,
            1 => self.chance.below(40) as u16,
            _ => 0,
        };
        let mut given = Given { bytes, gap, wrong: false };
        self.spoil(&mut given);
        settle(&mut given.bytes, &self.profile);
        Some((port, given))
    }
}
