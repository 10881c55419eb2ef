//! The same network, simulated as simply as can be: no windows, no threads, no laziness. One thing happens at a time,
//! whichever comes first anywhere. It shares transport, disciplines, routes and random streams with the engine, and
//! nothing else. Sound links, path forwarding and open-loop traffic only.

use std::collections::{BTreeMap, VecDeque};

use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_qdisc::{Discipline, Item, Outcome};
use pullnet_rng::{Seed, SmallStream};
use pullnet_scenario::Scenario;
use pullnet_topology::{HostPeer, Link, Peer, Topology};
use pullnet_transport::{Class, ConnId, Event, Fate, FlowSpec, HostInfo, Received, Transport};
use pullnet_units::{Bytes, HostId, Id, Instant, Picos, PortId};
use pullnet_workload::{FlowStart, Workload};

/// A packet: its header, its way and what happened to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parcel {
    from: HostId,
    to: HostId,
    path: u16,
    control: bool,
    fate: Fate,
    /// Length when it was sent, and now.
    sent: u16,
    wire: u32,
    header: NdpHeader,
}

impl Default for Parcel {
    fn default() -> Self {
        let (header, fate) = (NdpHeader::Probe { conn: ConnId(0), seq: 0 }, Fate::Whole);
        let (from, to) = (HostId(0), HostId(0));
        Self { from, to, path: 0, control: true, fate, sent: 0, wire: 0, header }
    }
}

impl Item for Parcel {
    fn is_control(&self) -> bool {
        self.control || self.fate != Fate::Whole
    }
    fn wire(&self) -> u32 {
        self.wire
    }
    fn trim(&mut self, bytes: u32) {
        (self.fate, self.wire) = (Fate::Trimmed, bytes);
    }
    fn returnable(&self) -> bool {
        !self.control && self.fate == Fate::Trimmed
    }
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ended {
    pub received: Option<Instant>,
    pub acknowledged: Option<Instant>,
    pub sent: u64,
}

/// What a port did: packets and bytes sent, trims, returns, drops.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub packets: u64,
    pub bytes: u64,
    pub trimmed: u64,
    pub returned: u64,
    pub dropped: u64,
}

/// Arrivals in order: time, link, order of departure.
type Inbox = BTreeMap<(u64, u32, u64), Parcel>;

struct Port<Q> {
    inbox: Inbox,
    queue: Q,
    serving: Option<u64>,
    chance: SmallStream,
    counts: Counts,
}

struct Host {
    inbox: Inbox,
    starts: VecDeque<FlowStart>,
    endpoint: NdpEndpoint,
    free_at: u64,
    ready_at: Option<u64>,
    /// Flow of each receiving slot.
    flows: BTreeMap<u32, u32>,
}

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
    pub flows: Vec<Ended>,
}

impl<'a, Q: Discipline<Parcel>> Reference<'a, Q> {
    pub fn new(scenario: &'a Scenario, transport: &NdpConfig, switch: &Q::Config) -> Self {
        let (rules, topology, seed) = (Q::rules(switch), &scenario.topology, Seed(scenario.seed));
        let shortest = Q::trimmed_size(&rules).unwrap_or(u32::MAX).min(transport.header.0 as u32);
        let least = |link: Link| link.delay.0 + link.rate.serialization(Bytes(shortest.into())).0;
        let lookahead = topology.links().map(|link| least(topology.link(link))).min().unwrap();
        let port = |id: PortId| Port {
            inbox: Inbox::new(),
            queue: Q::new(&rules),
            serving: None,
            chance: seed.small_stream("switch.port", id.0.into()),
            counts: Counts::default(),
        };
        let host = |id: HostId| Host {
            inbox: Inbox::new(),
            starts: VecDeque::new(),
            endpoint: NdpEndpoint::new(
                transport,
                HostInfo { addr: topology.addr(id), rate: topology.hosts[id].link.rate },
                seed.stream("host.transport", id.0.into()),
            ),
            free_at: 0,
            ready_at: None,
            flows: BTreeMap::new(),
        };
        let (ports, mut hosts): (_, Vec<_>) =
            (topology.ports.ids().map(port).collect(), topology.hosts.ids().map(host).collect());
        let shared = topology.nodes.ids().map(|_| Q::shared(&rules, 0)).collect();
        let network = scenario.network(Picos(1));
        let mut starts = Vec::new();
        Workload::new(&scenario.workload, &network, seed)
            .unwrap()
            .starts_before(Instant(u64::MAX), &mut starts);
        let flows = vec![Ended::default(); starts.len()];
        starts.into_iter().for_each(|start| hosts[start.src.index()].starts.push_back(start));
        Self {
            scenario,
            rules,
            shared,
            hosts,
            ports,
            recirculation: 1 << lookahead.ilog2(),
            departures: 0,
            flows,
        }
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

    /// What comes next at a host, and when: the link, a timer, an arrival, a start.
    fn host_turn(&self, host: usize) -> (u64, u8) {
        let host = &self.hosts[host];
        let link = host.ready_at.map_or(u64::MAX, |ready| ready.max(host.free_at));
        let timer = host.endpoint.poll_timeout().map_or(u64::MAX, |deadline| deadline.at.0);
        let arrival = host.inbox.keys().next().map_or(u64::MAX, |key| key.0);
        let start = host.starts.front().map_or(u64::MAX, |start| start.at.0);
        [(link, 0), (timer, 1), (arrival, 2), (start, 3)].into_iter().min().unwrap()
    }

    fn host_step(&mut self, number: usize) {
        let ((at, turn), topology) = (self.host_turn(number), self.topology());
        let (id, host) = (HostId(number as u32), &mut self.hosts[number]);
        let now = Instant(at);
        match turn {
            0 => return self.transmit(number, at),
            1 => host.endpoint.handle_timeout(now),
            2 => {
                let (_, parcel) = host.inbox.pop_first().unwrap();
                let (from, paths) = (
                    topology.addr(parcel.from),
                    topology.path_count(topology.addr(parcel.from), topology.addr(id)),
                );
                let Parcel { sent, fate, header, .. } = parcel;
                host.endpoint.handle(now, Received { from, paths, wire: sent, fate, header });
            }
            _ => {
                let start = host.starts.pop_front().unwrap();
                let (own, to) = (topology.addr(id), topology.addr(start.dst));
                let FlowStart { flow, size, priority, .. } = start;
                host.endpoint.open(
                    now,
                    FlowSpec { conn: ConnId(flow), to, size, priority, paths: topology.path_count(own, to), ..FlowSpec::default() },
                );
            }
        }
        host.ready_at = Some(host.ready_at.map_or(at, |ready| ready.min(at)));
        self.note_events(number, now);
    }

    fn note_events(&mut self, number: usize, now: Instant) {
        let host = &mut self.hosts[number];
        while let Some(event) = host.endpoint.poll_event() {
            match event {
                Event::Opened { slot, conn, .. } => drop(host.flows.insert(slot, conn.0)),
                Event::Received { slot } => self.flows[host.flows[&slot] as usize].received = Some(now),
                Event::Completed { conn, .. } => self.flows[conn.0 as usize].acknowledged = Some(now),
                _ => {}
            }
        }
    }

    fn transmit(&mut self, number: usize, at: u64) {
        let topology = self.topology();
        let (id, host) = (HostId(number as u32), &mut self.hosts[number]);
        let Some(packet) = host.endpoint.poll_transmit(Instant(at)) else {
            host.ready_at = None;
            return;
        };
        let (to, control) = (topology.host(packet.to).unwrap(), packet.class == Class::Control);
        if !control {
            self.flows[packet.header.conn().0 as usize].sent += 1;
        }
        let parcel = Parcel {
            from: id,
            to,
            path: packet.path,
            control,
            fate: Fate::Whole,
            sent: packet.wire,
            wire: packet.wire.into(),
            header: packet.header,
        };
        let link = topology.hosts[id].link;
        let leaves = at + link.rate.serialization(Bytes(parcel.wire.into())).0;
        self.hosts[number].free_at = leaves;
        match topology.hosts[id].peer {
            HostPeer::Host(other) => self.arrive_at_host(other, leaves + link.delay.0, 0, parcel),
            HostPeer::Switch { switch, ingress, .. } => {
                let port = self.port_at(switch.0, &parcel);
                self.arrive_at_port(port, leaves + link.delay.0, ingress.into(), parcel);
            }
        }
    }

    /// The port of switch `node` on the way of `parcel`.
    fn port_at(&self, node: u32, parcel: &Parcel) -> PortId {
        let topology = self.topology();
        let route = topology.route(parcel.from, parcel.to, parcel.path);
        route.into_iter().find(|port| topology.ports[*port].node.0 == node).expect("the switch is on the way")
    }

    fn arrive_at_host(&mut self, host: HostId, at: u64, link: u32, parcel: Parcel) {
        self.departures += 1;
        self.hosts[host.index()].inbox.insert((at, link, self.departures), parcel);
    }

    fn arrive_at_port(&mut self, port: PortId, at: u64, link: u32, parcel: Parcel) {
        self.departures += 1;
        self.ports[port.index()].inbox.insert((at, link, self.departures), parcel);
    }

    fn port_next(&self, port: usize) -> u64 {
        let port = &self.ports[port];
        let arrival = port.inbox.keys().next().map_or(u64::MAX, |key| key.0);
        port.serving.map_or(arrival, |until| until.min(arrival))
    }

    fn port_step(&mut self, number: usize) {
        let at = self.port_next(number);
        let node = self.topology().ports[PortId(number as u32)].node.index();
        let port = &mut self.ports[number];
        if port.serving == Some(at) {
            port.queue.complete(&self.rules, &mut self.shared[node]);
            port.serving = None;
        } else {
            let (_, parcel) = port.inbox.pop_first().unwrap();
            let chance = &mut port.chance;
            let outcome = port.queue.enqueue(&self.rules, &mut self.shared[node], parcel, || chance.coin());
            self.note(number, at, outcome);
        }
        if self.ports[number].serving.is_none() {
            self.serve(number, at);
        }
    }

    fn note(&mut self, number: usize, at: u64, outcome: Outcome<Parcel>) {
        let counts = &mut self.ports[number].counts;
        match outcome {
            Outcome::Queued => {}
            Outcome::Trimmed(_) => counts.trimmed += 1,
            Outcome::Dropped { trimmed, .. } => {
                counts.trimmed += u64::from(trimmed);
                counts.dropped += 1;
            }
            Outcome::Returned(header) => {
                counts.trimmed += 1;
                counts.returned += 1;
                self.send_back(number, at, header);
            }
        }
    }

    fn send_back(&mut self, number: usize, at: u64, header: Parcel) {
        let own = &self.topology().ports[PortId(number as u32)];
        let first = self.topology().nodes[own.node].ports.start;
        let back = Parcel { from: header.to, to: header.from, fate: Fate::Returned, ..header };
        let port = self.port_at(own.node.0, &back);
        // Behind everything that comes by a link at that time.
        self.arrive_at_port(port, at + self.recirculation, 1 << 15 | (number as u32 - first), back);
    }

    fn serve(&mut self, number: usize, at: u64) {
        let own = &self.topology().ports[PortId(number as u32)];
        let port = &mut self.ports[number];
        let Some(parcel) = port.queue.dequeue(&self.rules, &mut self.shared[own.node.index()]) else {
            return;
        };
        let leaves = at + own.link.rate.serialization(Bytes(parcel.wire.into())).0;
        port.serving = Some(leaves);
        port.counts.packets += 1;
        port.counts.bytes += u64::from(parcel.wire);
        let arrival = leaves + own.link.delay.0;
        match own.peer {
            Peer::Host(host) => self.arrive_at_host(host, arrival, own.ingress.into(), parcel),
            Peer::Switch(node) => {
                let next = self.port_at(node.0, &parcel);
                self.arrive_at_port(next, arrival, own.ingress.into(), parcel);
            }
        }
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.ports.iter().map(|port| port.counts).collect()
    }
}
