//! The ways of packets: the next port of a switch, copies for groups of receivers, and links that fail.

use pullnet_qdisc::Discipline;
use pullnet_rng::SmallRandomStream;
use pullnet_scenario::{Forwarding, Scenario};
use pullnet_topology::{Hop, Link, LinkRef, LinkState, NodeKind, Topology};
use pullnet_units::{BitsPerSec, Bytes, HostId, Id, Instant, NodeId, PortId};

use super::parcel::Parcel;
use super::{Process, Reference};

/// One sender and its receivers.
pub(super) struct Group {
    /// Number of the flow to the first receiver.
    pub(super) first: u32,
    pub(super) source: HostId,
    pub(super) receivers: Vec<HostId>,
    /// Number of trees.
    pub(super) trees: u16,
}

/// The order of ports by the part of the network that they lie in: a hash of ECMP is salted with the place of the first of
/// the equal ports of a tree in it.
pub(super) fn places_of_ports(topology: &Topology) -> Vec<u32> {
    let mut ports: Vec<PortId> = topology.ports.ids().collect();
    ports.sort_by_key(|port| topology.nodes[topology.ports[*port].node].part);
    let mut places = vec![0; ports.len()];
    (0..).zip(ports).for_each(|(place, port)| places[port.index()] = place);
    places
}

/// ECMP: one of `count` equal ports, by both ends of a packet, its path and a salt of the switch.
fn hashed(parcel: &Parcel, salt: u32, count: u32) -> u32 {
    let ends = u64::from(parcel.from.0) << 32 | u64::from(parcel.to.0);
    let key = ends ^ u64::from(salt) << 24 ^ u64::from(parcel.label.get()) << 48;
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((hash >> 32) * u64::from(count)) >> 32) as u32
}

/// Whether `link` is up at `at`.
fn works(scenario: &Scenario, link: LinkRef, at: u64) -> bool {
    scenario.faults.get(link).is_none_or(|faults| faults.at(Instant(at)).up)
}

impl<Q: Discipline<Parcel>> Reference<'_, Q> {
    /// Rate of `link` for a packet whose first bit leaves at `at`.
    pub(super) fn rate_at(&self, link: LinkRef, at: u64) -> BitsPerSec {
        let built = self.topology().link(link).rate;
        self.scenario.faults.get(link).map_or(built, |faults| faults.at(Instant(at)).rate)
    }

    /// Whether `link` loses a packet that leaves at `at` and would be at the other end with its last bit at `arrival`.
    pub(super) fn loses(&mut self, place: Process, at: u64, arrival: u64) -> bool {
        let Some(faults) = self.scenario.faults.get(self.link_of(place)) else { return false };
        let state = faults.at(Instant(at));
        let fails = |(when, state): &(Instant, LinkState)| at < when.0 && when.0 < arrival && !state.up;
        if !state.up || faults.changes().iter().any(fails) {
            return true;
        }
        self.chance(place).unit() >= (1.0 - state.loss) * (1.0 - state.corrupt)
    }

    pub(super) fn link_of(&self, place: Process) -> LinkRef {
        match place {
            Process::Host(host) => LinkRef::Nic(HostId::new(host as u32)),
            Process::Port(port) => LinkRef::Port(PortId::new(port as u32)),
        }
    }

    /// Random numbers of the sending end of a link.
    pub(super) fn chance(&mut self, place: Process) -> &mut SmallRandomStream {
        match place {
            Process::Host(host) => &mut self.hosts[host].chance,
            Process::Port(port) => &mut self.ports[port].chance,
        }
    }

    /// Equal ports of switch `node` to where `parcel` goes.
    fn equal_ports(&self, node: NodeId, parcel: &Parcel) -> Vec<PortId> {
        self.topology().choices(node, parcel.to).iter().collect()
    }

    /// The port of switch `node` by which `parcel`, which arrives at `at` from the end of a link at `from`, goes on.
    pub(super) fn port_at(&mut self, from: Process, node: NodeId, parcel: &Parcel, at: u64) -> PortId {
        let topology = self.topology();
        let on_path = topology.table_port(node, parcel.from, parcel.to, parcel.label);
        if let (Forwarding::Path, Some(port)) = (self.scenario.forwarding, on_path) {
            return port;
        }
        let equal = self.equal_ports(node, parcel);
        let count = equal.len() as u32;
        let first = match self.scenario.forwarding {
            Forwarding::Path | Forwarding::Ecmp => {
                let tree = matches!(topology.hop(node), Hop::Tree(_));
                let salt = if tree { self.places[equal[0].index()] } else { node.get() };
                hashed(parcel, salt, count)
            }
            Forwarding::Random | Forwarding::LeastLoaded => self.chance(from).below(count),
        };
        let mut in_turn = (0..count).map(|step| equal[((first + step) % count) as usize]);
        let sound = in_turn.find(|port| works(self.scenario, LinkRef::Port(*port), at));
        sound.unwrap_or(equal[first as usize])
    }

    /// The port that a switch chooses for a packet that has arrived for port `number`: where it looks at its queues, one with the
    /// fewest packets among those whose links work.
    pub(super) fn chosen(&mut self, number: usize, at: u64, parcel: &Parcel) -> usize {
        let node = self.topology().ports[PortId::new(number as u32)].node;
        let chooses = self.scenario.forwarding == Forwarding::LeastLoaded;
        if !chooses || parcel.signal.is_some() || parcel.to.group_number().is_some() {
            return number;
        }
        let cost = |port: &PortId| {
            let (works, own) = (works(self.scenario, LinkRef::Port(*port), at), &self.ports[port.index()]);
            let waiting = own.queue.queued(true) + own.queue.queued(false);
            (!works, waiting + u32::from(own.serving.is_some()))
        };
        let costs: Vec<_> = self.equal_ports(node, parcel).iter().map(|port| (cost(port), *port)).collect();
        let Some(least) = costs.iter().map(|(cost, _)| *cost).min() else { return number };
        // The engine looks at one port after the other and draws among the best ones so far.
        let (mut best, mut seen) = (None, 0);
        for (cost, port) in costs {
            match best {
                Some((so_far, _)) if cost > so_far => continue,
                Some((so_far, _)) if cost == so_far => seen += 1,
                _ => seen = 1,
            }
            if seen == 1 || self.choices[node.index()].below(seen) == 0 {
                best = Some((cost, port));
            }
        }
        debug_assert_eq!(best.map(|(cost, _)| cost), Some(least));
        best.map_or(number, |(_, port)| port.index())
    }

    /// When a packet that is on the link from `from` during `span` arrives at a switch that sends it on at rate `to`: with its last
    /// bit, or with its header where it cuts through.
    fn at_switch(&self, from: Process, span: (u64, u64), to: BitsPerSec, parcel: &Parcel) -> u64 {
        let link = self.topology().link(self.link_of(from));
        let rate = self.rate_at(self.link_of(from), span.0);
        let through = self.topology().cut_through.is_some_and(|cut| cut.to_faster || rate >= to);
        if through { self.header_arrives(from, span.0, parcel) } else { span.1 + link.delay.0 }
    }

    /// When the header of a packet that leaves at `at` is at the other end of a link.
    fn header_arrives(&self, from: Process, at: u64, parcel: &Parcel) -> u64 {
        let link = self.link_of(from);
        let headers = self.scenario.transports.iter().map(|carried| carried.config.framing().header);
        let header = headers.min().unwrap().min(parcel.wire);
        let time = self.rate_at(link, at).serialization(Bytes(header.into()));
        at + time.0 + self.topology().link(link).delay.0
    }

    /// `parcel` is on the link from `from` to switch `node` during `span`, and is not lost.
    pub(super) fn enter_switch(
        &mut self,
        from: Process,
        span: (u64, u64),
        (node, ingress): (NodeId, u16),
        parcel: Parcel,
    ) {
        let Link { delay, .. } = self.topology().link(self.link_of(from));
        if parcel.to.group_number().is_some() {
            return self.copy(from, span, (node, ingress), parcel);
        }
        let known = match self.topology().cut_through {
            Some(_) => self.header_arrives(from, span.0, &parcel),
            None => span.1 + delay.0,
        };
        let port = self.port_at(from, node, &parcel, known);
        let rate = |port: &PortId| self.topology().ports[*port].link.rate;
        let fastest = match self.scenario.forwarding {
            // Which of its ports the switch will take is not known yet.
            Forwarding::LeastLoaded => self.equal_ports(node, &parcel).iter().map(rate).max().unwrap(),
            _ => rate(&port),
        };
        let arrival = self.at_switch(from, span, fastest, &parcel);
        self.arrive_at_port(port, arrival, ingress, parcel);
    }

    /// A packet for a group goes on to each port of switch `node` that its tree has there.
    fn copy(&mut self, from: Process, span: (u64, u64), (node, ingress): (NodeId, u16), parcel: Parcel) {
        let at = span.1 + self.topology().link(self.link_of(from)).delay.0;
        let branches = self.branches(&parcel, node, at);
        if branches.is_empty() {
            return self.lost(from, &parcel);
        }
        for port in branches {
            let arrival = self.at_switch(from, span, self.topology().ports[port].link.rate, &parcel);
            self.arrive_at_port(port, arrival, ingress, parcel);
        }
    }

    /// Ports by which switch `node` copies a packet that arrives at `at`: those of its tree over the links that work then.
    fn branches(&self, parcel: &Parcel, node: NodeId, at: u64) -> Vec<PortId> {
        let number = parcel.to.group_number().expect("a packet for a group");
        let (group, topology) = (&self.groups[number as usize], self.topology());
        let works = |link: LinkRef| works(self.scenario, link, at);
        let distances = topology.distances(group.source, &works);
        let number = parcel.label.get() % group.trees;
        topology.multicast_tree(&distances, &group.receivers, number, &works).branches(node).collect()
    }

    /// A packet is lost on the link from `from`.
    pub(super) fn lost(&mut self, from: Process, parcel: &Parcel) {
        if parcel.signal.is_some() {
            return;
        }
        match from {
            Process::Host(host) => self.hosts[host].counts.lost += 1,
            Process::Port(port) => self.ports[port].counts.lost += 1,
        }
        self.note_loss(parcel);
    }

    /// The flow of a packet that is lost, or dropped by a switch, counts it.
    pub(super) fn note_loss(&mut self, parcel: &Parcel) {
        if let Some(flow) = self.hosts[0].endpoints[parcel.transport].flow_of(parcel.header) {
            self.flows[flow as usize].lost += 1;
        }
    }

    /// The number of a switch among all switches.
    pub(super) fn number_of(&self, node: NodeId) -> u32 {
        let nodes = &self.topology().nodes;
        let before = nodes.ids().take_while(|other| *other != node);
        before.filter(|node| nodes[*node].kind == NodeKind::Switch).count() as u32
    }
}
