//! The same network, simulated as simply as possible: no windows, no threads, no deferred visits. One event at a time,
//! in order of time over all nodes. The engine and this simulator share transports, disciplines, routes and random
//! streams, and nothing else. Sound links, path forwarding and open-loop traffic only.

mod endpoint;
mod host;
mod parcel;
mod port;
mod surroundings;

use std::collections::{BTreeMap, VecDeque};

use pullnet_protocols::with_protocol;
use pullnet_qdisc::{Discipline, order};
use pullnet_rng::Seed;
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_topology::{HostPeer, Link, NodeKind, Peer, Topology};
use pullnet_units::{Bytes, HostId, Id, Instant, NodeId, Picos, PortId};

use endpoint::endpoints;
use host::Host;
pub use parcel::Parcel;
use port::{Paused, Port};
use surroundings::{AtHop, at_hop_of};

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ended {
    pub received: Option<Instant>,
    pub acknowledged: Option<Instant>,
    pub sent: u64,
}

/// Counters of a port: packets and bytes sent, marks, trims, returns, drops.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub packets: u64,
    pub bytes: u64,
    pub marked: u64,
    pub trimmed: u64,
    pub returned: u64,
    pub dropped: u64,
}

/// Arrivals in order: time, place among simultaneous arrivals, order of departure.
type Inbox = BTreeMap<(u64, u16, u64), Parcel>;

/// A place where something can happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(usize),
    Port(usize),
}

pub struct Reference<'a, Q: Discipline<Parcel>> {
    scenario: &'a Scenario,
    rules: Q::Rules,
    shared: Vec<Q::Shared>,
    hosts: Vec<Host>,
    ports: Vec<Port<Q>>,
    /// How long a returned header takes through the switch.
    recirculation: u64,
    departures: u64,
    at_hop: Vec<AtHop>,
    pub flows: Vec<Ended>,
}

/// What the ports of switch `node` share. Links into it have the rates of the links out of it, cable by cable.
fn shared_by<Q: Discipline<Parcel>>(rules: &Q::Rules, topology: &Topology, node: NodeId) -> Q::Shared {
    let own = topology.nodes[node].ports.clone();
    let mut rates = vec![None; own.len()];
    for port in own.map(PortId::new) {
        let ingress = match topology.ports[port].peer {
            Peer::Switch(_) => topology.ports[topology.ports[port].reverse.unwrap()].ingress,
            Peer::Host(host) => match topology.hosts[host].peer {
                HostPeer::Switch { ingress, .. } => ingress,
                HostPeer::Host(_) => unreachable!("a host behind a port has a switch"),
            },
        };
        rates[usize::from(ingress)] = Some(topology.ports[port].link.rate);
    }
    let rates: Vec<_> = rates.into_iter().map(|rate| rate.expect("every link comes from a cable")).collect();
    let mut shared = Q::shared(rules, rates.len());
    Q::links(rules, &mut shared, &rates);
    shared
}

impl<'a, Q: Discipline<Parcel>> Reference<'a, Q> {
    pub fn new(scenario: &'a Scenario, switch: &Q::Config) -> Self {
        let (rules, topology, seed) = (Q::rules(switch), &scenario.topology, Seed(scenario.seed));
        let headers = scenario.transports.iter().map(|carried| carried.config.framing().header);
        let shortest = headers.chain(Q::trimmed_size(&rules)).min().unwrap();
        let least = |link: Link| link.delay.0 + link.rate.serialization(Bytes(shortest.into())).0;
        let lookahead = topology.links().map(|link| least(topology.link(link))).min().unwrap();
        let port = |id: PortId| Port {
            inbox: Inbox::new(),
            queue: Q::new(&rules),
            serving: None,
            chance: seed.small_stream("switch.port", id.get().into()),
            counts: Counts::default(),
            paused: Paused::default(),
            told: None,
            repeat: None,
            pending: None,
            signalling: false,
        };
        let host = |id: HostId| Host {
            inbox: Inbox::new(),
            starts: VecDeque::new(),
            endpoints: endpoints(scenario, id),
            turn: 0,
            free_at: 0,
            ready_at: None,
            flows: BTreeMap::new(),
            paused: Paused::default(),
            held_back: None,
        };
        let recirculation = Q::return_latency(&rules).map_or(lookahead, |latency| latency.0);
        let (ports, mut hosts): (_, Vec<_>) =
            (topology.ports.ids().map(port).collect(), topology.hosts.ids().map(host).collect());
        let shared = topology.nodes.ids().map(|node| shared_by::<Q>(&rules, topology, node)).collect();
        let hop = |carried: &CarriedBy| with_protocol!(&carried.config, |_config: P| at_hop_of::<P>());
        let at_hop = scenario.transports.iter().map(hop).collect();
        let mut starts = Vec::new();
        scenario.workload.start(Picos(1)).starts_before(Instant(u64::MAX), &mut starts);
        let flows = vec![Ended::default(); starts.len()];
        starts.into_iter().for_each(|start| hosts[start.src.index()].starts.push_back(start));
        Self { scenario, rules, shared, hosts, ports, recirculation, departures: 0, at_hop, flows }
    }

    fn topology(&self) -> &'a Topology {
        &self.scenario.topology
    }

    /// Lets everything happen before `end`.
    pub fn run(&mut self, end: Instant) {
        loop {
            let hosts = (0..self.hosts.len()).map(|host| (self.host_turn(host).0, Place::Host(host)));
            let ports = (0..self.ports.len()).map(|port| (self.port_next(port), Place::Port(port)));
            match hosts.chain(ports).min() {
                Some((at, _)) if at >= end.0 => return,
                Some((_, Place::Host(host))) => self.host_step(host),
                Some((_, Place::Port(port))) => self.port_step(port),
                None => return,
            }
        }
    }

    /// The port of switch `node` on the way of `parcel`.
    fn port_at(&self, node: u32, parcel: &Parcel) -> PortId {
        let topology = self.topology();
        let route = topology.route(parcel.from, parcel.to, parcel.path);
        route
            .into_iter()
            .find(|port| topology.ports[*port].node.get() == node)
            .expect("the switch is on the way")
    }

    /// When a packet that is on `link` during `span` arrives at a switch for its `port`: with its last bit, or with its header
    /// where it cuts through.
    fn at_switch(&self, link: Link, span: (u64, u64), port: PortId, parcel: &Parcel) -> u64 {
        let (from, to) = (link.rate, self.topology().ports[port].link.rate);
        let headers = self.scenario.transports.iter().map(|carried| carried.config.framing().header);
        let header = headers.min().unwrap().min(parcel.wire);
        let through = self.topology().cut_through.is_some_and(|cut| cut.to_faster || from >= to);
        let bits = if through { span.0 + from.serialization(Bytes(header.into())).0 } else { span.1 };
        bits + link.delay.0
    }

    /// One link leads to a host, so that nothing arrives at the same time.
    fn arrive_at_host(&mut self, host: HostId, at: u64, parcel: Parcel) {
        self.departures += 1;
        self.hosts[host.index()].inbox.insert((at, 0, self.departures), parcel);
    }

    fn arrive_at_port(&mut self, port: PortId, at: u64, ingress: u16, parcel: Parcel) {
        let node = self.topology().ports[port].node;
        self.arrive_from(port, at, (node, ingress), Parcel { ingress, ..parcel });
    }

    /// `parcel` arrives for `port` by a link into a switch; simultaneous arrivals at that switch are put in order.
    fn arrive_from(&mut self, port: PortId, at: u64, (node, ingress): (NodeId, u16), parcel: Parcel) {
        self.departures += 1;
        let nodes = &self.topology().nodes;
        let before = nodes.ids().take_while(|other| *other != node);
        let switches = before.filter(|node| nodes[*node].kind == NodeKind::Switch).count();
        let salt = order::salt(self.scenario.seed, switches as u32);
        let key = (at, order::place(at, salt, ingress), self.departures);
        self.ports[port.index()].inbox.insert(key, parcel);
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.ports.iter().map(|port| port.counts).collect()
    }
}
