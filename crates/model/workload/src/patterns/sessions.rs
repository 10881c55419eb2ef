//! Sessions with several receivers, or several senders: how a storage system writes copies and reads them.

use std::collections::BTreeMap;

use pullnet_rng::RandomStream;
use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, HostId, Instant, Picos};

use super::plan::{below, some_of};
use super::{Choose, plan::affordable};
use crate::agenda::{After, Cue, Flow, Join, Joins, Part, Planner};
use crate::error::Problem;
use crate::hosts::Hosts;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FlowSize;
use crate::spread::exponential;

choice! {
    /// How data gets from one sender to several receivers.
    pub enum Copies {
        /// A packet is sent once and copied by switches; the transport has to know how.
        Multicast = "multicast",
        /// In a flow of its own to each receiver, by any transport (multi-unicast).
        Unicast = "unicast",
        /// From the sender to the first receiver, from there to the second, and so on, in a flow each, by any transport (daisy
        /// chain). A host begins to forward with the first packet that it receives, and with `ndp` it forwards no more than it has;
        /// other transports may send ahead of that.
        Chain = "chain",
    }
}

choice! {
    /// Which hosts hold the copies of a piece of data.
    pub enum Placement {
        /// Any, each set equally likely.
        Random = "random",
        /// As in HDFS: the first anywhere, the second in another rack than the first, the third in the rack of the second,
        /// further ones anywhere.
        Hdfs = "hdfs",
    }
}

impl Copies {
    pub(crate) const fn join(self) -> Join {
        match self {
            Self::Multicast => Join::Multicast,
            Self::Unicast | Self::Chain => Join::Apart,
        }
    }
}

choice! {
    /// How data comes from several senders to one receiver.
    pub enum Parts {
        /// Each sends symbols of a code, of which any serve, as fast as it can; the transport has to know how.
        Coded = "coded",
        /// Each sends its part, all of one size, in a flow of its own, by any transport.
        Plain = "plain",
    }
}

impl Parts {
    pub(crate) const fn join(self) -> Join {
        match self {
            Self::Coded => Join::Sources,
            Self::Plain => Join::Apart,
        }
    }
}

/// Bytes of `size` that the `index`-th of `of` senders carries if each has a part of its own. At least one byte: data
/// smaller than the number of its senders grows by that.
pub(crate) fn share(size: Bytes, index: u16, of: u16) -> Bytes {
    let (each, more) = (size.0 / u64::from(of), size.0 % u64::from(of));
    Bytes((each + u64::from(u64::from(index) < more)).max(1))
}

settings! {
    /// How the sessions of both patterns are made. A session has one host at one end, and several at the other.
    pub struct SessionPlan {
        /// Whether none of the several hosts of a session is in the rack of the one.
        outside_rack: bool = true,
        /// How the several hosts of a session lie to each other.
        placement: Placement = "random",
        /// Sessions in all; by default one of each host that stores or reads.
        sessions: Option<u32> = "" in 1 => 2000000000,
        /// Sessions per second of all hosts together, which begin at random times (Poisson), each at a random host. If left out,
        /// all begin at once, those of one host after another.
        rate: Option<f64> = "" in 0.000001 => 1000000000000.0,
    }
}

settings! {
    /// One-to-many: hosts store data, each piece on several hosts, drawn again for each session.
    pub struct Replicate {
        /// Receivers of a session.
        receivers: u32 = 3 in 1 => 65535,
        /// Payload bytes of a session, which every receiver gets, or "endless".
        size: FlowSize = "1 MB"; required,
        /// Whether switches copy packets (multicast), or each receiver has a flow of its own (unicast).
        copies: Copies = "multicast",
        /// Hosts that store.
        from: Hosts = "all",
        /// Hosts that receivers are drawn from.
        to: Hosts = "all",
    } with
    /// How its sessions are made.
    plan: SessionPlan
}

settings! {
    /// Many-to-one: hosts read data of which several hosts, drawn again for each session, have a copy.
    pub struct Fetch {
        /// Senders of a session.
        sources: u32 = 3 in 1 => 65535,
        /// Payload bytes of a session, or "endless".
        size: FlowSize = "1 MB"; required,
        /// Whether any symbols of any sender serve (coded), or each sends a part of one size in a flow of its own (plain).
        parts: Parts = "coded",
        /// Hosts that senders are drawn from.
        from: Hosts = "all",
        /// Hosts that read.
        to: Hosts = "all",
    } with
    /// How its sessions are made.
    plan: SessionPlan
}

impl Pattern for Replicate {
    fn name(&self) -> &'static str {
        "replicate"
    }

    fn summary(&self) -> &'static str {
        "hosts send the same data to several others each (one-to-many)"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let (hubs, pool) = (scene.select("from", &self.from), scene.select("to", &self.to));
        let many = ("receivers", self.receivers);
        let kind = match self.copies {
            Copies::Chain => Kind::Chain,
            copies => Kind::Replicate(copies.join()),
        };
        Build { many, plan: &self.plan }.traffic(scene, hubs?, pool?, kind, self.size)
    }
}

impl Pattern for Fetch {
    fn name(&self) -> &'static str {
        "fetch"
    }

    fn summary(&self) -> &'static str {
        "hosts get data from several others each (many-to-one)"
    }

    fn ends(&self) -> Ends {
        Ends::with_flows_of(self.size)
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let (hubs, pool) = (scene.select("to", &self.to), scene.select("from", &self.from));
        let many = ("sources", self.sources);
        let (hubs, pool) = (hubs?, pool?);
        let size = self.size.0.map_or(u64::MAX, |size| size.0);
        if size < self.sources.into() && scene.reads(&["size", "sources"]) {
            let reason = format!("is less than a byte for each of {} senders; use more bytes", self.sources);
            return Err(scene.note(Problem::new("size", size.to_string(), reason)));
        }
        let kind = Kind::Fetch(self.parts.join());
        Build { many, plan: &self.plan }.traffic(scene, hubs, pool, kind, self.size)
    }
}

/// Which end of a session is the one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Replicate(Join),
    /// [`Copies::Chain`].
    Chain,
    Fetch(Join),
}

impl Kind {
    fn join(self) -> Join {
        match self {
            Self::Replicate(join) | Self::Fetch(join) => join,
            Self::Chain => Join::Apart,
        }
    }

    /// Flow number `index` between the one host and the others.
    fn flow(self, hub: HostId, others: &[HostId], index: u16, size: Option<Bytes>) -> Flow {
        let (at, of) = (usize::from(index), others.len() as u16);
        let other = others[at];
        let flow = match self {
            Self::Chain => Flow::new(at.checked_sub(1).map_or(hub, |before| others[before]), other, size),
            Self::Replicate(_) => Flow::new(hub, other, size),
            Self::Fetch(Join::Apart) => Flow::new(other, hub, size.map(|size| share(size, index, of))),
            Self::Fetch(_) => Flow::new(other, hub, size),
        };
        if of == 1 { flow } else { flow.joined(Part { join: self.join(), index, of }) }
    }
}

/// The settings from which both patterns are built.
struct Build<'a> {
    /// Hosts at the other end of a session, and the setting that says so.
    many: (&'static str, u32),
    plan: &'a SessionPlan,
}

impl Build<'_> {
    fn traffic(
        self,
        scene: &Scene<'_>,
        hubs: Vec<HostId>,
        pool: Vec<HostId>,
        kind: Kind,
        size: FlowSize,
    ) -> Result<Box<dyn Traffic>, Noted> {
        let partners = self.partners(scene, &hubs, pool);
        let partners = partners.map_err(|(host, count)| scene.note(self.too_few(host, count)))?;
        if size == FlowSize::ENDLESS {
            scene.noted(affordable(self.many.0, self.many.1, hubs.len()))?;
        }
        let left = self.plan.sessions.map_or(hubs.len() as u64, u64::from);
        let gap = self.plan.rate.map(|rate| 1e12 / rate);
        let (at, chance) = (scene.start(), [0, 1, 2].map(|index| scene.stream(index)));
        let (size, chain) = (size.0, Vec::new());
        Ok(Box::new(Sessions { kind, size, hubs, partners, left, gap, at, begun: 0, chance, chain }))
    }

    /// Partners for each session of `hubs`; otherwise a hub that has too few, and how many it has.
    fn partners(
        &self,
        scene: &Scene<'_>,
        hubs: &[HostId],
        pool: Vec<HostId>,
    ) -> Result<Partners, (HostId, usize)> {
        let rack = |host: &HostId| if self.plan.outside_rack { scene.rack(*host) } else { host.get() };
        let (racks, homes): (Vec<_>, Vec<_>) =
            (pool.iter().map(rack).collect(), hubs.iter().map(rack).collect());
        let mut in_rack = BTreeMap::new();
        racks.iter().for_each(|rack| *in_rack.entry(*rack).or_default() += 1);
        let hdfs = self.plan.placement == Placement::Hdfs;
        let places = hdfs.then(|| pool.iter().map(|host| scene.rack(*host)).collect());
        let partners = Partners { pool, racks, homes, in_rack, places, many: self.many.1 as usize };
        let short = (0..hubs.len()).find(|hub| partners.count(*hub) < partners.many);
        short.map_or(Ok(()), |hub| Err((hubs[hub], partners.count(hub))))?;
        Ok(partners)
    }

    /// Host `host` has only `count` others.
    fn too_few(&self, host: HostId, count: usize) -> Problem {
        let (key, wanted) = self.many;
        let place = if self.plan.outside_rack { "outside the rack of" } else { "other than" };
        let more = if self.plan.outside_rack { ", or state outside_rack = false" } else { "" };
        let use_less = if count > 0 { format!("use at most {count}, or ") } else { String::new() };
        let reason = format!(
            "is more than the {count} hosts {place} host {}; {use_less}select more hosts{more}",
            host.get()
        );
        Problem::here(key, wanted.to_string(), reason)
    }
}

/// Candidates for the other end of a host's sessions.
#[derive(Clone)]
struct Partners {
    pool: Vec<HostId>,
    /// Rack of each host in `pool`; a number of its own for each host where racks do not matter.
    racks: Vec<u32>,
    /// Rack of each of the hubs, in the same numbers.
    homes: Vec<u32>,
    /// Hosts in `pool` by rack.
    in_rack: BTreeMap<u32, usize>,
    /// With [`Placement::Hdfs`], the rack of each host in `pool`, whether it matters for the hubs or not.
    places: Option<Vec<u32>>,
    many: usize,
}

impl Partners {
    /// How many hosts can be at the other end of a session of hub number `hub`.
    fn count(&self, hub: usize) -> usize {
        self.pool.len() - self.in_rack.get(&self.homes[hub]).copied().unwrap_or(0)
    }

    /// Partners for a session of hub number `hub`.
    fn draw(&self, hub: usize, chance: &mut RandomStream) -> Vec<HostId> {
        match &self.places {
            Some(racks) => self.draw_hdfs(hub, racks, chance),
            None => self.draw_any(hub, chance),
        }
    }

    /// Partners in the order of [`Placement::Hdfs`]; anywhere where no host lies as it should.
    fn draw_hdfs(&self, hub: usize, racks: &[u32], chance: &mut RandomStream) -> Vec<HostId> {
        let mut drawn = Vec::with_capacity(self.many);
        while drawn.len() < self.many {
            let free = |at: &usize| self.racks[*at] != self.homes[hub] && !drawn.contains(at);
            let fits = |at: &usize| match drawn[..] {
                [first] => racks[*at] != racks[first],
                [_, second] => racks[*at] == racks[second],
                _ => true,
            };
            let all: Vec<_> = (0..self.pool.len()).filter(free).collect();
            let fitting: Vec<_> = all.iter().copied().filter(fits).collect();
            let from = if fitting.is_empty() { all } else { fitting };
            drawn.push(from[below(from.len(), chance)]);
        }
        drawn.into_iter().map(|at| self.pool[at]).collect()
    }

    /// Partners of which each set is equally likely.
    fn draw_any(&self, hub: usize, chance: &mut RandomStream) -> Vec<HostId> {
        let elsewhere = |at: &usize| self.racks[*at] != self.homes[hub];
        if self.count(hub) < 4 * self.many || self.count(hub) < self.pool.len() / 2 {
            let eligible: Vec<_> = (0..self.pool.len()).filter(elsewhere).map(|at| self.pool[at]).collect();
            return some_of(&eligible, self.many, Choose::Random, chance);
        }
        // Most draws are good ones.
        let mut drawn = Vec::with_capacity(self.many);
        while drawn.len() < self.many {
            let at = below(self.pool.len(), chance);
            if elsewhere(&at) && !drawn.contains(&self.pool[at]) {
                drawn.push(self.pool[at]);
            }
        }
        drawn
    }
}

/// Lets each of `flows` start with the first packet of the flow before it. The first of them follows the flow that starts now, on
/// `lane`; the lanes of the others come after it.
pub(crate) fn follow_in_chain(planner: &mut Planner<'_>, lane: u64, flows: impl IntoIterator<Item = Flow>) {
    let mut before = planner.current();
    for (lane, flow) in (lane + 1..).zip(flows) {
        let after = After { flow: before, cue: Cue::FirstPacket, pause: Picos::ZERO, latest: Instant::NEVER };
        before = planner.follow(after, lane, flow);
    }
}

/// Sequential sessions: the next one is planned when the last flow of its predecessor has started. Lane: number of the flow.
#[derive(Clone)]
struct Sessions {
    kind: Kind,
    size: Option<Bytes>,
    hubs: Vec<HostId>,
    partners: Partners,
    left: u64,
    /// Mean time between two sessions in picoseconds; `None`: all at once.
    gap: Option<f64>,
    at: Instant,
    begun: u64,
    /// Chance of gaps, hubs and partners.
    chance: [RandomStream; 3],
    /// The flows of the latest session that start with the first packet of the flow before them.
    chain: Vec<Flow>,
}

impl Sessions {
    fn plan_next(&mut self, planner: &mut Planner<'_>) {
        if self.begun == self.left {
            return;
        }
        let [gaps, hubs, partners] = &mut self.chance;
        let hub = match self.gap {
            Some(gap) => {
                self.at = self.at.after(exponential(gap, gaps));
                below(self.hubs.len(), hubs)
            }
            None => (self.begun % self.hubs.len() as u64) as usize,
        };
        let others = self.partners.draw(hub, partners);
        let first = self.begun * others.len() as u64;
        self.begun += 1;
        let (kind, size, hub) = (self.kind, self.size, self.hubs[hub]);
        let mut flows = (0..others.len() as u16).map(|index| kind.flow(hub, &others, index, size));
        if self.kind == Kind::Chain {
            flows.next().into_iter().for_each(|flow| planner.plan(self.at, first, flow));
            self.chain = flows.collect();
            return;
        }
        for (lane, flow) in (first..).zip(flows) {
            planner.plan(self.at, lane, flow);
        }
    }
}

impl Traffic for Sessions {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        self.plan_next(planner);
    }

    fn expected(&self, end: Instant) -> f64 {
        let in_time = self.gap.map_or(f64::MAX, |gap| end.since(self.at).0 as f64 / gap);
        in_time.min(self.left as f64) * self.partners.many as f64
    }

    fn joins(&self) -> Joins {
        if self.partners.many > 1 { Joins::of(self.kind.join()) } else { Joins::default() }
    }

    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        let many = self.partners.many as u64;
        if self.kind == Kind::Chain && lane.is_multiple_of(many) {
            follow_in_chain(planner, lane, core::mem::take(&mut self.chain));
            self.plan_next(planner);
        } else if self.kind != Kind::Chain && lane + 1 == self.begun * many {
            self.plan_next(planner);
        }
    }
}
