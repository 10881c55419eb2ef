//! Optional records of ports. Recording never changes the course of a run.

use pullnet_probes::PortSeriesRow;
use pullnet_units::{Instant, Picos};

use crate::counts::PortCounts;
use crate::hops::HopLog;
use crate::line::Line;
use crate::notes::PortNotes;

/// Occupancy of a port at one time, and its counters up to then.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sample {
    data: u32,
    control: u32,
    packets: u64,
    bytes: u64,
    marked: u64,
    trimmed: u64,
    returned: u64,
    dropped: u64,
    lost: u64,
}

impl Sample {
    /// Sample of a port that holds `data` and `control` packets and has counted `line` and `counts`.
    pub fn of(data: u32, control: u32, line: &Line, counts: &PortCounts) -> Self {
        let PortCounts { marked, trimmed, returned, dropped, .. } = *counts;
        let (packets, bytes, lost) = (line.packets(), line.bytes(), line.lost());
        Self { data, control, packets, bytes, marked, trimmed, returned, dropped, lost }
    }

    /// Row of the interval that starts at `at`: this sample is its end, and `before` the sample at its start.
    fn since(&self, before: &Self, row: u32, at: Instant) -> PortSeriesRow {
        PortSeriesRow {
            row,
            at,
            data: self.data,
            control: self.control,
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            marked: self.marked - before.marked,
            trimmed: self.trimmed - before.trimmed,
            returned: self.returned - before.returned,
            dropped: self.dropped - before.dropped,
            lost: self.lost - before.lost,
        }
    }
}

/// The last sample of each interval in which anything happened at a port.
#[derive(Clone, Debug)]
struct Timeline {
    interval: Picos,
    current: u64,
    last: Sample,
    past: Vec<(u64, Sample)>,
}

impl Timeline {
    fn take(&mut self, at: Instant, sample: Sample) {
        let index = at.0 / self.interval.0;
        if index != self.current {
            self.close();
            self.current = index;
        }
        self.last = sample;
    }

    fn close(&mut self) {
        if self.past.last().map_or(Sample::default(), |(_, before)| *before) != self.last {
            self.past.push((self.current, self.last));
        }
    }
}

/// Occupancy of a port over time, and its share of the series over all ports.
#[derive(Clone, Debug, Default)]
pub struct Held {
    now: u32,
    since: Instant,
    times: Option<Vec<u64>>,
    interval: Option<Picos>,
    /// Changes of the occupancy, with their intervals of the series, that a [`HeldSum`] has not taken in yet.
    pub changes: Vec<(u64, i64)>,
    /// Other counters over time; `None` if no probe records them for this port.
    timeline: Option<Timeline>,
    /// Packets of some flows; `None` if no probe records them.
    pub hops: Option<HopLog>,
    /// Probes that take notes of what the queue does to packets; `None` if there are none.
    pub notes: Option<Box<PortNotes>>,
}

impl Held {
    /// Records the occupancy distribution if `distribution`, the total over time in steps of `interval`, and this
    /// port's own activity in steps of `own`.
    pub fn new(distribution: bool, interval: Option<Picos>, own: Option<Picos>) -> Option<Box<Self>> {
        let times = distribution.then(Vec::new);
        let timeline =
            own.map(|interval| Timeline { interval, current: 0, last: Sample::default(), past: Vec::new() });
        let wanted = distribution || interval.is_some() || own.is_some();
        wanted.then(|| Box::new(Self { times, interval, timeline, ..Self::default() }))
    }

    /// Records an event at `at`; `sample` is the state after it.
    pub fn sample(&mut self, at: Instant, sample: impl FnOnce() -> Sample) {
        if let Some(timeline) = &mut self.timeline {
            timeline.take(at, sample());
        }
    }

    /// Activity in each interval, for the port in row `row`.
    pub fn port_series(&self, row: u32) -> Vec<PortSeriesRow> {
        let Some(mut timeline) = self.timeline.clone() else { return Vec::new() };
        timeline.close();
        let mut before = Sample::default();
        let row = |(index, sample): (u64, Sample)| {
            let made = sample.since(&before, row, Instant(index * timeline.interval.0));
            before = sample;
            made
        };
        timeline.past.into_iter().map(row).collect()
    }

    /// From `at` on, `held` packets are held.
    pub fn set(&mut self, at: Instant, held: u32) {
        if held == self.now {
            return;
        }
        self.spend(at);
        if let Some(interval) = self.interval {
            self.change(at.0 / interval.0, i64::from(held) - i64::from(self.now));
        }
        self.now = held;
    }

    fn change(&mut self, index: u64, by: i64) {
        match self.changes.last_mut() {
            Some(last) if last.0 == index => last.1 += by,
            _ => self.changes.push((index, by)),
        }
    }

    fn spend(&mut self, until: Instant) {
        if let Some(times) = &mut self.times {
            let held = self.now as usize;
            times.resize(times.len().max(held + 1), 0);
            times[held] += until.since(self.since).0;
            self.since = until;
        }
    }

    /// Picoseconds spent with n packets, n = 0, 1, ..., up to `end`.
    pub fn finish(&self, end: Instant) -> Vec<u64> {
        let mut all = self.clone();
        all.spend(end);
        all.times.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_a_row_for_each_interval_in_which_something_happens() {
        let mut held = Held::new(false, None, Some(Picos(100))).unwrap();
        let sample = |data, bytes| Sample { data, bytes, packets: bytes / 10, ..Sample::default() };
        for (at, data, bytes) in
            [(10, 1, 0), (20, 2, 10), (99, 1, 10), (340, 1, 20), (390, 0, 20), (410, 0, 20)]
        {
            held.sample(Instant(at), || sample(data, bytes));
        }
        let rows: Vec<_> = held
            .port_series(7)
            .iter()
            .map(|row| (row.row, row.at.0, row.data, row.packets, row.bytes))
            .collect();
        assert_eq!(rows, [(7, 0, 1, 1, 10), (7, 300, 0, 1, 10)]);
        assert_eq!(Held::new(true, None, None).unwrap().port_series(0), []);
    }

    #[test]
    fn occupancy_adds_up_to_the_time_observed() {
        let mut held = Held::new(true, Some(Picos(100)), None).unwrap();
        for (at, count) in [(10, 1), (30, 2), (35, 3), (35, 2), (110, 1), (250, 0)] {
            held.set(Instant(at), count);
        }
        assert_eq!(held.changes, [(0, 2), (1, -1), (2, -1)]);
        let times = held.finish(Instant(1000));
        assert_eq!(times, [10 + 750, 20 + 140, 5 + 75, 0]);
        assert_eq!(times.iter().sum::<u64>(), 1000);
    }
}
