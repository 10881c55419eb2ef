//! The bins of one timescale.

use std::ops::Range;

use pullnet_capture::Time;
use pullnet_units::Picos;

/// Number of packets and of their bytes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Tally {
    /// Adds a packet.
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn join(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// The complete bins of one timescale.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bins {
    /// Length of a bin.
    pub timescale: Picos,
    /// Start of the first bin.
    pub start: Time,
    /// Bytes in each bin; 0 in gaps.
    pub bytes: Vec<u64>,
    /// Packets in each bin; 0 in gaps.
    pub packets: Vec<u64>,
    /// Bins without data, in order and disjoint.
    pub gaps: Vec<Range<usize>>,
    /// Packets in the last bin and, with aligned bins, in the first, if these were dropped as incomplete.
    pub partial: Tally,
    /// Packets seen in bins that are gaps.
    pub in_gaps: Tally,
}

pub(crate) struct Scale {
    timescale: Picos,
    length: i128,
    origin: Time,
    /// Whether the first bin begins before the trace does.
    begins_early: bool,
    bytes: Vec<u64>,
    packets: Vec<u64>,
    gaps: Vec<Range<usize>>,
    /// Index of the last packet's bin.
    index: usize,
    begin: Time,
    end: Time,
}

impl Scale {
    /// Bins from `origin`; `begins_early` if that is before the trace.
    pub(crate) fn new(timescale: Picos, origin: Time, begins_early: bool) -> Self {
        let length = i128::from(timescale.0);
        Self {
            timescale,
            length,
            origin,
            begins_early,
            bytes: vec![0],
            packets: vec![0],
            gaps: Vec::new(),
            index: 0,
            begin: origin,
            end: origin + length,
        }
    }

    /// Adds a packet that is not before the origin. The caller has checked the limit on bins.
    pub(crate) fn add(&mut self, time: Time, bytes: u32) {
        if time < self.begin || time >= self.end {
            self.seek(time);
        }
        self.bytes[self.index] += u64::from(bytes);
        self.packets[self.index] += 1;
    }

    fn seek(&mut self, time: Time) {
        self.index =
            if time >= self.end && time < self.end + self.length { self.index + 1 } else { self.bin(time) };
        self.begin = self.origin + self.index as i128 * self.length;
        self.end = self.begin + self.length;
        if self.index >= self.bytes.len() {
            self.bytes.resize(self.index + 1, 0);
            self.packets.resize(self.index + 1, 0);
        }
    }

    fn bin(&self, time: Time) -> usize {
        usize::try_from(self.needed(time) - 1).unwrap_or(usize::MAX)
    }

    /// Number of bins up to and including that of `time`.
    pub(crate) fn needed(&self, time: Time) -> u128 {
        let whole = time.since(self.origin).div_euclid(self.length);
        u128::try_from(whole + 1).unwrap_or(1)
    }

    /// End of the last existing bin.
    pub(crate) fn horizon(&self) -> Time {
        self.origin + self.bytes.len() as i128 * self.length
    }

    /// Marks the time between `from` and `to` as unknown.
    pub(crate) fn gap(&mut self, from: Time, to: Time) {
        let mut bins = self.bin(from.max(self.origin))..self.bin(to.max(self.origin)) + 1;
        while let Some(last) = self.gaps.pop_if(|last| bins.start <= last.end) {
            bins = bins.start.min(last.start)..bins.end.max(last.end);
        }
        self.gaps.push(bins);
    }

    /// The bins up to `latest`; the incomplete last bin only if `kept`.
    pub(crate) fn finish(mut self, latest: Time, kept: bool) -> Bins {
        let mut partial = Tally::default();
        let last = self.bin(latest);
        self.bytes.resize(last + 1, 0);
        self.packets.resize(last + 1, 0);
        let skip = usize::from(self.begins_early && !kept);
        if !kept {
            partial.join(self.drain(last..last + 1));
        }
        if skip == 1 && last > 0 {
            partial.join(self.drain(0..1));
        }
        let in_gaps = self.empty_gaps(skip);
        Bins {
            timescale: self.timescale,
            start: self.origin + skip as i128 * self.length,
            bytes: self.bytes,
            packets: self.packets,
            gaps: self.gaps,
            partial,
            in_gaps,
        }
    }

    fn drain(&mut self, bins: Range<usize>) -> Tally {
        Tally { packets: self.packets.drain(bins.clone()).sum(), bytes: self.bytes.drain(bins).sum() }
    }

    /// Clips gaps to the remaining bins, after `skip` dropped ones at the start, and empties the bins in gaps.
    fn empty_gaps(&mut self, skip: usize) -> Tally {
        let count = self.bytes.len();
        let cut = |gap: &Range<usize>| {
            gap.start.saturating_sub(skip).min(count)..gap.end.saturating_sub(skip).min(count)
        };
        self.gaps = self.gaps.iter().map(cut).filter(|gap| !gap.is_empty()).collect();
        let mut seen = Tally::default();
        for gap in &self.gaps {
            seen.packets += self.packets[gap.clone()].iter().sum::<u64>();
            seen.bytes += self.bytes[gap.clone()].iter().sum::<u64>();
            self.packets[gap.clone()].fill(0);
            self.bytes[gap.clone()].fill(0);
        }
        seen
    }
}
