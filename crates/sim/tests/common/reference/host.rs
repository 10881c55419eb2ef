//! Hosts, and the events at them.

use std::collections::{BTreeMap, VecDeque};

use pullnet_qdisc::{Discipline, Rank};
use pullnet_rng::SmallRandomStream;
use pullnet_topology::HostPeer;
use pullnet_transport::{
    Class, ConnId, Event, FlowSpec, GroupMember, HopView, HostAddr, Received, Source, Transmit,
};
use pullnet_units::{Bytes, HostId, Instant, Labels, PathLabel, WireLen};
use pullnet_workload::{Cue, FlowStart, Join, Part};

use super::endpoint::Endpoint;
use super::parcel::{Packed, Parcel};
use super::port::Paused;
use super::{Counts, Inbox, Process, Reference};

pub(super) struct Host {
    pub(super) inbox: Inbox,
    pub(super) starts: VecDeque<FlowStart>,
    /// By number of the transport.
    pub(super) endpoints: Vec<Box<dyn Endpoint>>,
    /// The transport that may use the link next.
    pub(super) turn: usize,
    pub(super) free_at: u64,
    /// Time of the latest event.
    pub(super) latest: u64,
    pub(super) ready_at: Option<u64>,
    /// The flow in each receiving slot of each transport.
    pub(super) flows: BTreeMap<(usize, u32), Incoming>,
    pub(super) paused: Paused,
    /// A packet of a paused priority.
    pub(super) held_back: Option<Parcel>,
    /// Random numbers of the NIC's link, and of the switch behind it.
    pub(super) chance: SmallRandomStream,
    /// Counters of the NIC.
    pub(super) counts: Counts,
}

/// A flow that arrives.
#[derive(Clone, Copy)]
pub(super) struct Incoming {
    pub(super) flow: usize,
    pub(super) delivered: u64,
    /// Whether all of it has arrived.
    pub(super) over: bool,
}

impl<Q: Discipline<Parcel>> Reference<'_, Q> {
    /// Time and kind of the next event at a host: the link, a timer, an arrival, a start.
    pub(super) fn host_turn(&self, host: usize) -> (u64, u8) {
        let host = &self.hosts[host];
        let link = host.ready_at.map_or(u64::MAX, |ready| ready.max(host.free_at));
        // An input may set a deadline in the past; it is met at once.
        let timer =
            host.endpoints.iter().map(|endpoint| endpoint.next_timeout()).min().unwrap().max(host.latest);
        let arrival = host.inbox.keys().next().map_or(u64::MAX, |key| key.0);
        let start = host.starts.front().map_or(u64::MAX, |start| start.at.0);
        [(link, 0), (timer, 1), (arrival, 2), (start, 3)].into_iter().min().unwrap()
    }

    pub(super) fn host_step(&mut self, number: usize) {
        let ((at, turn), topology) = (self.host_turn(number), self.topology());
        let (id, host) = (HostId::new(number as u32), &mut self.hosts[number]);
        let now = Instant(at);
        host.latest = at;
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
                let paths = topology.path_count(parcel.from, topology.addr(id));
                let Parcel { from, sent, fate, ce, header, transport, .. } = parcel;
                host.endpoints[transport]
                    .handle(now, Received { from, paths, wire: WireLen::new(sent), fate, ce, header });
            }
            _ => self.open(number, now),
        }
        let host = &mut self.hosts[number];
        host.ready_at = Some(host.ready_at.map_or(at, |ready| ready.min(at)));
        self.note_events(number, now);
    }

    /// The next flow of a host begins; with it those to all receivers of its group.
    fn open(&mut self, number: usize, now: Instant) {
        let (topology, id) = (self.topology(), HostId::new(number as u32));
        let host = &mut self.hosts[number];
        let FlowStart { flow, dst, size, labels, part, .. } = host.starts.pop_front().unwrap();
        let Labels { priority, transport, deadline, tenant, .. } = labels;
        let member = |host: HostId| {
            let addr = topology.addr(host);
            GroupMember { addr, paths: topology.path_count(topology.addr(id), addr) }
        };
        let (GroupMember { addr: to, paths }, conn) = (member(dst), ConnId::new(flow.get()));
        let spec = FlowSpec { conn, to, size, priority, paths, deadline, tenant };
        let endpoint = &mut host.endpoints[usize::from(transport)];
        match part {
            Some(Part { join: Join::Multicast, of, .. }) => {
                host.starts.drain(..usize::from(of) - 1);
                let number = self.groups.iter().position(|group| group.first == flow.get()).expect("a group");
                let group = &self.groups[number];
                let members: Vec<_> = group.receivers.iter().map(|host| member(*host)).collect();
                let to = HostAddr::group(number as u32).expect("few groups");
                endpoint.open_group(now, FlowSpec { to, paths: group.trees, ..spec }, &members);
            }
            Some(Part { join: Join::Sources, index, of }) => {
                endpoint.open_source(now, spec, Source { index, of });
            }
            _ => {
                let relay = self.traffic.relays.iter_mut().find(|relay| relay.flow == flow);
                let Some(relay) = relay else { return endpoint.open(now, spec) };
                relay.way = Some((usize::from(transport), to));
                endpoint.open_relay(now, spec);
                endpoint.supply(now, to, conn, relay.bytes);
            }
        }
    }

    pub(super) fn note_events(&mut self, number: usize, now: Instant) {
        for transport in 0..self.hosts[number].endpoints.len() {
            while let Some(event) = self.hosts[number].endpoints[transport].poll_event() {
                self.note_event((number, transport), now, event);
            }
        }
    }

    fn note_event(&mut self, (number, transport): (usize, usize), now: Instant, event: Event) {
        match event {
            Event::Opened { slot, conn, .. } => {
                let incoming = Incoming { flow: self.row(number, conn), delivered: 0, over: false };
                let before = self.hosts[number].flows.insert((transport, slot), incoming);
                before.into_iter().for_each(|before| self.abandon(before));
                self.cue(number, incoming.flow, Cue::FirstPacket, now);
            }
            Event::Delivered { slot, bytes, .. } => {
                let incoming = self.hosts[number].flows.get_mut(&(transport, slot)).unwrap();
                incoming.delivered += u64::from(bytes);
                let of = incoming.flow;
                for relay in self.traffic.relays.iter_mut().filter(|relay| relay.of == of) {
                    relay.bytes += u64::from(bytes);
                    let Some((transport, to)) = relay.way else { continue };
                    let conn = ConnId::new(relay.flow.get());
                    self.hosts[number].endpoints[transport].supply(now, to, conn, relay.bytes);
                }
            }
            Event::Silent { slot } => {
                let of = self.hosts[number].flows[&(transport, slot)].flow;
                for relay in self.traffic.relays.iter().filter(|relay| relay.of == of) {
                    let Some((transport, to)) = relay.way else { continue };
                    let conn = ConnId::new(relay.flow.get());
                    self.hosts[number].endpoints[transport].cut_off(now, to, conn);
                }
            }
            Event::Received { slot } => {
                let incoming = self.hosts[number].flows.get_mut(&(transport, slot)).unwrap();
                incoming.over = true;
                let Incoming { flow, delivered, .. } = *incoming;
                (self.flows[flow].received, self.flows[flow].delivered) = (Some(now), delivered);
                self.received(flow, now);
                self.cue(number, flow, Cue::Received, now);
            }
            Event::Completed { conn, .. } | Event::Failed { conn, .. } => {
                let flow = conn.get() as usize;
                self.sender_ended(flow, now, matches!(event, Event::Failed { .. }));
                self.cue(number, flow, Cue::SenderDone, now);
            }
            _ => {}
        }
    }

    /// A receiver forgets a flow, or the run ends.
    fn abandon(&mut self, incoming: Incoming) {
        let flow = &mut self.flows[incoming.flow];
        if !incoming.over && incoming.delivered > 0 && flow.received.is_none() {
            flow.delivered = incoming.delivered;
        }
    }

    /// The run ends.
    pub(super) fn abandon_flows(&mut self) {
        for number in 0..self.hosts.len() {
            let flows: Vec<_> = self.hosts[number].flows.values().copied().collect();
            flows.into_iter().for_each(|incoming| self.abandon(incoming));
        }
    }

    /// The flow that connection `conn` is for host `number`: the receivers of a group know the session by its first flow.
    fn row(&self, number: usize, conn: ConnId) -> usize {
        let group = self.groups.iter().find(|group| group.first == conn.get());
        let own = |host: &HostId| host.get() as usize == number;
        let place = group.and_then(|group| group.receivers.iter().position(own));
        conn.get() as usize + place.unwrap_or(0)
    }

    /// The next packet of a host, and the transport that sends it: transports take turns.
    pub(super) fn next_packet(&mut self, number: usize, now: Instant) -> Option<(usize, Transmit<Packed>)> {
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

    pub(super) fn transmit(&mut self, number: usize, at: u64) {
        let topology = self.topology();
        let id = HostId::new(number as u32);
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
        let (link, place) = (topology.hosts[id].link, Process::Host(number));
        let leaves = at + self.rate_at(self.link_of(place), at).serialization(Bytes(parcel.wire.into())).0;
        let (host, arrival) = (&mut self.hosts[number], leaves + link.delay.0);
        host.free_at = leaves;
        host.counts.packets += 1;
        host.counts.bytes += u64::from(parcel.wire);
        if self.loses(place, at, arrival) {
            return self.lost(place, &parcel);
        }
        match topology.hosts[id].peer {
            HostPeer::Host(other) => self.arrive_at_host(other, arrival, parcel),
            HostPeer::Switch { switch, ingress, .. } => {
                self.enter_switch(place, (at, leaves), (switch, ingress), parcel);
            }
        }
    }

    /// Next packet that a transport of a host sends.
    pub(super) fn next_parcel(&mut self, number: usize, at: u64) -> Option<Parcel> {
        let (topology, id) = (self.topology(), HostId::new(number as u32));
        let (transport, packet) = self.next_packet(number, Instant(at))?;
        let (from, control) = (topology.addr(id), packet.class == Class::Control);
        let label = match packet.to.group_number() {
            Some(_) => PathLabel::new(packet.path),
            None => topology.label(from, packet.to, packet.path),
        };
        let flow = self.hosts[number].endpoints[transport].flow_of(packet.header);
        if let (false, Some(flow)) = (control, flow) {
            self.flows[flow as usize].sent += 1;
        }
        let view = self.hosts[number].endpoints[transport].view_of(packet.header);
        // Packets whose header has no flow count as those of one flow, number 0.
        let flow =
            |view: HopView| u64::from(!control) << 63 | u64::from(from.0) << 32 | u64::from(view.conn.get());
        let rank = view.map_or(Rank::default(), |view| Rank { flow: flow(view), rank: view.rank });
        Some(Parcel {
            rank,
            from,
            to: packet.to,
            label,
            control,
            priority: packet.priority,
            ect: packet.ect,
            sent: packet.wire.get(),
            wire: packet.wire.into(),
            transport,
            header: packet.header,
            ..Parcel::default()
        })
    }
}
