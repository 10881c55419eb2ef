//! The same network, simulated as simply as can be: no windows, no threads, no laziness. One thing happens at a time,
//! whichever comes first anywhere. It shares transport, disciplines, routes and random streams with the engine, and
//! nothing else. Sound links, path forwarding and open-loop traffic only.

use std::collections::{BTreeMap, VecDeque};

use pullnet_qdisc::{Context, Discipline, Item, Outcome, Rank, Signal, order};
use pullnet_rng::{Seed, SmallStream};
use pullnet_scenario::Scenario;
use pullnet_topology::{HostPeer, Link, NodeKind, Peer, Topology};
use pullnet_transport::{
    Class, ConnId, Event, Fate, FlowSpec, Header, HostInfo, Protocol, Received, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, HostId, Id, Instant, Picos, PortId};
use pullnet_workload::{FlowStart, Workload};

/// A packet: its header, its way and what happened to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parcel<H> {
    from: HostId,
    to: HostId,
    path: u16,
    control: bool,
    priority: u8,
    ect: bool,
    ce: bool,
    fate: Fate,
    /// Length when it was sent, and now.
    sent: u16,
    wire: u32,
    ingress: u16,
    header: Option<H>,
}

impl<H> Default for Parcel<H> {
    fn default() -> Self {
        Self {
            from: HostId(0),
            to: HostId(0),
            path: 0,
            control: true,
            priority: 0,
            ect: false,
            ce: false,
            fate: Fate::Whole,
            sent: 0,
            wire: 0,
            ingress: 0,
            header: None,
        }
    }
}

impl<H: Header> Item for Parcel<H> {
    fn is_control(&self) -> bool {
        self.control || self.fate != Fate::Whole
    }
    fn wire(&self, _: u32) -> u32 {
        self.wire
    }
    fn trim(&mut self, bytes: u32) {
        (self.fate, self.wire) = (Fate::Trimmed, bytes.min(self.wire));
    }
    fn returnable(&self) -> bool {
        !self.control && self.fate == Fate::Trimmed
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn ect(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        self.ce = true;
    }
    fn ingress(&self) -> u16 {
        self.ingress
    }
}

/// Surroundings of a queue: the port's chance, and what the queue reports.
struct Surroundings<'a, H> {
    now: u64,
    rate: BitsPerSec,
    chance: &'a mut SmallStream,
    outcomes: Vec<Outcome<Parcel<H>>>,
}

impl<H: Header> Context<Parcel<H>> for Surroundings<'_, H> {
    fn rank(&self, parcel: &Parcel<H>) -> Rank {
        let Some(view) = parcel.header.and_then(Header::hop_view) else { return Rank::default() };
        let flow = u64::from(view.conn.0) << 32 | u64::from(parcel.from.0) << 1 | u64::from(parcel.control);
        Rank { flow, rank: view.rank }
    }
    fn now(&self) -> Instant {
        Instant(self.now)
    }
    fn rate(&self) -> BitsPerSec {
        self.rate
    }
    fn coin(&mut self) -> bool {
        self.chance.coin()
    }
    fn unit(&mut self) -> f64 {
        self.chance.unit()
    }
    fn outcome(&mut self, outcome: Outcome<Parcel<H>>) {
        self.outcomes.push(outcome);
    }
    fn wake(&mut self, at: Instant) {
        panic!("no discipline lets the link idle: {at:?}");
    }
    fn signal(&mut self, _: u16, signal: Signal) {
        panic!("no discipline sends {signal:?}");
    }
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ended {
    pub received: Option<Instant>,
    pub acknowledged: Option<Instant>,
    pub sent: u64,
}

/// What a port did: packets and bytes sent, marks, trims, returns, drops.
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
type Inbox<H> = BTreeMap<(u64, u16, u64), Parcel<H>>;

type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;

struct Port<H, Q> {
    inbox: Inbox<H>,
    queue: Q,
    serving: Option<u64>,
    chance: SmallStream,
    counts: Counts,
}

struct Host<T: Transport> {
    inbox: Inbox<T::Header>,
    starts: VecDeque<FlowStart>,
    endpoint: T,
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

pub struct Reference<'a, P: Protocol, Q: Discipline<Parcel<HeaderOf<P>>>> {
    scenario: &'a Scenario,
    rules: Q::Rules,
    shared: Vec<Q::Shared>,
    hosts: Vec<Host<P::Endpoint>>,
    ports: Vec<Port<HeaderOf<P>, Q>>,
    /// How long a returned header takes through the switch.
    recirculation: u64,
    departures: u64,
    pub flows: Vec<Ended>,
}

impl<'a, P: Protocol, Q: Discipline<Parcel<HeaderOf<P>>>> Reference<'a, P, Q> {
    pub fn new(scenario: &'a Scenario, transport: &P::Config, switch: &Q::Config) -> Self {
        let (rules, topology, seed) = (Q::rules(switch), &scenario.topology, Seed(scenario.seed));
        let shortest = Q::trimmed_size(&rules).unwrap_or(u32::MAX).min(P::framing(transport).header);
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
            endpoint: P::endpoint(
                transport,
                HostInfo { addr: topology.addr(id), rate: topology.hosts[id].link.rate },
                seed.stream("host.transport", id.0.into()),
            ),
            free_at: 0,
            ready_at: None,
            flows: BTreeMap::new(),
        };
        let recirculation = Q::return_latency(&rules).map_or(lookahead, |latency| latency.0);
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
        Self { scenario, rules, shared, hosts, ports, recirculation, departures: 0, flows }
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
                let Parcel { sent, fate, ce, header, .. } = parcel;
                let header = header.expect("a packet that was sent has a header");
                host.endpoint.handle(now, Received { from, paths, wire: sent, fate, ce, header });
            }
            _ => {
                let start = host.starts.pop_front().unwrap();
                let (own, to) = (topology.addr(id), topology.addr(start.dst));
                let FlowStart { flow, size, priority, .. } = start;
                host.endpoint.open(
                    now,
                    FlowSpec {
                        conn: ConnId(flow),
                        to,
                        size,
                        priority,
                        paths: topology.path_count(own, to),
                        ..FlowSpec::default()
                    },
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
        if let (false, Some((conn, _))) = (control, packet.header.concerns()) {
            self.flows[conn.0 as usize].sent += 1;
        }
        let parcel = Parcel {
            from: id,
            to,
            path: packet.path,
            control,
            priority: packet.priority,
            ect: packet.ect,
            ce: false,
            fate: Fate::Whole,
            sent: packet.wire,
            wire: packet.wire.into(),
            ingress: 0,
            header: Some(packet.header),
        };
        let link = topology.hosts[id].link;
        let leaves = at + link.rate.serialization(Bytes(parcel.wire.into())).0;
        self.hosts[number].free_at = leaves;
        match topology.hosts[id].peer {
            HostPeer::Host(other) => self.arrive_at_host(other, leaves + link.delay.0, parcel),
            HostPeer::Switch { switch, ingress, .. } => {
                let port = self.port_at(switch.0, &parcel);
                self.arrive_at_port(port, leaves + link.delay.0, ingress, parcel);
            }
        }
    }

    /// The port of switch `node` on the way of `parcel`.
    fn port_at(&self, node: u32, parcel: &Parcel<HeaderOf<P>>) -> PortId {
        let topology = self.topology();
        let route = topology.route(parcel.from, parcel.to, parcel.path);
        route.into_iter().find(|port| topology.ports[*port].node.0 == node).expect("the switch is on the way")
    }

    /// One link leads to a host, so that nothing arrives at the same time.
    fn arrive_at_host(&mut self, host: HostId, at: u64, parcel: Parcel<HeaderOf<P>>) {
        self.departures += 1;
        self.hosts[host.index()].inbox.insert((at, 0, self.departures), parcel);
    }

    fn arrive_at_port(&mut self, port: PortId, at: u64, ingress: u16, parcel: Parcel<HeaderOf<P>>) {
        self.departures += 1;
        let nodes = &self.topology().nodes;
        let before = nodes.ids().take_while(|node| *node != self.topology().ports[port].node);
        let switches = before.filter(|node| nodes[*node].kind == NodeKind::Switch).count();
        let salt = order::salt(self.scenario.seed, switches as u32);
        let key = (at, order::place(at, salt, ingress), self.departures);
        self.ports[port.index()].inbox.insert(key, Parcel { ingress, ..parcel });
    }

    fn port_next(&self, port: usize) -> u64 {
        let port = &self.ports[port];
        let arrival = port.inbox.keys().next().map_or(u64::MAX, |key| key.0);
        port.serving.map_or(arrival, |until| until.min(arrival))
    }

    fn port_step(&mut self, number: usize) {
        let at = self.port_next(number);
        if self.ports[number].serving == Some(at) {
            self.ports[number].serving = None;
            self.act(number, at, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
        } else {
            let (_, parcel) = self.ports[number].inbox.pop_first().unwrap();
            self.act(number, at, |queue, rules, shared, cx| queue.enqueue(rules, shared, parcel, cx));
        }
        if self.ports[number].serving.is_none() {
            self.serve(number, at);
        }
    }

    /// Lets the queue of a port do something, and notes what came of it.
    fn act<R>(
        &mut self,
        number: usize,
        now: u64,
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Surroundings<'_, HeaderOf<P>>) -> R,
    ) -> R {
        let own = &self.scenario.topology.ports[PortId(number as u32)];
        let port = &mut self.ports[number];
        let (chance, outcomes) = (&mut port.chance, Vec::new());
        let mut cx = Surroundings { now, rate: own.link.rate, chance, outcomes };
        let result = act(&mut port.queue, &self.rules, &mut self.shared[own.node.index()], &mut cx);
        for outcome in cx.outcomes {
            self.note(number, now, outcome);
        }
        result
    }

    fn note(&mut self, number: usize, at: u64, outcome: Outcome<Parcel<HeaderOf<P>>>) {
        let counts = &mut self.ports[number].counts;
        match outcome {
            Outcome::Marked(_) => counts.marked += 1,
            Outcome::Trimmed(_) => counts.trimmed += 1,
            Outcome::Dropped { trimmed, .. } => {
                counts.trimmed += u64::from(trimmed);
                counts.dropped += 1;
            }
            Outcome::Returned { header, trimmed } => {
                counts.trimmed += u64::from(trimmed);
                counts.returned += 1;
                self.send_back(number, at, header);
            }
        }
    }

    fn send_back(&mut self, number: usize, at: u64, header: Parcel<HeaderOf<P>>) {
        let own = &self.topology().ports[PortId(number as u32)];
        let first = self.topology().nodes[own.node].ports.start;
        let back = Parcel { from: header.to, to: header.from, fate: Fate::Returned, ..header };
        let port = self.port_at(own.node.0, &back);
        self.arrive_at_port(port, at + self.recirculation, 1 << 15 | (number as u32 - first) as u16, back);
    }

    fn serve(&mut self, number: usize, at: u64) {
        let own = &self.topology().ports[PortId(number as u32)];
        let parcel = self.act(number, at, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx));
        let (Some(parcel), port) = (parcel, &mut self.ports[number]) else { return };
        let leaves = at + own.link.rate.serialization(Bytes(parcel.wire.into())).0;
        port.serving = Some(leaves);
        port.counts.packets += 1;
        port.counts.bytes += u64::from(parcel.wire);
        let arrival = leaves + own.link.delay.0;
        match own.peer {
            Peer::Host(host) => self.arrive_at_host(host, arrival, parcel),
            Peer::Switch(node) => {
                let next = self.port_at(node.0, &parcel);
                self.arrive_at_port(next, arrival, own.ingress, parcel);
            }
        }
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.ports.iter().map(|port| port.counts).collect()
    }
}
