//! Egress ports of switches, and the events at them.

use pullnet_qdisc::{Discipline, Outcome, Signal};
use pullnet_rng::SmallRandomStream;
use pullnet_topology::{HostPeer, Peer};
use pullnet_transport::Fate;
use pullnet_units::{BitsPerSec, Bytes, Id, PortId};

use super::parcel::Parcel;
use super::surroundings::Surroundings;
use super::{Counts, Inbox, Process, Reference};

/// Paused priorities at the sending end of a link, and the end of the pause.
#[derive(Clone, Copy, Default)]
pub(super) struct Paused {
    pub(super) priorities: u8,
    pub(super) until: Option<u64>,
}

impl Paused {
    /// A pause frame arrives. Its quanta are times of 512 bits.
    pub(super) fn obey(&mut self, signal: Signal, now: u64, rate: BitsPerSec) {
        let timed = signal.paused != 0 && signal.quanta != 0;
        self.priorities = signal.paused;
        self.until = timed.then(|| now + rate.serialization(Bytes(64 * u64::from(signal.quanta))).0);
    }

    pub(super) fn expire(&mut self, now: u64) {
        if self.until.is_some_and(|until| until <= now) {
            *self = Self::default();
        }
    }
}

pub(super) struct Port<Q> {
    pub(super) inbox: Inbox,
    pub(super) queue: Q,
    pub(super) serving: Option<u64>,
    pub(super) chance: SmallRandomStream,
    pub(super) counts: Counts,
    pub(super) paused: Paused,
    /// Latest signal for the other end; when it is repeated; since when it waits to be sent.
    pub(super) told: Option<Signal>,
    pub(super) repeat: Option<u64>,
    pub(super) pending: Option<u64>,
    /// Whether the packet in service is a pause frame.
    pub(super) signalling: bool,
}

impl<Q> Port<Q> {
    /// When the port has something to do by itself while nothing is in service or arrives.
    pub(super) fn wakes(&self) -> Option<u64> {
        let pending = self.pending.filter(|_| self.serving.is_none());
        let repeat = self.repeat.filter(|_| self.pending.is_none());
        [self.paused.until, repeat, pending].into_iter().flatten().min()
    }

    pub(super) fn wake(&mut self, now: u64, rate: BitsPerSec) {
        self.paused.expire(now);
        if let (Some(signal), true) = (self.told, self.repeat.is_some_and(|at| at <= now)) {
            self.tell(signal, now, rate);
        }
    }

    /// Queues a signal that is sent as soon as the link is free. A pause is repeated after half its quanta.
    pub(super) fn tell(&mut self, signal: Signal, now: u64, rate: BitsPerSec) {
        let timed = signal.paused != 0 && signal.quanta != 0;
        let lasts = rate.serialization(Bytes(64 * u64::from(signal.quanta))).0;
        (self.told, self.pending, self.repeat) = (Some(signal), Some(now), timed.then(|| now + lasts / 2));
    }
}

impl<Q: Discipline<Parcel>> Reference<'_, Q> {
    pub(super) fn port_next(&self, port: usize) -> u64 {
        let port = &self.ports[port];
        let arrival = port.inbox.keys().next().map(|key| key.0);
        [arrival, port.serving, port.wakes()].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    pub(super) fn port_step(&mut self, number: usize) {
        let (at, rate) =
            (self.port_next(number), self.topology().ports[PortId::new(number as u32)].link.rate);
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
                    let chosen = self.chosen(number, at, &parcel);
                    self.act(chosen, at, |queue, rules, shared, cx| queue.enqueue(rules, shared, parcel, cx));
                    if chosen != number {
                        return self.serve_if_free(chosen, at);
                    }
                }
            }
        }
        self.serve_if_free(number, at);
    }

    fn serve_if_free(&mut self, number: usize, at: u64) {
        if self.ports[number].serving.is_none() {
            self.serve(number, at);
        }
    }

    /// Lets the queue of a port do something, and notes what came of it.
    pub(super) fn act<R>(
        &mut self,
        number: usize,
        now: u64,
        act: impl FnOnce(&mut Q, &Q::Rules, &mut Q::Shared, &mut Surroundings<'_>) -> R,
    ) -> R {
        let own = &self.scenario.topology.ports[PortId::new(number as u32)];
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
            let rate = self.topology().ports[PortId::new(back as u32)].link.rate;
            self.ports[back].tell(signal, now, rate);
        }
        result
    }

    /// The port of the same switch as port `number` that leads to where its link `ingress` comes from.
    pub(super) fn way_back(&self, number: usize, ingress: u16) -> usize {
        let topology = self.topology();
        let node = topology.ports[PortId::new(number as u32)].node;
        let comes_by = |port: PortId| match (topology.ports[port].peer, topology.ports[port].reverse) {
            (Peer::Switch(_), Some(reverse)) => topology.ports[reverse].ingress,
            (Peer::Host(host), _) => match topology.hosts[host].peer {
                HostPeer::Switch { ingress, .. } => ingress,
                HostPeer::Host(_) => u16::MAX,
            },
            _ => u16::MAX,
        };
        let own = topology.nodes[node].ports.clone().map(PortId::new);
        own.into_iter().find(|port| comes_by(*port) == ingress).expect("a cable has two directions").index()
    }

    /// A pause frame goes to the other end of the link of port `number`.
    pub(super) fn send_signal(&mut self, number: usize, at: u64, signal: Signal) {
        let (own, place) = (&self.topology().ports[PortId::new(number as u32)], Process::Port(number));
        let leaves = at + self.rate_at(self.link_of(place), at).serialization(Bytes(64)).0;
        let port = &mut self.ports[number];
        (port.serving, port.signalling, port.pending) = (Some(leaves), true, None);
        port.counts.packets += 1;
        port.counts.pauses += 1;
        port.counts.bytes += 64;
        let (arrival, parcel) =
            (leaves + own.link.delay.0, Parcel { signal: Some(signal), ..Parcel::default() });
        if self.loses(place, at, arrival) {
            return;
        }
        match (own.peer, own.reverse) {
            (Peer::Host(host), _) => self.arrive_at_host(host, arrival, parcel),
            (Peer::Switch(node), Some(reverse)) => {
                self.arrive_from(reverse, arrival, (node, own.ingress), parcel);
            }
            (Peer::Switch(_), None) => unreachable!("a cable between switches has two directions"),
        }
    }

    pub(super) fn note(&mut self, number: usize, at: u64, outcome: Outcome<Parcel>) {
        let counts = &mut self.ports[number].counts;
        match outcome {
            Outcome::Marked(_) => counts.marked += 1,
            Outcome::Trimmed(_) => counts.trimmed += 1,
            Outcome::Dropped { packet, trimmed, .. } => {
                counts.trimmed += u64::from(trimmed);
                counts.dropped += 1;
                self.note_loss(&packet);
            }
            Outcome::Returned { header, trimmed } => {
                counts.trimmed += u64::from(trimmed);
                counts.returned += 1;
                self.send_back(number, at, header);
            }
        }
    }

    pub(super) fn send_back(&mut self, number: usize, at: u64, header: Parcel) {
        let own = &self.topology().ports[PortId::new(number as u32)];
        let first = self.topology().nodes[own.node].ports.start;
        let back = Parcel { from: header.to, to: header.from, fate: Fate::Returned, ..header };
        let arrival = at + self.recirculation;
        let port = self.port_at(Process::Port(number), own.node, &back, arrival);
        self.arrive_at_port(port, arrival, 1 << 15 | (number as u32 - first) as u16, back);
    }

    pub(super) fn serve(&mut self, number: usize, at: u64) {
        if let (Some(_), Some(signal)) = (self.ports[number].pending, self.ports[number].told) {
            return self.send_signal(number, at, signal);
        }
        let own = &self.topology().ports[PortId::new(number as u32)];
        let parcel = self.act(number, at, |queue, rules, shared, cx| queue.dequeue(rules, shared, cx));
        let Some(parcel) = parcel else { return };
        let place = Process::Port(number);
        let leaves = at + self.rate_at(self.link_of(place), at).serialization(Bytes(parcel.wire.into())).0;
        let (port, arrival) = (&mut self.ports[number], leaves + own.link.delay.0);
        port.serving = Some(leaves);
        port.counts.packets += 1;
        port.counts.bytes += u64::from(parcel.wire);
        if self.loses(place, at, arrival) {
            return self.lost(place, &parcel);
        }
        match own.peer {
            Peer::Host(host) => self.arrive_at_host(host, arrival, parcel),
            Peer::Switch(node) => self.enter_switch(place, (at, leaves), (node, own.ingress), parcel),
        }
    }
}
