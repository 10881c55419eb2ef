//! Ideal completion time of a flow in an unloaded network.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_units::{BitsPerSec, Bytes, HostId, Instant, NodeId, Picos, PortId};

use crate::fault::Schedules;
use crate::model::Link;
use crate::names::LinkRef;
use crate::topology::{Routing, Topology};
use crate::tree::Tree;

/// The links available to a packet at one hop.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Rate of the fastest and delay of the shortest of the links.
    best: Link,
    /// Number of links.
    links: u64,
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
    /// Time from the first bit sent to the last bit received for `payload` bytes in an empty store-and-forward network:
    /// packets of `mtu` bytes payload (at least 1) and one shorter last packet, each with `header` bytes more on the wire.
    /// Includes propagation delay, but not the way back.
    ///
    /// Exact if there is only one path, or if no link between the switches is slower than the hosts' links; otherwise a
    /// lower bound for every choice of paths.
    pub fn ideal_fct(&self, src: HostId, dst: HostId, payload: u64, mtu: u32, header: u32) -> Picos {
        let stages = match &self.routing {
            Routing::Tree(tree) => self.tree_stages(tree, src, dst),
            Routing::Graph(_) => self.layered_stages((src, dst), &|link| Some(self.link(link))),
            Routing::Direct => vec![Stage { best: self.hosts[src].link, links: 1 }],
        };
        self.over(&stages, (src, dst), Train::new(payload, mtu, header), &|link| self.link(link))
    }

    /// The same for data that all of `sources` hold and send together: a bound. One of them carries its part or more, and the
    /// link to the receiver carries everything after the first packet has come that far.
    pub fn ideal_fetch(&self, sources: &[HostId], dst: HostId, payload: u64, mtu: u32, header: u32) -> Picos {
        let least = |payload| {
            let alone = sources.iter().map(|src| self.ideal_fct(*src, dst, payload, mtu, header));
            alone.min().unwrap_or(Picos::ZERO)
        };
        let (rate, header_bytes) = (self.inbound(dst).rate, u64::from(header));
        let wire = payload.saturating_add(payload.div_ceil(mtu.max(1).into()).saturating_mul(header_bytes));
        let begins = least(1).0.saturating_sub(rate.serialization(Bytes(1 + header_bytes)).0);
        let drained = rate.serialization(Bytes(wire)).saturating_add(Picos(begins));
        drained.max(least(payload.div_ceil(sources.len().max(1) as u64)))
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
        let usable = |link: LinkRef| {
            let built = self.link(link);
            let Some(schedule) = faults.get(link) else { return Some(built) };
            schedule.best_rate(span.0, span.1).map(|rate| Link { rate, ..built })
        };
        let stages = self.layered_stages(ends, &usable);
        let known = |link: LinkRef| usable(link).unwrap_or_else(|| self.link(link));
        self.over(&stages, ends, Train::new(payload, mtu, header), &known)
    }

    /// The time of `train` over `stages`; `known` returns rate and delay of a link.
    fn over(
        &self,
        stages: &[Stage],
        ends: (HostId, HostId),
        train: Train,
        known: &dyn Fn(LinkRef) -> Link,
    ) -> Picos {
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

    /// In a tree, all paths between two hosts are equivalent.
    fn tree_stages(&self, tree: &Tree, src: HostId, dst: HostId) -> Vec<Stage> {
        let route = self.route(src, dst, 0);
        let links =
            core::iter::once(self.hosts[src].link).chain(route.iter().map(|port| self.ports[*port].link));
        let stage =
            |(hop, best): (usize, Link)| Stage { best, links: tree.links_at(hop.min(route.len() - hop)) };
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
            let delay = links.iter().map(|link| link.delay).min()?;
            Some(Stage { best: Link { rate, delay }, links: links.len() as u64 })
        };
        let nic = LinkRef::Nic(src);
        let nic = Stage { best: usable(nic).unwrap_or_else(|| self.link(nic)), links: 1 };
        core::iter::once(nic).chain(self.layers(src, dst).iter().filter_map(|ports| stage(ports))).collect()
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
        let cost = |link: LinkRef| time(known(link).rate, size) + u128::from(known(link).delay.0);
        let start = (self.link_ends(LinkRef::Nic(src)).1, cost(LinkRef::Nic(src)));
        let mut reached = BTreeMap::from([start]);
        for ports in self.layers(src, dst) {
            let mut next = BTreeMap::new();
            for port in ports {
                let arrival = reached[&self.ports[port].node] + cost(LinkRef::Port(port));
                next.entry(self.next(port))
                    .and_modify(|best: &mut u128| *best = arrival.min(*best))
                    .or_insert(arrival);
            }
            reached = next;
        }
        reached.into_values().min().unwrap_or(0)
    }
}

fn time(rate: BitsPerSec, size: Bytes) -> u128 {
    u128::from(rate.serialization(size).0)
}

fn times(count: u64, each: u128) -> u128 {
    each.saturating_mul(u128::from(count))
}

fn alone(stages: &[Stage], size: Bytes) -> u128 {
    stages.iter().map(|stage| time(stage.best.rate, size) + u128::from(stage.best.delay.0)).sum()
}

/// Single path: every packet follows its predecessor. The last full packet leaves a link after the delays of all links so
/// far, and after the slowest of them has sent the earlier packets; the shorter packet follows it or waits for it.
fn in_order(stages: &[Stage], train: Train) -> u128 {
    let (mut through, mut slowest, mut last) = (0, 0, 0);
    for Stage { best, .. } in stages {
        let (full, delay) = (time(best.rate, train.size), u128::from(best.delay.0));
        through += full;
        slowest = full.max(slowest);
        let sent = if train.full > 0 { times(train.full - 1, slowest).saturating_add(through) } else { 0 };
        let short = train.last.map_or(0, |size| time(best.rate, size));
        last = sent.max(last).saturating_add(short + delay);
        through += delay;
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
