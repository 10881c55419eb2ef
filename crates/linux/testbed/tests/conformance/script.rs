//! The script of a network: what happens to which packet, in any world.

use std::collections::BTreeMap;
use std::fmt;

use pullnet_ndp::NdpHeader;

/// The packet types.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Data,
    Ack,
    Nack,
    Pull,
    Probe,
    Reset,
    /// HELLO and COOKIE; not used in scripts.
    Token,
}

/// Identifies a packet: its type, its number, and which of its copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Which {
    pub kind: Kind,
    number: u32,
    flow: u32,
    copy: u32,
}

impl Which {
    /// The first copy of a packet with this header, which belongs to `flow`.
    pub fn with(header: &NdpHeader, flow: u32) -> Self {
        let which = match *header {
            NdpHeader::Data { seq, .. } => data(seq),
            NdpHeader::Ack { seq, .. } => ack(seq),
            NdpHeader::Nack { seq, .. } => nack(seq),
            NdpHeader::Pull { number, .. } => pull(number),
            NdpHeader::Probe { seq, .. } => probe(seq),
        };
        which.of(flow)
    }

    fn first(kind: Kind, number: u32) -> Self {
        Self { kind, number, flow: 0, copy: 1 }
    }

    /// The same packet of another flow than the first.
    pub fn of(self, flow: u32) -> Self {
        Self { flow, ..self }
    }

    /// Another copy than the first.
    pub fn copy(self, copy: u32) -> Self {
        Self { copy, ..self }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copy {} of {:?} {} of flow {}", self.copy, self.kind, self.number, self.flow)
    }
}

pub fn data(number: u32) -> Which {
    Which::first(Kind::Data, number)
}

pub fn ack(number: u32) -> Which {
    Which::first(Kind::Ack, number)
}

pub fn nack(number: u32) -> Which {
    Which::first(Kind::Nack, number)
}

pub fn pull(number: u32) -> Which {
    Which::first(Kind::Pull, number)
}

pub fn probe(number: u32) -> Which {
    Which::first(Kind::Probe, number)
}

/// A packet sent before the connection exists.
pub fn token() -> Which {
    Which::first(Kind::Token, 0)
}

pub fn reset() -> Which {
    Which::first(Kind::Reset, 0)
}

/// Fate of a packet that leaves the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Whole,
    Trimmed,
    Returned,
    /// The payload is corrupted.
    Damaged,
}

/// One delivery of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    pub fate: Fate,
    /// Delivered right after this packet in the same direction; `None`: at once.
    pub after: Option<Which>,
}

impl From<Fate> for Passage {
    fn from(fate: Fate) -> Self {
        Self { fate, after: None }
    }
}

/// A packet and its deliveries: none if it is lost, two if it is duplicated.
pub type Line = (Which, Vec<Passage>);

/// Runs a script. Packets without a line in the script are delivered unchanged.
#[derive(Clone, Default)]
pub struct Player<T> {
    script: Vec<Line>,
    /// Kinds of packets that are always lost.
    lost: Vec<Kind>,
    /// Number of copies seen of each packet.
    copies: BTreeMap<(Kind, u32, u32), u32>,
    held: Vec<(Which, T, Fate)>,
}

impl<T: Clone> Player<T> {
    pub fn new(script: Vec<Line>, lost: Vec<Kind>) -> Self {
        Self { script, lost, copies: BTreeMap::new(), held: Vec::new() }
    }

    /// Processes a packet; returns the resulting deliveries in order. The copy number in `which` is ignored.
    pub fn pass(&mut self, which: Which, packet: &T) -> Vec<(T, Fate)> {
        let which = self.count(which);
        let mut leaving = Vec::new();
        for Passage { fate, after } in self.passages(which) {
            match after {
                None => leaving.push((packet.clone(), fate)),
                Some(after) => self.held.push((after, packet.clone(), fate)),
            }
        }
        let (released, held) = std::mem::take(&mut self.held).into_iter().partition(|held| held.0 == which);
        self.held = held;
        leaving.extend(Vec::into_iter(released).map(|(_, packet, fate)| (packet, fate)));
        leaving
    }

    fn count(&mut self, which: Which) -> Which {
        let copies = self.copies.entry((which.kind, which.number, which.flow)).or_default();
        *copies += 1;
        Which { copy: *copies, ..which }
    }

    fn passages(&mut self, which: Which) -> Vec<Passage> {
        if self.lost.contains(&which.kind) {
            return Vec::new();
        }
        match self.script.iter().position(|line| line.0 == which) {
            Some(line) => self.script.swap_remove(line).1,
            None => vec![Fate::Whole.into()],
        }
    }

    /// Packets of the script that never came, or that were held to the end.
    pub fn unplayed(&self) -> Vec<Which> {
        self.script.iter().map(|line| line.0).chain(self.held.iter().map(|held| held.0)).collect()
    }
}
