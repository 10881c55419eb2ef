//! Arbitrary networks: named hosts, switches and links, and the shortest paths through them.

use std::collections::BTreeMap;

use pullnet_units::{HostId, Id, IdVec, NodeId, PortId};

use crate::error::TopologyError;
use crate::model::{Host, HostLinks, HostPeer, Link, Node, NodeKind, Peer, Port};
use crate::names::Names;
use crate::paths::{Listed, Paths};
use crate::topology::{Routing, Topology};

/// Most links of a switch: ports are counted in 16 bits.
const MAX_DEGREE: u32 = 65_535;
/// Most links of a graph; bounds the memory that a small file can allocate.
const MAX_CABLES: usize = 1 << 24;

/// The tier of hosts.
const HOST: &str = "host";

/// A network under construction. Hosts and switches are numbered in the order in which they are added.
///
/// ```
/// use pullnet_topology::{Graph, Link};
/// use pullnet_units::{BitsPerSec, Picos};
///
/// let link = Link { rate: BitsPerSec::gbps(10), delay: Picos::from_micros(1) };
/// let mut graph = Graph::new("pair");
/// let switch = graph.switch("s")?;
/// for name in ["a", "b"] {
///     let host = graph.host(name)?;
///     graph.link(host, switch, link)?;
/// }
/// assert_eq!(graph.build()?.hosts.len(), 2);
/// # Ok::<(), pullnet_topology::TopologyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    /// Most paths listed between two switches, 1 to 65535; default 64.
    pub max_paths: u16,
    /// Whether paths longer than the shortest ones are listed after these, up to `max_paths` in all.
    pub longer_paths: bool,
    /// What becomes of the links of a host that has several.
    pub host_links: HostLinks,
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) cables: Vec<Cable>,
    by_name: BTreeMap<String, VertexId>,
}

/// A host or switch of a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VertexId(pub(crate) usize);

#[derive(Clone, Debug)]
pub(crate) struct Vertex {
    pub(crate) name: String,
    pub(crate) host: bool,
    /// A word for its tier; see [`Topology::tier_name`].
    pub(crate) tier: &'static str,
    pub(crate) cables: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cable {
    pub(crate) ends: [usize; 2],
    /// Properties of the directions away from each end.
    pub(crate) links: [Link; 2],
}

impl Graph {
    /// A graph without nodes.
    pub fn new(name: impl Into<String>) -> Self {
        let by_name = BTreeMap::new();
        Self {
            name: name.into(),
            max_paths: 64,
            longer_paths: false,
            host_links: HostLinks::One,
            vertices: Vec::new(),
            cables: Vec::new(),
            by_name,
        }
    }

    pub(crate) fn refuse(&self, what: impl Into<String>, remedy: impl Into<String>) -> TopologyError {
        TopologyError::Graph { graph: self.name.clone(), what: what.into(), remedy: remedy.into() }
    }

    fn add(&mut self, name: &str, tier: &'static str) -> Result<VertexId, TopologyError> {
        let id = VertexId(self.vertices.len());
        if name.is_empty() {
            return Err(self.refuse("a node has an empty name", "give it a name"));
        }
        if self.by_name.contains_key(name) {
            return Err(self.refuse(format!("there are two nodes named \"{name}\""), "rename one of them"));
        }
        self.by_name.insert(name.to_string(), id);
        self.vertices.push(Vertex { name: name.to_string(), host: tier == HOST, tier, cables: 0 });
        Ok(id)
    }

    /// Adds a host.
    pub fn host(&mut self, name: &str) -> Result<VertexId, TopologyError> {
        self.add(name, HOST)
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: &str) -> Result<VertexId, TopologyError> {
        self.switch_of("switch", name)
    }

    /// Adds a switch of a tier, such as `"tor"`: levels of links are named after it.
    pub(crate) fn switch_of(&mut self, tier: &'static str, name: &str) -> Result<VertexId, TopologyError> {
        self.add(name, tier)
    }

    /// The node named `name`.
    pub fn find(&self, name: &str) -> Option<VertexId> {
        self.by_name.get(name).copied()
    }

    /// Joins two nodes by a cable with equal directions. Further cables between the same switches are parallel links.
    pub fn link(&mut self, a: VertexId, b: VertexId, link: Link) -> Result<(), TopologyError> {
        self.link_each_way(a, b, link, link)
    }

    /// Joins two nodes by a cable with the properties `there` from `a` to `b` and `back` from `b` to `a`.
    pub fn link_each_way(
        &mut self,
        a: VertexId,
        b: VertexId,
        there: Link,
        back: Link,
    ) -> Result<(), TopologyError> {
        if self.host_links == HostLinks::First && self.one_more_nic([a.0, b.0]).is_some() {
            return Ok(());
        }
        if let Some((what, remedy)) = self.against([a.0, b.0], [there, back]) {
            let [from, to] = [a.0, b.0].map(|end| &self.vertices[end].name);
            return Err(self.refuse(format!("link between \"{from}\" and \"{to}\": {what}"), remedy));
        }
        [a.0, b.0].iter().for_each(|end| self.vertices[*end].cables += 1);
        self.cables.push(Cable { ends: [a.0, b.0], links: [there, back] });
        Ok(())
    }

    /// The host among `ends` that already has a link.
    fn one_more_nic(&self, ends: [usize; 2]) -> Option<&Vertex> {
        let mut vertices = ends.into_iter().map(|end| &self.vertices[end]);
        vertices.find(|vertex| vertex.host && vertex.cables > 0)
    }

    /// The problem with a link and its remedy; `None` if the link is valid.
    fn against(&self, ends: [usize; 2], links: [Link; 2]) -> Option<(String, &'static str)> {
        let vertices = ends.map(|end| &self.vertices[end]);
        let refuse = |what: &str, remedy| Some((what.to_string(), remedy));
        if ends[0] == ends[1] {
            return refuse("both ends are the same node", "name two nodes");
        }
        if links.iter().any(|link| link.delay.0 == 0) {
            return refuse("delay = 0", "a link needs a delay, for instance \"1 us\"");
        }
        if vertices.iter().all(|vertex| vertex.host) {
            return refuse(
                "both ends are hosts",
                "join hosts by a switch, or use the topology \"back-to-back\"",
            );
        }
        if let Some(host) = self.one_more_nic(ends).filter(|_| self.host_links == HostLinks::One) {
            let remedy = "a host has one NIC; keep one link (host_links = \"first\" does so for all hosts), or \
                          use all of them by host_links = \"all\"";
            return Some((format!("host \"{}\" has a link already", host.name), remedy));
        }
        if let Some(full) = vertices.iter().find(|vertex| vertex.cables >= MAX_DEGREE) {
            return Some((
                format!("\"{}\" has {MAX_DEGREE} links", full.name),
                "spread the links over more switches",
            ));
        }
        let full = self.cables.len() >= MAX_CABLES;
        full.then(|| (format!("there are {MAX_CABLES} links"), "use fewer links or a regular topology"))
    }

    /// Builds the topology. The ports of a switch lead first to its hosts, in numeric order, then to switches, in the order
    /// in which the links were added.
    pub fn build(mut self) -> Result<Topology, TopologyError> {
        if self.host_links == HostLinks::All {
            self.join_nics()?;
        }
        self.check()?;
        let plan = Plan::new(&self);
        let nodes: IdVec<NodeId, Node> = plan.nodes();
        let (hosts, ports) = (plan.hosts(), plan.ports());
        let given = plan.order.iter().map(|vertex| self.vertices[*vertex].name.clone()).collect();
        let switches = plan.order[plan.host_count..].iter();
        let tiers = switches.map(|vertex| self.vertices[*vertex].tier).collect();
        let names = Names::given(given, tiers, plan.host_count as u32);
        let listed = Listed { most: self.max_paths, longer: self.longer_paths };
        let paths = Paths::new(&hosts, &nodes, &ports, listed);
        let parts = plan.parts();
        if let Some((a, b)) = paths.unreachable() {
            let name = |host: HostId| &self.vertices[plan.order[host.index()]].name;
            let what = format!("no path leads from host \"{}\" to host \"{}\"", name(a), name(b));
            return Err(self.refuse(what, "add links between their switches"));
        }
        let (name, routing) = (self.name, Routing::Graph(paths));
        Ok(Topology { name, nodes, ports, hosts, parts, cut_through: None, names, routing })
    }

    fn check(&self) -> Result<(), TopologyError> {
        let hosts = self.vertices.iter().filter(|vertex| vertex.host).count();
        if hosts < 2 {
            return Err(self.refuse(format!("hosts = {hosts}"), "a network needs at least 2 hosts"));
        }
        if hosts > 1 << 24 {
            return Err(self.refuse(format!("hosts = {hosts}"), "use at most 16777216 hosts"));
        }
        if self.max_paths == 0 {
            return Err(self.refuse("max_paths = 0", "use 1 to 65535"));
        }
        if let Some(alone) = self.vertices.iter().find(|vertex| vertex.cables == 0) {
            let kind = if alone.host { "host" } else { "switch" };
            let remedy = match self.host_links {
                HostLinks::First if !alone.host => {
                    "add a link or remove it; host_links = \"first\" leaves out further links of hosts, \"all\" keeps them"
                }
                _ => "add a link or remove it",
            };
            return Err(self.refuse(format!("{kind} \"{}\" has no link", alone.name), remedy));
        }
        Ok(())
    }
}

/// Numbers of nodes and ports.
struct Plan<'a> {
    graph: &'a Graph,
    /// Vertices as nodes: hosts, then switches.
    order: Vec<usize>,
    /// Inverse of `order`.
    node: Vec<u32>,
    host_count: usize,
    /// Cables of each switch in the order of its ports.
    cables: Vec<Vec<u32>>,
    /// First port of each switch, plus one entry for the end.
    first: Vec<u32>,
    /// Index of the port at both ends of each cable.
    index: Vec<[u32; 2]>,
}

impl<'a> Plan<'a> {
    fn new(graph: &'a Graph) -> Self {
        let kind = |host| (0..graph.vertices.len()).filter(move |v| graph.vertices[*v].host == host);
        let order: Vec<usize> = kind(true).chain(kind(false)).collect();
        let host_count = kind(true).count();
        let mut node = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, vertex)| node[*vertex] = place as u32);
        let mut plan =
            Self { graph, order, node, host_count, cables: Vec::new(), first: vec![0], index: Vec::new() };
        plan.cables = plan.sorted_cables();
        plan.index = vec![[0; 2]; graph.cables.len()];
        for (switch, cables) in plan.cables.iter().enumerate() {
            plan.first.push(plan.first[switch] + cables.len() as u32);
            for (index, cable) in cables.iter().enumerate() {
                let side = usize::from(
                    plan.node[graph.cables[*cable as usize].ends[1]] as usize == host_count + switch,
                );
                plan.index[*cable as usize][side] = index as u32;
            }
        }
        plan
    }

    /// Cables of each switch: hosts by number, then switches in the order of the links.
    fn sorted_cables(&self) -> Vec<Vec<u32>> {
        let mut cables = vec![Vec::new(); self.order.len() - self.host_count];
        for (number, cable) in self.graph.cables.iter().enumerate() {
            let nodes = cable.ends.map(|end| self.node[end]);
            for (this, other) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
                if let Some(switch) = (this as usize).checked_sub(self.host_count) {
                    let host = (other as usize) < self.host_count;
                    cables[switch].push((!host, if host { other } else { number as u32 }, number as u32));
                }
            }
        }
        cables.iter_mut().for_each(|cables| cables.sort_unstable());
        cables.into_iter().map(|cables| cables.into_iter().map(|(.., number)| number).collect()).collect()
    }

    fn is_host(&self, node: u32) -> bool {
        (node as usize) < self.host_count
    }

    /// The port of a switch at one end of a cable.
    fn port(&self, cable: usize, side: usize) -> PortId {
        let node = self.node[self.graph.cables[cable].ends[side]] as usize;
        PortId::new(self.first[node - self.host_count] + self.index[cable][side])
    }

    fn has_hosts(&self, switch: usize) -> bool {
        let ends = |cable: &u32| self.graph.cables[*cable as usize].ends;
        self.cables[switch]
            .first()
            .is_some_and(|cable| ends(cable).iter().any(|end| self.is_host(self.node[*end])))
    }

    fn edge_switches(&self) -> usize {
        (0..self.cables.len()).filter(|switch| self.has_hosts(*switch)).count()
    }

    /// Number of parts: one per switch with hosts.
    fn parts(&self) -> u32 {
        self.edge_switches() as u32
    }

    fn nodes(&self) -> IdVec<NodeId, Node> {
        let edges = self.edge_switches();
        let inner = (self.cables.len() - edges).max(1);
        let (mut edge, mut other) = (0, 0);
        let mut switches = Vec::new();
        for switch in 0..self.cables.len() {
            let tier = u8::from(!self.has_hosts(switch));
            let count = if tier == 0 { &mut edge } else { &mut other };
            let part = if tier == 0 { *count } else { *count * edges / inner };
            *count += 1;
            let ports = self.first[switch]..self.first[switch + 1];
            switches.push(Node {
                kind: NodeKind::Switch,
                tier,
                number: switch as u32,
                part: part as u32,
                ports,
            });
        }
        let mut hosts = vec![0; self.host_count];
        for (switch, node) in switches.iter().enumerate() {
            self.hosts_of(switch).for_each(|host| hosts[host as usize] = node.part);
        }
        let host = |(number, part)| {
            let kind = NodeKind::Host(HostId::from_index(number));
            Node { kind, tier: 0, number: number as u32, part, ports: 0..0 }
        };
        hosts.into_iter().enumerate().map(host).chain(switches).collect()
    }

    fn hosts_of(&self, switch: usize) -> impl Iterator<Item = u32> + '_ {
        let ends = self.cables[switch].iter().flat_map(|cable| self.graph.cables[*cable as usize].ends);
        ends.map(|end| self.node[end]).filter(|node| self.is_host(*node))
    }

    fn hosts(&self) -> IdVec<HostId, Host> {
        let mut hosts = vec![None; self.host_count];
        for (number, cable) in self.graph.cables.iter().enumerate() {
            for side in 0..2 {
                let (host, switch) = (self.node[cable.ends[side]], self.node[cable.ends[1 - side]]);
                if self.is_host(host) {
                    let ingress = self.index[number][1 - side] as u16;
                    let peer = HostPeer::Switch {
                        switch: NodeId::new(switch),
                        down: self.port(number, 1 - side),
                        ingress,
                    };
                    hosts[host as usize] =
                        Some(Host { node: NodeId::new(host), link: cable.links[side], peer });
                }
            }
        }
        hosts.into_iter().flatten().collect()
    }

    fn ports(&self) -> IdVec<PortId, Port> {
        let switches = self.cables.iter().enumerate();
        switches
            .flat_map(|(switch, cables)| cables.iter().map(move |c| (switch, *c)))
            .map(|(s, c)| self.make(s, c))
            .collect()
    }

    fn make(&self, switch: usize, number: u32) -> Port {
        let cable = self.graph.cables[number as usize];
        let node = (self.host_count + switch) as u32;
        let far = usize::from(self.node[cable.ends[0]] == node);
        let other = self.node[cable.ends[far]];
        let link = cable.links[1 - far];
        if self.is_host(other) {
            let peer = Peer::Host(HostId::new(other));
            return Port { node: NodeId::new(node), peer, reverse: None, link, ingress: 0 };
        }
        Port {
            node: NodeId::new(node),
            peer: Peer::Switch(NodeId::new(other)),
            reverse: Some(self.port(number as usize, far)),
            link,
            ingress: self.index[number as usize][far] as u16,
        }
    }
}
