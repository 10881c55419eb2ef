//! A toy protocol with few fields, and an observer that records everything.
#![allow(dead_code, reason = "every test uses a part of it")]

use pullnet_switch::{Class, Codec, Event, Kind, Mac, Observer};
use pullnet_units::{Instant, PortId};

/// Addresses (12 B), a type (2 B: whether it can be marked, and priority and mark), what it is (1 B), a label (2 B), a number (8 B), and then payload.
pub struct Toy;

/// Fewest bytes that a trim keeps of a toy frame.
pub const LEAST: usize = 25;

/// Flag in the low half of the first type byte: the frame cannot be marked. The high half is the priority.
pub const INCAPABLE: u8 = 2;

const KINDS: [Kind; 5] = [Kind::Data, Kind::Control, Kind::Header, Kind::Returned, Kind::Foreign];

impl Codec for Toy {
    fn classify(&self, frame: &[u8]) -> Class {
        let kind = frame.get(14).and_then(|kind| KINDS.get(usize::from(*kind))).copied();
        let label = frame.get(15..17).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
        let first = frame.get(12).copied().unwrap_or(0);
        let (ect, priority) = (first & 15 != INCAPABLE, first >> 4);
        let kind = kind.unwrap_or(Kind::Foreign);
        Class { kind, headers: LEAST as u16, label, flow: 7, ect, priority, to: None }
    }

    fn trim(&self, frame: &mut Vec<u8>, keep: usize) {
        frame.truncate(keep);
        frame[14] = 2;
    }

    fn mark(&self, frame: &mut [u8]) -> bool {
        frame[13] = 1;
        true
    }

    fn turn_round(&self, frame: &mut [u8]) {
        let (to, from) = frame.split_at_mut(6);
        to.swap_with_slice(&mut from[..6]);
        frame[14] = 3;
    }
}

/// The address of host `n`.
pub fn mac(n: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, n])
}

pub struct Frame {
    pub from: u8,
    pub to: u8,
    pub kind: Kind,
    pub label: u16,
    pub id: u64,
    pub length: usize,
}

impl Frame {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length.max(LEAST)];
        bytes[..6].copy_from_slice(&[2, 0, 0, 0, 0, self.to]);
        bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, self.from]);
        bytes[14] = KINDS.iter().position(|kind| *kind == self.kind).unwrap() as u8;
        bytes[15..17].copy_from_slice(&self.label.to_be_bytes());
        bytes[17..25].copy_from_slice(&self.id.to_be_bytes());
        bytes
    }
}

/// A pause frame (802.1Qbb) for the priorities in `paused`, as IEEE 802.1Q, figure 36-1, draws it.
pub fn pause_frame(paused: u8, quanta: u16) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 77, 0x88, 0x08, 0x01, 0x01, 0, 0xff];
    for priority in 0..8 {
        let time = if paused >> priority & 1 == 1 { quanta } else { 0 };
        frame.extend(time.to_be_bytes());
    }
    frame.resize(60, 0);
    frame
}

/// The number of a frame.
pub fn id_of(frame: &[u8]) -> u64 {
    u64::from_be_bytes(frame[17..25].try_into().unwrap())
}

/// The kind of a frame.
pub fn kind_of(frame: &[u8]) -> Kind {
    KINDS[usize::from(frame[14])]
}

/// All events, with number and length of the frame.
#[derive(Default)]
pub struct Log(pub Vec<(Instant, PortId, Event, u64, usize)>);

impl Observer for Log {
    fn event(&mut self, at: Instant, port: PortId, event: Event, frame: &[u8]) {
        let id = if frame.len() < LEAST { u64::MAX } else { id_of(frame) };
        self.0.push((at, port, event, id, frame.len()));
    }
}
