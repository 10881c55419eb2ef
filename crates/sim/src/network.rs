//! Data that all processes share and none may change.

use std::fmt;
use std::sync::Arc;

use pullnet_probes::{Probes, Watches};
use pullnet_qdisc::{Discipline, Item, order};
use pullnet_rng::SmallRandomStream;
use pullnet_scenario::{Forwarding, Scenario};
use pullnet_topology::{Hop, HostPeer, LinkRef, LinkSchedule, NodeKind, Peer, Topology};
use pullnet_transport::{Framing, Header, HopView, HostAddr, Packed, Words};
use pullnet_units::{BitsPerSec, HostId, Id, IdVec, Instant, NodeId, Picos, PortId};

use crate::binary_hop::BinaryHop;
use crate::clock::Grid;
use crate::groups::Groups;
use crate::hop_count::HopCount;
use crate::outbox::Target;
use crate::packet::{PAUSE_FRAME, Packet};
use crate::process::{ProcessHop, ProcessId};
use crate::stack::{About, AtHop, Concern, Looks, View};

/// Numbering of processes, part by part: neighbours are adjacent in memory, and a thread owns a range of processes.
#[derive(Debug)]
pub struct Numbering {
    /// Process of each port, by [`PortId`].
    pub of_port: IdVec<PortId, ProcessId>,
    /// Port of each process.
    pub port: IdVec<ProcessId, PortId>,
    /// Process of each host, by [`HostId`].
    pub of_host: IdVec<HostId, ProcessId>,
    /// Host of each process.
    pub host: IdVec<ProcessId, HostId>,
}

impl Numbering {
    fn new(topology: &Topology) -> Self {
        let part_of = |node: NodeId| topology.nodes[node].part;
        let mut port: Vec<PortId> = topology.ports.ids().collect();
        port.sort_by_key(|port| part_of(topology.ports[*port].node));
        let mut host: Vec<HostId> = topology.hosts.ids().collect();
        host.sort_by_key(|host| part_of(topology.hosts[*host].node));
        Self {
            of_port: inverse(&port),
            of_host: inverse(&host),
            port: port.into_iter().collect(),
            host: host.into_iter().collect(),
        }
    }
}

/// The process of each id, where processes are numbered in this order.
fn inverse<I: Id>(order: &[I]) -> IdVec<I, ProcessId> {
    let mut process: IdVec<I, _> = order.iter().map(|_| ProcessId::from_index(0)).collect();
    for (index, id) in order.iter().enumerate() {
        process[*id] = ProcessId::from_index(index);
    }
    process
}

/// Process at the other end of a link.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// A host.
    Host(ProcessId),
    /// A switch of a tree that forwards by label.
    BinaryHop(BinaryHop),
    /// A switch of a tree that forwards by label, with several links to each child; `down` and `up` are process
    /// numbers.
    Lanes(ProcessHop),
    /// A switch of a tree that chooses among equal ports itself; `down` and `up` are process numbers.
    Choice(ProcessHop),
    /// A switch whose paths are in tables.
    Table(NodeId),
}

/// Properties of a run's switches that the whole network depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switching {
    /// Bytes on the wire that a trim leaves; `None` if no packet is ever trimmed.
    pub trimmed: Option<u32>,
    /// How long a returned header takes through its switch; `None` if no header is ever returned.
    pub return_latency: Option<Picos>,
    /// Whether switches pause their neighbours.
    pub pauses: bool,
}

impl Switching {
    /// Properties of switches with discipline `Q`.
    pub fn of<P: Item, Q: Discipline<P>>(config: &Q::Config) -> Self {
        let rules = Q::rules(config);
        Self {
            trimmed: Q::trimmed_size(&rules),
            return_latency: Q::return_latency(&rules),
            pauses: Q::SIGNALS,
        }
    }
}

/// Reader of the header fields that the engine needs.
pub enum Headers<W> {
    /// In a run with one transport: [`Header::concerns`], [`Header::hop_view`], [`Header::at_hop`] and [`Header::KINDS`].
    Sole(Concern<W>, View<W>, AtHop<W>, &'static [&'static str]),
    /// In a run with several transports.
    Several(Looks<W>),
}

impl<W: Words> Headers<W> {
    /// Headers `H`.
    pub fn sole<H: Header<Words = W>>() -> Self {
        Self::Sole(
            |packed| H::unpack(packed).concerns(),
            |packed| H::unpack(packed).hop_view(),
            |packed, hop| H::unpack(packed).at_hop(hop).map(H::pack),
            H::KINDS,
        )
    }

    /// Connection and packet number that `packed` refers to.
    pub fn about(&self, packed: Packed<W>) -> About {
        match self {
            Self::Sole(about, ..) => about(packed),
            Self::Several(looks) => looks.about(packed),
        }
    }

    /// Header fields of `packed` that switches may read.
    pub fn view(&self, packed: Packed<W>) -> Option<HopView> {
        match self {
            Self::Sole(_, view, ..) => view(packed),
            Self::Several(looks) => looks.view(packed),
        }
    }

    /// What `packed` becomes as it leaves by `hop`; `None`: it stays as it is.
    pub fn at_hop(&self, packed: Packed<W>, hop: &mut dyn pullnet_transport::Hop) -> Option<Packed<W>> {
        match self {
            Self::Sole(_, _, at_hop, _) => at_hop(packed, hop),
            Self::Several(looks) => looks.at_hop(packed, hop),
        }
    }

    /// Packet type, in the protocol's terms.
    pub fn kind(&self, packed: Packed<W>) -> &'static str {
        match self {
            Self::Sole(.., kinds) => kinds[usize::from(packed.kind & 0x0f)],
            Self::Several(looks) => looks.kind(packed),
        }
    }
}

impl<W> fmt::Debug for Headers<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers")
    }
}

/// The network as processes see it.
#[derive(Debug)]
pub struct Network<W> {
    /// The scenario; it owns the topology.
    pub scenario: Arc<Scenario>,
    /// Numbers of processes.
    pub numbering: Numbering,
    /// Salt of the order of simultaneous arrivals, by node.
    salts: Vec<u16>,
    /// Windows.
    pub grid: Grid,
    /// How each transport cuts data into packets.
    pub framings: Vec<Framing>,
    /// Whether each transport makes use of trimmed and returned packets.
    pub hears_headers: Vec<bool>,
    /// Whether all of them do.
    pub all_hear_headers: bool,
    /// Bytes on the wire of the shortest packet.
    pub shortest: u32,
    /// Bytes on the wire that a trim leaves; 0 if no packet is ever trimmed.
    pub trimmed: u32,
    /// How long a returned header takes to the port that leads to its sender, in picoseconds.
    pub return_latency: Picos,
    /// Readers of packet headers.
    pub headers: Headers<W>,
    /// Bytes on the wire of the largest packet.
    pub largest: u32,
    /// Groups of receivers; `None` in a run that never has any.
    pub groups: Option<Groups>,
    /// Measurement window in picoseconds.
    pub measure: (Instant, Instant),
    /// Whether ports record how many packets they hold, or which.
    pub records_held: bool,
    /// Events that probes record.
    pub watches: Watches,
    /// Whether anything records payload as it arrives.
    pub records_delivery: bool,
    /// Whether NICs send packets one by one, to look at pauses or to record packets.
    pub sends_specially: bool,
    /// Rows of the record of every hop.
    pub hop_count: HopCount,
}

impl<W: Words> Network<W> {
    /// The network of `scenario` for transports that cut data by `framings` and whose headers `headers` reads, and switches of
    /// `switching`.
    pub fn new(
        scenario: Arc<Scenario>,
        framings: Vec<Framing>,
        headers: Headers<W>,
        switching: Switching,
    ) -> Self {
        let numbering = Numbering::new(&scenario.topology);
        let salts = salts(&scenario);
        let trimmed = switching.trimmed.unwrap_or(0);
        let header = framings.iter().map(|framing| framing.header).min().unwrap_or(1);
        let shortest = switching.trimmed.map_or(header, |trimmed| trimmed.min(header));
        let shortest = if switching.pauses { shortest.min(PAUSE_FRAME.into()) } else { shortest };
        let links = lookahead(&scenario, shortest);
        let return_latency = switching.return_latency.unwrap_or(links);
        let grid = Grid::new(links.min(return_latency));
        let measure = scenario.measure;
        let watches = scenario.probes.watches();
        let records_delivery = watches.any(Watches::DELIVERED) || scenario.probes.series.is_some();
        let records_held = watches.any(Watches::INCIDENTS)
            || scenario.probes.occupancy.is_some()
            || scenario.probes.series.is_some()
            || scenario.probes.port_series.is_some()
            || scenario.probes.hops.is_some();
        let largest = framings.iter().map(|framing| framing.mtu + framing.header).max().unwrap_or(1);
        let hears_headers: Vec<_> =
            scenario.transports.iter().map(|carried| carried.config.hears_headers()).collect();
        Self {
            groups: Groups::new(&scenario),
            all_hear_headers: hears_headers.iter().all(|hears| *hears),
            hears_headers,
            sends_specially: switching.pauses || scenario.probes.hops.is_some(),
            hop_count: HopCount::default(),
            scenario,
            numbering,
            salts,
            grid,
            framings,
            shortest,
            trimmed,
            return_latency,
            headers,
            largest,
            measure,
            records_held,
            watches,
            records_delivery,
        }
    }

    /// Salt of the order of simultaneous arrivals at switch `node`.
    pub fn salt(&self, node: NodeId) -> u16 {
        self.salts[node.index()]
    }

    /// Index of `link` among the links into the switch that it leads to, and the salt of the order of simultaneous arrivals
    /// there.
    pub fn arrival(&self, link: LinkRef) -> (u16, u16) {
        let topology = self.topology();
        let salt = |node: NodeId| self.salt(node);
        match link {
            LinkRef::Port(port) => match topology.ports[port].peer {
                Peer::Host(_) => (topology.ports[port].ingress, 0),
                Peer::Switch(node) => (topology.ports[port].ingress, salt(node)),
            },
            LinkRef::Nic(host) => match topology.hosts[host].peer {
                HostPeer::Switch { switch, ingress, .. } => (ingress, salt(switch)),
                HostPeer::Host(_) => (0, 0),
            },
        }
    }

    /// The process that sends in the opposite direction at the other end of `link`.
    pub fn other_end(&self, link: LinkRef) -> Target {
        let (topology, numbering) = (self.topology(), &self.numbering);
        let host = |host: HostId| Target::Host(numbering.of_host[host]);
        let port = |port: PortId| Target::Port(numbering.of_port[port]);
        match link {
            LinkRef::Port(id) => match (topology.ports[id].peer, topology.ports[id].reverse) {
                (Peer::Host(id), _) => host(id),
                (Peer::Switch(_), Some(reverse)) => port(reverse),
                (Peer::Switch(_), None) => unreachable!("a cable between switches has two directions"),
            },
            LinkRef::Nic(id) => match topology.hosts[id].peer {
                HostPeer::Switch { down, .. } => port(down),
                HostPeer::Host(id) => host(id),
            },
        }
    }

    /// The port of switch `node`, as an index among its ports, that leads back along each link into the switch.
    pub fn cables(&self, node: NodeId) -> Vec<u16> {
        let topology = self.topology();
        let own = topology.nodes[node].ports.clone();
        let mut cables = vec![0; own.len()];
        for (index, port) in (0..).zip(own.map(PortId::new)) {
            let ingress = match (topology.ports[port].peer, topology.ports[port].reverse) {
                (Peer::Switch(_), reverse) => reverse.map_or(0, |reverse| topology.ports[reverse].ingress),
                (Peer::Host(host), _) => match topology.hosts[host].peer {
                    HostPeer::Switch { ingress, .. } => ingress,
                    HostPeer::Host(_) => 0,
                },
            };
            cables[usize::from(ingress)] = index;
        }
        cables
    }

    /// Rates of the links into switch `node`: those of the same cables in the other direction.
    pub fn rates_into(&self, node: NodeId) -> Vec<BitsPerSec> {
        let topology = self.topology();
        let first = topology.nodes[node].ports.start;
        let rate = |index: u16| topology.ports[PortId::new(first + u32::from(index))].link.rate;
        self.cables(node).into_iter().map(rate).collect()
    }

    /// Hosts, switches and links.
    pub fn topology(&self) -> &Topology {
        &self.scenario.topology
    }

    /// Probes of the scenario.
    pub fn probes(&self) -> &Probes {
        &self.scenario.probes
    }

    /// Faults of a link over time; `None` if it has none.
    pub fn schedule(&self, link: LinkRef) -> Option<&LinkSchedule> {
        self.scenario.faults.get(link)
    }

    /// How switch `node` forwards to processes.
    pub fn next_at(&self, node: NodeId) -> Next {
        match self.topology().hop(node) {
            Hop::Tree(hop) => {
                let hop = ProcessHop::new(hop, |port| self.numbering.of_port[port]);
                if self.scenario.forwarding == Forwarding::Path {
                    BinaryHop::new(&hop).map_or(Next::Lanes(hop), Next::BinaryHop)
                } else {
                    Next::Choice(hop)
                }
            }
            Hop::Table => Next::Table(node),
        }
    }

    /// Whether switches choose the port of a packet when it arrives.
    pub fn chooses_on_arrival(&self) -> bool {
        self.scenario.forwarding == Forwarding::LeastLoaded
    }

    /// Process at the other end of port `port`.
    pub fn next_of_port(&self, port: PortId) -> Next {
        match self.topology().ports[port].peer {
            Peer::Host(host) => Next::Host(self.numbering.of_host[host]),
            Peer::Switch(node) => self.next_at(node),
        }
    }

    /// Process at the other end of the NIC of `host`.
    pub fn next_of_host(&self, host: HostId) -> Next {
        match self.topology().hosts[host].peer {
            HostPeer::Switch { switch, .. } => self.next_at(switch),
            HostPeer::Host(other) => Next::Host(self.numbering.of_host[other]),
        }
    }

    /// The process that `packet` goes to next, arriving at `at`. Calls that are not inlined get a copy of `packet`: if
    /// its address escaped, the packet would have to be kept in memory instead of registers.
    #[inline(always)]
    pub fn target(
        &self,
        next: &Next,
        packet: &Packet<W>,
        chance: &mut SmallRandomStream,
        at: Instant,
    ) -> Target {
        match next {
            Next::BinaryHop(hop) => Target::Port(hop.process(packet.to().0, packet.label())),
            Next::Host(host) => Target::Host(*host),
            _ => self.target_elsewhere(next, *packet, chance, at),
        }
    }

    /// The same for all switches, also if arithmetic on bit fields is not enough.
    #[inline(never)]
    fn target_elsewhere(
        &self,
        next: &Next,
        packet: Packet<W>,
        chance: &mut SmallRandomStream,
        at: Instant,
    ) -> Target {
        let (to, label) = (packet.to().0, packet.label());
        match next {
            Next::Host(host) => Target::Host(*host),
            Next::BinaryHop(hop) => Target::Port(hop.process(to, label)),
            Next::Lanes(hop) => Target::Port(hop.process(to, label)),
            Next::Choice(hop) => self.tree_choice(hop, &packet, chance, at),
            Next::Table(node) => self.table_choice(*node, &packet, chance, at),
        }
    }

    /// Next process of a switch of a tree that chooses itself.
    fn tree_choice(
        &self,
        hop: &ProcessHop,
        packet: &Packet<W>,
        chance: &mut SmallRandomStream,
        at: Instant,
    ) -> Target {
        let (first, count) = Self::tree_ports(hop, packet);
        self.choose(count, |n| first.plus(n), first.index() as u32, packet, chance, at)
    }

    /// Next process of a switch whose paths are in tables.
    fn table_choice(
        &self,
        node: NodeId,
        packet: &Packet<W>,
        chance: &mut SmallRandomStream,
        at: Instant,
    ) -> Target {
        let topology = self.topology();
        let process = |port: PortId| self.numbering.of_port[port];
        let labelled = topology.table_port(node, packet.from(), packet.to(), packet.label());
        if let (Forwarding::Path, Some(port)) = (self.scenario.forwarding, labelled) {
            return Target::Port(process(port));
        }
        let choices = topology.choices(node, packet.to());
        let nth = |n: u32| process(choices.get(n));
        self.choose(choices.len(), nth, node.get(), packet, chance, at)
    }

    /// Visits every port that a switch may choose for `packet` itself.
    pub fn alternatives(&self, next: &Next, packet: &Packet<W>, visit: &mut dyn FnMut(ProcessId)) {
        match next {
            Next::Choice(hop) => {
                let (first, count) = Self::tree_ports(hop, packet);
                (0..count).map(|by| first.plus(by)).for_each(visit);
            }
            Next::Table(node) => {
                let choices = self.topology().choices(*node, packet.to());
                let process = |n: u32| self.numbering.of_port[choices.get(n)];
                (0..choices.len()).map(process).for_each(visit);
            }
            Next::Host(_) | Next::BinaryHop(_) | Next::Lanes(_) => {}
        }
    }

    /// The equal ports of a switch of a tree: the first one, and their number.
    fn tree_ports(hop: &ProcessHop, packet: &Packet<W>) -> (ProcessId, u32) {
        let ([down, up], hop) = (hop.firsts(), hop.tree());
        if !hop.below(packet.to().0) {
            return (up, hop.ups.into());
        }
        let child = (packet.to().0 >> hop.shift) & hop.index_mask;
        (down.plus(child * u32::from(hop.lanes)), hop.lanes.into())
    }

    /// One of `count` ports: at random, or by a hash of the flow that differs from switch to switch (`salt`). A port
    /// whose link is down is skipped if another port works.
    fn choose(
        &self,
        count: u32,
        nth: impl Fn(u32) -> ProcessId,
        salt: u32,
        packet: &Packet<W>,
        chance: &mut SmallRandomStream,
        at: Instant,
    ) -> Target {
        let first = match self.scenario.forwarding {
            // If the switch chooses on arrival, any of its ports will do as the packet's address.
            Forwarding::Random | Forwarding::LeastLoaded => chance.below(count),
            Forwarding::Path | Forwarding::Ecmp => spread(flow_hash(packet, salt), count),
        };
        let usable = (0..count).map(|step| nth((first + step) % count)).find(|port| self.works(*port, at));
        Target::Port(usable.unwrap_or_else(|| nth(first)))
    }

    /// Whether the link of a port process is up at `at`.
    pub fn works(&self, process: ProcessId, at: Instant) -> bool {
        let port = LinkRef::Port(self.numbering.port[process]);
        self.scenario.faults.is_empty() || self.schedule(port).is_none_or(|schedule| schedule.at(at).up)
    }

    /// Rate of the link of a port process.
    pub fn port_rate(&self, process: ProcessId) -> BitsPerSec {
        self.topology().ports[self.numbering.port[process]].link.rate
    }

    /// Rate of the link by which the switch behind `next` sends `packet` on from `target`. If the switch chooses the port when
    /// the packet arrives, the rate of the fastest one.
    pub fn egress_rate(&self, next: &Next, packet: &Packet<W>, target: Target) -> BitsPerSec {
        let Target::Port(port) = target else { unreachable!("a packet to a host does not cut through") };
        let mut fastest = self.port_rate(port);
        if self.chooses_on_arrival() {
            self.alternatives(next, packet, &mut |other| fastest = fastest.max(self.port_rate(other)));
        }
        fastest
    }

    /// The ports by which the switch that `link` leads to sends copies of `packet`, which arrives there at
    /// `at`.
    pub fn copies(
        &self,
        link: LinkRef,
        packet: &Packet<W>,
        at: Instant,
    ) -> impl Iterator<Item = ProcessId> + '_ {
        let (to, node) = ((packet.to(), packet.label()), self.topology().link_ends(link).1);
        let ports = self.groups.iter().flat_map(move |groups| groups.branches(&self.scenario, to, node, at));
        ports.map(|port| self.numbering.of_port[port])
    }

    /// Hop count between two hosts.
    pub fn hops(&self, from: HostAddr, to: HostAddr) -> u64 {
        let topology = self.topology();
        match (topology.host(from), topology.host(to)) {
            (Some(from), Some(to)) => topology.route(from, to, 0).len() as u64 + 1,
            _ => 0,
        }
    }
}

/// Lookahead in picoseconds, the least time of any packet between two processes: delay and serialisation of the
/// shortest packet.
fn lookahead(scenario: &Scenario, shortest: u32) -> Picos {
    let size = pullnet_units::Bytes(shortest.into());
    let topology = &scenario.topology;
    let links = topology.links().map(|link| topology.link(link));
    links.map(|link| link.delay.saturating_add(link.rate.serialization(size))).min().unwrap_or(Picos(1))
}

/// Salts of the order of simultaneous arrivals, by node. They depend on the number among switches only, so that they
/// are the same in topologies where hosts are not nodes.
fn salts(scenario: &Scenario) -> Vec<u16> {
    let mut switches = 0..;
    let salt = |node: NodeId| match scenario.topology.nodes[node].kind {
        NodeKind::Switch => order::salt(scenario.seed, switches.next().unwrap_or(0)),
        NodeKind::Host(_) => 0,
    };
    scenario.topology.nodes.ids().map(salt).collect()
}

/// Hash of source, destination and label: the label stands for the ports of a flow.
fn flow_hash<W: Words>(packet: &Packet<W>, salt: u32) -> u64 {
    let ends = u64::from(packet.from().0) << 32 | u64::from(packet.to().0);
    let mixed = (ends ^ u64::from(salt) << 24 ^ u64::from(packet.label().get()) << 48)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Maps a hash to `0..count`.
fn spread(hash: u64, count: u32) -> u32 {
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}
