//! Fabrics of publications that are no trees of equal subtrees: VL2, Jellyfish, the AB fat tree, a fabric like Jupiter, and
//! several planes. Each is a graph; its paths are the shortest ones, and stand in tables.

use pullnet_rng::{RandomStream, Seed};

use crate::error::TopologyError;
use crate::graph::{Graph, VertexId};
use crate::model::{HostLinks, Link};
use crate::regular::{LINK, refuse, within};
use crate::topology::Topology;

/// Most links of a fabric. Paths of larger ones would not fit into memory.
const MOST_LINKS: u64 = 1 << 21;

/// Refuses a fabric of too many links.
fn affordable(kind: &'static str, links: u64) -> Result<(), TopologyError> {
    let remedy = format!("use at most {MOST_LINKS}, by fewer switches or hosts");
    if links <= MOST_LINKS { Ok(()) } else { Err(refuse(kind, "links", links, &remedy)) }
}

/// `count` switches called by `word` and their number.
fn switches(graph: &mut Graph, word: &'static str, count: u32) -> Result<Vec<VertexId>, TopologyError> {
    (0..count).map(|number| graph.switch_of(word, &format!("{word} {number}"))).collect()
}

/// `each` hosts at every one of `tors`.
fn hosts(graph: &mut Graph, tors: &[VertexId], each: u32, link: Link) -> Result<(), TopologyError> {
    let mut number = 0;
    for tor in tors {
        for _ in 0..each {
            let host = graph.host(&format!("host {number}"))?;
            graph.link(host, *tor, link)?;
            number += 1;
        }
    }
    Ok(())
}

/// The number of paths to list: all of `paths`, as far as they can be numbered.
fn listed(paths: u64) -> u16 {
    paths.clamp(1, u16::MAX.into()) as u16
}

/// VL2: a folded Clos network of aggregation and intermediate switches, each joined to each, with two links from every ToR.
/// Source: Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009, section 4.1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vl2 {
    /// D_A: ports of an aggregation switch, even, 2 to 256. Half of them lead to ToRs.
    pub da: u32,
    /// D_I: ports of an intermediate switch, 2 to 256; as many as there are aggregation switches.
    pub di: u32,
    /// Hosts of each ToR, at least 1. There are D_A * D_I / 4 ToRs.
    pub hosts_per_tor: u32,
    /// Link between host and ToR.
    pub host_link: Link,
    /// Links between switches.
    pub fabric_link: Link,
}

impl Default for Vl2 {
    /// 4 ToRs of 4 hosts, 4 aggregation and 2 intermediate switches, all links 10 Gb/s.
    fn default() -> Self {
        Self { da: 4, di: 4, hosts_per_tor: 4, host_link: LINK, fabric_link: LINK }
    }
}

impl Vl2 {
    const KIND: &'static str = "vl2";

    /// Builds the topology: hosts ToR by ToR; ToRs, then aggregation and intermediate switches. ToR `t` is joined to
    /// the aggregation switches 2t and 2t + 1, counted round.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let Self { da, di, hosts_per_tor, host_link, fabric_link } = *self;
        within(Self::KIND, "da", da, 2, 256)?;
        within(Self::KIND, "di", di, 2, 256)?;
        within(Self::KIND, "hosts_per_tor", hosts_per_tor, 1, 65_000)?;
        if !da.is_multiple_of(2) {
            return Err(refuse(Self::KIND, "da", da, "half of its ports lead up; use an even number"));
        }
        if !(da * di).is_multiple_of(4) {
            let remedy = "there are da * di / 4 ToRs; use an even number, or a multiple of 4 for da";
            return Err(refuse(Self::KIND, "di", di, remedy));
        }
        let count = da * di / 4;
        affordable(Self::KIND, u64::from(count) * u64::from(hosts_per_tor + 2) + u64::from(da * di / 2))?;
        let mut graph = Graph::new(format!("vl2 {da}x{di}"));
        let tors = switches(&mut graph, "tor", count)?;
        let aggs = switches(&mut graph, "agg", di)?;
        let intermediates = switches(&mut graph, "intermediate", da / 2)?;
        hosts(&mut graph, &tors, hosts_per_tor, host_link)?;
        for (number, tor) in tors.iter().enumerate() {
            for uplink in [2 * number, 2 * number + 1] {
                graph.link(*tor, aggs[uplink % aggs.len()], fabric_link)?;
            }
        }
        for agg in &aggs {
            intermediates.iter().try_for_each(|top| graph.link(*agg, *top, fabric_link))?;
        }
        graph.max_paths = listed(2 * u64::from(da));
        graph.build()
    }
}

/// A fat tree whose pods are joined to the cores in two ways, by turns, so that a switch that lost a link finds a detour of two
/// more hops. Source: Liu, Halperin, Krishnamurthy and Anderson, "F10: a fault-tolerant engineered network", NSDI 2013.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbFatTree {
    /// Ports of a switch: even, 4 to 64. There are k pods of k/2 ToRs and k/2 aggregation switches, and (k/2)^2 cores.
    pub k: u32,
    /// Link between host and ToR.
    pub host_link: Link,
    /// Links between switches.
    pub fabric_link: Link,
}

impl Default for AbFatTree {
    /// 16 hosts at 10 Gb/s.
    fn default() -> Self {
        Self { k: 4, host_link: LINK, fabric_link: LINK }
    }
}

impl AbFatTree {
    const KIND: &'static str = "ab-fat-tree";

    /// Builds the topology: hosts and ToRs pod by pod, as in a fat tree. Core `i * k/2 + j` is joined to aggregation switch
    /// `i` of the pods 0, 2, ... (type A) and to aggregation switch `j` of the others (type B).
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let Self { k, host_link, fabric_link } = *self;
        if !k.is_multiple_of(2) || !(4..=64).contains(&k) {
            return Err(refuse(Self::KIND, "k", k, "use an even number from 4 to 64"));
        }
        let half = k / 2;
        let mut graph = Graph::new(format!("ab-fat-tree k={k}"));
        let tors = switches(&mut graph, "tor", k * half)?;
        let aggs = switches(&mut graph, "agg", k * half)?;
        let cores = switches(&mut graph, "core", half * half)?;
        hosts(&mut graph, &tors, half, host_link)?;
        let width = half as usize;
        for (pod, (tors, aggs)) in tors.chunks(width).zip(aggs.chunks(width)).enumerate() {
            for tor in tors {
                aggs.iter().try_for_each(|agg| graph.link(*tor, *agg, fabric_link))?;
            }
            for (row, agg) in aggs.iter().enumerate() {
                for column in 0..width {
                    let core = if pod % 2 == 0 { row * width + column } else { column * width + row };
                    graph.link(*agg, cores[core], fabric_link)?;
                }
            }
        }
        graph.max_paths = listed(u64::from(half * half));
        graph.build()
    }
}

/// Switches joined at random: a random regular graph RRG(N, k, r). Source: Singla, Hong, Popa and Godfrey, "Jellyfish:
/// networking data centers randomly", NSDI 2012, section 3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jellyfish {
    /// N: number of switches, 2 to 4096.
    pub switches: u32,
    /// k: ports of a switch, 2 to 1024.
    pub ports: u32,
    /// r: ports of a switch that lead to other switches, fewer than `ports` and `switches`; the others have hosts.
    pub degree: u32,
    /// Seed of the graph.
    pub seed: u64,
    /// Most paths listed between two switches, at least 1.
    pub max_paths: u16,
    /// Whether paths longer than the shortest ones are listed after these, as in the paper, which has `max_paths` = 8.
    pub longer_paths: bool,
    /// Link between host and switch.
    pub host_link: Link,
    /// Links between switches.
    pub fabric_link: Link,
}

impl Default for Jellyfish {
    /// 12 switches with 2 hosts and 4 links to other switches each, at 10 Gb/s.
    fn default() -> Self {
        let (host_link, fabric_link) = (LINK, LINK);
        let longer_paths = false;
        Self {
            switches: 12,
            ports: 6,
            degree: 4,
            seed: 1,
            max_paths: 64,
            longer_paths,
            host_link,
            fabric_link,
        }
    }
}

impl Jellyfish {
    const KIND: &'static str = "jellyfish";
    /// Graphs that are drawn until one is connected. A random one of degree 3 or more nearly always is.
    const TRIES: u64 = 100;
    /// Most paths of different lengths. Each path costs searches from all switches of the path found before it.
    const MOST_LONGER: u64 = 256;

    /// Builds the topology: hosts switch by switch.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.check()?;
        let Self { switches: count, ports, degree, .. } = *self;
        let drawn = (0..Self::TRIES).map(|attempt| {
            random_regular(count as usize, degree as usize, &mut Seed(self.seed).stream("jellyfish", attempt))
        });
        let Some(edges) = drawn.flatten().find(|edges| connected(count as usize, edges)) else {
            let remedy = format!("none of {} random graphs was connected; use 3 or more", Self::TRIES);
            return Err(refuse(Self::KIND, "degree", degree, &remedy));
        };
        let mut graph = Graph::new(format!("jellyfish {count}x{degree}"));
        graph.max_paths = self.max_paths;
        graph.longer_paths = self.longer_paths;
        let vertices = switches(&mut graph, "switch", count)?;
        hosts(&mut graph, &vertices, ports - degree, self.host_link)?;
        for (a, b) in edges {
            graph.link(vertices[a], vertices[b], self.fabric_link)?;
        }
        graph.build()
    }

    fn check(&self) -> Result<(), TopologyError> {
        let Self { switches: count, ports, degree, .. } = *self;
        within(Self::KIND, "switches", count, 2, 4096)?;
        within(Self::KIND, "ports", ports, 2, 1024)?;
        within(Self::KIND, "degree", degree, 1, 1023)?;
        if degree >= ports {
            let remedy = format!("leave a port for a host: use at most {}", ports - 1);
            return Err(refuse(Self::KIND, "degree", degree, &remedy));
        }
        if degree >= count {
            let remedy = format!("a switch has one link to each other one: use at most {}", count - 1);
            return Err(refuse(Self::KIND, "degree", degree, &remedy));
        }
        if !(count * degree).is_multiple_of(2) {
            let remedy = "switches * degree is odd, and one port would be left; use an even number";
            return Err(refuse(Self::KIND, "degree", degree, remedy));
        }
        let most = if self.longer_paths { Self::MOST_LONGER } else { u16::MAX.into() };
        within(Self::KIND, "max_paths", self.max_paths.into(), 1, most as u32)?;
        affordable(Self::KIND, u64::from(count) * u64::from(ports))
    }
}

/// A random regular graph as the paper makes one: ports that are free are joined at random while that is possible; a switch
/// with two free ports then goes between the ends of a link that neither of them touches. `None` if that finds no link.
fn random_regular(count: usize, degree: usize, chance: &mut RandomStream) -> Option<Vec<(usize, usize)>> {
    let mut joined = vec![vec![false; count]; count];
    let mut free = vec![degree; count];
    let mut edges: Vec<(usize, usize)> = Vec::new();
    while free.iter().any(|ports| *ports > 0) {
        let (a, b) = match draw_pair(&free, &joined, chance) {
            Some(pair) => pair,
            None => {
                split_link(&mut edges, &mut joined, &mut free, chance)?;
                continue;
            }
        };
        (joined[a][b], joined[b][a]) = (true, true);
        (free[a], free[b]) = (free[a] - 1, free[b] - 1);
        edges.push((a.min(b), a.max(b)));
    }
    edges.sort_unstable();
    Some(edges)
}

/// Two switches with free ports that are not joined yet: at random, and by search where chance finds none.
fn draw_pair(free: &[usize], joined: &[Vec<bool>], chance: &mut RandomStream) -> Option<(usize, usize)> {
    let open: Vec<usize> = (0..free.len()).filter(|switch| free[*switch] > 0).collect();
    let fits = |a: usize, b: usize| a != b && !joined[a][b];
    let mut any = || open[chance.below(open.len() as u32) as usize];
    let lucky = (0..4 * free.len()).map(|_| (any(), any())).find(|(a, b)| fits(*a, *b));
    let pairs = || open.iter().flat_map(|a| open.iter().map(move |b| (*a, *b)));
    lucky.or_else(|| pairs().find(|(a, b)| fits(*a, *b)))
}

/// A switch with two free ports, or two switches that are joined and have one each, take the ends of a random link.
fn split_link(
    edges: &mut Vec<(usize, usize)>,
    joined: &mut [Vec<bool>],
    free: &mut [usize],
    chance: &mut RandomStream,
) -> Option<()> {
    let open = (0..free.len()).find(|switch| free[*switch] > 0)?;
    let other =
        if free[open] > 1 { open } else { (open + 1..free.len()).find(|switch| free[*switch] > 0)? };
    let fits = |(x, y): (usize, usize)| {
        let ends = [x, y];
        !ends.contains(&open) && !ends.contains(&other) && !joined[open][x] && !joined[other][y]
    };
    let usable: Vec<usize> = (0..edges.len()).filter(|at| fits(edges[*at])).collect();
    let at = *usable.get(chance.below(usable.len() as u32) as usize)?;
    let (x, y) = edges.swap_remove(at);
    (joined[x][y], joined[y][x]) = (false, false);
    for (a, b) in [(open, x), (other, y)] {
        (joined[a][b], joined[b][a]) = (true, true);
        edges.push((a.min(b), a.max(b)));
        free[a] -= 1;
    }
    Some(())
}

fn connected(count: usize, edges: &[(usize, usize)]) -> bool {
    let mut near = vec![Vec::new(); count];
    for (a, b) in edges {
        near[*a].push(*b);
        near[*b].push(*a);
    }
    let (mut seen, mut todo) = (vec![false; count], vec![0]);
    seen[0] = true;
    while let Some(at) = todo.pop() {
        for next in &near[at] {
            if !std::mem::replace(&mut seen[*next], true) {
                todo.push(*next);
            }
        }
    }
    seen.iter().all(|seen| *seen)
}

/// Aggregation blocks below spine blocks, as Jupiter had them. Middle blocks and spine blocks count as one switch each.
/// Source: Singh et al., "Jupiter rising", SIGCOMM 2015, section 4.3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jupiter {
    /// Aggregation blocks, 1 to 64.
    pub blocks: u32,
    /// ToRs of each aggregation block, at least 1.
    pub tors_per_block: u32,
    /// Middle blocks of each aggregation block, at least 1: 8 in the paper.
    pub middle_blocks: u32,
    /// Links from each ToR to each middle block of its aggregation block, at least 1: 2 in the paper.
    pub tor_lanes: u32,
    /// Spine blocks, 1 to 256.
    pub spine_blocks: u32,
    /// Links from each aggregation block to each spine block, at least 1: 2 in the paper.
    pub block_lanes: u32,
    /// Hosts of each ToR, at least 1.
    pub hosts_per_tor: u32,
    /// Link between host and ToR.
    pub host_link: Link,
    /// Links between ToRs and middle blocks.
    pub tor_link: Link,
    /// Links between middle blocks and spine blocks.
    pub spine_link: Link,
}

impl Default for Jupiter {
    /// 4 blocks of 4 ToRs with 4 hosts, all links 10 Gb/s.
    fn default() -> Self {
        Self {
            blocks: 4,
            tors_per_block: 4,
            middle_blocks: 2,
            tor_lanes: 2,
            spine_blocks: 8,
            block_lanes: 2,
            hosts_per_tor: 4,
            host_link: LINK,
            tor_link: LINK,
            spine_link: LINK,
        }
    }
}

impl Jupiter {
    const KIND: &'static str = "jupiter";

    /// Builds the topology: hosts and ToRs block by block; then middle blocks, then spine blocks. The links of a block to the
    /// spine, spine block by spine block, lead by turns to its middle blocks.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.check()?;
        let (blocks, middles) = (self.blocks as usize, self.middle_blocks as usize);
        let mut graph = Graph::new(format!("jupiter {blocks}x{}", self.spine_blocks));
        let tors = switches(&mut graph, "tor", self.blocks * self.tors_per_block)?;
        let middle = switches(&mut graph, "middle", self.blocks * self.middle_blocks)?;
        let spine = switches(&mut graph, "spine", self.spine_blocks)?;
        hosts(&mut graph, &tors, self.hosts_per_tor, self.host_link)?;
        let of_block = tors.chunks(self.tors_per_block as usize).zip(middle.chunks(middles));
        for (tors, middle) in of_block {
            for (tor, block) in tors.iter().flat_map(|tor| middle.iter().map(move |block| (tor, block))) {
                (0..self.tor_lanes).try_for_each(|_| graph.link(*tor, *block, self.tor_link))?;
            }
            let lanes = spine.iter().flat_map(|spine| (0..self.block_lanes).map(move |_| spine));
            lanes
                .enumerate()
                .try_for_each(|(lane, spine)| graph.link(middle[lane % middles], *spine, self.spine_link))?;
        }
        let lanes = u64::from(self.tor_lanes * self.block_lanes);
        graph.max_paths = listed(lanes * lanes * u64::from(self.spine_blocks));
        graph.build()
    }

    fn check(&self) -> Result<(), TopologyError> {
        within(Self::KIND, "blocks", self.blocks, 1, 64)?;
        within(Self::KIND, "tors_per_block", self.tors_per_block, 1, 256)?;
        within(Self::KIND, "middle_blocks", self.middle_blocks, 1, 64)?;
        within(Self::KIND, "tor_lanes", self.tor_lanes, 1, 64)?;
        within(Self::KIND, "spine_blocks", self.spine_blocks, 1, 256)?;
        within(Self::KIND, "block_lanes", self.block_lanes, 1, 64)?;
        within(Self::KIND, "hosts_per_tor", self.hosts_per_tor, 1, 65_000)?;
        if self.spine_blocks * self.block_lanes < self.middle_blocks {
            let links = self.spine_blocks * self.block_lanes;
            let remedy =
                format!("a block has {links} links to the spine, one or more for each; use at most {links}");
            return Err(refuse(Self::KIND, "middle_blocks", self.middle_blocks, &remedy));
        }
        let tors = u64::from(self.blocks * self.tors_per_block);
        let below = tors * u64::from(self.hosts_per_tor + self.middle_blocks * self.tor_lanes);
        affordable(Self::KIND, below + u64::from(self.blocks * self.spine_blocks * self.block_lanes))
    }
}

/// Several leaf-spine networks side by side, and hosts with a NIC in each of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planes {
    /// Networks, and NICs of each host: 1 to 16.
    pub planes: u32,
    /// Leaves of each plane, at least 1.
    pub leaves: u32,
    /// Spines of each plane, at least 1.
    pub spines: u32,
    /// Hosts of each leaf, at least 1.
    pub hosts_per_leaf: u32,
    /// Link between a NIC and its leaf.
    pub host_link: Link,
    /// Link between leaf and spine.
    pub spine_link: Link,
}

impl Default for Planes {
    /// Two planes of 2 leaves and 2 spines for 8 hosts, all links 10 Gb/s.
    fn default() -> Self {
        Self { planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: LINK, spine_link: LINK }
    }
}

impl Planes {
    const KIND: &'static str = "planes";

    /// Builds the topology: hosts leaf by leaf; leaves plane by plane, then spines, then the NICs ([`HostLinks::All`]).
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let Self { planes, leaves, spines, hosts_per_leaf, host_link, spine_link } = *self;
        within(Self::KIND, "planes", planes, 1, 16)?;
        within(Self::KIND, "leaves", leaves, 1, 4096)?;
        within(Self::KIND, "spines", spines, 1, 4096)?;
        within(Self::KIND, "hosts_per_leaf", hosts_per_leaf, 1, 65_000)?;
        let of_plane = u64::from(leaves) * u64::from(hosts_per_leaf + spines);
        affordable(Self::KIND, of_plane * u64::from(planes))?;
        let mut graph = Graph::new(format!("planes {planes}x{leaves}x{spines}"));
        graph.host_links = HostLinks::All;
        let leaf = switches(&mut graph, "leaf", planes * leaves)?;
        let spine = switches(&mut graph, "spine", planes * spines)?;
        for number in 0..leaves * hosts_per_leaf {
            let host = graph.host(&format!("host {number}"))?;
            let own = leaf.chunks(leaves as usize).map(|plane| plane[(number / hosts_per_leaf) as usize]);
            own.into_iter().try_for_each(|leaf| graph.link(host, leaf, host_link))?;
        }
        for (leaves, spines) in leaf.chunks(leaves as usize).zip(spine.chunks(spines as usize)) {
            for leaf in leaves {
                spines.iter().try_for_each(|spine| graph.link(*leaf, *spine, spine_link))?;
            }
        }
        graph.max_paths = listed(u64::from(planes) * u64::from(spines));
        graph.build()
    }
}
