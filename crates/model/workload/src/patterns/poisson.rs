use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_units::{HostId, Instant, Picos};

use super::partners::{Pairs, Partners};
use crate::agenda::{Flow, Planner};
use crate::distribution::SizeDistribution;
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::spread::exponential;

settings! {
    /// Flows that arrive by a Poisson process at every sending host, independent of earlier flows.
    pub struct Poisson {
        /// Payload offered by every sender, as a share of its link rate. Exactly one of load and rate.
        load: Option<f64> = "" in 0.000001 => 10.0,
        /// Flows per second of every sender.
        rate: Option<f64> = "" in 0.000001 => 1000000000000.0,
        /// Pairs of sender and receiver.
        pairs: Pairs = "random",
        /// Which of the block's hosts send.
        from: Hosts = "all",
        /// Which of the block's hosts receive.
        to: Hosts = "all",
        /// No flow arrives later than this after the block's start.
        until: Option<Picos> = "",
        /// No more flows than this arrive, all senders together.
        flows: Option<u64> = "" in 1 => 2000000000,
    }
}

impl Pattern for Poisson {
    fn name(&self) -> &'static str {
        "poisson"
    }

    fn summary(&self) -> &'static str {
        "flows arrive at random, at a load or rate, with sizes from a distribution"
    }

    fn takes_sizes(&self) -> bool {
        true
    }

    fn ends(&self) -> Ends {
        Ends::once(self.until.is_some() || self.flows.is_some(), &["until", "flows"])
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let (sizes, checked) = (scene.sizes(), self.check(scene));
        let from = scene.select("from", &self.from);
        let partners = Partners::of(scene, self.pairs, &from, &self.to);
        let (from, sizes) = (from?, sizes?);
        checked?;
        let rates = self.rates(scene, &from, &sizes);
        let mut below = Vec::with_capacity(rates.len());
        let total = rates.iter().fold(0.0, |sum, rate| {
            below.push(sum + rate);
            sum + rate
        });
        let gap = 1e12 / total;
        if gap < SHORTEST_GAP {
            return Err(scene.note(self.too_many(gap)));
        }
        Ok(Box::new(Arrivals {
            partners: partners?,
            from,
            below,
            gap,
            sizes,
            at: scene.start(),
            until: self.until.map_or(Instant::NEVER, |until| scene.start().after(until)),
            left: self.flows.unwrap_or(u64::MAX),
            gaps: scene.stream(0),
            ends: scene.stream(1),
            bytes: scene.stream(2),
        }))
    }
}

/// The shortest mean time between arrivals that whole picoseconds still express well. Unit: picoseconds.
const SHORTEST_GAP: f64 = 20.0;

/// `value` in three significant digits, never above itself, so that a limit that is shown is one that is accepted.
fn rounded_down(value: f64) -> String {
    let digits = (2.0 - value.log10().floor()).max(0.0);
    let scale = 10f64.powf(digits);
    format!("{:.*}", digits as usize, (value * scale).floor() / scale)
}

impl Poisson {
    fn too_many(&self, gap: f64) -> Problem {
        let (key, value) =
            self.load.map(|load| ("load", load)).or(self.rate.map(|rate| ("rate", rate))).unwrap_or_default();
        let most = rounded_down(value * gap / SHORTEST_GAP);
        let every = rounded_down(gap);
        let reason = format!("makes a flow arrive every {every} ps; use at most {most}, or larger flows");
        Problem::here(key, value.to_string(), reason)
    }

    /// Exactly one of load and rate is stated.
    fn check(&self, scene: &Scene<'_>) -> Result<(), Noted> {
        match (self.load, self.rate) {
            (Some(_), Some(rate)) => {
                let reason = "contradicts load; keep one of them";
                Err(scene.note(Problem::new("rate", rate.to_string(), reason)))
            }
            (None, None) if scene.reads(&["load", "rate"]) => {
                let remedy = "state load (as 0.6) or rate (flows per second and host)";
                Err(scene.note(Problem::Missing { key: "load", remedy }))
            }
            _ => Ok(()),
        }
    }

    /// Flows per second of each sender.
    fn rates(&self, scene: &Scene<'_>, from: &[HostId], sizes: &SizeDistribution) -> Vec<f64> {
        let of_load = |load: f64, host: &HostId| load * scene.rate(*host).get() as f64 / 8.0 / sizes.mean();
        match self.load {
            Some(load) => from.iter().map(|host| of_load(load, host)).collect(),
            None => vec![self.rate.unwrap_or(1.0); from.len()],
        }
    }
}

/// The arrivals of all senders, which are one Poisson process whose every arrival belongs to a sender by chance.
/// Only the next one is known. Lane: 0.
#[derive(Clone)]
struct Arrivals {
    from: Vec<HostId>,
    partners: Partners,
    /// Flows per second of all senders up to and including this one.
    below: Vec<f64>,
    /// Mean time between two arrivals. Unit: picoseconds.
    gap: f64,
    sizes: SizeDistribution,
    at: Instant,
    until: Instant,
    left: u64,
    /// Chance has a stream for each purpose, so that another load leaves sizes and pairs as they are.
    gaps: RandomStream,
    ends: RandomStream,
    bytes: RandomStream,
}

impl Arrivals {
    fn plan_next(&mut self, planner: &mut Planner<'_>) {
        self.at = self.at.after(exponential(self.gap, &mut self.gaps));
        if self.left == 0 || self.at > self.until {
            return;
        }
        self.left -= 1;
        let sender = self.sender();
        let src = self.from[sender];
        let dst = self.partners.of_sender(sender, src, &mut self.ends);
        planner.plan(self.at, 0, Flow::new(src, dst, Some(self.sizes.sample(&mut self.bytes))));
    }

    fn sender(&mut self) -> usize {
        let last = self.below.len() - 1;
        let drawn = self.ends.unit() * self.below[last];
        self.below.partition_point(|below| *below <= drawn).min(last)
    }
}

impl Traffic for Arrivals {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        self.plan_next(planner);
    }

    fn expected(&self, end: Instant) -> f64 {
        let time = end.min(self.until).since(self.at).0 as f64;
        (time / self.gap).min(self.left as f64)
    }

    fn started(&mut self, _lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        self.plan_next(planner);
    }
}
