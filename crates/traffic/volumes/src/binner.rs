//! Packets into the bins of every timescale.

use pullnet_capture::Time;
use pullnet_units::Picos;

use crate::clock::{Belief, Clock};
use crate::error::VolumesError;
use crate::scale::{Bins, Scale, Tally};

/// Where bins begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// At the first packet.
    First,
    /// At a time; what is before is left out and counted.
    At(Time),
    /// Where whole numbers of bins have passed since the Unix epoch.
    Aligned,
}

/// What bins are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Lengths of bins, none of them zero.
    pub timescales: Vec<Picos>,
    /// Where bins begin.
    pub origin: Origin,
    /// Whether a bin that the trace does not cover as a whole is kept.
    pub keep_partial: bool,
    /// How far behind the latest packet one may be and still be counted.
    pub reorder: Picos,
    /// How far after the latest packet the next may be and be believed at once.
    pub jump: Picos,
    /// Bins kept, of all timescales together.
    pub most_bins: u64,
}

impl Plan {
    /// The usual: bins from the first packet, complete ones only.
    pub fn new(timescales: Vec<Picos>) -> Self {
        Self {
            timescales,
            origin: Origin::First,
            keep_partial: false,
            reorder: Picos::from_secs(10),
            jump: Picos::from_secs(86_400),
            most_bins: 1 << 25,
        }
    }
}

/// What became of packets, whatever the timescale.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// All that were given.
    pub all: Tally,
    /// Out of order, and counted in their own bins.
    pub reordered: u64,
    /// The most that one of them was behind. Unit: picoseconds.
    pub most_behind: u64,
    /// Left out since their time cannot be believed.
    pub disbelieved: Tally,
    /// Left out since they are before the origin.
    pub before_origin: Tally,
    /// Without a byte on the wire; counted as packets.
    pub without_bytes: u64,
    /// Times that the clock was set forward by more than the largest jump.
    pub clock_set: u64,
}

/// Fills bins.
pub struct Binner {
    plan: Plan,
    clock: Clock,
    scales: Vec<Scale>,
    totals: Totals,
    /// No packet is before it.
    origin: Time,
    first: Option<Time>,
    /// Where a gap begins whose end is the next packet.
    gap_from: Option<Time>,
    /// Beyond it there are not enough bins at some timescale.
    horizon: Time,
    too_many: bool,
}

impl Binner {
    /// Without a packet so far.
    pub fn new(plan: Plan) -> Self {
        let clock = Clock::new(plan.reorder.0.into(), plan.jump.0.into());
        Self {
            plan,
            clock,
            scales: Vec::new(),
            totals: Totals::default(),
            origin: Time(0),
            first: None,
            gap_from: None,
            horizon: Time(0),
            too_many: false,
        }
    }

    /// Adds a packet of `bytes` on the wire.
    pub fn add(&mut self, time: Time, bytes: u32) {
        self.totals.all.add(bytes);
        self.totals.without_bytes += u64::from(bytes == 0);
        let before = self.clock.latest();
        match self.clock.judge(time, bytes) {
            Belief::InOrder => self.believe(time, bytes),
            Belief::Reordered => {
                self.totals.reordered += 1;
                let behind = before.map_or(0, |latest| latest.since(time));
                self.totals.most_behind =
                    self.totals.most_behind.max(u64::try_from(behind).unwrap_or(u64::MAX));
                self.believe(time, bytes);
            }
            Belief::Pending => {
                self.totals.disbelieved.add(bytes);
                self.gap_from = self.gap_from.or(before);
            }
            Belief::SetForward(agreed) => self.set_forward(&agreed, before),
            Belief::Restart(agreed) => self.restart(&agreed),
        }
    }

    /// Says that packets may be missing between the last and the next.
    pub fn interrupted(&mut self) {
        self.gap_from = self.gap_from.or(self.clock.latest());
    }

    /// What became of packets so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn believe(&mut self, time: Time, bytes: u32) {
        if self.first.is_none() {
            self.begin(time);
        }
        if time < self.origin {
            self.totals.before_origin.add(bytes);
            return;
        }
        if time >= self.horizon && !self.too_many {
            self.extend(time);
        }
        if self.too_many {
            return;
        }
        if let Some(from) = self.gap_from.take() {
            self.scales.iter_mut().for_each(|scale| scale.gap(from.min(time), from.max(time)));
        }
        self.scales.iter_mut().for_each(|scale| scale.add(time, bytes));
    }

    #[cold]
    fn begin(&mut self, first: Time) {
        self.first = Some(first);
        let plan = &self.plan;
        let origin = |timescale: Picos| match plan.origin {
            Origin::First => first,
            Origin::At(origin) => origin,
            Origin::Aligned => first - first.0.rem_euclid(timescale.0.into()),
        };
        let aligned = plan.origin == Origin::Aligned;
        let scale = |timescale: &Picos| {
            let origin = origin(*timescale);
            Scale::new(*timescale, origin, aligned && origin < first)
        };
        self.scales = plan.timescales.iter().map(scale).collect();
        // Aligned bins begin at different times; what is before the last of them is not in all.
        self.origin = plan.timescales.iter().map(|timescale| origin(*timescale)).max().unwrap_or(first);
        self.horizon = self.origin;
    }

    /// Checks that there may be as many bins as `time` needs.
    #[cold]
    fn extend(&mut self, time: Time) {
        let needed: u128 = self.scales.iter().map(|scale| scale.needed(time)).sum();
        self.too_many |= needed > u128::from(self.plan.most_bins);
        let next = self.scales.iter().map(Scale::horizon).min().unwrap_or(time);
        self.horizon = next.max(time);
    }

    fn set_forward(&mut self, agreed: &[(Time, u32)], before: Option<Time>) {
        self.totals.clock_set += 1;
        self.gap_from = self.gap_from.or(before);
        self.recount(agreed);
    }

    /// Begins anew with the last three packets; all before them were the odd ones.
    fn restart(&mut self, agreed: &[(Time, u32)]) {
        let Tally { packets, bytes } = self.totals.all;
        let last = agreed.last().map_or(0, |(_, bytes)| u64::from(*bytes));
        let disbelieved = Tally { packets: packets - 1, bytes: bytes - last };
        let Totals { all, without_bytes, .. } = self.totals;
        self.totals = Totals { all, without_bytes, disbelieved, ..Totals::default() };
        (self.first, self.gap_from) = (None, None);
        self.recount(agreed);
    }

    /// Believes packets of which all but the last were counted as disbelieved.
    fn recount(&mut self, agreed: &[(Time, u32)]) {
        for (time, bytes) in &agreed[..agreed.len() - 1] {
            self.totals.disbelieved.packets -= 1;
            self.totals.disbelieved.bytes -= u64::from(*bytes);
            self.believe(*time, *bytes);
        }
        let (time, bytes) = agreed[agreed.len() - 1];
        self.believe(time, bytes);
    }

    /// The bins of every timescale, in the order of the plan.
    pub fn finish(self) -> Result<(Vec<Bins>, Totals), VolumesError> {
        let (Some(latest), Some(first)) = (self.clock.latest(), self.first) else {
            return Err(VolumesError::NoPackets);
        };
        if latest < self.origin {
            let before_s = format!("{:.6}", self.origin.since(latest) as f64 / 1e12);
            return Err(VolumesError::AllBeforeOrigin { before_s });
        }
        if self.too_many {
            return Err(self.refusal(latest, first));
        }
        let keep = self.plan.keep_partial;
        let bins = self.scales.into_iter().map(|scale| scale.finish(latest, keep));
        Ok((bins.collect(), self.totals))
    }

    fn refusal(&self, latest: Time, first: Time) -> VolumesError {
        let span = latest.since(self.origin.min(first)).max(1);
        let timescale = self.plan.timescales.iter().min().copied().unwrap_or_default();
        VolumesError::TooManyBins {
            timescale,
            span_s: format!("{:.3}", span as f64 / 1e12),
            needed: self.scales.iter().map(|scale| scale.needed(latest)).sum(),
            most: self.plan.most_bins,
            enough: round_up(span / i128::from(self.plan.most_bins / 2).max(1) + 1),
        }
    }
}

/// The next of 1, 2, 5, 10, 20, ... picoseconds.
fn round_up(picos: i128) -> Picos {
    let mut decade: i128 = 1;
    loop {
        for step in [1, 2, 5] {
            if step * decade >= picos {
                return Picos(u64::try_from(step * decade).unwrap_or(u64::MAX));
            }
        }
        decade *= 10;
    }
}
