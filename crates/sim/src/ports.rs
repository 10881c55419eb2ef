//! The ports of one shard, compiled for one discipline.

use std::ops::Range;

use pullnet_probes::{Recorded, Watches};
use pullnet_qdisc::{Discipline, Item};
use pullnet_rng::{Seed, SmallRandomStream};
use pullnet_topology::LinkRef;
use pullnet_transport::Words;
use pullnet_units::{Instant, PortId};

use crate::agenda::{Agenda, NOT_ARMED};
use crate::clock::Window;
use crate::counts::PortCounts;
use crate::fingerprint::Fingerprint;
use crate::hops::HopLog;
use crate::huge_pages;
use crate::line::Line;
use crate::network::{Network, Next};
use crate::notes::PortNotes;
use crate::outbox::{Emission, Outbox};
use crate::packet::Packet;
use crate::port::{Env, Port, PortContext};
use crate::prefetch::Places;
use crate::probe::Held;
use crate::process::{ProcessId, Processes};
use crate::side::{Now, Side};

/// Prefetch distance of visits: memory is prefetched this many visits before its use.
const AHEAD: usize = 6;
/// Prefetch distance of arrivals: a slot in an inbox is prefetched this many packets before its use.
const BLOCK: usize = 12;

/// Ports of a shard, as the rest of the shard sees them.
pub trait Ports<W: Words>: Side<W> {
    /// Cache line that an arriving packet touches first, for every port.
    fn inboxes(&self) -> Places<1>;
    /// Visits every port in the order of processes.
    fn each(&self, visit: &mut dyn FnMut(PortView<'_>));
    /// Visits every packet that waits at a port: the port's process, the link that the packet came by, and its priority.
    fn waiting(&self, visit: &mut dyn FnMut(ProcessId, u16, u8));
    /// Visits the recorded occupancy of every port that records it, in the order of processes.
    fn held(&mut self, visit: &mut dyn FnMut(&mut Held));
}

/// A port as the end of a run sees it.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// The link.
    pub line: &'a Line,
    /// When the packet in service has left; a time in the past if there is none.
    pub sending_until: Instant,
    /// Rare events there.
    pub counts: &'a PortCounts,
    /// Hash of them.
    pub fingerprint: Fingerprint,
    /// Most data packets held, and most control packets waiting.
    pub peaks: [u32; 2],
    /// Occupancy, if it is recorded.
    pub held: Option<&'a Held>,
    /// Packets of some flows, if they are recorded.
    pub hops: Option<&'a HopLog>,
    /// Notes of probes about its packets.
    pub notes: Option<&'a Recorded>,
}

/// A switch as the unit of work: its ports share state, and their events are processed together in order of time.
#[derive(Debug)]
struct SharedSwitch<S> {
    /// Its ports, as positions in the shard.
    ports: Range<u32>,
    /// State that the ports share.
    shared: S,
    /// Window of the next planned visit.
    armed: u64,
    /// Time of the next event at each port.
    next: Vec<Instant>,
    /// The port that leads back along each link into the switch; empty if no signals are sent.
    cables: Vec<u16>,
    /// Alternatives for an arriving packet, and random numbers for ties; `None` if the port is chosen before arrival.
    choice: Option<(Next, SmallRandomStream)>,
}

impl<S> SharedSwitch<S> {
    /// The port with the next event, and its time. At equal times the lower number comes first.
    #[inline]
    fn first(&self) -> (usize, Instant) {
        let mut first = (0, Instant::NEVER);
        for (port, at) in self.next.iter().enumerate() {
            if *at < first.1 {
                first = (port, *at);
            }
        }
        first
    }
}

/// The ports of one shard.
pub struct PortSide<W: Words, Q: Discipline<Packet<W>>> {
    range: Processes,
    ports: Vec<Port<W, Q>>,
    /// Switches, if they are the units of work; empty if ports are.
    switches: Vec<SharedSwitch<Q::Shared>>,
    /// Position in `switches`, by port; empty if the port is the unit of work.
    switch_of_port: Vec<u32>,
    /// Shared state passed to ports whose discipline shares none.
    nothing_shared: Q::Shared,
    rules: Q::Rules,
    /// Whether whole switches are the units of work: their ports share state, or they choose the port on arrival.
    whole: bool,
    /// Ports, or switches, by window.
    agenda: Agenda,
    /// Processes of the current window, kept for its memory.
    due: Vec<u32>,
    large: bool,
}

impl<W: Words, Q: Discipline<Packet<W>>> PortSide<W, Q> {
    /// The ports with the processes `range`.
    pub fn new(net: &Network<W>, rules: &Q::Rules, range: Processes, large: bool) -> Self {
        let ids = range.ids().map(|process| net.numbering.port[process]);
        let ports = huge_pages::collect(ids.map(|id| port::<W, Q>(net, rules, id)));
        const {
            assert!(
                !Q::SIGNALS || Q::SHARES && !Q::IDLES,
                "signals need ports that share state and do not idle"
            )
        };
        let whole = Q::SHARES || net.chooses_on_arrival();
        let switches = if whole { switches::<W, Q>(net, &ports, rules) } else { Vec::new() };
        let units = if whole { switches.len() } else { ports.len() };
        let of_port =
            switches.iter().zip(0..).flat_map(|(switch, number)| switch.ports.clone().map(move |_| number));
        Self {
            range,
            switch_of_port: of_port.collect(),
            nothing_shared: Q::shared(rules, 0),
            rules: rules.clone(),
            whole,
            agenda: Agenda::new(units),
            ports,
            switches,
            due: Vec::new(),
            large,
        }
    }

    /// Prefetches memory of the ports that are visited some time after number `index`.
    #[inline]
    fn prefetch(&self, due: &[u32], index: usize) {
        let port = |ahead: usize| due.get(index + ahead).map(|position| &self.ports[*position as usize]);
        port(2 * AHEAD).into_iter().for_each(Port::prepare);
        port(AHEAD).into_iter().for_each(Port::prepare_packets);
        port(1).into_iter().for_each(Port::prepare_near);
    }

    /// Prefetches the places that packets will take in the inboxes of their ports.
    #[inline]
    fn prefetch_slots(&self, mail: &[Emission<W>]) {
        if self.large {
            let position = |emission: &Emission<W>| self.range.position(emission.process);
            let ports = mail.iter().filter_map(|emission| self.ports.get(position(emission) as usize));
            ports.for_each(Port::prepare_slot);
        }
    }

    #[inline(always)]
    fn visit_port(&mut self, net: &Network<W>, window: Window, out: &mut Outbox<W>, position: u32) {
        let port = &mut self.ports[position as usize];
        let env = Env { net, out, window };
        let due = port.visit(&mut PortContext { env, rules: &self.rules, shared: &mut self.nothing_shared });
        port.armed =
            due.map_or(NOT_ARMED, |due| self.agenda.place(position, due.max(window.index + 1), window.index));
    }

    fn visit_switch(&mut self, net: &Network<W>, window: Window, out: &mut Outbox<W>, position: u32) {
        let next = self.work_off_switch(net, window, out, position);
        if next < (crate::port::IDLE).0 {
            let switch = &mut self.switches[position as usize];
            let due = net.grid.index(Instant(next)).max(window.index + 1);
            self.agenda.arm(&mut switch.armed, position, due, window.index);
        }
    }

    /// Processes the events of ports that share state in order of time. Returns the time of the next event.
    fn work_off_switch(
        &mut self,
        net: &Network<W>,
        window: Window,
        out: &mut Outbox<W>,
        position: u32,
    ) -> u64 {
        let switch = &mut self.switches[position as usize];
        switch.armed = NOT_ARMED;
        let ports = &mut self.ports[switch.ports.start as usize..switch.ports.end as usize];
        for (next, port) in switch.next.iter_mut().zip(&*ports) {
            *next = port.next_event(window);
        }
        loop {
            let (first, at) = switch.first();
            if at >= window.end {
                return at.0;
            }
            let (env, shared) = (Env { net, out: &mut *out, window }, &mut switch.shared);
            let cx = &mut PortContext { env, rules: &self.rules, shared };
            let arrived = if switch.choice.is_some() { ports[first].take_arrival(window) } else { None };
            match (arrived, &mut switch.choice) {
                (Some(packet), Some(choice)) => {
                    let begin = self.range.first().plus(switch.ports.start);
                    let egress = (least_loaded(net, ports, begin, choice, &packet, at)).unwrap_or(first);
                    ports[egress].arrive(cx, packet);
                    switch.next[egress] = ports[egress].next_event(window);
                }
                _ => drop(ports[first].step(cx)),
            }
            switch.next[first] = ports[first].next_event(window);
            for (ingress, signal) in out.signals.drain(..) {
                let back = usize::from(switch.cables[usize::from(ingress)]);
                ports[back].tell(signal, at);
                switch.next[back] = ports[back].next_event(window);
            }
        }
    }

    /// A packet is on its way to the port at `position`.
    #[inline(always)]
    fn expect(&mut self, net: &Network<W>, window: Window, position: u32, packet: &Packet<W>) {
        let early = packet.time(window) < window.end;
        debug_assert!(!early, "a packet that arrives in the window in which it was sent");
        let port = &mut self.ports[position as usize];
        let due = port.expect(net, window, packet).max(window.index + 1);
        if self.whole {
            self.wake_switch(net.grid.index(packet.time(window)), position, window);
        } else if due < port.armed {
            self.agenda.arm(&mut port.armed, position, due, window.index);
        }
    }

    /// Plans a visit of the switch of the port at `position`, for window `due` at the latest.
    fn wake_switch(&mut self, due: u64, position: u32, window: Window) {
        let position = self.switch_of_port[position as usize];
        let switch = &mut self.switches[position as usize];
        if due < switch.armed {
            self.agenda.arm(&mut switch.armed, position, due, window.index);
        }
    }
}

impl<W: Words, Q: Discipline<Packet<W>> + Send> Side<W> for PortSide<W, Q> {
    fn work(&mut self, env: Env<'_, W>, hosts: &mut dyn Side<W>) -> bool {
        let Env { net, out, window } = env;
        let mut due = core::mem::take(&mut self.due);
        let (ports, switches, whole) = (&self.ports, &self.switches, self.whole);
        self.agenda.take(window.index, &mut due, |unit| {
            if whole { switches[unit as usize].armed } else { ports[unit as usize].armed }
        });
        for (index, position) in due.iter().enumerate() {
            if whole {
                self.visit_switch(net, window, out, *position);
            } else {
                if self.large {
                    self.prefetch(&due, index);
                }
                self.visit_port(net, window, out, *position);
            }
            out.ports_batch(|mail, remote| self.accept((net, window), mail, remote));
            out.hosts_batch(|mail, remote| hosts.accept((net, window), mail, remote));
        }
        let worked = !due.is_empty();
        due.clear();
        self.due = due;
        worked
    }

    fn accept(&mut self, (net, window): Now<'_, W>, mail: &[Emission<W>], remote: &mut Vec<Emission<W>>) {
        let mut blocks = mail.chunks(BLOCK);
        let mut soon = blocks.next().unwrap_or_default();
        self.prefetch_slots(soon);
        while !soon.is_empty() {
            let later = blocks.next().unwrap_or_default();
            self.prefetch_slots(later);
            for emission in soon {
                let position = self.range.position(emission.process);
                if (position as usize) < self.ports.len() {
                    self.expect(net, window, position, &emission.packet);
                } else {
                    remote.push(*emission);
                }
            }
            soon = later;
        }
    }

    fn catch_up(&mut self, Env { net, out, window }: Env<'_, W>) {
        if self.whole {
            (0..self.switches.len() as u32).for_each(|switch| {
                self.work_off_switch(net, window, out, switch);
            });
        }
        for port in self.ports.iter_mut().filter(|_| !self.whole) {
            let (rules, shared) = (&self.rules, &mut self.nothing_shared);
            port.visit(&mut PortContext { env: Env { net, out: &mut *out, window }, rules, shared });
        }
    }

    fn next_busy(&mut self, window: u64) -> u64 {
        self.agenda.next_busy(window)
    }

    fn range(&self) -> Processes {
        self.range
    }

    fn data_in_flight(&self) -> u64 {
        let mut data = 0;
        let count = &mut |packet: &Packet<W>| data += u64::from(packet.was_data());
        self.ports.iter().for_each(|port| port.packets(count));
        data
    }
}

impl<W: Words, Q: Discipline<Packet<W>> + Send> Ports<W> for PortSide<W, Q> {
    fn inboxes(&self) -> Places<1> {
        Port::inboxes(&self.ports, self.range.first())
    }

    fn each(&self, visit: &mut dyn FnMut(PortView<'_>)) {
        for port in &self.ports {
            visit(PortView {
                line: &port.line,
                sending_until: port.sending_until(),
                counts: &port.incidents.counts,
                fingerprint: port.incidents.fingerprint,
                peaks: port.peaks,
                held: port.held.as_deref(),
                hops: port.held.as_ref().and_then(|held| held.hops.as_ref()),
                notes: port.held.as_ref().and_then(|held| Some(&held.notes.as_ref()?.recorded)),
            });
        }
    }

    fn waiting(&self, visit: &mut dyn FnMut(ProcessId, u16, u8)) {
        for (process, port) in self.range.ids().zip(&self.ports) {
            port.waiting(&mut |packet| visit(process, packet.ingress(), packet.priority()));
        }
    }

    fn held(&mut self, visit: &mut dyn FnMut(&mut Held)) {
        self.ports.iter_mut().filter_map(|port| port.held.as_deref_mut()).for_each(visit);
    }
}

/// Chooses the egress port of a packet that arrives at `at`: among the ports whose links work, that with the
/// fewest packets. `begin` is the process of the first of `ports`.
fn least_loaded<W: Words, Q: Discipline<Packet<W>>>(
    net: &Network<W>,
    ports: &[Port<W, Q>],
    begin: ProcessId,
    (next, chance): &mut (Next, SmallRandomStream),
    packet: &Packet<W>,
    at: Instant,
) -> Option<usize> {
    let (mut best, mut equal) = (None, 0);
    net.alternatives(next, packet, &mut |process| {
        let port = process.behind(begin) as usize;
        let cost = (!net.works(process, at), ports[port].load());
        match best {
            Some((_, least)) if cost > least => return,
            Some((_, least)) if cost == least => equal += 1,
            _ => equal = 1,
        }
        // Each of the equal ports is the last to replace another one with the same probability.
        if equal == 1 || chance.below(equal) == 0 {
            best = Some((port, cost));
        }
    });
    best.map(|(port, _)| port)
}

/// Groups neighbouring ports by their switch.
fn switches<W: Words, Q: Discipline<Packet<W>>>(
    net: &Network<W>,
    ports: &[Port<W, Q>],
    rules: &Q::Rules,
) -> Vec<SharedSwitch<Q::Shared>> {
    let mut end = 0;
    let switches = ports.chunk_by(|one, next| one.incidents.node == next.incidents.node).map(|ports| {
        let begin = end;
        end += ports.len() as u32;
        let mut shared = Q::shared(rules, ports.len());
        let node = ports[0].incidents.node;
        let cables = if Q::SIGNALS { net.cables(node) } else { Vec::new() };
        Q::links(rules, &mut shared, &net.rates_into(node));
        let next = vec![Instant::NEVER; ports.len()];
        let chance = || Seed(net.scenario.seed).small_stream("switch.choice", node.get().into());
        let choice = net.chooses_on_arrival().then(|| (net.next_at(node), chance()));
        SharedSwitch { ports: begin..end, shared, armed: NOT_ARMED, next, cables, choice }
    });
    switches.collect()
}

/// An empty port.
pub fn port<W: Words, Q: Discipline<Packet<W>>>(
    net: &Network<W>,
    rules: &Q::Rules,
    id: PortId,
) -> Port<W, Q> {
    let port = &net.topology().ports[id];
    let chance = Seed(net.scenario.seed).small_stream("switch.port", id.get().into());
    let line = Line::new(net, LinkRef::Port(id), net.next_of_port(id), chance);
    let first = net.topology().nodes[port.node].ports.start;
    let probes = net.probes();
    let own = probes.port_series.as_ref().filter(|series| series.has(net.topology(), id));
    let [series, own] = [probes.series.as_ref().map(|series| series.interval), own.map(|own| own.interval)];
    let mut held = Held::new(probes.occupancy.is_some(), series, own);
    if probes.hops.is_some() {
        held.get_or_insert_default().hops = Some(HopLog::default());
    }
    if net.watches.any(Watches::INCIDENTS) {
        let row = net.topology().hosts.len() as u32 + id.get();
        held.get_or_insert_default().notes = Some(Box::new(PortNotes::new(net, row)));
    }
    Port::new(net, rules, line, port.node, (id.get() - first) as u16, held)
}
