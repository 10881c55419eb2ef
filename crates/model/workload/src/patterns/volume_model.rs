use std::collections::VecDeque;

use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::{BitsPerSec, Bytes, HostId, Instant, Picos};

use super::partners::{Pairs, Partners};
use super::plan::below;
use crate::agenda::{Flow, Planner};
use crate::distribution::SizeDistribution;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::import::{VolumeList, parse_volumes};
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FileName;

settings! {
    /// Background load: in every interval just as many bytes are offered, all senders together, as a log-normal law or
    /// a list of volumes says, as flows that arrive at random within it. Sizes come from `sizes`; the last flow of an
    /// interval is cut to what is left of its volume.
    pub struct VolumeModel {
        /// Mean rate of payload, all senders together, of a log-normal law. Exactly one of mean and file.
        mean: Option<BitsPerSec> = "",
        /// Standard deviation of the volume of an interval, as a share of its mean; goes with mean. Intervals are
        /// independent; a memory comes with a file that `pullnet traffic synthesise` made.
        cv: Option<f64> = "" in 0.0 => 10.0,
        /// A list of volumes: CSV with a column bytes, one row for each interval, as `pullnet traffic volumes` and
        /// `pullnet traffic synthesise` write it.
        file: Option<FileName> = "",
        /// Factor by which the volumes of the file are multiplied.
        scale: Option<f64> = "" in 0.000000001 => 1000000000.0,
        /// Length of an interval. Has to be stated unless the file says it; other than there, time is stretched or
        /// shrunk and the rates stay.
        timescale: Option<Picos> = "" in "1 ns" => "1000 s",
        /// Pairs of sender and receiver.
        pairs: Pairs = "random",
        /// Which of the block's hosts send; every flow comes from a random one.
        from: Hosts = "all",
        /// Which of the block's hosts receive.
        to: Hosts = "all",
        /// No interval ends later than this after the block's start.
        until: Option<Picos> = "",
        /// No more intervals than this.
        intervals: Option<u64> = "" in 1 => 2000000000,
    }
}

impl Pattern for VolumeModel {
    fn name(&self) -> &'static str {
        "volume-model"
    }

    fn summary(&self) -> &'static str {
        "background load whose volume in each interval follows a law or a file"
    }

    fn takes_sizes(&self) -> bool {
        true
    }

    fn file(&self) -> Option<&FileName> {
        self.file.as_ref()
    }

    fn ends(&self) -> Ends {
        let stated = self.file.is_some() || self.until.is_some() || self.intervals.is_some();
        Ends::once(stated, &["until", "intervals"])
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let (sizes, series) = (scene.sizes(), self.series(scene));
        let from = scene.select("from", &self.from);
        let partners = Partners::of(scene, self.pairs, &from, &self.to);
        let (sizes, (volumes, length)) = (sizes?, series?);
        scene.noted(self.affordable(&volumes, &sizes))?;
        let within = self.until.map_or(u64::MAX, |until| until.0 / length.0);
        Ok(Box::new(Load {
            from: from?,
            partners: partners?,
            sizes,
            volumes,
            length,
            start: scene.start(),
            next: 0,
            count: self.intervals.unwrap_or(u64::MAX).min(within),
            carry: 0.0,
            current: Interval::default(),
            draws: scene.stream(0),
            ends: scene.stream(1),
            bytes: scene.stream(2),
            times: scene.stream(4),
        }))
    }
}

/// The most flows that an interval holds.
const MOST_FLOWS: f64 = 10_000_000.0;

impl VolumeModel {
    /// The volumes, and how long an interval lasts.
    fn series(&self, scene: &Scene<'_>) -> Result<(Volumes, Picos), Noted> {
        scene.need(&["mean", "cv", "file", "scale", "timescale"])?;
        match (self.mean, &self.file) {
            (Some(mean), None) => self.law(scene, mean),
            (None, Some(file)) => self.listed(scene, file),
            (Some(mean), Some(_)) => {
                let reason = "contradicts file, which has its own volumes; keep one of them, or use scale";
                Err(scene.note(Problem::new("mean", mean.to_string(), reason)))
            }
            (None, None) => {
                let remedy = "state mean and cv (as \"4 Gbps\" and 0.3), or a file of volumes";
                Err(scene.note(Problem::Missing { key: "mean", remedy }))
            }
        }
    }

    fn law(&self, scene: &Scene<'_>, mean: BitsPerSec) -> Result<(Volumes, Picos), Noted> {
        if let Some(scale) = self.scale {
            let reason = "has no effect on a law; change mean";
            scene.note(Problem::new("scale", scale.to_string(), reason));
        }
        let cv = self.cv.ok_or_else(|| {
            let remedy = "state the standard deviation of volumes over their mean, as 0.3 (0: all equal)";
            scene.note(Problem::Missing { key: "cv", remedy })
        });
        let length = self.timescale.ok_or_else(|| no_timescale(scene));
        let (cv, length) = (cv?, length?);
        let volume = mean.get() as f64 / 8.0 * length.as_secs_f64();
        if volume < 1.0 {
            let reason = format!("makes {volume} bytes in an interval; use a longer one, or a larger mean");
            return Err(scene.note(Problem::new("timescale", length.to_string(), reason)));
        }
        Ok((Volumes::Law(LogNormal::new(volume, cv)), length))
    }

    fn listed(&self, scene: &Scene<'_>, file: &FileName) -> Result<(Volumes, Picos), Noted> {
        if let Some(cv) = self.cv {
            let reason = "has no effect on a file, which has its own volumes; remove it";
            scene.note(Problem::new("cv", cv.to_string(), reason));
        }
        let list = parse_volumes(&file.0, scene.file("file", file)?);
        let VolumeList { mut bytes, timescale } = scene.read("file", list)?;
        let length = self.timescale.or(timescale).ok_or_else(|| no_timescale(scene))?;
        let stretch = timescale.map_or(1.0, |own| length.0 as f64 / own.0 as f64);
        bytes.iter_mut().for_each(|bytes| *bytes *= stretch * self.scale.unwrap_or(1.0));
        Ok((Volumes::List(bytes.into()), length))
    }

    /// Whether the flows of an interval are not too many to be drawn.
    fn affordable(&self, volumes: &Volumes, sizes: &SizeDistribution) -> Result<(), Problem> {
        let flows = volumes.largest() / sizes.mean();
        if flows <= MOST_FLOWS {
            return Ok(());
        }
        let (key, value) = match (&self.file, self.timescale) {
            (Some(file), _) => ("file", file.0.clone()),
            (None, length) => ("timescale", length.unwrap_or(Picos(0)).to_string()),
        };
        let reason = format!("makes {flows:.3e} flows in an interval; use shorter ones, or larger flows");
        Err(Problem::new(key, value, reason))
    }
}

fn no_timescale(scene: &Scene<'_>) -> Noted {
    let remedy = "state how long an interval is, as \"1 ms\"";
    scene.note(Problem::Missing { key: "timescale", remedy })
}

/// Where volumes come from. Unit: bytes.
#[derive(Clone)]
enum Volumes {
    Law(LogNormal),
    List(VecDeque<f64>),
}

impl Volumes {
    /// The next one; `None` after the last.
    fn draw(&mut self, chance: &mut RandomStream) -> Option<f64> {
        match self {
            Self::Law(law) => Some(law.draw(chance)),
            Self::List(list) => list.pop_front(),
        }
    }

    /// The bytes of the first `intervals`, of a law on average.
    fn total(&self, intervals: u64) -> f64 {
        match self {
            Self::Law(law) => law.mean * intervals as f64,
            Self::List(list) => list.iter().take(usize::try_from(intervals).unwrap_or(usize::MAX)).sum(),
        }
    }

    /// The largest of a list, or 8 standard deviations above the mean of a law.
    fn largest(&self) -> f64 {
        match self {
            Self::Law(law) => law.mean * (1.0 + 8.0 * law.cv),
            Self::List(list) => list.iter().fold(0.0, |most: f64, bytes| most.max(*bytes)),
        }
    }
}

/// A log-normal law by its mean and coefficient of variation.
#[derive(Clone)]
struct LogNormal {
    mean: f64,
    cv: f64,
    /// Standard deviation of the logarithm.
    sigma: f64,
}

impl LogNormal {
    fn new(mean: f64, cv: f64) -> Self {
        Self { mean, cv, sigma: libm::sqrt(libm::log1p(cv * cv)) }
    }

    /// By Box and Muller, with functions that are the same on every machine.
    fn draw(&self, chance: &mut RandomStream) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - chance.unit()));
        let normal = radius * libm::cos(core::f64::consts::TAU * chance.unit());
        self.mean * libm::exp(self.sigma * (normal - self.sigma / 2.0))
    }
}

/// Bytes left of the interval that is being offered.
#[derive(Clone, Default)]
struct Interval {
    begin: Instant,
    bytes: u64,
    flows: u64,
    /// When the last flow arrived, as a share of the interval.
    passed: f64,
}

/// Volumes at work. Only the next flow is known. Lane: 0.
#[derive(Clone)]
struct Load {
    from: Vec<HostId>,
    partners: Partners,
    sizes: SizeDistribution,
    volumes: Volumes,
    length: Picos,
    start: Instant,
    /// Number of the next interval.
    next: u64,
    /// Intervals in all.
    count: u64,
    /// The part of a byte that earlier intervals owe.
    carry: f64,
    current: Interval,
    /// Chance has a stream for each purpose.
    draws: RandomStream,
    ends: RandomStream,
    bytes: RandomStream,
    times: RandomStream,
}

impl Load {
    /// Goes on to the next interval with a byte in it; false where there is none.
    fn advance(&mut self) -> bool {
        while self.current.bytes == 0 {
            if self.next >= self.count {
                return false;
            }
            let Some(volume) = self.volumes.draw(&mut self.draws) else { return false };
            let exact = volume + self.carry;
            let bytes = exact as u64;
            self.carry = if exact < MOST_EXACT { exact - bytes as f64 } else { 0.0 };
            let Some(passed) = self.length.0.checked_mul(self.next) else { return false };
            self.next += 1;
            let begin = self.start.after(Picos(passed));
            self.current = Interval { begin, bytes, flows: self.flows_of(bytes), passed: 0.0 };
        }
        true
    }

    /// How many flows `bytes` bytes make. Their sizes are drawn twice: here to be counted, then one by one, so that
    /// none has to be kept.
    fn flows_of(&self, bytes: u64) -> u64 {
        let (mut chance, mut left, mut flows) = (self.bytes.clone(), bytes, 0);
        while left > 0 {
            left = left.saturating_sub(self.sizes.sample(&mut chance).0);
            flows += 1;
        }
        flows
    }

    fn plan_next(&mut self, planner: &mut Planner<'_>) {
        if !self.advance() {
            return;
        }
        let at = self.arrival();
        let size = self.sizes.sample(&mut self.bytes).0.min(self.current.bytes);
        self.current.bytes -= size;
        self.current.flows -= 1;
        let sender = below(self.from.len(), &mut self.ends);
        let src = self.from[sender];
        let dst = self.partners.of_sender(sender, src, &mut self.ends);
        planner.plan(at, 0, Flow::new(src, dst, Some(Bytes(size))));
    }

    /// The next of the times that are uniform within the interval, in order: the least of n shares is 1 - u^(1/n).
    fn arrival(&mut self) -> Instant {
        let left = libm::pow(1.0 - self.times.unit(), 1.0 / self.current.flows as f64);
        self.current.passed = 1.0 - (1.0 - self.current.passed) * left;
        let offset = (self.current.passed * self.length.0 as f64) as u64;
        self.current.begin.after(Picos(offset.min(self.length.0 - 1)))
    }
}

/// Volumes from here on have no part of a byte.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

impl Traffic for Load {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        self.plan_next(planner);
    }

    fn expected(&self, end: Instant) -> f64 {
        let intervals = end.since(self.start).0.div_ceil(self.length.0).min(self.count);
        self.volumes.total(intervals) / self.sizes.mean()
    }

    fn started(&mut self, _lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        self.plan_next(planner);
    }
}
