//! The same network, simulated as simply as possible: no windows, no threads, no deferred visits. One event at a time,
//! in order of time over all nodes. The engine and this simulator share transports, disciplines, routes and random
//! streams, and nothing else.

mod endpoint;
mod forwarding;
mod host;
mod parcel;
mod port;
mod surroundings;
mod traffic;

use std::collections::{BTreeMap, VecDeque};

use pullnet_protocols::with_protocol;
use pullnet_qdisc::{Discipline, order};
use pullnet_rng::{Seed, SmallRandomStream};
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_topology::{HostPeer, Link, Peer, Topology};
use pullnet_units::{Bytes, HostId, Id, Instant, NodeId, Picos, PortId};

use endpoint::endpoints;
use forwarding::Group;
use host::Host;
pub use parcel::Parcel;
use port::{Paused, Port};
use surroundings::{AtHop, at_hop_of};
use traffic::Traffic;

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ended {
    pub start: Instant,
    pub received: Option<Instant>,
    pub acknowledged: Option<Instant>,
    pub failed: bool,
    /// Payload bytes.
    pub delivered: u64,
    pub sent: u64,
    /// Packets lost on links or dropped by switches.
    pub lost: u64,
}

/// Counters of a port or a NIC: packets and bytes sent, packets lost on the link, pause frames sent, marks, trims, returns,
/// drops.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub pauses: u64,
    pub marked: u64,
    pub trimmed: u64,
    pub returned: u64,
    pub dropped: u64,
}

/// Arrivals in order: time, place among simultaneous arrivals, order of departure.
type Inbox = BTreeMap<(u64, u16, u64), Parcel>;

/// A place where something can happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Process {
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
    /// Random numbers of switches that choose a port when a packet arrives, by node.
    choices: Vec<SmallRandomStream>,
    /// See [`forwarding::places_of_ports`].
    places: Vec<u32>,
    groups: Vec<Group>,
    traffic: Traffic,
    pub flows: Vec<Ended>,
    /// The first flow of the session of each.
    pub sessions: Vec<usize>,
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
        let pause = Q::SIGNALS.then_some(64);
        let shortest = headers.chain(Q::trimmed_size(&rules)).chain(pause).min().unwrap();
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
            latest: 0,
            ready_at: None,
            flows: BTreeMap::new(),
            paused: Paused::default(),
            held_back: None,
            chance: seed.small_stream("host.nic", id.get().into()),
            counts: Counts::default(),
        };
        let recirculation = Q::return_latency(&rules).map_or(lookahead, |latency| latency.0);
        // The engine's windows, after which patterns hear of flows: a power of two.
        let reaction = Picos(1 << lookahead.min(recirculation).ilog2());
        let (ports, hosts) =
            (topology.ports.ids().map(port).collect(), topology.hosts.ids().map(host).collect());
        let shared = topology.nodes.ids().map(|node| shared_by::<Q>(&rules, topology, node)).collect();
        let hop = |carried: &CarriedBy| with_protocol!(&carried.config, |_config: P| at_hop_of::<P>());
        let at_hop = scenario.transports.iter().map(hop).collect();
        let choice = |node: NodeId| seed.small_stream("switch.choice", node.get().into());
        Self {
            scenario,
            rules,
            shared,
            hosts,
            ports,
            recirculation,
            departures: 0,
            at_hop,
            choices: topology.nodes.ids().map(choice).collect(),
            places: forwarding::places_of_ports(topology),
            groups: Vec::new(),
            traffic: Traffic::new(scenario, reaction),
            flows: Vec::new(),
            sessions: Vec::new(),
        }
    }

    fn topology(&self) -> &'a Topology {
        &self.scenario.topology
    }

    /// Lets everything happen before `end`.
    pub fn run(&mut self, end: Instant) {
        loop {
            let hosts = (0..self.hosts.len()).map(|host| (self.host_turn(host).0, Process::Host(host)));
            let ports = (0..self.ports.len()).map(|port| (self.port_next(port), Process::Port(port)));
            let (at, place) = hosts.chain(ports).min().expect("a host at least");
            if self.next_interval(Instant(at), end) {
                continue;
            }
            match place {
                _ if at >= end.0 => return self.abandon_flows(),
                Process::Host(host) => self.host_step(host),
                Process::Port(port) => self.port_step(port),
            }
        }
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
        let salt = order::salt(self.scenario.seed, self.number_of(node));
        let key = (at, order::place(at, salt, ingress), self.departures);
        self.ports[port.index()].inbox.insert(key, parcel);
    }

    /// Counters of NICs and ports.
    pub fn counts(&self) -> (Vec<Counts>, Vec<Counts>) {
        let nics = self.hosts.iter().map(|host| host.counts).collect();
        (nics, self.ports.iter().map(|port| port.counts).collect())
    }
}
