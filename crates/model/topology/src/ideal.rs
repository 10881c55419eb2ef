//! Ideal completion time of a flow in an unloaded network.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_units::{BitsPerSec, Bytes, HostId, Instant, NodeId, Picos, PortId};

use crate::fault::Schedules;
use crate::model::Link;
use crate::naming::LinkRef;
use crate::topology::{Routing, Topology};
use crate::tree::Tree;

/// The links available to a packet at one hop.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Rate of the fastest and delay of the shortest of the links.
    best: Link,
    /// Rate of the slowest of the links.
    slowest: BitsPerSec,
    /// Number of links.
    links: u64,
    /// Most bytes of a packet that must arrive before the next hop can begin: `u64::MAX` before a host and a switch that stores
    /// and forwards.
    head: u64,
}

impl Stage {
    /// A hop over any of `links` alike links, before a switch that stores and forwards.
    fn alike(best: Link, links: u64) -> Self {
        Self { best, slowest: best.rate, links, head: u64::MAX }
    }

    /// Time from the first bit of a packet sent to the moment at which the next hop can begin.
    fn onward(&self, size: Bytes) -> u128 {
        time(self.best.rate, Bytes(size.0.min(self.head))) + u128::from(self.best.delay.0)
    }
}

/// A flow as packets: `full` packets of one size, then possibly a shorter one.
#[derive(Clone, Copy, Debug)]
struct Train {
    full: u64,
    size: Bytes,
    last: Option<Bytes>,
}

impl Train {
    fn new(payload: u64, mtu: u32, header: u32) -> Self {
        let (mtu, header) = (u64::from(mtu.max(1)), u64::from(header));
        let rest = payload % mtu;
        let last = (rest > 0 || payload == 0).then_some(Bytes(rest + header));
        Self { full: payload / mtu, size: Bytes(mtu + header), last }
    }
}

impl Topology {
    /// Time from the first bit sent to the last bit received for `payload` bytes in an empty network: packets of `mtu` bytes payload (at least 1) and one shorter last packet, each with `header` bytes more on the wire.
    /// Includes propagation delay, but not the way back.
    ///
    /// Exact if there is only one path, or if no link between the switches is slower than the hosts' links; otherwise a
    /// lower bound for every choice of paths.
    pub fn ideal_fct(&self, src: HostId, dst: HostId, payload: u64, mtu: u32, header: u32) -> Picos {
        let stages = match &self.routing {
            Routing::Tree(tree) => self.tree_stages(tree, src, dst),
            Routing::Graph(_) => self.layered_stages((src, dst), &|link| Some(self.link(link))),
            Routing::Direct => vec![Stage::alike(self.hosts[src].link, 1)],
        };
        self.over(stages, (src, dst), Train::new(payload, mtu, header), &|link| self.link(link))
    }

    /// The same for data that all of `sources` hold and send together: a bound. One of them carries its part or more, and the
    /// link to the receiver carries everything after the first packet has come that far.
    pub fn ideal_fetch(&self, sources: &[HostId], dst: HostId, payload: u64, mtu: u32, header: u32) -> Picos {
        let alone = |src, payload| self.ideal_fct(src, dst, payload, mtu, header);
        together(sources, self.inbound(dst).rate, (payload, mtu, header), &alone)
    }

    /// [`Topology::ideal_fetch`] during `span`, while links had `faults`, as in [`Topology::ideal_fct_under`].
    pub fn ideal_fetch_under(
        &self,
        faults: &Schedules,
        span: (Instant, Instant),
        (sources, dst): (&[HostId], HostId),
        payload: u64,
        mtu: u32,
        header: u32,
    ) -> Picos {
        let alone = |src, payload| self.ideal_fct_under(faults, span, (src, dst), payload, mtu, header);
        let into = self.inbound_link(dst);
        let rate = self.usable(faults, span, into).map_or(self.link(into).rate, |link| link.rate);
        together(sources, rate, (payload, mtu, header), &alone)
    }

    /// The same for a flow between `ends` during `span`, while links had `faults`. Each link counts with its best rate
    /// during that time; links that were down all the time are excluded.
    pub fn ideal_fct_under(
        &self,
        faults: &Schedules,
        span: (Instant, Instant),
        ends: (HostId, HostId),
        payload: u64,
        mtu: u32,
        header: u32,
    ) -> Picos {
        let usable = |link: LinkRef| self.usable(faults, span, link);
        let stages = self.layered_stages(ends, &usable);
        let known = |link: LinkRef| usable(link).unwrap_or_else(|| self.link(link));
        self.over(stages, ends, Train::new(payload, mtu, header), &known)
    }

    /// A link with the best rate that it had during `span`; `None` if it was down all the time.
    fn usable(&self, faults: &Schedules, span: (Instant, Instant), link: LinkRef) -> Option<Link> {
        let built = self.link(link);
        let Some(schedule) = faults.get(link).filter(|_| !self.can_avoid(link)) else {
            return Some(built);
        };
        schedule.best_rate(span.0, span.1).map(|rate| Link { rate, ..built })
    }

    /// The time of `train` over `stages`; `known` returns rate and delay of a link.
    fn over(
        &self,
        mut stages: Vec<Stage>,
        ends: (HostId, HostId),
        train: Train,
        known: &dyn Fn(LinkRef) -> Link,
    ) -> Picos {
        self.cut(&mut stages);
        let stages = &stages[..];
        let time = if stages.iter().all(|stage| stage.links == 1) {
            in_order(stages, train)
        } else {
            let first = if train.full > 0 { train.size } else { train.last.unwrap_or(train.size) };
            let least = if matches!(self.routing, Routing::Graph(_)) {
                self.least_time(ends, first, known)
            } else {
                0
            };
            spread(stages, train).max(least)
        };
        Picos(time.try_into().unwrap_or(u64::MAX))
    }

    /// Whether paths of other lengths may lead round a link, so that what happens to it bounds no flow.
    fn can_avoid(&self, link: LinkRef) -> bool {
        let LinkRef::Port(port) = link else { return false };
        let longer = matches!(&self.routing, Routing::Graph(paths) if paths.of_any_length().is_some());
        longer && self.ports[port].reverse.is_some()
    }

    /// Sets how much of a packet must arrive at each switch on the way, as if the packet always took the fastest link of a hop and
    /// the slowest of the next one: so the time stays a lower bound where the links of a hop differ.
    fn cut(&self, stages: &mut [Stage]) {
        let Some(cut) = self.cut_through else { return };
        for hop in 1..stages.len() {
            let to = stages[hop].slowest;
            let before = &mut stages[hop - 1];
            before.head = cut.needed(u64::MAX, before.best.rate, to);
        }
    }

    /// In a tree, all paths between two hosts are equivalent.
    fn tree_stages(&self, tree: &Tree, src: HostId, dst: HostId) -> Vec<Stage> {
        let route = self.route(src, dst, 0);
        let links =
            core::iter::once(self.hosts[src].link).chain(route.iter().map(|port| self.ports[*port].link));
        let stage =
            |(hop, best): (usize, Link)| Stage::alike(best, tree.links_at(hop.min(route.len() - hop)));
        links.enumerate().map(stage).collect()
    }

    /// The hops between two hosts, with the number of links that share the load at each. `usable` returns rate and delay of
    /// a link; `None` for an unusable link. If no link of a hop is usable, all count as built.
    fn layered_stages(
        &self,
        (src, dst): (HostId, HostId),
        usable: &dyn Fn(LinkRef) -> Option<Link>,
    ) -> Vec<Stage> {
        let stage = |ports: &[PortId]| {
            let up: Vec<Link> = ports.iter().filter_map(|port| usable(LinkRef::Port(*port))).collect();
            let links =
                if up.is_empty() { ports.iter().map(|port| self.ports[*port].link).collect() } else { up };
            let rate = links.iter().map(|link| link.rate).max()?;
            let slowest = links.iter().map(|link| link.rate).min()?;
            let delay = links.iter().map(|link| link.delay).min()?;
            Some(Stage { slowest, ..Stage::alike(Link { rate, delay }, links.len() as u64) })
        };
        let nic = LinkRef::Nic(src);
        let nic = Stage::alike(usable(nic).unwrap_or_else(|| self.link(nic)), 1);
        let mut stages: Vec<Stage> = core::iter::once(nic)
            .chain(self.layers(src, dst).iter().filter_map(|ports| stage(ports)))
            .collect();
        // Longer paths lead over other links: no hop but the first and the last holds a flow up by more than its share of them.
        if let Routing::Graph(paths) = &self.routing
            && let Some(most) = paths.of_any_length()
            && let [_, between @ .., _] = &mut stages[..]
        {
            between.iter_mut().for_each(|stage| stage.links = stage.links.max(most.into()));
        }
        stages
    }

    /// The ports on shortest paths at the first, second, ... switch.
    fn layers(&self, src: HostId, dst: HostId) -> Vec<Vec<PortId>> {
        let to = self.addr(dst);
        let mut layers = Vec::new();
        let mut at = BTreeSet::from([self.link_ends(LinkRef::Nic(src)).1]);
        while !at.is_empty() {
            let ports: Vec<PortId> =
                at.iter().flat_map(|node| self.choices(*node, to).iter().collect::<Vec<_>>()).collect();
            at = ports
                .iter()
                .filter(|port| self.ports[**port].reverse.is_some())
                .map(|port| self.next(*port))
                .collect();
            layers.push(ports);
        }
        layers
    }

    fn next(&self, port: PortId) -> NodeId {
        self.link_ends(LinkRef::Port(port)).1
    }

    /// The time of a single packet on its fastest path, in a graph whose paths differ.
    fn least_time(&self, (src, dst): (HostId, HostId), size: Bytes, known: &dyn Fn(LinkRef) -> Link) -> u128 {
        let whole = |link: LinkRef| Stage::alike(known(link), 1);
        // With cut-through a lower bound: a packet may need to arrive whole before a faster link.
        let head = self.cut_through.map_or(u64::MAX, |cut| cut.head.into());
        let cost = |link: LinkRef, last: bool| match last {
            true => whole(link).onward(size),
            false => Stage { head, ..whole(link) }.onward(size),
        };
        let start = (self.link_ends(LinkRef::Nic(src)).1, cost(LinkRef::Nic(src), false));
        let mut reached = BTreeMap::from([start]);
        for ports in self.layers(src, dst) {
            let mut next = BTreeMap::new();
            for port in ports {
                let last = self.ports[port].reverse.is_none();
                let arrival = reached[&self.ports[port].node] + cost(LinkRef::Port(port), last);
                next.entry(self.next(port))
                    .and_modify(|best: &mut u128| *best = arrival.min(*best))
                    .or_insert(arrival);
            }
            reached = next;
        }
        reached.into_values().min().unwrap_or(0)
    }
}

/// The least time for data that all of `sources` send together over a last link of `rate`; `alone` is that of one source and a
/// number of bytes.
fn together(
    sources: &[HostId],
    rate: BitsPerSec,
    (payload, mtu, header): (u64, u32, u32),
    alone: &dyn Fn(HostId, u64) -> Picos,
) -> Picos {
    let least = |payload| sources.iter().map(|src| alone(*src, payload)).min().unwrap_or(Picos::ZERO);
    let header = u64::from(header);
    let wire = payload.saturating_add(payload.div_ceil(mtu.max(1).into()).saturating_mul(header));
    let begins = least(1).0.saturating_sub(rate.serialization(Bytes(1 + header)).0);
    let drained = rate.serialization(Bytes(wire)).saturating_add(Picos(begins));
    drained.max(least(payload.div_ceil(sources.len().max(1) as u64)))
}

fn time(rate: BitsPerSec, size: Bytes) -> u128 {
    u128::from(rate.serialization(size).0)
}

fn times(count: u64, each: u128) -> u128 {
    each.saturating_mul(u128::from(count))
}

fn alone(stages: &[Stage], size: Bytes) -> u128 {
    stages.iter().map(|stage| stage.onward(size)).sum()
}

/// Single path: every packet follows its predecessor. The last full packet leaves a link after the delays of all links so
/// far, and after the slowest of them has sent the earlier packets; the shorter packet follows it or waits for it.
fn in_order(stages: &[Stage], train: Train) -> u128 {
    let (mut through, mut slowest, mut last) = (0, 0, 0);
    for stage in stages {
        let full = time(stage.best.rate, train.size);
        slowest = full.max(slowest);
        let sent =
            if train.full > 0 { times(train.full - 1, slowest).saturating_add(through + full) } else { 0 };
        last = match train.last {
            Some(size) => sent.max(last).saturating_add(stage.onward(size)),
            None => sent.saturating_add(stage.best.delay.0.into()),
        };
        through += stage.onward(train.size);
    }
    last
}

/// Several paths: at each hop the packets share all links. A short last packet may overtake others between the first and the
/// last hop, which all packets share.
fn spread(stages: &[Stage], train: Train) -> u128 {
    let ahead = |stage: &Stage| train.full.saturating_sub(1) / stage.links;
    let queued =
        stages.iter().map(|stage| times(ahead(stage), time(stage.best.rate, train.size))).max().unwrap_or(0);
    let full = if train.full > 0 { queued.saturating_add(alone(stages, train.size)) } else { 0 };
    let Some(size) = train.last else { return full };
    let [first, .., end] = stages else { return full };
    let before = times(train.full, time(first.best.rate, train.size));
    let short = before.saturating_add(alone(stages, size));
    full.max(short).max(last_hop(&stages[..stages.len() - 1], end, train, size, before))
}

/// The last hop sends everything after the first packet has reached it.
fn last_hop(until: &[Stage], end: &Stage, train: Train, size: Bytes, before: u128) -> u128 {
    if train.full == 0 {
        return 0;
    }
    let reached = alone(until, train.size).min(before.saturating_add(alone(until, size)));
    let work = times(train.full, time(end.best.rate, train.size));
    work.saturating_add(time(end.best.rate, size) + u128::from(end.best.delay.0)).saturating_add(reached)
}
