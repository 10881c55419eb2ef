//! ERF, the extensible record format of DAG cards: records of at least 16 bytes, without a file header.

use crate::bytes::Order;
use crate::losses::{DamageKind, Losses};
use crate::packet::{Direction, Found, LinkType, PICOS, Step, Time};
use crate::resync::{self, Clock};
use crate::window::Window;

/// Length of a record's header without extensions.
const HEAD: usize = 16;
/// Largest plausible time distance between the first records. Unit: s.
const NEAR: u64 = 86_400;
/// Number of plausible records (or all, if fewer) required to recognise a file as ERF.
const TO_RECOGNISE: usize = 3;

const ETHERNET: LinkType = LinkType(1);
const RAW_IP: LinkType = LinkType(101);
const UNKNOWN: LinkType = LinkType(u16::MAX);

/// Types of records, by number, whose `lctr` field counts packets lost.
const COUNTS_LOSSES: [u8; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 22, 23];
/// Record types that are not packets: IP counters, flow counters, metadata, padding.
const NO_PACKETS: [u8; 4] = [13, 14, 27, 48];
const ETHERNET_TYPES: [u8; 4] = [2, 11, 16, 20];
const IP_TYPES: [u8; 2] = [22, 23];

#[derive(Default)]
pub(crate) struct Erf {
    clock: Clock,
}

struct Record {
    /// Unit: 2^-32 s since the Unix epoch.
    time: u64,
    kind: u8,
    extended: bool,
    interface: u8,
    length: usize,
    lost: u16,
    wire: u16,
}

impl Record {
    fn read(bytes: &[u8]) -> Self {
        Self {
            time: Order::Little.u64(bytes, 0),
            kind: bytes[8] & 0x7f,
            extended: bytes[8] & 0x80 != 0,
            interface: bytes[9] & 3,
            length: Order::Big.u16(bytes, 10).into(),
            lost: Order::Big.u16(bytes, 12),
            wire: Order::Big.u16(bytes, 14),
        }
    }

    fn possible(&self) -> bool {
        let known = (1..=27).contains(&self.kind) || self.kind == 48;
        known && self.length >= HEAD
    }

    fn seconds(&self) -> u64 {
        self.time >> 32
    }
}

/// Whether `bytes` look like ERF, which has no magic number; `ended`: there are no more bytes. The last record may be
/// truncated, but not the first.
pub(crate) fn looks_like(bytes: &[u8], ended: bool) -> bool {
    let mut at = 0;
    let mut last = None;
    for count in 0..TO_RECOGNISE {
        let Some(head) = bytes.get(at..at + HEAD) else {
            let first_whole = count > 1 || at <= bytes.len();
            return count > 0 && ended && first_whole;
        };
        let record = Record::read(head);
        let near = last.is_none_or(|last| record.seconds().abs_diff(last) <= NEAR);
        let padding_first = record.kind == 48 && count == 0;
        if !record.possible() || !near || padding_first || record.seconds() == 0 {
            return false;
        }
        last = Some(record.seconds());
        at += record.length;
    }
    true
}

impl Erf {
    pub(crate) fn next(&mut self, window: &mut Window, losses: &mut Losses) -> Step {
        loop {
            if !window.want(HEAD) {
                window.truncated(losses);
                return Step::End;
            }
            let record = Record::read(window.bytes());
            if !record.possible() {
                return self.find_next(window, losses, DamageKind::Record);
            }
            if !window.want(record.length) {
                return self.find_next(window, losses, DamageKind::Truncated);
            }
            self.clock.note(record.seconds());
            let bytes = window.take(record.length);
            if !NO_PACKETS.contains(&record.kind) {
                losses.missed += lost(&record);
                let begin = bytes.start + payload(&record, window.slice(bytes.clone()));
                return Step::Packet(found(&record, begin.min(bytes.end)..bytes.end));
            }
        }
    }

    fn find_next(&self, window: &mut Window, losses: &mut Losses, at_end: DamageKind) -> Step {
        resync::skip_record(window, losses, at_end, |bytes, ended| {
            let mut clock = self.clock;
            resync::chain(bytes, ended, HEAD, |head| {
                let record = Record::read(head);
                let plausible = record.possible() && clock.near(record.seconds());
                clock.note(record.seconds());
                plausible.then_some(record.length)
            })
        })
    }
}

fn lost(record: &Record) -> u64 {
    if COUNTS_LOSSES.contains(&record.kind) { record.lost.into() } else { 0 }
}

/// Offset of the link-layer bytes, after extension headers and the type's own prefix.
fn payload(record: &Record, bytes: &[u8]) -> usize {
    let mut at = HEAD;
    let mut more = record.extended;
    while more && let Some(first) = bytes.get(at) {
        more = first & 0x80 != 0;
        at += 8;
    }
    // Ethernet records start with an offset byte and a padding byte.
    at + if ETHERNET_TYPES.contains(&record.kind) { 2 } else { 0 }
}

fn found(record: &Record, data: std::ops::Range<usize>) -> Found {
    let picos = (i128::from(record.time) * PICOS) >> 32;
    Found {
        time: Time(picos),
        wire_len: record.wire.into(),
        interface: record.interface.into(),
        direction: direction(record.interface),
        link: link(record.kind),
        data,
    }
}

/// Cards capture the two directions of a link as interfaces 0 and 1.
fn direction(interface: u8) -> Direction {
    match interface {
        0 => Direction::In,
        1 => Direction::Out,
        _ => Direction::Unknown,
    }
}

fn link(kind: u8) -> LinkType {
    if ETHERNET_TYPES.contains(&kind) {
        ETHERNET
    } else if IP_TYPES.contains(&kind) {
        RAW_IP
    } else {
        UNKNOWN
    }
}
