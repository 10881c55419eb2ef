//! The same network, simulated as simply as possible: no windows, no threads, no deferred visits. One event at a time,
//! in order of time over all nodes. The engine and this simulator share transports, disciplines, routes and random
//! streams, and nothing else. Sound links, path forwarding and open-loop traffic only.

use std::collections::{BTreeMap, VecDeque};

use pullnet_protocols::with_protocol;
use pullnet_qdisc::{Context, Discipline, Item, Outcome, Rank, Signal, order};
use pullnet_rng::{Seed, SmallStream};
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_topology::{HostPeer, Link, NodeKind, Peer, Topology};
use pullnet_transport::{
    Class, ConnId, Event, Fate, FlowSpec, Header, Hop, HopView, HostInfo, Large, Protocol, Received,
    Transmit, Transport, Words,
};
use pullnet_units::{BitsPerSec, Bytes, HostId, Id, Instant, NodeId, Picos, PortId};
use pullnet_workload::FlowStart;

/// A header of any transport.
type Packed = pullnet_transport::Packed<Large>;

/// A packet: its header, its way and what happened to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parcel {
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
    /// Number of the transport that it belongs to.
    transport: usize,
    header: Packed,
    /// Set for a pause frame, which has no header.
    signal: Option<Signal>,
    /// Header fields for switches that order packets by flow.
    rank: Rank,
}

impl Default for Parcel {
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
            transport: 0,
            header: Packed::default(),
            signal: None,
            rank: Rank::default(),
        }
    }
}

impl Item for Parcel {
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

/// What headers of a transport become at a port that writes into them.
type AtHop = fn(Packed, &mut dyn Hop) -> Option<Packed>;

fn at_hop_of<P: Protocol>() -> AtHop {
    fn at_hop<H: Header>(header: Packed, hop: &mut dyn Hop) -> Option<Packed> {
        header_of::<H>(header).at_hop(hop).map(packed)
    }
    at_hop::<<P::Endpoint as Transport>::Header>
}

/// Surroundings of a queue: the port's chance, and what the queue reports.
struct Surroundings<'a> {
    now: u64,
    rate: BitsPerSec,
    chance: &'a mut SmallStream,
    outcomes: Vec<Outcome<Parcel>>,
    paused: u8,
    /// Pauses signalled by the queue, by the link into the switch.
    signals: Vec<(u16, Signal)>,
    /// By number of the transport.
    at_hop: &'a [AtHop],
}

impl Context<Parcel> for Surroundings<'_> {
    fn rank(&self, parcel: &Parcel) -> Rank {
        parcel.rank
    }
    fn show(&mut self, parcel: &mut Parcel, hop: &mut dyn Hop) {
        parcel.header = self.at_hop[parcel.transport](parcel.header, hop).unwrap_or(parcel.header);
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
    fn outcome(&mut self, outcome: Outcome<Parcel>) {
        self.outcomes.push(outcome);
    }
    fn wake(&mut self, at: Instant) {
        panic!("no discipline lets the link idle: {at:?}");
    }
    fn paused(&self) -> u8 {
        self.paused
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        self.signals.push((ingress, signal));
    }
}

/// Paused priorities at the sending end of a link, and the end of the pause.
#[derive(Clone, Copy, Default)]
struct Paused {
    priorities: u8,
    until: Option<u64>,
}

impl Paused {
    /// A pause frame arrives. Its quanta are times of 512 bits.
    fn obey(&mut self, signal: Signal, now: u64, rate: BitsPerSec) {
        let timed = signal.paused != 0 && signal.quanta != 0;
        self.priorities = signal.paused;
        self.until = timed.then(|| now + rate.serialization(Bytes(64 * u64::from(signal.quanta))).0);
    }

    fn expire(&mut self, now: u64) {
        if self.until.is_some_and(|until| until <= now) {
            *self = Self::default();
        }
    }
}

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

/// The endpoint of one transport of any protocol.
trait Endpoint {
    fn open(&mut self, now: Instant, flow: FlowSpec);
    fn handle(&mut self, now: Instant, packet: Received<Packed>);
    fn handle_timeout(&mut self, now: Instant);
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed>>;
    fn poll_event(&mut self) -> Option<Event>;
    fn next_timeout(&self) -> u64;
    /// The flow that a header belongs to.
    fn flow_of(&self, header: Packed) -> Option<u32>;
    /// Header fields that switches may read.
    fn view_of(&self, header: Packed) -> Option<HopView>;
}

struct Any<T>(T);

fn header_of<H: Header>(packed: Packed) -> H {
    let mut words = H::Words::default();
    let count = H::Words::COUNT;
    words.get_mut().copy_from_slice(&packed.words[..count]);
    H::unpack(pullnet_transport::Packed { kind: packed.kind, words })
}

fn packed<H: Header>(header: H) -> Packed {
    let (own, mut words) = (header.pack(), Large::default());
    words[..H::Words::COUNT].copy_from_slice(own.words.get());
    Packed { kind: own.kind, words }
}

impl<T: Transport> Endpoint for Any<T> {
    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.0.open(now, flow);
    }
    fn handle(&mut self, now: Instant, packet: Received<Packed>) {
        self.0.handle(now, packet.map(header_of::<T::Header>));
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed>> {
        self.0.poll_transmit(now).map(|packet| packet.map(packed))
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }
    fn next_timeout(&self) -> u64 {
        self.0.poll_timeout().map_or(u64::MAX, |deadline| deadline.at.0)
    }
    fn flow_of(&self, header: Packed) -> Option<u32> {
        header_of::<T::Header>(header).concerns().map(|(conn, _)| conn.0)
    }
    fn view_of(&self, header: Packed) -> Option<HopView> {
        header_of::<T::Header>(header).hop_view()
    }
}

/// Arrivals in order: time, place among simultaneous arrivals, order of departure.
type Inbox = BTreeMap<(u64, u16, u64), Parcel>;

struct Port<Q> {
    inbox: Inbox,
    queue: Q,
    serving: Option<u64>,
    chance: SmallStream,
    counts: Counts,
    paused: Paused,
    /// Latest signal for the other end; when it is repeated; since when it waits to be sent.
    told: Option<Signal>,
    repeat: Option<u64>,
    pending: Option<u64>,
    /// Whether the packet in service is a pause frame.
    signalling: bool,
}

impl<Q> Port<Q> {
    /// When the port has something to do by itself while nothing is in service or arrives.
    fn wakes(&self) -> Option<u64> {
        let pending = self.pending.filter(|_| self.serving.is_none());
        let repeat = self.repeat.filter(|_| self.pending.is_none());
        [self.paused.until, repeat, pending].into_iter().flatten().min()
    }

    fn wake(&mut self, now: u64, rate: BitsPerSec) {
        self.paused.expire(now);
        if let (Some(signal), true) = (self.told, self.repeat.is_some_and(|at| at <= now)) {
            self.tell(signal, now, rate);
        }
    }

    /// Queues a signal that is sent as soon as the link is free. A pause is repeated after half its quanta.
    fn tell(&mut self, signal: Signal, now: u64, rate: BitsPerSec) {
        let timed = signal.paused != 0 && signal.quanta != 0;
        let lasts = rate.serialization(Bytes(64 * u64::from(signal.quanta))).0;
        (self.told, self.pending, self.repeat) = (Some(signal), Some(now), timed.then(|| now + lasts / 2));
    }
}

struct Host {
    inbox: Inbox,
    starts: VecDeque<FlowStart>,
    /// By number of the transport.
    endpoints: Vec<Box<dyn Endpoint>>,
    /// The transport that may use the link next.
    turn: usize,
    free_at: u64,
    ready_at: Option<u64>,
    /// Flow of each receiving slot of each transport.
    flows: BTreeMap<(usize, u32), u32>,
    paused: Paused,
    /// A packet of a paused priority.
    held_back: Option<Parcel>,
}

/// The transports of host `id`.
fn endpoints(scenario: &Scenario, id: HostId) -> Vec<Box<dyn Endpoint>> {
    let topology = &scenario.topology;
    let info = HostInfo { addr: topology.addr(id), rate: topology.hosts[id].link.rate };
    let endpoint = |(number, carried): (usize, &CarriedBy)| -> Box<dyn Endpoint> {
        let name = if number == 0 { "host.transport".into() } else { format!("host.transport {number}") };
        let chance = Seed(scenario.seed).stream(&name, id.0.into());
        with_protocol!(&carried.config, |config: P| Box::new(Any(P::endpoint(config, info, chance))))
    };
    scenario.transports.iter().enumerate().map(endpoint).collect()
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
    at_hop: Vec<AtHop>,
    pub flows: Vec<Ended>,
}

/// What the ports of switch `node` share. Links into it have the rates of the links out of it, cable by cable.
fn shared_by<Q: Discipline<Parcel>>(rules: &Q::Rules, topology: &Topology, node: NodeId) -> Q::Shared {
    let own = topology.nodes[node].ports.clone();
    let mut rates = vec![None; own.len()];
    for port in own.map(PortId) {
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
            chance: seed.small_stream("switch.port", id.0.into()),
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

    /// Time and kind of the next event at a host: the link, a timer, an arrival, a start.
    fn host_turn(&self, host: usize) -> (u64, u8) {
        let host = &self.hosts[host];
        let link = host.ready_at.map_or(u64::MAX, |ready| ready.max(host.free_at));
        let timer = host.endpoints.iter().map(|endpoint| endpoint.next_timeout()).min().unwrap();
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
            1 => {
                let due = host.endpoints.iter_mut().filter(|endpoint| endpoint.next_timeout() <= at);
                due.for_each(|endpoint| endpoint.handle_timeout(now));
            }
            2 => {
                let (_, parcel) = host.inbox.pop_first().unwrap();
                if let Some(signal) = parcel.signal {
                    host.paused.obey(signal, at, topology.hosts[id].link.rate);
                    host.ready_at = Some(at);
                    return;
                }
                let (from, paths) = (
                    topology.addr(parcel.from),
                    topology.path_count(topology.addr(parcel.from), topology.addr(id)),
                );
                let Parcel { sent, fate, ce, header, transport, .. } = parcel;
                host.endpoints[transport].handle(now, Received { from, paths, wire: sent, fate, ce, header });
            }
            _ => {
                let start = host.starts.pop_front().unwrap();
                let (own, to) = (topology.addr(id), topology.addr(start.dst));
                let FlowStart { flow, size, priority, transport, deadline, tenant, .. } = start;
                host.endpoints[usize::from(transport)].open(
                    now,
                    FlowSpec {
                        conn: ConnId(flow),
                        to,
                        size,
                        priority,
                        paths: topology.path_count(own, to),
                        deadline,
                        tenant,
                    },
                );
            }
        }
        host.ready_at = Some(host.ready_at.map_or(at, |ready| ready.min(at)));
        self.note_events(number, now);
    }

    fn note_events(&mut self, number: usize, now: Instant) {
        let Host { endpoints, flows, .. } = &mut self.hosts[number];
        for (transport, endpoint) in endpoints.iter_mut().enumerate() {
            while let Some(event) = endpoint.poll_event() {
                match event {
                    Event::Opened { slot, conn, .. } => drop(flows.insert((transport, slot), conn.0)),
                    Event::Received { slot } => {
                        self.flows[flows[&(transport, slot)] as usize].received = Some(now);
                    }
                    Event::Completed { conn, .. } => {
                        self.flows[conn.0 as usize].acknowledged = Some(now);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The next packet of a host, and the transport that sends it: transports take turns.
    fn next_packet(&mut self, number: usize, now: Instant) -> Option<(usize, Transmit<Packed>)> {
        let Host { endpoints, turn, .. } = &mut self.hosts[number];
        for _ in 0..endpoints.len() {
            let transport = *turn % endpoints.len();
            *turn = transport + 1;
            if let Some(mut packet) = endpoints[transport].poll_transmit(now) {
                packet.priority = self.scenario.transports[transport].class.unwrap_or(packet.priority);
                return Some((transport, packet));
            }
        }
        None
    }

    fn transmit(&mut self, number: usize, at: u64) {
        let topology = self.topology();
        let id = HostId(number as u32);
        let held_back = self.hosts[number].held_back.take();
        let next = held_back.or_else(|| self.next_parcel(number, at));
        let host = &mut self.hosts[number];
        host.paused.expire(at);
        let Some(parcel) = next else {
            host.ready_at = None;
            return;
        };
        if host.paused.priorities >> parcel.priority & 1 != 0 {
            (host.held_back, host.ready_at) = (Some(parcel), host.paused.until);
            return;
        }
        let link = topology.hosts[id].link;
        let leaves = at + link.rate.serialization(Bytes(parcel.wire.into())).0;
        self.hosts[number].free_at = leaves;
        match topology.hosts[id].peer {
            HostPeer::Host(other) => self.arrive_at_host(other, leaves + link.delay.0, parcel),
            HostPeer::Switch { switch, ingress, .. } => {
                let port = self.port_at(switch.0, &parcel);
                let arrival = self.at_switch(link, (at, leaves), port, &parcel);
                self.arrive_at_port(port, arrival, ingress, parcel);
            }
        }
    }

    /// Next packet that a transport of a host sends.
    fn next_parcel(&mut self, number: usize, at: u64) -> Option<Parcel> {
        let (topology, id) = (self.topology(), HostId(number as u32));
        let (transport, packet) = self.next_packet(number, Instant(at))?;
        let (to, control) = (topology.host(packet.to).unwrap(), packet.class == Class::Control);
        let flow = self.hosts[number].endpoints[transport].flow_of(packet.header);
        if let (false, Some(flow)) = (control, flow) {
            self.flows[flow as usize].sent += 1;
        }
        let view = self.hosts[number].endpoints[transport].view_of(packet.header);
        let flow = |view: HopView| u64::from(view.conn.0) << 32 | u64::from(id.0) << 1 | u64::from(control);
        let rank = view.map_or(Rank::default(), |view| Rank { flow: flow(view), rank: view.rank });
        Some(Parcel {
            rank,
            from: id,
            to,
            path: packet.path,
            control,
            priority: packet.priority,
            ect: packet.ect,
            sent: packet.wire,
            wire: packet.wire.into(),
            transport,
            header: packet.header,
            ..Parcel::default()
        })
    }

    /// The port of switch `node` on the way of `parcel`.
    fn port_at(&self, node: u32, parcel: &Parcel) -> PortId {
        let topology = self.topology();
        let route = topology.route(parcel.from, parcel.to, parcel.path);
        route.into_iter().find(|port| topology.ports[*port].node.0 == node).expect("the switch is on the way")
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

    fn port_next(&self, port: usize) -> u64 {
        let port = &self.ports[port];
        let arrival = port.inbox.keys().next().map(|key| key.0);
        [arrival, port.serving, port.wakes()].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn port_step(&mut self, number: usize) {
        let (at, rate) = (self.port_next(number), self.topology().ports[PortId(number as u32)].link.rate);
        let port = &mut self.ports[number];
        if port.serving == Some(at) {
            port.serving = None;
            if !core::mem::take(&mut port.signalling) {
                self.act(number, at, |queue, rules, shared, cx| queue.complete(rules, shared, cx));
            }
        } else if port.wakes() == Some(at) {
            port.wake(at, rate);
        } else {
            let (_, parcel) = port.inbox.pop_first().unwrap();
            match parcel.signal {
                Some(signal) => port.paused.obey(signal, at, rate),
                None => {
                    self.act(number, at, |queue, rules, shared, cx| queue.enqueue(rules, shared, parcel, cx))
                }
            }
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
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Surroundings<'_>) -> R,
    ) -> R {
        let own = &self.scenario.topology.ports[PortId(number as u32)];
        let port = &mut self.ports[number];
        let (chance, outcomes) = (&mut port.chance, Vec::new());
        let paused = port.paused.priorities;
        let (rate, signals, at_hop) = (own.link.rate, Vec::new(), &self.at_hop[..]);
        let mut cx = Surroundings { now, rate, chance, outcomes, paused, signals, at_hop };
        let result = act(&mut port.queue, &self.rules, &mut self.shared[own.node.index()], &mut cx);
        let signals = cx.signals;
        for outcome in cx.outcomes {
            self.note(number, now, outcome);
        }
        for (ingress, signal) in signals {
            let back = self.way_back(number, ingress);
            let rate = self.topology().ports[PortId(back as u32)].link.rate;
            self.ports[back].tell(signal, now, rate);
        }
        result
    }

    /// The port of the same switch as port `number` that leads to where its link `ingress` comes from.
    fn way_back(&self, number: usize, ingress: u16) -> usize {
        let topology = self.topology();
        let node = topology.ports[PortId(number as u32)].node;
        let comes_by = |port: PortId| match (topology.ports[port].peer, topology.ports[port].reverse) {
            (Peer::Switch(_), Some(reverse)) => topology.ports[reverse].ingress,
            (Peer::Host(host), _) => match topology.hosts[host].peer {
                HostPeer::Switch { ingress, .. } => ingress,
                HostPeer::Host(_) => u16::MAX,
            },
            _ => u16::MAX,
        };
        let own = topology.nodes[node].ports.clone().map(PortId);
        own.into_iter().find(|port| comes_by(*port) == ingress).expect("a cable has two directions").index()
    }

    /// A pause frame goes to the other end of the link of port `number`.
    fn send_signal(&mut self, number: usize, at: u64, signal: Signal) {
        let own = &self.topology().ports[PortId(number as u32)];
        let leaves = at + own.link.rate.serialization(Bytes(64)).0;
        let port = &mut self.ports[number];
        (port.serving, port.signalling, port.pending) = (Some(leaves), true, None);
        port.counts.packets += 1;
        port.counts.bytes += 64;
        let (arrival, parcel) =
            (leaves + own.link.delay.0, Parcel { signal: Some(signal), ..Parcel::default() });
        match (own.peer, own.reverse) {
            (Peer::Host(host), _) => self.arrive_at_host(host, arrival, parcel),
            (Peer::Switch(node), Some(reverse)) => {
                self.arrive_from(reverse, arrival, (node, own.ingress), parcel);
            }
            (Peer::Switch(_), None) => unreachable!("a cable between switches has two directions"),
        }
    }

    fn note(&mut self, number: usize, at: u64, outcome: Outcome<Parcel>) {
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

    fn send_back(&mut self, number: usize, at: u64, header: Parcel) {
        let own = &self.topology().ports[PortId(number as u32)];
        let first = self.topology().nodes[own.node].ports.start;
        let back = Parcel { from: header.to, to: header.from, fate: Fate::Returned, ..header };
        let port = self.port_at(own.node.0, &back);
        self.arrive_at_port(port, at + self.recirculation, 1 << 15 | (number as u32 - first) as u16, back);
    }

    fn serve(&mut self, number: usize, at: u64) {
        if let (Some(_), Some(signal)) = (self.ports[number].pending, self.ports[number].told) {
            return self.send_signal(number, at, signal);
        }
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
                let arrival = self.at_switch(own.link, (at, leaves), next, &parcel);
                self.arrive_at_port(next, arrival, own.ingress, parcel);
            }
        }
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.ports.iter().map(|port| port.counts).collect()
    }
}
