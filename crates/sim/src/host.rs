//! A host: its transport and its NIC.

use core::hint::cold_path;
use core::mem::offset_of;
use std::collections::VecDeque;

use pullnet_probes::{Seen, Watches};
use pullnet_qdisc::Ring;
use pullnet_session::{
    Application, HostCounts, HostLog, News, Report, conn_of, flow_of, packet_received, packet_sent,
};
use pullnet_transport::{
    Class, FailureReason, Fate, FlowSpec, GroupMember, Header, HostAddr, Packed, Received, SendCounts,
    Source, Transmit, Transport, Words,
};
use pullnet_units::{HostId, Instant, Labels, PathLabel};
use pullnet_workload::{FlowStart, Instruction, Join, Part};

use crate::agenda::NOT_ARMED;
use crate::clock::Window;
use crate::fingerprint::Fingerprint;
use crate::hops::{self, LineState};
use crate::line::Line;
use crate::network::Network;
use crate::packet::{Packet, Sent};
use crate::port::Env;
use crate::prefetch::{Places, prefetch, prefetch_near};
use crate::process::ProcessId;
use crate::stack::Stack;

mod events;

use events::Incoming;

/// A host that packets come from.
#[derive(Clone, Copy, Debug)]
struct Peer {
    addr: HostAddr,
    /// Paths to it.
    paths: u16,
    /// Hop count from that host; 0 if not computed yet or above 65,535.
    hops: u16,
}

/// An address that no host has: real ones have 24 bits.
const NOBODY: HostAddr = HostAddr(u32::MAX);

/// Longest control packet of any transport where data packets are shorter: an ACK with all its options.
const LONGEST_CONTROL: u32 = 256;

/// Surroundings of one visit of a host.
pub struct HostContext<'a, W> {
    /// The window, the network and the outbox.
    pub env: Env<'a, W>,
    /// Destination of reports of flows.
    pub reports: &'a mut Vec<Report>,
    /// Destination of probe records.
    pub log: &'a mut HostLog,
    /// Whether a report of a flow may end the run, so that hosts are visited without delay.
    pub eager: bool,
}

/// One host. An arriving packet touches two cache lines: that with the head of the inbox at its end, and that of its
/// slot in the inbox. Fields that only some visits need come last, beside the cold end of the transport, so that the
/// hot part of a large network stays small enough for the caches.
#[repr(C, align(64))]
pub struct Host<W, T> {
    /// The hosts that the latest control packet and the latest data packet came from.
    latest: [Peer; 2],
    /// The NIC.
    pub line: Line,
    /// Window of the next planned visit.
    pub armed: u64,
    /// Time from which the transport may have a packet to send; [`Instant::NEVER`] if it was polled and had none.
    ready_at: Instant,
    /// When the NIC is free.
    pub busy_until: Instant,
    /// When the next flow starts.
    next_start: Instant,
    inbox: Ring<Packet<W>>,
    /// Counters of the host's packets.
    pub counts: HostCounts,
    /// Running hash of the host's events.
    pub fingerprint: Fingerprint,
    incoming: Vec<Incoming>,
    addr: HostAddr,
    /// Number of the host.
    pub id: HostId,
    transport: T,
    starts: VecDeque<FlowStart>,
    /// Starts flows by itself; `None` if it never had to.
    application: Option<Box<Application>>,
    /// A packet that the transport has sent, of a priority that the switch has paused.
    held_back: Option<Transmit<Packed<W>>>,
}

/// Words of the headers of a transport.
pub type HeaderWords<T> = <<T as Transport>::Header as Header>::Words;

impl<W: Words, T: Stack<W>> Host<W, T> {
    /// A host at rest.
    pub fn new(id: HostId, addr: HostAddr, transport: T, line: Line) -> Self {
        Self {
            id,
            addr,
            transport,
            inbox: Ring::default(),
            starts: VecDeque::new(),
            application: None,
            held_back: None,
            next_start: Instant::NEVER,
            ready_at: Instant::NEVER,
            armed: NOT_ARMED,
            line,
            busy_until: Instant::ZERO,
            incoming: Vec::new(),
            latest: [Peer { addr: NOBODY, paths: 1, hops: 0 }; 2],
            counts: HostCounts::default(),
            fingerprint: Fingerprint::default(),
        }
    }

    /// A packet is on its way here. Returns the last window in which a visit is early enough for it.
    #[inline]
    pub fn expect(&mut self, net: &Network<W>, window: Window, packet: &Packet<W>, eager: bool) -> u64 {
        debug_assert!(
            packet.time(window) >= window.end,
            "a packet that arrives in the window in which it was sent"
        );
        self.inbox.insert_sorted(*packet, Packet::comes_before);
        self.due(net, packet.time(window), eager)
    }

    /// The application is told to open a flow, or which flow to open by itself. Starts come in order of time. Returns the last window
    /// in which a visit is early enough for it; `None` if there is nothing to visit it for.
    pub fn tell(
        &mut self,
        net: &Network<W>,
        window: Window,
        instruction: Instruction,
        (eager, reports): (bool, &mut Vec<Report>),
    ) -> Option<u64> {
        let start = match instruction {
            Instruction::Start(start) => start,
            Instruction::Prepare(prepared) => {
                let application = self.application.get_or_insert_default();
                let start = application.prepare(prepared, window.start)?;
                reports.push(Report { at: window.start, flow: start.flow, news: News::Begins(start.at) });
                start
            }
            Instruction::Release { flow, at, .. } => {
                let start = self.application.as_mut()?.release(flow, at.max(window.start))?;
                reports.push(Report { at: window.start, flow, news: News::Begins(start.at) });
                start
            }
        };
        self.plan(start);
        Some(self.due(net, start.at, eager))
    }

    /// A flow will start here. At one time flows start in the order of their numbers.
    fn plan(&mut self, start: FlowStart) {
        let place = |other: &FlowStart| (other.at, other.flow);
        if self.starts.capacity() == 0 {
            // Nearly always the only one, and a queue would begin with room for four.
            self.starts.reserve_exact(1);
        }
        let later = self.starts.iter().rev().take_while(|other| place(other) > place(&start)).count();
        self.starts.insert(self.starts.len() - later, start);
        self.next_start = self.next_start.min(start.at);
    }

    /// Last window in which a visit is early enough for an event at `at` to reach other processes in time. Packets
    /// leave only when the link is free, so the visit can wait for that; reports of flows cannot wait if they are
    /// awaited (`eager`).
    #[inline]
    fn due(&self, net: &Network<W>, at: Instant, eager: bool) -> u64 {
        if eager {
            return net.grid.index(at);
        }
        net.grid.index(self.line.reaches(at.max(self.busy_until), net.shortest)) - 1
    }

    /// Time of the next event; a time in the past if a visit now would find work. [`Instant::NEVER`] for never.
    pub fn next_event(&self, window: Window) -> Instant {
        let link = self.busy_until.max(self.ready_at);
        link.min(self.transport.next_timeout()).min(self.next_arrival(window)).min(self.next_start)
    }

    /// When the next packet arrives.
    #[inline]
    fn next_arrival(&self, window: Window) -> Instant {
        self.inbox.front().map_or(Instant::NEVER, |packet| packet.time(window))
    }

    /// Processes every event before the end of the window. At equal times the link comes first, then timers, arrivals,
    /// and new flows. Returns the last window in which the next visit is early enough; `None` if no event is left.
    pub fn visit(&mut self, cx: &mut HostContext<'_, W>) -> Option<u64> {
        let (mut latest, mut arrival) = (Instant::ZERO, self.next_arrival(cx.env.window));
        loop {
            let link = self.busy_until.max(self.ready_at);
            let timer = self.transport.next_timeout();
            let at = link.min(timer).min(arrival).min(self.next_start);
            if at >= cx.env.window.end {
                return (at != Instant::NEVER).then(|| self.due(cx.env.net, at, cx.eager));
            }
            let before = core::mem::replace(&mut latest, at);
            debug_assert!(at == timer || at >= before, "something at a host before what has happened there");
            if at == link {
                self.transmit(cx, at);
                continue;
            }
            if at == timer {
                // An input may set a deadline in the past; it is met at once.
                latest = at.max(before);
                self.transport.handle_timeout(latest);
                let next = self.transport.next_timeout();
                debug_assert!(next > at, "a deadline that was met stays: {next:?}");
            } else if at == arrival {
                self.arrive(cx, at);
                arrival = self.next_arrival(cx.env.window);
                continue;
            } else {
                self.start(cx, at);
            }
            self.after_input(cx, latest);
        }
    }

    /// Passes the transport's events on, and marks the link as ready to poll the transport for packets.
    #[inline(always)]
    fn after_input(&mut self, cx: &mut HostContext<'_, W>, now: Instant) {
        while let Some(event) = self.transport.poll_event() {
            self.report(cx, now, event);
        }
        self.ready_at = self.ready_at.min(now);
    }

    #[inline(never)]
    fn start(&mut self, cx: &mut HostContext<'_, W>, now: Instant) {
        let Some(start) = self.starts.pop_front() else { return };
        self.next_start = self.starts.front().map_or(Instant::NEVER, |start| start.at);
        let GroupMember { addr: to, paths } = self.member(cx.env.net, start.dst);
        let Labels { priority, transport, deadline, tenant, .. } = start.labels;
        let (conn, size) = (conn_of(start.flow), start.size);
        let flow = FlowSpec { conn, to, size, priority, paths, deadline, tenant };
        let here = self.application.as_mut().and_then(|application| {
            application.begin(&start);
            application.passes_on(&start, to)
        });
        if let Some(bytes) = here {
            self.transport.open_relay(now, transport, flow);
            return self.transport.supply(now, transport, to, conn, bytes);
        }
        match start.part {
            Some(Part { join: Join::Multicast, of, .. }) => {
                self.start_group(cx, now, (transport, flow), of.into());
            }
            Some(Part { join: Join::Sources, index, of }) => {
                self.transport.open_source(now, transport, flow, Source { index, of });
            }
            _ => self.transport.open(now, transport, flow),
        }
    }

    /// A host as one of several receivers sees it.
    fn member(&self, net: &Network<W>, host: HostId) -> GroupMember {
        let addr = net.topology().addr(host);
        GroupMember { addr, paths: net.topology().path_count(self.addr, addr) }
    }

    /// `flow` and the next `of - 1` flows go to the receivers of one group.
    fn start_group(
        &mut self,
        cx: &mut HostContext<'_, W>,
        now: Instant,
        (transport, flow): (u8, FlowSpec),
        of: usize,
    ) {
        self.starts.drain(..of - 1);
        self.next_start = self.starts.front().map_or(Instant::NEVER, |start| start.at);
        let net = cx.env.net;
        let Some((to, group)) = net.groups.as_ref().and_then(|groups| groups.of_flow(flow_of(flow.conn)))
        else {
            for part in 0..of as u32 {
                let news = News::Failed(FailureReason::NoGroupAddress, SendCounts::default());
                cx.reports.push(Report { at: now, flow: flow_of(flow.conn).plus(part), news });
            }
            return;
        };
        let members: Vec<_> = group.receivers.iter().map(|host| self.member(net, *host)).collect();
        self.transport.open_group(now, transport, FlowSpec { to, paths: group.trees, ..flow }, &members);
    }

    #[inline]
    fn arrive(&mut self, cx: &mut HostContext<'_, W>, now: Instant) {
        let Some(packet) = self.inbox.pop() else { return };
        if cx.env.net.watches.any(Watches::RECEIVED) {
            self.log_arrival(cx, now, &packet);
        }
        let (from, data) = (packet.from(), packet.was_data());
        let peer = &mut self.latest[usize::from(data)];
        if peer.addr != from {
            let paths = cx.env.net.topology().path_count(from, self.addr);
            *peer = Peer { addr: from, paths, hops: 0 };
        }
        let paths = peer.paths;
        if data {
            self.count_arrival(cx, &packet);
        } else if let Some(signal) = packet.as_signal() {
            self.line.obey(signal, now);
            // The link polls the transport again after every input.
            return self.after_input(cx, now);
        }
        let taken = self.counts.data_taken;
        self.transport.handle(now, received(&packet, paths));
        self.after_input(cx, now);
        if data && packet.fate() == Fate::Whole && self.counts.data_taken == taken {
            self.count_surplus(cx, &packet);
        }
    }

    /// Counts a data packet that has arrived, or was returned, from the latest host that sent data.
    #[inline]
    fn count_arrival(&mut self, cx: &HostContext<'_, W>, packet: &Packet<W>) {
        match packet.fate() {
            Fate::Whole => {
                self.counts.data_delivered += 1;
                self.counts.packet_hops += match self.latest[1].hops {
                    _ if cx.env.net.groups.is_some() && packet.to() != self.addr => {
                        self.count_links(cx, packet)
                    }
                    0 => self.count_hops(cx),
                    hops => hops.into(),
                };
            }
            Fate::Trimmed => self.counts.headers_delivered += 1,
            Fate::Returned => self.counts.headers_returned += 1,
        }
        if packet.fate() != Fate::Whole && !cx.env.net.all_hear_headers {
            self.line.note_cut(cx.env.net, packet);
        }
    }

    /// Links of its tree that a packet for a group has crossed for this host's sake: each link counts once.
    #[cold]
    fn count_links(&self, cx: &HostContext<'_, W>, packet: &Packet<W>) -> u64 {
        let net = cx.env.net;
        let links = net.groups.as_ref().and_then(|groups| {
            let group = groups.at(packet.to())?;
            let index = group.receivers.iter().position(|receiver| *receiver == self.id)?;
            groups.tree(&net.scenario, group, packet.label().get(), packet.time(cx.env.window)).links(index)
        });
        links.unwrap_or(1).into()
    }

    /// Hop count from the latest host that sent data.
    #[cold]
    #[inline(never)]
    fn count_hops(&mut self, cx: &HostContext<'_, W>) -> u64 {
        let [_, peer] = &mut self.latest;
        let hops = cx.env.net.hops(peer.addr, self.addr);
        peer.hops = u16::try_from(hops).unwrap_or(0);
        hops
    }

    #[inline]
    fn transmit(&mut self, cx: &mut HostContext<'_, W>, now: Instant) {
        if cx.env.net.sends_specially {
            return self.transmit_specially(cx, now);
        }
        match self.poll(cx.env.net, now) {
            Some(sent) => {
                let packet = self.depart(cx, now, &sent);
                self.busy_until = self.line.send(cx.env.net, now, &packet, cx.env.out);
            }
            None => self.ready_at = Instant::NEVER,
        }
    }

    /// [`Host::transmit`] where switches pause hosts, or packets are recorded at every hop. A packet of a paused priority
    /// blocks the packets behind it, as in a NIC with one queue.
    #[cold]
    #[inline(never)]
    fn transmit_specially(&mut self, cx: &mut HostContext<'_, W>, now: Instant) {
        self.line.change(now);
        let sent = self.held_back.take().or_else(|| self.poll(cx.env.net, now));
        match sent {
            Some(sent) if self.line.pause.here >> sent.priority & 1 != 0 => {
                self.held_back = Some(sent);
                self.ready_at = self.line.next_change();
            }
            Some(sent) => {
                let packet = self.depart(cx, now, &sent);
                let before = LineState::of(&self.line);
                self.busy_until = self.line.send(cx.env.net, now, &packet, cx.env.out);
                let line = (&self.line, before);
                let row = hops::at_nic(cx.env.net, self.id, (now, self.busy_until), &packet, line);
                cx.log.recorded.hops.iter_mut().for_each(|hops| hops.rows.extend(row));
            }
            None => self.ready_at = Instant::NEVER,
        }
    }

    /// The next packet of the transport.
    #[inline(always)]
    fn poll(&mut self, net: &Network<W>, now: Instant) -> Option<Transmit<Packed<W>>> {
        let sent = self.transport.poll_transmit(now)?;
        self.counts.data_sent += u64::from(sent.class == Class::Data);
        self.counts.retransmitted += u64::from(sent.again);
        self.check_departure(net, &sent);
        Some(sent)
    }

    /// Returns a packet as the engine carries it. Its first bit leaves now, which is recorded where packets are watched.
    #[inline(always)]
    fn depart(&self, cx: &mut HostContext<'_, W>, now: Instant, sent: &Transmit<Packed<W>>) -> Packet<W> {
        if cx.env.net.watches.any(Watches::SENT) {
            self.log_departure(cx, now, sent);
        }
        Packet::new(self.addr, sent.to, Sent::of(sent, self.label(cx.env.net, sent)), sent.header)
    }

    /// The label of a packet's path; for a group it is the number of a tree.
    #[inline(always)]
    fn label(&self, net: &Network<W>, packet: &Transmit<Packed<W>>) -> PathLabel {
        if net.groups.is_some() && packet.to.group_number().is_some() {
            cold_path();
            return PathLabel::new(packet.path);
        }
        net.topology().label(self.addr, packet.to, packet.path)
    }

    /// Checks the engine's assumptions about a packet that a transport sends, in builds with assertions.
    #[inline(always)]
    fn check_departure(&self, net: &Network<W>, packet: &Transmit<Packed<W>>) {
        let group = net.groups.as_ref().and_then(|groups| groups.at(packet.to));
        let paths =
            || group.map_or_else(|| net.topology().path_count(self.addr, packet.to), |group| group.trees);
        debug_assert!(packet.path < paths(), "path {} of {}", packet.path, paths());
        let most =
            if packet.class == Class::Control { net.largest.max(LONGEST_CONTROL) } else { net.largest };
        let bounds = net.shortest..=most;
        debug_assert!(bounds.contains(&packet.wire.into()), "{} B, for {bounds:?}", packet.wire);
    }

    /// Writes the probe records of an arriving packet.
    #[cold]
    #[inline(never)]
    fn log_arrival(&self, cx: &mut HostContext<'_, W>, now: Instant, packet: &Packet<W>) {
        let peer = cx.env.net.topology().host(packet.from()).unwrap_or(self.id);
        let received = received(packet, cx.env.net.topology().path_count(packet.from(), self.addr));
        let kind = cx.env.net.headers.kind(received.header);
        let packet = packet_received(now, (self.id, peer), kind, &received);
        cx.log.recorded.note(&Seen::Packet(packet));
    }

    /// Writes the probe records of a departing packet.
    #[cold]
    #[inline(never)]
    fn log_departure(&self, cx: &mut HostContext<'_, W>, now: Instant, packet: &Transmit<Packed<W>>) {
        let kind = cx.env.net.headers.kind(packet.header);
        let peer = cx.env.net.topology().host(packet.to).unwrap_or(self.id);
        let packet = packet_sent(now, (self.id, peer), kind, packet);
        cx.log.recorded.note(&Seen::Packet(packet));
    }

    /// Cache lines that [`Host::expect`] touches, for each of `hosts`; the first host is process `first`.
    pub fn inboxes(hosts: &[Self], first: ProcessId) -> Places<3> {
        Places::new(hosts, first, offset_of!(Self, armed))
    }

    /// Addresses of the cache lines that nearly every visit reads.
    #[inline]
    fn hot_lines(&self) -> impl Iterator<Item = *const u8> {
        let begin: *const u8 = (&raw const *self).cast();
        (0..offset_of!(Self, transport) + T::HOT_BYTES)
            .step_by(64)
            .map(move |offset| begin.wrapping_add(offset))
    }

    /// Prefetches the cache lines that nearly every visit reads.
    #[inline]
    pub fn prepare_visit(&self) {
        self.hot_lines().for_each(prefetch);
    }

    /// The same into the first-level cache.
    #[inline]
    pub fn prepare_near(&self) {
        self.hot_lines().for_each(prefetch_near);
    }

    /// Prefetches memory that the transport points to; see [`Transport::prefetch_targets`].
    #[inline]
    pub fn prepare(&self, step: u8) {
        if step == 0 {
            prefetch(self.incoming.as_ptr());
        }
        self.transport.prefetch_targets(step, &mut |place| prefetch(place));
    }

    /// The transport, for questions about open flows.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Packets sent as data that are on their way here or held back here.
    pub fn data_in_flight(&self) -> u64 {
        let here = self.inbox.iter().filter(|packet| packet.was_data()).count();
        here as u64 + u64::from(self.held_back.as_ref().is_some_and(|sent| sent.class == Class::Data))
    }
}

/// `packet` in the form that transports take; `paths` is the number of paths to its sender.
#[inline(always)]
fn received<W: Words>(packet: &Packet<W>, paths: u16) -> Received<Packed<W>> {
    let (fate, ce, header) = (packet.fate(), packet.ce(), packet.packed());
    Received { from: packet.from(), paths, wire: packet.sent_size(), fate, ce, header }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_ndp::NdpEndpoint;

    #[test]
    fn what_is_used_together_lies_together() {
        type NdpHost = Host<pullnet_transport::Small, NdpEndpoint>;
        assert_eq!(offset_of!(NdpHost, line) + Line::READ_AT_ARRIVAL, 128);
        assert_eq!(offset_of!(NdpHost, inbox), 128 + 64 - 16);
    }
}
