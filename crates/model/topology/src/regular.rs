use pullnet_units::{BitsPerSec, HostId, IdVec, NodeId, Picos};

use crate::build::build;
use crate::error::TopologyError;
use crate::graph::Graph;
use crate::model::{Host, HostPeer, Link, Node, NodeKind};
use crate::names::Names;
use crate::topology::{Routing, Topology};
use crate::tree::{Duplex, Shape};

/// 10 Gb/s and 1 us: the link of the NDP experiments.
pub(crate) const LINK: Link = Link { rate: BitsPerSec::gbps(10), delay: Picos::from_micros(1) };

pub(crate) fn refuse(
    kind: &'static str,
    key: &'static str,
    value: impl ToString,
    remedy: &str,
) -> TopologyError {
    TopologyError::Parameter { kind, key, value: value.to_string(), remedy: remedy.to_string() }
}

/// Checks that a count is within `low..=high`.
pub(crate) fn within(
    kind: &'static str,
    key: &'static str,
    value: u32,
    low: u32,
    high: u32,
) -> Result<(), TopologyError> {
    let remedy = format!("use {low} to {high}");
    if (low..=high).contains(&value) { Ok(()) } else { Err(refuse(kind, key, value, &remedy)) }
}

/// A k-ary fat tree.
///
/// With three tiers there are k pods of k/2 ToRs and k/2 aggregation switches, and (k/2)^2 cores; with two tiers
/// k ToRs and k/2 spines. Every ToR has k/2 hosts, unless it is oversubscribed. Source: Al-Fares, Loukissas and
/// Vahdat, SIGCOMM 2008.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FatTree {
    /// Ports of a switch that is not oversubscribed: even, 2 to 128.
    pub k: u32,
    /// Tiers of switches: 2 or 3.
    pub tiers: u32,
    /// Oversubscription n of the ToRs: k/2 * n hosts each; of the aggregation switches: k/2 / n links to cores each,
    /// where n divides k/2. 1 is full bandwidth. k = 8 with `[4, 1]` is the 512-host network of the NDP paper.
    pub oversubscription: [u32; 2],
    /// Links below the ToRs, below the aggregation switches (or spines) and below the cores.
    pub links: [Link; 3],
}

impl Default for FatTree {
    /// 128 hosts at 10 Gb/s.
    fn default() -> Self {
        Self { k: 8, tiers: 3, oversubscription: [1, 1], links: [LINK; 3] }
    }
}

impl FatTree {
    const KIND: &'static str = "fat-tree";

    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.problems().into_iter().next().map_or(Ok(()), Err)?;
        let half = self.k / 2;
        let hosts = half * self.oversubscription[0];
        let links = self.links.map(Duplex::even);
        let shape = match self.tiers {
            2 => {
                Shape { tiers: 2, pods: 1, racks: self.k, hosts, aggs: half, cores: 0, lanes: [1, 1], links }
            }
            _ => {
                let cores = half / self.oversubscription[1];
                Shape { tiers: 3, pods: self.k, racks: half, hosts, aggs: half, cores, lanes: [1, 1], links }
            }
        };
        build(Self::KIND, format!("fat-tree k={} tiers={}", self.k, self.tiers), shape)
    }

    /// All problems with the parameters, except for the resulting size.
    pub fn problems(&self) -> Vec<TopologyError> {
        let k_is_right = self.k.is_multiple_of(2) && (2..=128).contains(&self.k);
        let k = (!k_is_right).then(|| refuse(Self::KIND, "k", self.k, "use an even number from 2 to 128"));
        let tiers = !(2..=3).contains(&self.tiers);
        let tiers = tiers.then(|| refuse(Self::KIND, "tiers", self.tiers, "use 2 or 3"));
        let tor = within(Self::KIND, "oversubscription of the ToRs", self.oversubscription[0], 1, 1024);
        [k, tiers, tor.err(), self.wrong_agg(k_is_right)].into_iter().flatten().collect()
    }

    /// The problem with the oversubscription of the aggregation switches, if any.
    fn wrong_agg(&self, k_is_right: bool) -> Option<TopologyError> {
        let (agg, half) = (self.oversubscription[1], self.k / 2);
        let remedy = if self.tiers == 2 && agg != 1 {
            "with two tiers only the ToRs can be oversubscribed; use 1".to_string()
        } else if k_is_right && (agg == 0 || !half.is_multiple_of(agg)) {
            format!("use a divisor of k/2 = {half}")
        } else {
            return None;
        };
        Some(refuse(Self::KIND, "oversubscription of the aggregation switches", agg, &remedy))
    }
}

/// Two tiers: every leaf is joined to every spine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafSpine {
    /// Number of leaves, at least 1. They are called `"tor 0"` and so on.
    pub leaves: u32,
    /// Number of spines, at least 1.
    pub spines: u32,
    /// Hosts of each leaf, at least 1.
    pub hosts_per_leaf: u32,
    /// Parallel links between each leaf and each spine, at least 1.
    pub lanes: u32,
    /// Link between host and leaf.
    pub host_link: Link,
    /// Link between leaf and spine.
    pub spine_link: Link,
}

impl Default for LeafSpine {
    /// 32 hosts, 4 leaves, 8 spines at 10 Gb/s.
    fn default() -> Self {
        Self { leaves: 4, spines: 8, hosts_per_leaf: 8, lanes: 1, host_link: LINK, spine_link: LINK }
    }
}

impl LeafSpine {
    const KIND: &'static str = "leaf-spine";

    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within(Self::KIND, "leaves", self.leaves, 1, 65_535)?;
        within(Self::KIND, "spines", self.spines, 1, 65_535)?;
        within(Self::KIND, "hosts_per_leaf", self.hosts_per_leaf, 1, 65_534)?;
        within(Self::KIND, "lanes", self.lanes, 1, 1024)?;
        let links =
            [Duplex::even(self.host_link), Duplex::even(self.spine_link), Duplex::even(self.spine_link)];
        let shape = Shape {
            tiers: 2,
            pods: 1,
            racks: self.leaves,
            hosts: self.hosts_per_leaf,
            aggs: self.spines,
            cores: 0,
            lanes: [self.lanes, 1],
            links,
        };
        build(Self::KIND, format!("leaf-spine {}x{}", self.leaves, self.spines), shape)
    }
}

/// Hosts around one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Star {
    /// Number of hosts, 2 to 65535.
    pub hosts: u32,
    /// Link between each host and the switch.
    pub link: Link,
}

impl Default for Star {
    /// 8 hosts at 10 Gb/s.
    fn default() -> Self {
        Self { hosts: 8, link: LINK }
    }
}

impl Star {
    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("star", "hosts", self.hosts, 2, 65_535)?;
        let links = [Duplex::even(self.link); 3];
        let shape =
            Shape { tiers: 1, pods: 1, racks: 1, hosts: self.hosts, aggs: 0, cores: 0, lanes: [1, 1], links };
        build("star", format!("star {}", self.hosts), shape)
    }
}

/// Two hosts with directly connected NICs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackToBack {
    /// Link between the hosts.
    pub link: Link,
}

impl Default for BackToBack {
    /// 10 Gb/s.
    fn default() -> Self {
        Self { link: LINK }
    }
}

impl BackToBack {
    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        if self.link.delay.0 == 0 {
            return Err(refuse("back-to-back", "delay", 0, "a link needs a delay, for instance \"1 us\""));
        }
        let node =
            |n: u32| Node { kind: NodeKind::Host(HostId::new(n)), tier: 0, number: n, part: n, ports: 0..0 };
        let host =
            |n: u32| Host { node: NodeId::new(n), link: self.link, peer: HostPeer::Host(HostId::new(1 - n)) };
        Ok(Topology {
            name: "back-to-back".to_string(),
            nodes: (0..2).map(node).collect(),
            ports: IdVec::new(),
            hosts: (0..2).map(host).collect(),
            parts: 2,
            cut_through: None,
            names: Names::tiers(&[], [2; 3]),
            routing: Routing::Direct,
        })
    }
}

/// Two switches with hosts, joined by one link. Hosts on the left are numbered first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dumbbell {
    /// Hosts at `"switch 0"`, 1 to 65534.
    pub left: u32,
    /// Hosts at `"switch 1"`, 1 to 65534.
    pub right: u32,
    /// Link between host and switch.
    pub host_link: Link,
    /// Link between the switches.
    pub bottleneck: Link,
}

impl Default for Dumbbell {
    /// 4 hosts on either side, all links 10 Gb/s.
    fn default() -> Self {
        Self { left: 4, right: 4, host_link: LINK, bottleneck: LINK }
    }
}

impl Dumbbell {
    /// Builds the topology.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("dumbbell", "left", self.left, 1, 65_534)?;
        within("dumbbell", "right", self.right, 1, 65_534)?;
        let mut graph = Graph::new(format!("dumbbell {}x{}", self.left, self.right));
        let switches = [graph.switch("switch 0")?, graph.switch("switch 1")?];
        for host in 0..self.left + self.right {
            let vertex = graph.host(&format!("host {host}"))?;
            graph.link(vertex, switches[usize::from(host >= self.left)], self.host_link)?;
        }
        graph.link(switches[0], switches[1], self.bottleneck)?;
        graph.build()
    }
}
