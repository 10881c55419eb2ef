use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use pullnet_units::{NodeId, PortId};

use super::FaultError;
use crate::model::{HostPeer, NodeKind, Peer};
use crate::naming::LinkRef;
use crate::topology::Topology;

/// Links affected by a fault. Written as
///
/// | text | links |
/// |---|---|
/// | `all links` | every link, both directions |
/// | `level agg->core` | every link of that level, that direction |
/// | `link core 0 - agg 3` | all parallel links between two nodes, both directions |
/// | `link core 0 -> agg 3` | the same, that direction only |
/// | `link core 0 - agg 3 lane 1` | one of the parallel links, counted from 0 |
/// | `agg 3`, `switch agg 3`, `host 5` | all links of a node, both directions |
///
/// Nodes are named as by [`Topology::node_name`]; `host 5` and `switch 3` work in every topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Every link.
    AllLinks,
    /// All links of a level.
    Level(String),
    /// The links between two nodes.
    Link {
        /// Name of the first node.
        a: String,
        /// Name of the second node.
        b: String,
        /// Index of the parallel link; `None`: all of them.
        lane: Option<u16>,
        /// Both directions, or only from `a` to `b`.
        both: bool,
    },
    /// All links of a node, by name.
    Node(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllLinks => f.write_str("all links"),
            Self::Level(level) => write!(f, "level {level}"),
            Self::Node(name) => f.write_str(name),
            Self::Link { a, b, lane, both } => {
                write!(f, "link {a} {} {b}", if *both { "-" } else { "->" })?;
                lane.map_or(Ok(()), |lane| write!(f, " lane {lane}"))
            }
        }
    }
}

impl FromStr for Place {
    type Err = FaultError;
    fn from_str(text: &str) -> Result<Self, FaultError> {
        let text = text.trim();
        if text == "all links" {
            return Ok(Self::AllLinks);
        }
        if let Some(level) = text.strip_prefix("level ") {
            return Ok(Self::Level(level.trim().to_string()));
        }
        let ends = text.strip_prefix("link ").unwrap_or(text);
        let split = |sign, both| ends.split_once(sign).map(|(a, b)| (a.trim(), b.trim(), both));
        let unreadable = || FaultError::Place { text: text.to_string() };
        match split(" -> ", false).or_else(|| split(" - ", true)) {
            Some((a, b, both)) => parse_link(a, b, both).ok_or_else(unreadable),
            None if text.is_empty() || text.starts_with("link ") => Err(unreadable()),
            None => Ok(Self::Node(text.to_string())),
        }
    }
}

fn parse_link(a: &str, b: &str, both: bool) -> Option<Place> {
    let (b, lane) = match b.split_once(" lane ") {
        Some((b, lane)) => (b.trim(), Some(lane.trim().parse().ok()?)),
        None => (b, None),
    };
    let named = !a.is_empty() && !b.is_empty();
    named.then(|| Place::Link { a: a.to_string(), b: b.to_string(), lane, both })
}

/// The directed links of a place.
pub(super) fn places(topology: &Topology, place: &Place) -> Result<Vec<LinkRef>, FaultError> {
    match place {
        Place::AllLinks => Ok(topology.links().collect()),
        Place::Level(level) => at_level(topology, level),
        Place::Node(name) => {
            let node = node(topology, place, name)?;
            Ok(out_of(topology, node).flat_map(|link| [Some(link), back(topology, link)]).flatten().collect())
        }
        Place::Link { a, b, lane, both } => {
            let (a, b) = (node(topology, place, a)?, node(topology, place, b)?);
            let there = between(topology, place, (a, b), *lane)?;
            let back = there.iter().filter(|_| *both).filter_map(|link| back(topology, *link));
            Ok(there.iter().copied().chain(back).collect())
        }
    }
}

fn at_level(topology: &Topology, level: &str) -> Result<Vec<LinkRef>, FaultError> {
    let links: Vec<LinkRef> =
        topology.links().filter(|link| topology.level(*link).to_string() == level).collect();
    if links.is_empty() {
        let mut known: Vec<String> = Vec::new();
        for level in topology.links().map(|link| topology.level(link).to_string()) {
            if !known.contains(&level) {
                known.push(level);
            }
        }
        let known = known.join(", ");
        return Err(FaultError::UnknownLevel { text: level.to_string(), known });
    }
    Ok(links)
}

fn node(topology: &Topology, place: &Place, name: &str) -> Result<NodeId, FaultError> {
    let found =
        topology.find(name).or_else(|| name.strip_prefix("switch ").and_then(|name| topology.find(name)));
    found.ok_or_else(|| FaultError::UnknownNode {
        place: place.to_string(),
        node: name.to_string(),
        examples: examples(topology),
    })
}

/// The last node of each tier, as examples of the tier's name and highest number.
fn examples(topology: &Topology) -> String {
    let mut last: BTreeMap<(bool, u8), NodeId> = BTreeMap::new();
    for (id, node) in topology.nodes.enumerate() {
        last.insert((node.kind == NodeKind::Switch, node.tier), id);
    }
    last.values().map(|id| format!("\"{}\"", topology.node_name(*id))).collect::<Vec<_>>().join(", ")
}

fn out_of(topology: &Topology, node: NodeId) -> impl Iterator<Item = LinkRef> + '_ {
    let this = &topology.nodes[node];
    let nic = match this.kind {
        NodeKind::Host(host) => Some(LinkRef::Nic(host)),
        NodeKind::Switch => None,
    };
    nic.into_iter().chain(this.ports.clone().map(|port| LinkRef::Port(PortId::new(port))))
}

/// The opposite direction of the same cable.
fn back(topology: &Topology, link: LinkRef) -> Option<LinkRef> {
    match link {
        LinkRef::Nic(host) => Some(match topology.hosts[host].peer {
            HostPeer::Switch { down, .. } => LinkRef::Port(down),
            HostPeer::Host(other) => LinkRef::Nic(other),
        }),
        LinkRef::Port(port) => match topology.ports[port].peer {
            Peer::Host(host) => Some(LinkRef::Nic(host)),
            Peer::Switch(_) => topology.ports[port].reverse.map(LinkRef::Port),
        },
    }
}

fn between(
    topology: &Topology,
    place: &Place,
    (from, to): (NodeId, NodeId),
    lane: Option<u16>,
) -> Result<Vec<LinkRef>, FaultError> {
    let links: Vec<LinkRef> =
        out_of(topology, from).filter(|link| topology.link_ends(*link).1 == to).collect();
    if links.is_empty() {
        return Err(not_joined(topology, place, from, to));
    }
    let Some(lane) = lane else { return Ok(links) };
    let highest = links.len() - 1;
    let one = links.get(usize::from(lane)).map(|link| vec![*link]);
    one.ok_or_else(|| FaultError::Lane { place: place.to_string(), lane, highest })
}

fn not_joined(topology: &Topology, place: &Place, from: NodeId, to: NodeId) -> FaultError {
    let mut names: Vec<String> = Vec::new();
    for link in out_of(topology, from) {
        let name = format!("\"{}\"", topology.node_name(topology.link_ends(link).1));
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == 8 {
            names.push("...".to_string());
            break;
        }
    }
    let (from, to) = (topology.node_name(from), topology.node_name(to));
    FaultError::NotJoined { place: place.to_string(), from, to, neighbours: names.join(", ") }
}
