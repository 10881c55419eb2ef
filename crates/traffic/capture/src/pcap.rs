//! pcap: a header of 24 bytes, then records without markers between them.

use crate::bytes::Order;
use crate::error::CaptureError;
use crate::losses::{DamageKind, Losses};
use crate::packet::{Direction, Found, LinkType, MOST_ON_WIRE, PICOS, Step, Time};
use crate::resync::{self, Clock};
use crate::window::Window;

/// Length of the file's header.
const FILE_HEADER: usize = 24;
/// Upper limit of a capture's snapshot length, regardless of its header. Source: libpcap's MAXIMUM_SNAPLEN.
const MOST_CAPTURED: u32 = 262_144;

pub(crate) struct Pcap {
    order: Order,
    /// Picoseconds per tick of the fractional part.
    tick: i128,
    ticks_per_second: u32,
    /// Length of a record's header: 16, or 24 with the patch by Kuznetsov.
    head: usize,
    most: u32,
    link: LinkType,
    clock: Clock,
}

struct Record {
    seconds: u32,
    ticks: u32,
    captured: u32,
    wire: u32,
}

/// Byte order, ticks per second and record header length, from the magic number.
pub(crate) fn magic(begin: &[u8]) -> Option<(Order, u32, usize)> {
    let known = |order: Order| match order.u32(begin, 0) {
        0xa1b2_c3d4 => Some((order, 1_000_000, 16)),
        0xa1b2_3c4d => Some((order, 1_000_000_000, 16)),
        0xa1b2_cd34 => Some((order, 1_000_000, 24)),
        _ => None,
    };
    known(Order::Little).or_else(|| known(Order::Big))
}

impl Pcap {
    /// Reads the file header, whose magic number has been checked.
    pub(crate) fn open(window: &mut Window) -> Result<Self, CaptureError> {
        if !window.want(FILE_HEADER) {
            let len = window.bytes().len() as u64;
            return Err(CaptureError::ShortHeader { format: "pcap", len });
        }
        let bytes = window.bytes();
        let (order, ticks_per_second, head) = magic(bytes).ok_or(CaptureError::Empty)?;
        let (major, minor) = (order.u16(bytes, 4), order.u16(bytes, 6));
        if major != 2 {
            return Err(CaptureError::Version { format: "pcap", major, minor, known: "2" });
        }
        let snap = order.u32(bytes, 16);
        // The upper bits hold the length of frame check sequences.
        let link = LinkType((order.u32(bytes, 20) & 0xffff) as u16);
        window.take(FILE_HEADER);
        let tick = PICOS / i128::from(ticks_per_second);
        // Some writers state a snapshot length of 0, or one that they exceed.
        let most = snap.clamp(MOST_CAPTURED, 1 << 24);
        Ok(Self { order, tick, ticks_per_second, head, most, link, clock: Clock::default() })
    }

    pub(crate) fn next(&mut self, window: &mut Window, losses: &mut Losses) -> Step {
        if !window.want(self.head) {
            window.truncated(losses);
            return Step::End;
        }
        let record = self.record(window.bytes());
        if !self.possible(&record) {
            return self.find_next(window, losses, DamageKind::Record);
        }
        if !window.want(self.head + record.captured as usize) {
            return self.find_next(window, losses, DamageKind::Truncated);
        }
        if self.suspicious(&record) && !self.confirmed(window, &record) {
            return self.find_next(window, losses, DamageKind::Record);
        }
        self.clock.note(record.seconds.into());
        Step::Packet(self.take(window, losses, &record))
    }

    fn take(&self, window: &mut Window, losses: &mut Losses, record: &Record) -> Found {
        window.take(self.head);
        let data = window.take(record.captured as usize);
        losses.longer_than_wire += u64::from(record.captured > record.wire);
        Found {
            time: Time::from_secs(record.seconds.into()) + i128::from(record.ticks) * self.tick,
            wire_len: record.wire.max(record.captured),
            interface: 0,
            direction: Direction::Unknown,
            link: self.link,
            data,
        }
    }

    fn record(&self, bytes: &[u8]) -> Record {
        Record {
            seconds: self.order.u32(bytes, 0),
            ticks: self.order.u32(bytes, 4),
            captured: self.order.u32(bytes, 8),
            wire: self.order.u32(bytes, 12),
        }
    }

    fn possible(&self, record: &Record) -> bool {
        let zeros = (record.seconds | record.ticks | record.captured | record.wire) == 0;
        // Sixteen zeros would be an empty packet in 1970. Blocks lost by a disk or during a copy read as zeros, and would
        // otherwise count as thousands of packets.
        !zeros
            && record.captured <= self.most
            && record.wire <= MOST_ON_WIRE
            && record.ticks < self.ticks_per_second
    }

    /// Whether a record is valid, but more likely the result of a damaged header.
    fn suspicious(&self, record: &Record) -> bool {
        record.wire == 0 || record.captured > record.wire || !self.clock.near(record.seconds.into())
    }

    /// Whether a suspicious record is followed by another plausible record, or by the end.
    fn confirmed(&self, window: &mut Window, record: &Record) -> bool {
        let end = self.head + record.captured as usize;
        if !window.want(end + self.head) {
            return true; // the end: whatever is left of a header is reported as truncated
        }
        let next = self.record(&window.bytes()[end..]);
        let mut clock = self.clock;
        clock.note(record.seconds.into());
        let near = clock.near(next.seconds.into()) || next.seconds.abs_diff(record.seconds) <= 1;
        self.possible(&next) && near
    }

    /// Whether a record is plausible after damage, given the times in `clock`; stricter than without damage.
    fn plausible(&self, record: &Record, clock: &Clock) -> bool {
        self.possible(record)
            && record.captured <= record.wire
            && record.wire <= MOST_CAPTURED
            && clock.near(record.seconds.into())
    }

    /// Length of a record from its header, if plausible.
    fn length(&self, head: &[u8], clock: &mut Clock) -> Option<usize> {
        let record = self.record(head);
        let plausible = self.plausible(&record, clock);
        clock.note(record.seconds.into());
        plausible.then_some(self.head + record.captured as usize)
    }

    /// Skips to the next place from which records follow one another, or to the end.
    fn find_next(&self, window: &mut Window, losses: &mut Losses, at_end: DamageKind) -> Step {
        resync::skip_record(window, losses, at_end, |bytes, ended| {
            let mut clock = self.clock;
            resync::chain(bytes, ended, self.head, |head| self.length(head, &mut clock))
        })
    }
}
