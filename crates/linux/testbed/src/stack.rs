//! A host without its link: the endpoint and the state of its flows.

use pullnet_probes::{Recorded, Seen, Watches};
use pullnet_rng::Seed;
use pullnet_session::{
    Application, HostCounts, HostLog, News, Report, conn_of, flow_of, kind_of, packet_received, packet_sent,
};
use pullnet_transport::{
    Class, ConnId, Event, Fate, FlowSpec, Header, HostAddr, HostInfo, Received, Transmit, Transport,
};
use pullnet_units::{FlowId, HostId, Instant, Labels, PacketSeq, Picos};
use pullnet_wire::{Framed, HeaderOf, Refused};
use pullnet_workload::{Cue, FlowStart, Instruction};

use crate::content;
use crate::error::PlayError;
use crate::incoming::{Incoming, IncomingFlows};
use crate::site::Site;

/// How late a timer may be handled and still count as on time, so that pulls keep their rate although each leaves a little
/// late. Beyond this, the pulls would leave in a burst that overflows every queue. A missing pull leaves one packet fewer in
/// flight for the rest of a round, so that the receiver's line runs dry at the next delay. A surplus pull only costs a
/// trimmed packet.
const CATCH_UP: Picos = Picos::from_micros(200);

/// One host.
pub(crate) struct Stack<P: Framed> {
    pub host: HostId,
    addr: HostAddr,
    pub endpoint: P::Endpoint,
    pub incoming: IncomingFlows,
    pub counts: HostCounts,
    /// Frames to our port that are not valid packets, for example with a wrong checksum.
    pub refused: u64,
    pub log: HostLog,
    /// Events that probes note.
    watches: Watches,
    pub reports: Vec<Report>,
    /// Starts flows by itself.
    application: Application,
    /// Flows that it will start after a pause, the next one last.
    planned: Vec<FlowStart>,
    /// An inconsistency that ends the run.
    pub fault: Option<PlayError>,
    /// Sender of the latest packet, and the number of links from that host.
    latest_hops: (HostAddr, u64),
}

impl<P: Framed> Stack<P> {
    /// Creates the idle host `host`, with the same random stream as in the simulator.
    pub fn new(site: &Site<P>, host: HostId) -> Self {
        let addr = site.addr(host);
        let info = HostInfo { addr, rate: site.scenario.topology.hosts[host].link.rate };
        let chance = Seed(site.scenario.seed).stream("host.transport", host.get().into());
        Self {
            host,
            addr,
            endpoint: P::endpoint(&site.config, info, chance),
            incoming: IncomingFlows::default(),
            counts: HostCounts::default(),
            refused: 0,
            log: HostLog::new(Recorded::at_hosts(&site.scenario.probes)),
            watches: site.scenario.probes.watches(),
            reports: Vec::new(),
            application: Application::default(),
            planned: Vec::new(),
            fault: None,
            latest_hops: (addr, 0),
        }
    }

    /// Tells the application what to do.
    pub fn tell(&mut self, now: Instant, site: &Site<P>, instruction: Instruction) {
        let (start, known) = match instruction {
            Instruction::Start(start) => (Some(start), true),
            Instruction::Prepare(prepared) => (self.application.prepare(prepared, now), false),
            Instruction::Release { flow, at, .. } => (self.application.release(flow, at.max(now)), false),
        };
        match start {
            Some(start) if known => self.open(now, site, &start),
            Some(start) => self.plan(now, start),
            None => {}
        }
        self.report(now, site);
    }

    /// The application will start a flow by itself.
    fn plan(&mut self, now: Instant, start: FlowStart) {
        self.reports.push(Report { at: now, flow: start.flow, news: News::Begins(start.at) });
        let place = |other: &FlowStart| (other.at, other.flow);
        let sooner = self.planned.iter().rev().take_while(|other| place(other) < place(&start)).count();
        self.planned.insert(self.planned.len() - sooner, start);
    }

    /// When the application starts the next flow by itself; [`Instant::NEVER`] if it has none.
    pub fn next_start(&self) -> Instant {
        self.planned.last().map_or(Instant::NEVER, |start| start.at)
    }

    /// Something happens to `flow` here.
    fn cue(&mut self, now: Instant, flow: FlowId, cue: Cue) {
        if let Some(start) = self.application.on(flow, cue, now) {
            self.plan(now, start);
        }
    }

    /// Starts a flow from the application.
    fn open(&mut self, now: Instant, site: &Site<P>, start: &FlowStart) {
        self.application.begin(start);
        let to = site.addr(start.dst);
        let (conn, paths) = (conn_of(start.flow), site.paths(self.addr, to));
        let Labels { priority, deadline, tenant, .. } = start.labels;
        let size = start.size;
        let flow = FlowSpec { conn, to, size, priority, paths, deadline, tenant };
        match self.application.passes_on(start, to) {
            Some(bytes) => {
                self.endpoint.open_relay(now, flow);
                self.endpoint.supply(now, to, conn, bytes);
            }
            None => self.endpoint.open(now, flow),
        }
    }

    /// Processes a received frame; ignores frames for other hosts.
    pub fn arrive(&mut self, now: Instant, site: &Site<P>, frame: &[u8]) {
        let arrived = match P::parse(frame, &site.marks, site.home) {
            Ok(arrived) => arrived,
            Err(Refused::Foreign) => return,
            Err(_) => return self.refused += 1,
        };
        let Some(peer) = site.host(arrived.route.from) else { return self.refused += 1 };
        let from = site.addr(peer);
        let received = arrived.received(from, site.paths(from, self.addr));
        let data = P::data(&arrived.header);
        let whole = data.filter(|_| received.fate == Fate::Whole);
        if data.is_some() {
            self.count(site, from, received.fate);
        }
        if let Some(packet) = whole {
            self.check(site, packet, arrived.payload);
        }
        if self.watches.any(Watches::RECEIVED) {
            let packed = received.map(Header::pack);
            let kind = kind_of::<HeaderOf<P>>(&packed.header);
            let packet = packet_received(now, (self.host, peer), kind, &packed);
            self.log.recorded.note(&Seen::Packet(packet));
        }
        let taken = self.counts.data_taken;
        self.handle(now, site, received);
        if let Some((conn, _)) = whole.filter(|_| self.counts.data_taken == taken) {
            self.log.count_surplus(flow_of(conn));
        }
    }

    fn handle(&mut self, now: Instant, site: &Site<P>, received: Received<HeaderOf<P>>) {
        self.endpoint.handle(now, received);
        self.report(now, site);
    }

    fn count(&mut self, site: &Site<P>, from: HostAddr, fate: Fate) {
        match fate {
            Fate::Whole => {
                if self.latest_hops.0 != from {
                    self.latest_hops = (from, site.hops(from, self.addr));
                }
                self.counts.data_delivered += 1;
                self.counts.packet_hops += self.latest_hops.1;
            }
            Fate::Trimmed => self.counts.headers_delivered += 1,
            Fate::Returned => self.counts.headers_returned += 1,
        }
    }

    fn check(&mut self, site: &Site<P>, (conn, seq): (ConnId, PacketSeq), payload: &[u8]) {
        let flow = flow_of(conn);
        if !content::is_right(flow, PacketSeq::new(seq.get()), payload, &site.payload_bytes) {
            self.fault = Some(PlayError::Content { flow, host: self.host.get() });
        }
    }

    /// Runs all expired timers. A timer that expired up to [`CATCH_UP`] ago is handled as of its own deadline.
    pub fn timers(&mut self, now: Instant, site: &Site<P>) {
        let earliest = Instant(now.0.saturating_sub(CATCH_UP.0));
        while let Some(deadline) = self.endpoint.poll_timeout().filter(|deadline| deadline.at <= now) {
            self.endpoint.handle_timeout(deadline.at.max(earliest));
            self.report(now, site);
        }
    }

    /// Records a sent packet.
    pub fn sent(&mut self, now: Instant, peer: HostId, packet: &Transmit<HeaderOf<P>>) {
        if packet.class == Class::Data {
            self.counts.data_sent += 1;
            self.counts.retransmitted += u64::from(packet.again);
        }
        if self.watches.any(Watches::SENT) {
            let packed = packet.map(Header::pack);
            let kind = kind_of::<HeaderOf<P>>(&packed.header);
            let packet = packet_sent(now, (self.host, peer), kind, &packed);
            self.log.recorded.note(&Seen::Packet(packet));
        }
    }

    /// Processes the endpoint's reports, and starts the flows that the application starts because of them.
    pub fn report(&mut self, now: Instant, site: &Site<P>) {
        loop {
            if let Some(event) = self.endpoint.poll_event() {
                self.note(now, site, event);
            } else if let Some(start) = self.planned.pop_if(|start| start.at <= now) {
                self.open(now, site, &start);
            } else {
                return;
            }
        }
    }

    fn note(&mut self, now: Instant, site: &Site<P>, event: Event) {
        let host = self.host;
        match event {
            Event::Opened { slot, conn, .. } => {
                let before = self.incoming.open(slot, flow_of(conn)).filter(|before| before.delivered > 0);
                self.reports.extend(before.map(|before| before.unfinished(now)));
                self.cue(now, flow_of(conn), Cue::FirstPacket);
            }
            Event::Delivered { slot, bytes, .. } => {
                let bytes = bytes.into();
                self.counts.data_taken += 1;
                let counts = self.incoming.deliver(now, slot, bytes, site.scenario.measure);
                self.counts.delivered_in_window += counts;
                if let Some(flow) = self.incoming.flow(slot) {
                    if let Some(supply) = self.application.arrived(flow, bytes) {
                        self.endpoint.supply(now, supply.to, conn_of(supply.flow), supply.bytes);
                    }
                    self.show(Watches::DELIVERED, &Seen::Delivered { host, at: now, flow, bytes });
                }
            }
            Event::Received { slot } => {
                if let Some(Incoming { flow, delivered, in_window, .. }) = self.incoming.end(slot) {
                    self.ended(now, flow, Cue::Received, News::Received { delivered, in_window });
                }
            }
            Event::Acked { conn, latency, .. } => {
                self.show(Watches::ACKED, &Seen::Acked { host, at: now, flow: flow_of(conn), latency });
            }
            Event::Silent { slot } => {
                let flow = self.incoming.flow(slot);
                if let Some(supply) = flow.and_then(|flow| self.application.arrived(flow, 0)) {
                    self.endpoint.cut_off(now, supply.to, conn_of(supply.flow));
                }
            }
            Event::Stray { .. } => {}
            Event::Completed { conn, counts, .. } => {
                self.ended(now, flow_of(conn), Cue::SenderDone, News::Acknowledged(counts));
            }
            Event::Failed { conn, reason, counts, .. } => {
                self.ended(now, flow_of(conn), Cue::SenderDone, News::Failed(reason, counts));
            }
            Event::TimedOut { conn, seq, .. } => {
                self.counts.timeouts += 1;
                self.log.timed_out.push((flow_of(conn), seq));
                let (at, flow, number) = (now, flow_of(conn), seq);
                self.show(Watches::TIMED_OUT, &Seen::TimedOut { host, at, flow, number });
            }
        }
    }

    /// A flow has ended for this host.
    fn ended(&mut self, now: Instant, flow: FlowId, cue: Cue, news: News) {
        self.reports.push(Report { at: now, flow, news });
        self.cue(now, flow, cue);
    }

    /// Shows an event of the kind `of` to probes.
    fn show(&mut self, of: Watches, seen: &Seen) {
        if self.watches.any(of) {
            self.log.recorded.note(seen);
        }
    }

    /// Reports the progress of unfinished flows at the end of the run.
    pub fn finish(&mut self, now: Instant) {
        self.reports.extend(self.incoming.unfinished().map(|incoming| incoming.unfinished(now)));
    }
}
