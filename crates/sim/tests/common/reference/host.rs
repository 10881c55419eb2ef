//! Hosts, and the events at them.

use std::collections::{BTreeMap, VecDeque};

use pullnet_qdisc::{Discipline, Rank};
use pullnet_topology::HostPeer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HopView, Received, Transmit};
use pullnet_units::{Bytes, HostId, Instant, WireLen};
use pullnet_workload::FlowStart;

use super::endpoint::Endpoint;
use super::parcel::{Packed, Parcel};
use super::port::Paused;
use super::{Inbox, Reference};

pub(super) struct Host {
    pub(super) inbox: Inbox,
    pub(super) starts: VecDeque<FlowStart>,
    /// By number of the transport.
    pub(super) endpoints: Vec<Box<dyn Endpoint>>,
    /// The transport that may use the link next.
    pub(super) turn: usize,
    pub(super) free_at: u64,
    pub(super) ready_at: Option<u64>,
    /// Flow of each receiving slot of each transport.
    pub(super) flows: BTreeMap<(usize, u32), u32>,
    pub(super) paused: Paused,
    /// A packet of a paused priority.
    pub(super) held_back: Option<Parcel>,
}

impl<Q: Discipline<Parcel>> Reference<'_, Q> {
    /// Time and kind of the next event at a host: the link, a timer, an arrival, a start.
    pub(super) fn host_turn(&self, host: usize) -> (u64, u8) {
        let host = &self.hosts[host];
        let link = host.ready_at.map_or(u64::MAX, |ready| ready.max(host.free_at));
        let timer = host.endpoints.iter().map(|endpoint| endpoint.next_timeout()).min().unwrap();
        let arrival = host.inbox.keys().next().map_or(u64::MAX, |key| key.0);
        let start = host.starts.front().map_or(u64::MAX, |start| start.at.0);
        [(link, 0), (timer, 1), (arrival, 2), (start, 3)].into_iter().min().unwrap()
    }

    pub(super) fn host_step(&mut self, number: usize) {
        let ((at, turn), topology) = (self.host_turn(number), self.topology());
        let (id, host) = (HostId::new(number as u32), &mut self.hosts[number]);
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
                host.endpoints[transport]
                    .handle(now, Received { from, paths, wire: WireLen::new(sent), fate, ce, header });
            }
            _ => {
                let start = host.starts.pop_front().unwrap();
                let (own, to) = (topology.addr(id), topology.addr(start.dst));
                let FlowStart { flow, size, priority, transport, deadline, tenant, .. } = start;
                host.endpoints[usize::from(transport)].open(
                    now,
                    FlowSpec {
                        conn: ConnId::new(flow.get()),
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

    pub(super) fn note_events(&mut self, number: usize, now: Instant) {
        let Host { endpoints, flows, .. } = &mut self.hosts[number];
        for (transport, endpoint) in endpoints.iter_mut().enumerate() {
            while let Some(event) = endpoint.poll_event() {
                match event {
                    Event::Opened { slot, conn, .. } => drop(flows.insert((transport, slot), conn.get())),
                    Event::Received { slot } => {
                        self.flows[flows[&(transport, slot)] as usize].received = Some(now);
                    }
                    Event::Completed { conn, .. } => {
                        self.flows[conn.get() as usize].acknowledged = Some(now);
                    }
                    _ => {}
                }
            }
        }
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
        let link = topology.hosts[id].link;
        let leaves = at + link.rate.serialization(Bytes(parcel.wire.into())).0;
        self.hosts[number].free_at = leaves;
        match topology.hosts[id].peer {
            HostPeer::Host(other) => self.arrive_at_host(other, leaves + link.delay.0, parcel),
            HostPeer::Switch { switch, ingress, .. } => {
                let port = self.port_at(switch.get(), &parcel);
                let arrival = self.at_switch(link, (at, leaves), port, &parcel);
                self.arrive_at_port(port, arrival, ingress, parcel);
            }
        }
    }

    /// Next packet that a transport of a host sends.
    pub(super) fn next_parcel(&mut self, number: usize, at: u64) -> Option<Parcel> {
        let (topology, id) = (self.topology(), HostId::new(number as u32));
        let (transport, packet) = self.next_packet(number, Instant(at))?;
        let (to, control) = (topology.host(packet.to).unwrap(), packet.class == Class::Control);
        let flow = self.hosts[number].endpoints[transport].flow_of(packet.header);
        if let (false, Some(flow)) = (control, flow) {
            self.flows[flow as usize].sent += 1;
        }
        let view = self.hosts[number].endpoints[transport].view_of(packet.header);
        let flow =
            |view: HopView| u64::from(view.conn.get()) << 32 | u64::from(id.get()) << 1 | u64::from(control);
        let rank = view.map_or(Rank::default(), |view| Rank { flow: flow(view), rank: view.rank });
        Some(Parcel {
            rank,
            from: id,
            to,
            path: packet.path,
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
