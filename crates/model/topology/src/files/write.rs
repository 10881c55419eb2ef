//! Topologies as files, in the formats that `load` reads.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use pullnet_settings::Setting;
use pullnet_units::{BitsPerSec, Id, NodeId, Picos, PortId};

use crate::error::TopologyError;
use crate::model::{HostPeer, Link, NodeKind, Peer};
use crate::topology::{Routing, Topology};
use crate::tree::Shape;

/// Writes a topology in the format that the suffix of `name` selects: `.toml`, `.txt` (HPCC) or `.topo` (htsim, trees only).
/// `load` reads the same network from it: the same hosts, switches, ports and links, with the same numbers. Only `.toml` keeps
/// names; a tree becomes a graph in `.toml` and `.txt`, so that its paths are numbered in another order, and parallel links are
/// combined in every way. How packets are passed on (cut-through), faults and the number of paths that are used are in no such file.
pub fn save(topology: &Topology, name: &str) -> Result<String, TopologyError> {
    let ending = super::ending(name);
    match ending {
        "toml" => native(topology, name),
        "txt" => hpcc(topology, name),
        "topo" => htsim(topology, name),
        _ => {
            let what = format!("{} names no format that can be written", super::shown(ending));
            Err(refuse(name, what, "use .toml (own format), .topo (htsim) or .txt (HPCC)"))
        }
    }
}

fn refuse(name: &str, what: impl Into<String>, remedy: &str) -> TopologyError {
    TopologyError::Graph { graph: name.to_owned(), what: what.into(), remedy: remedy.to_owned() }
}

/// A cable: its ends, and the link away from each.
struct Cable {
    ends: [NodeId; 2],
    links: [Link; 2],
}

/// All cables, in an order in which every switch meets its cables in the order of its ports.
fn cables(topology: &Topology, name: &str) -> Result<Vec<Cable>, TopologyError> {
    let mut all = Vec::new();
    for host in topology.hosts.iter() {
        let HostPeer::Switch { switch, down, .. } = host.peer else {
            return Err(refuse(
                name,
                "two hosts without a switch fit no format",
                "write kind = \"back-to-back\"",
            ));
        };
        all.push(Cable { ends: [host.node, switch], links: [host.link, topology.ports[down].link] });
    }
    let switches = topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    let mut waiting: Vec<VecDeque<PortId>> = switches
        .map(|node| {
            node.ports
                .clone()
                .map(PortId::new)
                .filter(|port| topology.ports[*port].reverse.is_some())
                .collect()
        })
        .collect();
    let hosts = topology.hosts.len();
    let front = |waiting: &[VecDeque<PortId>], node: NodeId| waiting[node.index() - hosts].front().copied();
    let mut todo: BTreeSet<u32> = (hosts as u32..topology.nodes.len() as u32).collect();
    while let Some(node) = todo.pop_first().map(NodeId::new) {
        while let Some(port) = front(&waiting, node) {
            let found = &topology.ports[port];
            let (Peer::Switch(peer), Some(back)) = (found.peer, found.reverse) else { break };
            if front(&waiting, peer) != Some(back) {
                break;
            }
            all.push(Cable { ends: [node, peer], links: [found.link, topology.ports[back].link] });
            for end in [node, peer] {
                waiting[end.index() - hosts].pop_front();
            }
            todo.insert(peer.get());
        }
    }
    match waiting.iter().all(VecDeque::is_empty) {
        true => Ok(all),
        false => Err(refuse(
            name,
            "no order of links gives every switch its order of ports",
            "this is a fault of pullnet",
        )),
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    Setting::write(&text.to_owned())
}

fn native(topology: &Topology, name: &str) -> Result<String, TopologyError> {
    let mut text = format!("name = {}\n", quoted(&topology.name));
    for kind in ["switch", "host"] {
        for (id, node) in topology.nodes.enumerate() {
            if (node.kind == NodeKind::Switch) == (kind == "switch") {
                let _ = write!(text, "\n[[{kind}]]\nname = {}\n", quoted(&topology.node_name(id)));
            }
        }
    }
    for Cable { ends, links: [there, back] } in cables(topology, name)? {
        let [a, b] = ends.map(|end| quoted(&topology.node_name(end)));
        let _ = write!(
            text,
            "\n[[link]]\nbetween = [{a}, {b}]\nrate = \"{}\"\ndelay = \"{}\"\n",
            there.rate, there.delay
        );
        if back != there {
            let _ = writeln!(text, "back = {{ rate = \"{}\", delay = \"{}\" }}", back.rate, back.delay);
        }
    }
    Ok(text)
}

/// A rate as ns-3 writes it.
fn data_rate(rate: BitsPerSec) -> String {
    let units = [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1000), ("bps", 1)];
    let unit = units.into_iter().find(|(_, size)| rate.get().is_multiple_of(*size));
    unit.map_or_else(String::new, |(unit, size)| format!("{}{unit}", rate.get() / size))
}

/// A time as ns-3 writes it.
fn time(delay: Picos) -> String {
    if delay.0.is_multiple_of(1000) { format!("{}ns", delay.0 / 1000) } else { format!("{}ps", delay.0) }
}

fn hpcc(topology: &Topology, name: &str) -> Result<String, TopologyError> {
    let (cables, hosts) = (cables(topology, name)?, topology.hosts.len());
    let switches: Vec<String> = (hosts..topology.nodes.len()).map(|id| id.to_string()).collect();
    let (nodes, count) = (topology.nodes.len(), cables.len());
    let mut text = format!("{nodes} {} {count}\n{}\n", switches.len(), switches.join(" "));
    for Cable { ends: [a, b], links: [there, back] } in cables {
        if there != back {
            let [a, b] = [a, b].map(|end| topology.node_name(end));
            let what = format!(
                "the link between \"{a}\" and \"{b}\" differs by direction, which this format cannot say"
            );
            return Err(refuse(name, what, "write a .toml file"));
        }
        let _ = writeln!(text, "{} {} {} {} 0", a.get(), b.get(), data_rate(there.rate), time(there.delay));
    }
    Ok(text)
}

fn htsim(topology: &Topology, name: &str) -> Result<String, TopologyError> {
    let shape = match &topology.routing {
        Routing::Tree(tree) if tree.shape.tiers > 1 => &tree.shape,
        _ => {
            let remedy = "write a .toml or .txt file";
            return Err(refuse(name, "this format describes trees of two or three tiers only", remedy));
        }
    };
    let pod = shape.racks * shape.hosts;
    let mut text = format!("Nodes {}\nTiers {}\nPodsize {pod}\n", pod * shape.pods, shape.tiers);
    let mut below = Picos::ZERO;
    for tier in 0..shape.tiers {
        let (delay, latency) = latencies(topology, shape, tier, below, name)?;
        let (children, lanes) = shape.below(tier);
        let rate = shape.links[usize::from(tier)].down.rate;
        let _ = write!(
            text,
            "\nTier {tier}\nDownlink_speed_Gbps {}\nRadix_Down {}\n",
            decimal(rate.get(), 1_000_000_000),
            children * lanes
        );
        if tier + 1 < shape.tiers {
            let _ = writeln!(text, "Radix_Up {}", shape.ups(tier));
        }
        let _ = writeln!(text, "Downlink_Latency_ns {}", decimal(delay.0, 1000));
        if latency > Picos::ZERO {
            let _ = writeln!(text, "Switch_Latency_ns {}", decimal(latency.0, 1000));
        }
        if tier > 0 && lanes > 1 {
            let _ = writeln!(text, "Bundle {lanes}");
        }
        below = latency;
    }
    Ok(text)
}

/// The delay of the links below `tier` and the latency of its switches, if those of the tier below have the latency `below`: a
/// link has its own delay and the latency of the switch that it leads to.
fn latencies(
    topology: &Topology,
    shape: &Shape,
    tier: u8,
    below: Picos,
    name: &str,
) -> Result<(Picos, Picos), TopologyError> {
    let duplex = shape.links[usize::from(tier)];
    let delay = duplex.down.delay.0.checked_sub(below.0).filter(|delay| *delay > 0);
    let found = delay.and_then(|delay| Some((delay, duplex.up.delay.0.checked_sub(delay)?)));
    match found.filter(|_| duplex.up.rate == duplex.down.rate) {
        Some((delay, latency)) => Ok((Picos(delay), Picos(latency))),
        None => {
            let what = format!("the links below tier {tier} of {} differ by direction", topology.name);
            Err(refuse(name, what, "write a .toml file"))
        }
    }
}

/// `value / unit`, exactly; `unit` is a power of ten.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    let text = format!("{whole}.{rest:0digits$}");
    text.trim_end_matches('0').to_owned()
}
