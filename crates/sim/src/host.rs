//! A host: its transport and its NIC.

use core::mem::offset_of;
use std::collections::VecDeque;

use pullnet_qdisc::Ring;
use pullnet_record::{ControlRow, LatencyRow};
use pullnet_transport::{
    Class, ConnId, Event, Fate, FlowSpec, Header, HostAddr, Received, Transmit, Transport,
};
use pullnet_units::{HostId, Instant, Picos};
use pullnet_workload::FlowStart;

use crate::agenda::NOT_ARMED;
use crate::clock::Window;
use crate::director::{News, Report};
use crate::fingerprint::Fingerprint;
use crate::line::Line;
use crate::network::Network;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::prefetch::{Places, prefetch, prefetch_lines};
use crate::probe::{self, HostLog, Share};

/// What hosts count.
#[derive(Clone, Copy, Default, Debug)]
pub struct HostCounts {
    /// Data packets sent.
    pub data_sent: u64,
    /// Of these, packets that were sent before.
    pub retransmitted: u64,
    /// Data packets that arrived whole.
    pub data_delivered: u64,
    /// Headers that arrived.
    pub headers_delivered: u64,
    /// Headers that came back.
    pub headers_returned: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Whole data packets that arrived times links on their path.
    pub packet_hops: u64,
    /// Payload bytes that arrived within the measurement window.
    pub delivered_in_window: u64,
}

/// A flow that arrives here.
#[derive(Clone, Copy, Default, Debug)]
struct Incoming {
    flow: u32,
    delivered: u64,
    in_window: u64,
    /// Interval of the series, and what arrived in it so far.
    share: (u64, u64),
    over: bool,
}

/// What a visit needs from outside.
pub struct HostContext<'a> {
    /// Everything that does not change.
    pub net: &'a Network,
    /// Where packets go.
    pub out: &'a mut Outbox,
    /// Where news goes.
    pub reports: &'a mut Vec<Report>,
    /// Where probes write.
    pub log: &'a mut HostLog,
    /// The current window.
    pub window: Window,
    /// Whether somebody waits for news of flows.
    pub prompt: bool,
}

/// What happens next at a host; ties are decided in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Turn {
    /// The link can take a packet.
    Link,
    /// A deadline of the transport.
    Timer,
    /// A packet arrives.
    Arrival,
    /// The application opens a flow.
    Start,
}

/// One host. What only some visits need comes last, with the cold end of the transport: a large network has its memory at
/// hand only if that is little.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Host<T> {
    /// The window that the host is to be visited in.
    pub armed: u64,
    /// From when on the transport may have something to send; `u64::MAX` if it was asked and had nothing.
    ready_at: u64,
    /// When the NIC is free.
    pub busy_until: u64,
    /// When the next flow starts.
    next_start: u64,
    /// Number of links from the host that packets came from last.
    latest_hops: (HostAddr, u64),
    inbox: Ring<Packet>,
    /// What happened here.
    pub counts: HostCounts,
    /// Hash of it.
    pub fingerprint: Fingerprint,
    incoming: Vec<Incoming>,
    addr: HostAddr,
    /// Its number.
    pub id: HostId,
    /// The NIC.
    pub line: Line,
    transport: T,
    starts: VecDeque<FlowStart>,
}

impl<T: Transport> Host<T> {
    /// A host at rest.
    pub fn new(id: HostId, addr: HostAddr, transport: T, line: Line) -> Self {
        Self {
            id,
            addr,
            transport,
            inbox: Ring::default(),
            starts: VecDeque::new(),
            next_start: u64::MAX,
            ready_at: u64::MAX,
            armed: NOT_ARMED,
            line,
            busy_until: 0,
            incoming: Vec::new(),
            latest_hops: (addr, 0),
            counts: HostCounts::default(),
            fingerprint: Fingerprint::default(),
        }
    }

    /// A packet is on its way here. Returns the last window in which the host can be visited for its sake.
    #[inline]
    pub fn expect(&mut self, net: &Network, window: Window, packet: &Packet, prompt: bool) -> u64 {
        self.inbox.insert_sorted(*packet, Packet::comes_before);
        self.due(net, packet.time(window), prompt)
    }

    /// The application will open a flow. Starts come in order of time. Returns the last window in which the host can be
    /// visited for its sake.
    pub fn plan(&mut self, net: &Network, start: FlowStart, prompt: bool) -> u64 {
        self.starts.push_back(start);
        self.next_start = self.next_start.min(start.at.0);
        self.due(net, start.at.0, prompt)
    }

    /// The last window in which the host can be visited so that what happens at `at` is known elsewhere in time. Nothing
    /// leaves before the link is free; news of flows does, if somebody waits for it (`prompt`).
    #[inline]
    fn due(&self, net: &Network, at: u64, prompt: bool) -> u64 {
        if prompt {
            return net.grid.index(at);
        }
        net.grid.index(self.line.reaches(at.max(self.busy_until), net.shortest)) - 1
    }

    /// What happens next, and when.
    #[inline]
    fn next_turn(&self, window: Window) -> (u64, Turn) {
        let link = if self.ready_at == u64::MAX { u64::MAX } else { self.busy_until.max(self.ready_at) };
        let timer = self.transport.poll_timeout().map_or(u64::MAX, |deadline| deadline.at.0);
        let arrival = self.inbox.front().map_or(u64::MAX, |packet| packet.time(window));
        let first = (link, Turn::Link).min((timer, Turn::Timer));
        first.min((arrival, Turn::Arrival)).min((self.next_start, Turn::Start))
    }

    /// Lets everything happen that lies before the end of the window. Returns the last window in which the host can be
    /// visited next; `None` if nothing is to be done.
    pub fn visit(&mut self, cx: &mut HostContext<'_>) -> Option<u64> {
        let mut earliest = 0;
        loop {
            let (at, turn) = self.next_turn(cx.window);
            if at >= cx.window.end {
                return (at != u64::MAX).then(|| self.due(cx.net, at, cx.prompt));
            }
            // A deadline may have passed while nothing could be done about it.
            let now = at.max(earliest);
            earliest = cx.net.grid.begin(now);
            match turn {
                Turn::Link => self.transmit(cx, at),
                Turn::Timer => self.input(cx, now, |host, now| host.transport.handle_timeout(now)),
                Turn::Arrival => self.arrive(cx, at),
                Turn::Start => self.start(cx, at),
            }
        }
    }

    /// An input to the transport; what it reports is passed on, and the link will ask it for packets.
    #[inline]
    fn input(&mut self, cx: &mut HostContext<'_>, now: u64, act: impl FnOnce(&mut Self, Instant)) {
        act(self, Instant(now));
        while let Some(event) = self.transport.poll_event() {
            self.report(cx, now, event);
        }
        self.ready_at = self.ready_at.min(now);
    }

    fn start(&mut self, cx: &mut HostContext<'_>, now: u64) {
        let Some(start) = self.starts.pop_front() else { return };
        self.next_start = self.starts.front().map_or(u64::MAX, |start| start.at.0);
        let to = cx.net.topology().addr(start.dst);
        let paths = cx.net.topology().path_count(self.addr, to);
        let flow =
            FlowSpec { conn: ConnId(start.flow), to, size: start.size, priority: start.priority, paths };
        self.input(cx, now, |host, now| host.transport.open(now, flow));
    }

    #[inline]
    fn arrive(&mut self, cx: &mut HostContext<'_>, now: u64) {
        let Some(packet) = self.inbox.pop() else { return };
        let (from, fate, topology) = (packet.from(), packet.fate(), cx.net.topology());
        if packet.was_data() {
            self.count_arrival(cx, from, fate);
        }
        let received = Received {
            from,
            paths: topology.path_count(from, self.addr),
            wire: packet.sent_size(),
            fate,
            header: T::Header::unpack(packet.packed()),
        };
        if cx.net.probes().packets {
            let peer = topology.host(from).unwrap_or(self.id);
            cx.log.packets.push(probe::received(Instant(now), self.id, peer, &received));
        }
        self.input(cx, now, |host, now| host.transport.handle(now, received));
    }

    #[inline]
    fn count_arrival(&mut self, cx: &HostContext<'_>, from: HostAddr, fate: Fate) {
        match fate {
            Fate::Whole => {
                if self.latest_hops.0 != from {
                    self.latest_hops = (from, cx.net.hops(from, self.addr));
                }
                self.counts.data_delivered += 1;
                self.counts.packet_hops += self.latest_hops.1;
            }
            Fate::Trimmed => self.counts.headers_delivered += 1,
            Fate::Returned => self.counts.headers_returned += 1,
        }
    }

    #[inline]
    fn transmit(&mut self, cx: &mut HostContext<'_>, now: u64) {
        let Some(packet) = self.transport.poll_transmit(Instant(now)) else {
            self.ready_at = u64::MAX;
            return;
        };
        let control = packet.class == Class::Control;
        if control {
            self.log_control(cx, now, &packet);
        } else {
            self.counts.data_sent += 1;
            self.counts.retransmitted += u64::from(packet.again);
        }
        if cx.net.probes().packets {
            let peer = cx.net.topology().host(packet.to).unwrap_or(self.id);
            cx.log.packets.push(probe::sent(Instant(now), self.id, peer, &packet));
        }
        let label = cx.net.topology().label(self.addr, packet.to, packet.path);
        let packet = Packet::new(self.addr, packet.to, control, label, packet.wire, packet.header.pack());
        let sent = self.line.send(cx.net, now, packet);
        self.busy_until = sent.until;
        if let Some((target, packet)) = sent.emission {
            cx.out.push(target, packet);
        }
    }

    fn log_control(&self, cx: &mut HostContext<'_>, now: u64, packet: &Transmit<T::Header>) {
        if cx.net.probes().control {
            let kind = T::Header::KINDS[usize::from(packet.header.pack().kind & 0x0f)];
            cx.log.control.push(ControlRow { host: self.id, at: Instant(now), kind });
        }
    }

    fn report(&mut self, cx: &mut HostContext<'_>, now: u64, event: Event) {
        match event {
            Event::Opened { slot, conn, .. } => self.opened(cx, now, slot, conn.0),
            Event::Delivered { slot, bytes, .. } => self.delivered(cx, now, slot, bytes.into()),
            Event::Received { slot } => self.received(cx, now, slot),
            Event::Acked { conn, latency, .. } => self.acked(cx, now, conn.0, latency),
            Event::Completed { conn, counts, .. } => {
                self.fingerprint.add(now, conn.0.into(), 6);
                cx.reports.push(Report { at: now, flow: conn.0, news: News::Acknowledged(counts) });
            }
            Event::Failed { conn, reason, counts, .. } => {
                self.fingerprint.add(now, conn.0.into(), 7);
                cx.reports.push(Report { at: now, flow: conn.0, news: News::Failed(reason, counts) });
            }
            Event::TimedOut { conn, seq, .. } => {
                self.counts.timeouts += 1;
                cx.log.timed_out.push((conn.0, seq));
            }
            Event::Stray { .. } | Event::Silent { .. } => {}
        }
    }

    fn opened(&mut self, cx: &mut HostContext<'_>, now: u64, slot: u32, flow: u32) {
        let slot = slot as usize;
        if slot >= self.incoming.len() {
            self.incoming.resize(slot + 1, Incoming { over: true, ..Incoming::default() });
        }
        self.abandon(cx.reports, cx.log, now, slot);
        self.incoming[slot] = Incoming { flow, ..Incoming::default() };
    }

    /// The flow in `slot` is forgotten before it is over.
    fn abandon(&mut self, reports: &mut Vec<Report>, log: &mut HostLog, now: u64, slot: usize) {
        if !self.incoming[slot].over {
            self.incoming[slot].close_share(log);
        }
        let Incoming { flow, delivered, in_window, over, .. } = self.incoming[slot];
        if !over && delivered > 0 {
            reports.push(Report { at: now, flow, news: News::Unfinished { delivered, in_window } });
        }
    }

    #[inline]
    fn delivered(&mut self, cx: &mut HostContext<'_>, now: u64, slot: u32, bytes: u64) {
        let incoming = &mut self.incoming[slot as usize];
        self.fingerprint.add(now, u64::from(incoming.flow) << 32 | bytes, 4);
        incoming.delivered += bytes;
        let (from, to) = cx.net.measure;
        if from <= now && now < to {
            incoming.in_window += bytes;
            self.counts.delivered_in_window += bytes;
        }
        if let Some(series) = &cx.net.probes().series {
            incoming.add_share(cx.log, now / series.interval.0, bytes);
        }
    }

    fn received(&mut self, cx: &mut HostContext<'_>, now: u64, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        let Incoming { flow, delivered, in_window, .. } = *incoming;
        incoming.over = true;
        incoming.close_share(cx.log);
        self.fingerprint.add(now, flow.into(), 5);
        cx.reports.push(Report { at: now, flow, news: News::Received { delivered, in_window } });
    }

    fn acked(&self, cx: &mut HostContext<'_>, now: u64, flow: u32, latency: Picos) {
        if cx.net.probes().latency {
            cx.log.latencies.push(LatencyRow { flow, at: Instant(now), latency });
        }
    }

    /// The end of the run: what unfinished flows have brought so far.
    pub fn finish(&mut self, now: u64, reports: &mut Vec<Report>, log: &mut HostLog) {
        for slot in 0..self.incoming.len() {
            self.abandon(reports, log, now, slot);
        }
    }

    /// What [`Host::expect`] touches of `hosts`, of which the first is number `first`.
    pub fn inboxes(hosts: &[Self], first: u32) -> Places<3> {
        Places::new(hosts, first, 0)
    }

    /// Brings into the cache what nearly every visit reads.
    #[inline]
    pub fn prepare_visit(&self) {
        prefetch_lines(&raw const *self, (offset_of!(Self, transport) + T::HOT).div_ceil(64));
    }

    /// Brings into the cache what the transport points to; see [`Transport::places`].
    #[inline]
    pub fn prepare(&self, step: u8) {
        if step == 0 {
            prefetch(self.inbox.near(0));
        }
        self.transport.places(step, &mut |place| prefetch(place));
    }

    /// The transport, for questions about open flows.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Visits every packet that is on its way here.
    pub fn packets(&self, visit: &mut dyn FnMut(&Packet)) {
        self.inbox.iter().for_each(visit);
    }
}

impl Incoming {
    fn add_share(&mut self, log: &mut HostLog, index: u64, bytes: u64) {
        if self.share.0 != index {
            self.close_share(log);
            self.share = (index, 0);
        }
        self.share.1 += bytes;
    }

    fn close_share(&mut self, log: &mut HostLog) {
        let (index, bytes) = core::mem::take(&mut self.share);
        if bytes > 0 {
            log.shares.push(Share { flow: self.flow, index, bytes });
        }
    }
}
