//! A host without its link: the endpoint and the state of its flows.

use pullnet_record::{ControlRow, LatencyRow};
use pullnet_rng::Seed;
use pullnet_session::{HostCounts, HostLog, News, Report, kind_of, packet_received, packet_sent};
use pullnet_transport::{
    Class, ConnId, Event, Fate, FlowSpec, Header, HostAddr, HostInfo, Received, Transmit, Transport,
};
use pullnet_units::{HostId, Instant, Picos};
use pullnet_wire::{Framed, HeaderOf, Refused};
use pullnet_workload::FlowStart;

use crate::incoming::IncomingFlows;
use crate::site::Site;
use crate::{PlayError, content};

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
    pub reports: Vec<Report>,
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
        let chance = Seed(site.scenario.seed).stream("host.transport", host.0.into());
        Self {
            host,
            addr,
            endpoint: P::endpoint(&site.config, info, chance),
            incoming: IncomingFlows::default(),
            counts: HostCounts::default(),
            refused: 0,
            log: HostLog::default(),
            reports: Vec::new(),
            fault: None,
            latest_hops: (addr, 0),
        }
    }

    /// Starts a flow from the application.
    pub fn open(&mut self, now: Instant, site: &Site<P>, start: &FlowStart) {
        let to = site.addr(start.dst);
        let (conn, paths) = (ConnId(start.flow), site.paths(self.addr, to));
        let FlowStart { size, priority, deadline, tenant, .. } = *start;
        let flow = FlowSpec { conn, to, size, priority, paths, deadline, tenant };
        self.endpoint.open(now, flow);
        self.report(now, site);
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
        if let Some(packet) = P::data(&arrived.header) {
            self.count(site, from, received.fate);
            if received.fate == Fate::Whole {
                self.check(site, packet, arrived.payload);
            }
        }
        if site.scenario.probes.packets {
            let packed = received.map(Header::pack);
            let kind = kind_of::<HeaderOf<P>>(&packed.header);
            self.log.packets.push(packet_received(now, (self.host, peer), kind, &packed));
        }
        self.handle(now, site, received);
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

    fn check(&mut self, site: &Site<P>, (ConnId(flow), seq): (ConnId, u32), payload: &[u8]) {
        if !content::is_right(flow, seq, payload, &site.payload_bytes) {
            self.fault = Some(PlayError::Content { flow, host: self.host.0 });
        }
    }

    /// Runs all expired timers. Those that expired up to [`CATCH_UP`] ago are handled as of their own deadline.
    pub fn timers(&mut self, now: Instant, site: &Site<P>) {
        let earliest = Instant(now.0.saturating_sub(CATCH_UP.0));
        while let Some(deadline) = self.endpoint.poll_timeout().filter(|deadline| deadline.at <= now) {
            self.endpoint.handle_timeout(deadline.at.max(earliest));
            self.report(now, site);
        }
    }

    /// Records a sent packet.
    pub fn sent(&mut self, now: Instant, site: &Site<P>, peer: HostId, packet: &Transmit<HeaderOf<P>>) {
        let probes = &site.scenario.probes;
        if packet.class == Class::Data {
            self.counts.data_sent += 1;
            self.counts.retransmitted += u64::from(packet.again);
        }
        if !probes.control && !probes.packets {
            return;
        }
        let packed = packet.map(Header::pack);
        let row = packet_sent(now, (self.host, peer), kind_of::<HeaderOf<P>>(&packed.header), &packed);
        if probes.control && packet.class == Class::Control {
            self.log.control.push(ControlRow { host: self.host, at: now, kind: row.kind });
        }
        if probes.packets {
            self.log.packets.push(row);
        }
    }

    /// Processes the endpoint's reports.
    fn report(&mut self, now: Instant, site: &Site<P>) {
        while let Some(event) = self.endpoint.poll_event() {
            self.note(now, site, event);
        }
    }

    fn note(&mut self, now: Instant, site: &Site<P>, event: Event) {
        let news = |flow, news| Report { at: now.0, flow, news };
        match event {
            Event::Opened { slot, conn, .. } => {
                let before = self.incoming.open(slot, conn.0).filter(|before| before.delivered > 0);
                self.reports.extend(before.map(|before| before.unfinished(now)));
            }
            Event::Delivered { slot, bytes, .. } => {
                let counts = self.incoming.deliver(now, slot, bytes.into(), site.scenario.measure);
                self.counts.delivered_in_window += counts;
            }
            Event::Received { slot } => {
                let ended = self.incoming.end(slot);
                self.reports.extend(ended.map(|flow| {
                    let (delivered, in_window) = (flow.delivered, flow.in_window);
                    news(flow.flow, News::Received { delivered, in_window })
                }));
            }
            Event::Acked { conn, latency, .. } if site.scenario.probes.latency => {
                self.log.latencies.push(LatencyRow { flow: conn.0, at: now, latency });
            }
            Event::Acked { .. } | Event::Stray { .. } | Event::Silent { .. } => {}
            Event::Completed { conn, counts, .. } => {
                self.reports.push(news(conn.0, News::Acknowledged(counts)))
            }
            Event::Failed { conn, reason, counts, .. } => {
                self.reports.push(news(conn.0, News::Failed(reason, counts)));
            }
            Event::TimedOut { conn, seq, .. } => {
                self.counts.timeouts += 1;
                self.log.timed_out.push((conn.0, seq));
            }
        }
    }

    /// Reports the progress of unfinished flows at the end of the run.
    pub fn finish(&mut self, now: Instant) {
        self.reports.extend(self.incoming.unfinished().map(|incoming| incoming.unfinished(now)));
    }
}
