//! Frames through whole switches. The software switch gives the expected result.

use std::path::Path;

use pullnet_qdisc::Trim;
use pullnet_switch::{Fabric, Silent, Slot};
use pullnet_units::{BitsPerSec, NodeId, Picos, PortId};
use pullnet_wire::{HEADER, SEALED_HEADER};

use crate::agreement::{Failure, Given, Layout, PORTS, Profile, ROUTES, checksum, compare_frames};
use crate::p4::port::{Settings, Ways, host, route, set};
use crate::p4::{Switch, WrongEntry};

/// A probe: one part of the rule, and frames that exercise it.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Name of the part.
    pub name: &'static str,
    /// Frames of the probe.
    shape: Shape,
    /// Destinations' entries in the forwarding table.
    reach: Reach,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// The given number of data frames, more than there is room for.
    Overload { header: Header, layout: Packets },
    /// Data frames that may be marked.
    Marked,
    /// More headers than there is room for.
    Headers(Header),
    /// One frame for each label from 0 to 7, to equal ports.
    Labels,
    /// Frames to IPv4 destinations with overlapping prefixes.
    Prefixes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Header {
    Plain,
    Options,
    Tagged,
    V6,
}

/// What lies behind UDP, or behind IP in the artifact's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Packets {
    Plain,
    /// Version 4, whose header is longer.
    Encrypted,
    /// Version 3, with six words behind the header, as SCDP's symbols have it.
    Words,
    /// Data with priorities, its class selectors.
    Priorities,
    Artifact,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    Fixed,
    Learned,
    Flooded,
}

const fn overload(name: &'static str, header: Header, layout: Packets) -> Probe {
    Probe { name, shape: Shape::Overload { header, layout }, reach: Reach::Fixed }
}

/// Every probe.
pub const PROBES: [Probe; 17] = [
    overload("trim: IPv4 lengths and checksum", Header::Plain, Packets::Plain),
    overload("trim: IPv4 with options", Header::Options, Packets::Plain),
    overload("trim: behind a VLAN tag", Header::Tagged, Packets::Plain),
    overload("trim: IPv6", Header::V6, Packets::Plain),
    overload("trim: encrypted packets over IPv4", Header::Plain, Packets::Encrypted),
    overload("trim: encrypted packets over IPv6", Header::V6, Packets::Encrypted),
    overload("trim: words behind the header, over IPv4 (SCDP and others)", Header::Plain, Packets::Words),
    overload("trim: words behind the header, over IPv6 (SCDP and others)", Header::V6, Packets::Words),
    overload("trim: data with a priority (class selector)", Header::Plain, Packets::Priorities),
    overload("trim: the artifact's layout", Header::Plain, Packets::Artifact),
    Probe { name: "return to sender: IPv4", shape: Shape::Headers(Header::Plain), reach: Reach::Fixed },
    Probe { name: "return to sender: IPv6", shape: Shape::Headers(Header::V6), reach: Reach::Fixed },
    Probe { name: "ECN: the mark and its checksum", shape: Shape::Marked, reach: Reach::Fixed },
    Probe { name: "equal ports by label", shape: Shape::Labels, reach: Reach::Fixed },
    Probe { name: "routes: the longest IPv4 prefix", shape: Shape::Prefixes, reach: Reach::Fixed },
    Probe {
        name: "learned addresses",
        shape: Shape::Overload { header: Header::Plain, layout: Packets::Plain },
        reach: Reach::Learned,
    },
    Probe { name: "flooding, with trims of copies", shape: Shape::Marked, reach: Reach::Flooded },
];

/// Words behind the header of a symbol of SCDP.
const WORDS: usize = 6;

/// Frames sent, by port.
type Left = Vec<Vec<Vec<u8>>>;

impl Probe {
    fn artifact(&self) -> bool {
        matches!(self.shape, Shape::Overload { layout: Packets::Artifact, .. })
    }

    /// Settings of the switch.
    pub fn profile(&self) -> Profile {
        let (learn, flood) = (self.reach == Reach::Learned, self.reach == Reach::Flooded);
        let routed = self.shape == Shape::Prefixes;
        let few_headers = matches!(self.shape, Shape::Headers(_));
        let marks = self.shape == Shape::Marked && !flood;
        Profile::probe(learn, flood, routed, self.artifact(), few_headers, marks)
    }

    /// Frames with their ingress ports.
    pub fn frames(&self) -> Vec<(usize, Vec<u8>)> {
        let to = match self.reach {
            Reach::Fixed => [2, 0, 0, 0, 0, 1],
            // A frame from this host has been seen at port 1.
            Reach::Learned | Reach::Flooded => [2, 0, 0, 0, 0, 101],
        };
        let from = [2, 0, 0, 0, 0, 0];
        let mut frames = Vec::new();
        if self.reach == Reach::Learned {
            frames.push((1, frame(from, to, 11 << 2, 0, Header::Plain, [10, 9, 9, 9])));
        }
        let more = |n: u8| match self.shape {
            Shape::Overload { header, layout } => {
                let payload = 200 + usize::from(n);
                match layout {
                    Packets::Plain => frame(to, from, 3 << 2, payload, header, [10, 9, 9, 9]),
                    Packets::Encrypted => encrypted(to, from, payload, header),
                    Packets::Words => words(to, from, payload, header),
                    Packets::Priorities => {
                        let dscp = 3 | (2 + n % 6) << 3;
                        frame(to, from, dscp << 2, payload, header, [10, 9, 9, 9])
                    }
                    Packets::Artifact => artifact(to, from, payload),
                }
            }
            Shape::Marked => frame(to, from, 3 << 2 | 2, 100 + usize::from(n), Header::Plain, [10, 9, 9, 9]),
            Shape::Headers(header) => frame(to, from, 7 << 2, 0, header, [10, 9, 9, 9]),
            Shape::Labels => {
                let mut bytes = frame([2, 0, 0, 0, 0, 6], from, 3 << 2, 10, Header::Plain, [10, 9, 9, 9]);
                bytes[35] = n;
                bytes
            }
            Shape::Prefixes => {
                let (net, ..) = ROUTES[usize::from(n) % ROUTES.len()];
                frame(to, from, 3 << 2, 10, Header::Plain, [net[0], net[1], net[2], net[3].max(9)])
            }
        };
        frames.extend((0..9).map(|n| ([0, 2, 3][usize::from(n) % 3], more(n))));
        frames
    }
}

fn frame(to: [u8; 6], from: [u8; 6], tos: u8, payload: usize, header: Header, ip: [u8; 4]) -> Vec<u8> {
    let mut bytes = [to, from].concat();
    if header == Header::Tagged {
        bytes.extend([0x81, 0, 0, 7]);
    }
    let carried = 40 + payload as u16;
    let at = bytes.len() + 2;
    if header == Header::V6 {
        bytes.extend([0x86, 0xdd, 0x60 | tos >> 4, tos << 4, 0, 1]);
        bytes.extend(carried.to_be_bytes());
        bytes.extend([17, 64]);
        bytes.extend((0..32).map(|n| 0xa0 + n));
    } else {
        let words: u16 = if header == Header::Options { 7 } else { 5 };
        bytes.extend([8, 0, 0x40 + words as u8, tos]);
        bytes.extend((4 * words + carried).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 200]);
        bytes.extend(ip);
        bytes.resize(at + 4 * usize::from(words), 1);
        let sum = checksum(&bytes[at..]);
        bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    }
    bytes.extend([0xc0, 0, 0xee, 0x48]);
    bytes.extend(carried.to_be_bytes());
    bytes.extend([0, 0, 0x20, 0, 0xee, 0x49]);
    bytes.extend((0..28 + payload).map(|n| n as u8));
    bytes
}

/// A DATA frame of version 4. The rest of its longer header takes the place of payload.
fn encrypted(to: [u8; 6], from: [u8; 6], payload: usize, header: Header) -> Vec<u8> {
    let mut bytes = frame(to, from, 3 << 2, SEALED_HEADER - HEADER + payload, header, [10, 9, 9, 9]);
    let at = bytes.len() - payload - SEALED_HEADER;
    bytes[at] = 4 << 4;
    bytes
}

/// A DATA frame of version 3 with [`WORDS`] words behind the first 32 bytes of its header.
fn words(to: [u8; 6], from: [u8; 6], payload: usize, header: Header) -> Vec<u8> {
    let mut bytes = frame(to, from, 3 << 2, 4 * WORDS + payload, header, [10, 9, 9, 9]);
    let at = bytes.len() - payload - 4 * WORDS - HEADER;
    bytes[at] = 3 << 4;
    bytes[at + 14] = WORDS as u8;
    bytes
}

/// A DATA frame in the artifact's format.
fn artifact(to: [u8; 6], from: [u8; 6], payload: usize) -> Vec<u8> {
    let mut bytes = frame(to, from, 0, payload, Header::Plain, [10, 9, 9, 9]);
    bytes.truncate(54 + payload);
    bytes[16..18].copy_from_slice(&(40 + payload as u16).to_be_bytes());
    bytes[23] = 199;
    bytes[24..26].fill(0);
    let sum = checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes[34..38].copy_from_slice(&[0, 1, 0xab, 0xcd]);
    bytes
}

fn sorted(mut left: Left) -> Left {
    left.iter_mut().for_each(|frames| frames.sort());
    left
}

/// Frames sent by the software switch, sorted; all frames arrive before the first is served.
pub fn software_frames(probe: &Probe) -> Left {
    let profile = probe.profile();
    let port = pullnet_switch::PortSettings::outside(NodeId::new(0), BitsPerSec::gbps(10));
    let mut fabric: Fabric<Trim<Slot>, Layout, Silent> =
        Fabric::new(&profile.trim(), profile.fabric(), &[port; PORTS], profile.layout(), Silent)
            .expect("ports without peers are right");
    Profile::entries().for_each(|(mac, entry)| fabric.forward(NodeId::new(0), mac, entry));
    profile.routes().for_each(|(prefix, entry)| fabric.route_prefix(NodeId::new(0), prefix, entry));
    (0..PORTS as u32).for_each(|port| fabric.pause(PortId::new(port)));
    for (port, bytes) in probe.frames() {
        let now = fabric.now();
        fabric.arrive(PortId::new(port as u32), now, &bytes);
        fabric.advance(now);
        while fabric.come_round() {}
    }
    (0..PORTS as u32).for_each(|port| fabric.resume(PortId::new(port)));
    fabric.advance(fabric.now().after(Picos::from_secs(1)));
    let mut left = vec![Vec::new(); PORTS];
    while let Some(departure) = fabric.poll_departure() {
        left[departure.port.get() as usize].push(fabric.frame(departure.frame).to_vec());
        fabric.release(departure.frame);
    }
    sorted(left)
}

/// The same for a P4 program with the tables of `ndp.p4`.
pub fn p4_frames(text: &str, probe: &Probe) -> Result<Left, String> {
    let mut switch = Switch::new(text, PORTS as u16, 1000, 1).map_err(|why| why.to_string())?;
    let profile = probe.profile();
    let [data_room, control_room] = profile.rooms().map(|room| room as u16);
    let settings =
        Settings { data_room, control_room, trim_to: 64, send_back: true, mark_above: profile.marks_above() };
    if set(&mut switch, &settings).is_err() {
        // A program with other tables: it forwards none of these frames.
        return Ok(vec![Vec::new(); PORTS]);
    }
    let wrong = |why: WrongEntry| why.to_string();
    for (mac, entry) in Profile::entries() {
        let ports: Vec<u16> = entry.ports.iter().map(|port| port.get() as u16).collect();
        let ways = Ways { ports: &ports, shift: entry.selection.shift, mask: entry.selection.mask };
        host(&mut switch, mac.bytes(), ways).map_err(wrong)?;
    }
    for (prefix, entry) in profile.routes() {
        let ports: Vec<u16> = entry.ports.iter().map(|port| port.get() as u16).collect();
        let ways = Ways { ports: &ports, shift: entry.selection.shift, mask: entry.selection.mask };
        let length = prefix.bits().count_ones() as u8;
        route(&mut switch, prefix.net().octets(), length, ways).map_err(wrong)?;
    }
    if profile.flood {
        switch.group(1, &[0, 1, 2, 3]).map_err(wrong)?;
        switch.machine.set_default("hosts", "flood", &[1]).map_err(wrong)?;
    }
    let mut left = vec![Vec::new(); PORTS];
    for (port, bytes) in probe.frames() {
        switch.arrive(port as u16, &bytes).map_err(|why| why.to_string())?;
    }
    for (port, frames) in left.iter_mut().enumerate() {
        while let Some(bytes) = switch.serve(port as u16).map_err(|why| why.to_string())? {
            frames.push(bytes);
        }
    }
    Ok(sorted(left))
}

/// Whether the simulated RTL agrees with the software switch over many repetitions of these frames, and the probed behaviour
/// has occurred.
pub fn rtl_agrees(program: &Path, probe: &Probe) -> Result<bool, Failure> {
    let once = probe.frames();
    let given = |(port, bytes): (usize, Vec<u8>)| (port, Given { bytes, gap: 0, wrong: false });
    let frames = || once.iter().cloned().cycle().take(50 * once.len()).map(given);
    let tally = match compare_frames(program, &probe.profile(), 1, &frames) {
        Err(Failure::Disagree(_)) => return Ok(false),
        tally => tally?,
    };
    Ok(match probe.shape {
        Shape::Overload { .. } => tally.trimmed > 0,
        Shape::Headers(_) => tally.returned > 0,
        Shape::Marked if probe.reach == Reach::Fixed => tally.marked > 0,
        Shape::Marked | Shape::Labels | Shape::Prefixes => tally.left > 0,
    })
}
