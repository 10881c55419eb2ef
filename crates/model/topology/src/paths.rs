//! Shortest paths of a graph by number of links, or longer ones too, computed on first use.

use std::sync::OnceLock;

use pullnet_units::HostAddr;
use pullnet_units::{HostId, Id, IdVec, NodeId, PathLabel, PortId};

use crate::model::{Host, HostPeer, Node, Peer, Port};
use crate::yen;

/// Which paths are listed between two switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    /// Most of them.
    pub most: u16,
    /// Whether longer ones follow those of least length.
    pub longer: bool,
}

/// Lists of the paths between the switches with hosts, in tables that are filled on first use.
///
/// Paths between two switches are numbered in the direction from the lower to the higher node number, in the order of their
/// egress ports. If there are more than are to be listed, some at even distances in that order are kept, so that they spread
/// over the first links. If longer paths are listed too, they are numbered by their length.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    listed: Listed,
    first_switch: u32,
    /// Port to each host at its switch.
    down: Vec<PortId>,
    /// Switch of each host, counted from `first_switch`.
    home: Vec<u32>,
    /// Links of each switch to other switches, as port and peer.
    links: Vec<Vec<(PortId, u32)>>,
    /// Next hops to each destination switch.
    towards: Vec<OnceLock<Towards>>,
    /// Path lists by switch, then by higher-numbered switch.
    lists: Vec<OnceLock<Vec<OnceLock<List>>>>,
}

/// Next hops on the shortest paths to one switch.
#[derive(Clone, Debug)]
struct Towards {
    /// Number of shortest paths from each switch; 0: none.
    counts: Vec<u64>,
    /// Index of each switch's first next hop, plus one entry for the end.
    first: Vec<u32>,
    next: Vec<PortId>,
}

/// The listed paths between two switches, concatenated.
#[derive(Clone, Debug)]
struct List {
    /// Where the ports of each path end.
    ends: Box<[u32]>,
    ports: Box<[PortId]>,
}

impl List {
    fn new(paths: Vec<Vec<PortId>>) -> Self {
        let mut end = 0;
        let add = |path: &Vec<PortId>| {
            end += path.len() as u32;
            end
        };
        Self { ends: paths.iter().map(add).collect(), ports: paths.concat().into() }
    }

    fn len(&self) -> u16 {
        self.ends.len() as u16
    }

    fn get(&self, number: u16) -> Option<&[PortId]> {
        let number = usize::from(number);
        let end = *self.ends.get(number)?;
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ports.get(first as usize..end as usize)
    }
}

fn cells<T>(count: usize) -> Vec<OnceLock<T>> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl Paths {
    pub fn new(
        hosts: &IdVec<HostId, Host>,
        nodes: &IdVec<NodeId, Node>,
        ports: &IdVec<PortId, Port>,
        listed: Listed,
    ) -> Self {
        let first_switch = hosts.len() as u32;
        let switches = nodes.len() - hosts.len();
        let mut links = vec![Vec::new(); switches];
        for (id, port) in ports.enumerate() {
            if let Peer::Switch(peer) = port.peer {
                links[port.node.index() - hosts.len()].push((id, peer.get() - first_switch));
            }
        }
        let ends = hosts.iter().filter_map(|host| match host.peer {
            HostPeer::Switch { switch, down, .. } => Some((down, switch.get() - first_switch)),
            HostPeer::Host(_) => None,
        });
        let (down, home) = ends.unzip();
        Self { listed, first_switch, down, home, links, towards: cells(switches), lists: cells(switches) }
    }

    /// Two hosts without a path between them, if any.
    pub fn unreachable(&self) -> Option<(HostId, HostId)> {
        let to = *self.home.first()?;
        let counts = &self.towards(to).counts;
        let lost = self.home.iter().position(|switch| counts[*switch as usize] == 0)?;
        Some((HostId::from_index(lost), HostId::new(0)))
    }

    pub fn host(&self, addr: HostAddr) -> Option<HostId> {
        ((addr.0 as usize) < self.home.len()).then_some(HostId::new(addr.0))
    }

    fn home(&self, addr: HostAddr) -> Option<u32> {
        self.home.get(addr.0 as usize).copied()
    }

    fn towards(&self, to: u32) -> &Towards {
        self.towards[to as usize].get_or_init(|| Towards::find(&self.links, to))
    }

    /// The list between two different switches, and whether it must be read backwards.
    fn list(&self, from: u32, to: u32) -> (&List, bool) {
        let (low, high) = (from.min(to), from.max(to));
        let row = self.lists[low as usize].get_or_init(|| cells(self.links.len() - low as usize));
        let list = row[(high - low) as usize].get_or_init(|| self.find_list(low, high));
        (list, from > to)
    }

    /// Most paths of different lengths between two switches; `None` if all listed ones have the least length.
    pub fn of_any_length(&self) -> Option<u16> {
        self.listed.longer.then_some(self.listed.most)
    }

    fn find_list(&self, from: u32, to: u32) -> List {
        if self.listed.longer {
            return List::new(yen::shortest_paths(&self.links, from, to, self.listed.most.into()));
        }
        let towards = self.towards(to);
        let count = towards.counts[from as usize];
        let listed = count.min(u64::from(self.listed.most));
        let rank = |number: u64| (u128::from(number) * u128::from(count) / u128::from(listed)) as u64;
        List::new((0..listed).map(|number| self.unrank(towards, from, to, rank(number))).collect())
    }

    /// The shortest path with index `rank` among all shortest paths.
    fn unrank(&self, towards: &Towards, mut at: u32, to: u32, mut rank: u64) -> Vec<PortId> {
        let mut path = Vec::new();
        while at != to {
            let mut chosen = None;
            for port in towards.next(at) {
                let peer = self.peer(at, *port);
                let count = towards.counts[peer as usize];
                chosen = Some((*port, peer));
                if rank < count {
                    break;
                }
                rank -= count;
            }
            let Some((port, peer)) = chosen else { break };
            path.push(port);
            at = peer;
        }
        path
    }

    fn peer(&self, at: u32, port: PortId) -> u32 {
        let links = &self.links[at as usize];
        links.binary_search_by_key(&port, |(port, _)| *port).map_or(at, |found| links[found].1)
    }

    pub fn path_count(&self, a: HostAddr, b: HostAddr) -> u16 {
        match (self.home(a), self.home(b)) {
            (Some(from), Some(to)) if from != to => self.list(from, to).0.len(),
            _ => 1,
        }
    }

    pub fn port(
        &self,
        ports: &IdVec<PortId, Port>,
        at: NodeId,
        src: HostAddr,
        dst: HostAddr,
        label: PathLabel,
    ) -> Option<PortId> {
        let (from, to) = (self.home(src)?, self.home(dst)?);
        if at.get().checked_sub(self.first_switch)? == to {
            return Some(self.down[dst.0 as usize]);
        }
        if from == to {
            return None;
        }
        let (list, backwards) = self.list(from, to);
        let mut path = list.get(label.get())?.iter().copied();
        if backwards {
            return path
                .find(|port| ports[*port].peer == Peer::Switch(at))
                .and_then(|port| ports[port].reverse);
        }
        path.find(|port| ports[*port].node == at)
    }

    pub fn choices(&self, at: NodeId, dst: HostAddr) -> &[PortId] {
        let (Some(at), Some(to)) = (at.get().checked_sub(self.first_switch), self.home(dst)) else {
            return &[];
        };
        if at == to {
            return core::slice::from_ref(&self.down[dst.0 as usize]);
        }
        self.towards(to).next(at)
    }
}

impl Towards {
    /// Breadth-first search from `to`; links are bidirectional, so the distance is the same in both directions.
    fn find(links: &[Vec<(PortId, u32)>], to: u32) -> Self {
        let mut distance = vec![u32::MAX; links.len()];
        let mut counts = vec![0u64; links.len()];
        (distance[to as usize], counts[to as usize]) = (0, 1);
        let mut order = vec![to];
        let mut done = 0;
        while let Some(at) = order.get(done).copied() {
            done += 1;
            for (_, peer) in &links[at as usize] {
                let (here, peer) = (distance[at as usize], *peer as usize);
                if distance[peer] == u32::MAX {
                    distance[peer] = here + 1;
                    order.push(peer as u32);
                }
                if distance[peer] == here + 1 {
                    counts[peer] = counts[peer].saturating_add(counts[at as usize]);
                }
            }
        }
        let (mut first, mut next) = (vec![0], Vec::new());
        for (at, links) in links.iter().enumerate() {
            let nearer =
                |(_, peer): &&(PortId, u32)| distance[*peer as usize].checked_add(1) == Some(distance[at]);
            next.extend(links.iter().filter(nearer).map(|(port, _)| *port));
            first.push(next.len() as u32);
        }
        Self { counts, first, next }
    }

    fn next(&self, at: u32) -> &[PortId] {
        let at = at as usize;
        self.next.get(self.first[at] as usize..self.first[at + 1] as usize).unwrap_or(&[])
    }
}
