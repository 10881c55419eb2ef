//! Sorts packets into the bins of all timescales.

use pullnet_capture::Time;
use pullnet_units::Picos;

use crate::clock::{Belief, Clock};
use crate::error::VolumesError;
use crate::scale::{Bins, Scale, Tally};

/// Start of the bins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// At the first packet.
    First,
    /// At a fixed time; earlier packets are skipped and counted.
    At(Time),
    /// At a whole multiple of the bin length since the Unix epoch.
    Aligned,
}

/// Parameters of binning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Lengths of bins, all nonzero.
    pub timescales: Vec<Picos>,
    /// Start of the bins.
    pub origin: Origin,
    /// Whether bins that the trace covers only in part are kept.
    pub keep_partial: bool,
    /// Largest delay behind the latest packet at which a packet is still counted.
    pub reorder: Picos,
    /// Largest advance over the latest packet that is believed at once.
    pub jump: Picos,
    /// Most bins kept, over all timescales together.
    pub most_bins: u64,
}

impl Plan {
    /// Defaults: bins from the first packet, complete bins only.
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

/// Fates of all packets, independent of the timescale.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// All packets.
    pub all: Tally,
    /// Packets out of order, counted in their own bins.
    pub reordered: u64,
    /// Largest delay of a reordered packet. Unit: picoseconds.
    pub most_behind: u64,
    /// Packets skipped because of an implausible time.
    pub disbelieved: Tally,
    /// Packets skipped because they are before the origin.
    pub before_origin: Tally,
    /// Packets of length 0 on the wire; counted as packets.
    pub without_bytes: u64,
    /// Number of times that the clock was set forward by more than the largest jump.
    pub clock_set: u64,
}

/// Fills bins.
pub struct Binner {
    plan: Plan,
    clock: Clock,
    scales: Vec<Scale>,
    totals: Totals,
    /// Earliest packet time that is counted.
    origin: Time,
    first: Option<Time>,
    /// Start of a gap that ends at the next packet.
    gap_from: Option<Time>,
    /// Time beyond which some timescale needs more bins.
    horizon: Time,
    too_many: bool,
}

impl Binner {
    /// Creates empty bins.
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

    /// Records that packets may be missing between the last and the next.
    pub fn interrupted(&mut self) {
        self.gap_from = self.gap_from.or(self.clock.latest());
    }

    /// Fates of the packets so far.
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
        // Aligned bins begin at different times; packets before the last of these are not in all of them.
        self.origin = plan.timescales.iter().map(|timescale| origin(*timescale)).max().unwrap_or(first);
        self.horizon = self.origin;
    }

    /// Checks that the limit allows as many bins as `time` needs.
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

    /// Restarts with the last three packets and discards everything before as implausible.
    fn restart(&mut self, agreed: &[(Time, u32)]) {
        let Tally { packets, bytes } = self.totals.all;
        let last = agreed.last().map_or(0, |(_, bytes)| u64::from(*bytes));
        let disbelieved = Tally { packets: packets - 1, bytes: bytes - last };
        let Totals { all, without_bytes, .. } = self.totals;
        self.totals = Totals { all, without_bytes, disbelieved, ..Totals::default() };
        (self.first, self.gap_from) = (None, None);
        self.recount(agreed);
    }

    /// Restores packets that were counted as disbelieved, all but the last of `agreed`.
    fn recount(&mut self, agreed: &[(Time, u32)]) {
        for (time, bytes) in &agreed[..agreed.len() - 1] {
            self.totals.disbelieved.packets -= 1;
            self.totals.disbelieved.bytes -= u64::from(*bytes);
            self.believe(*time, *bytes);
        }
        let (time, bytes) = agreed[agreed.len() - 1];
        self.believe(time, bytes);
    }

    /// The bins of all timescales, in the order of the plan.
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
