//! Handling of a transport's events: counts, hashes, and reports of flows.

use pullnet_probes::{Seen, Watches};
use pullnet_session::{HostLog, News, Report, Share, Supply, conn_of, flow_of};
use pullnet_transport::{ConnId, Event, FailureReason, Words};
use pullnet_units::{FlowId, Instant, Picos};
use pullnet_workload::Cue;

use super::{Host, HostContext};
use crate::network::Network;
use crate::packet::Packet;
use crate::stack::Stack;

/// Whether flow `flow` is one to a receiver of a group to whom no working path leads at `now`.
fn unreachable<W: Words>(net: &Network<W>, now: Instant, flow: FlowId) -> bool {
    let Some(groups) = &net.groups else { return false };
    groups.around(flow).is_some_and(|group| {
        groups.tree(&net.scenario, group, 0, now).links(flow.behind(group.first) as usize).is_none()
    })
}

/// A flow that arrives here, in a cache line of its own.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
pub(super) struct Incoming {
    flow: FlowId,
    delivered: u64,
    in_window: u64,
    /// Current interval of the series, and the bytes that arrived in it so far.
    share: (u64, u64),
    over: bool,
}

impl<W: Words, T: Stack<W>> Host<W, T> {
    /// Handles one event of the transport.
    #[inline(always)]
    pub(super) fn report(&mut self, cx: &mut HostContext<'_, W>, now: Instant, event: Event) {
        match event {
            Event::Delivered { slot, bytes, .. } => self.delivered(cx, now, slot, bytes.into()),
            Event::Acked { conn, latency, .. } => self.acked(cx, now, flow_of(conn), latency),
            Event::Opened { slot, conn, .. } => {
                let flow = self.incoming_flow(cx.env.net, conn);
                self.opened(cx, now, slot, flow);
            }
            Event::Received { slot } => self.received(cx, now, slot),
            Event::Completed { conn, counts, .. } => {
                self.ended(cx, now, flow_of(conn), 6, News::Acknowledged(counts));
            }
            Event::Failed { conn, reason, counts, .. } => {
                let reason = if unreachable(cx.env.net, now, flow_of(conn)) {
                    FailureReason::NoWorkingPath
                } else {
                    reason
                };
                self.ended(cx, now, flow_of(conn), 7, News::Failed(reason, counts));
            }
            Event::TimedOut { conn, seq, .. } => {
                self.counts.timeouts += 1;
                cx.log.timed_out.push((flow_of(conn), seq));
                if cx.env.net.watches.any(Watches::TIMED_OUT) {
                    let (host, at, flow) = (self.id, now, flow_of(conn));
                    cx.log.recorded.note(&Seen::TimedOut { host, at, flow, number: seq });
                }
            }
            Event::Silent { slot } => self.silent(now, slot),
            Event::Stray { .. } => {}
        }
    }

    /// Handles the end of a flow from here.
    #[inline(never)]
    fn ended(&mut self, cx: &mut HostContext<'_, W>, now: Instant, flow: FlowId, mark: u64, news: News) {
        self.fingerprint.add(now, flow.get().into(), mark);
        cx.reports.push(Report { at: now, flow, news });
        self.cue(cx, now, flow, Cue::SenderDone);
    }

    /// Lets the application start the flow that waits for something that happens to `flow` here.
    fn cue(&mut self, cx: &mut HostContext<'_, W>, now: Instant, flow: FlowId, cue: Cue) {
        let Some(application) = &mut self.application else { return };
        if let Some(start) = application.on(flow, cue, now) {
            cx.reports.push(Report { at: now, flow: start.flow, news: News::Begins(start.at) });
            self.plan(start);
        }
    }

    #[inline(never)]
    fn opened(&mut self, cx: &mut HostContext<'_, W>, now: Instant, slot: u32, flow: FlowId) {
        let slot = slot as usize;
        if slot >= self.incoming.len() {
            if slot == 0 {
                // Many hosts of a large network have one flow at a time, and a vector would begin with room for four.
                self.incoming.reserve_exact(1);
            }
            self.incoming.resize(slot + 1, Incoming { over: true, ..Incoming::default() });
        }
        self.abandon(cx.reports, cx.log, now, slot);
        self.incoming[slot] = Incoming { flow, ..Incoming::default() };
        self.cue(cx, now, flow, Cue::FirstPacket);
    }

    /// The flow in `slot` is forgotten before its end.
    fn abandon(&mut self, reports: &mut Vec<Report>, log: &mut HostLog, now: Instant, slot: usize) {
        if !self.incoming[slot].over {
            self.incoming[slot].close_share(log);
        }
        let Incoming { flow, delivered, in_window, over, .. } = self.incoming[slot];
        if !over && delivered > 0 {
            reports.push(Report { at: now, flow, news: News::Unfinished { delivered, in_window } });
        }
    }

    #[inline]
    fn delivered(&mut self, cx: &mut HostContext<'_, W>, now: Instant, slot: u32, bytes: u64) {
        let incoming = &mut self.incoming[slot as usize];
        self.fingerprint.add(now, u64::from(incoming.flow.get()) << 32 | bytes, 4);
        incoming.delivered += bytes;
        let flow = incoming.flow;
        self.counts.data_taken += 1;
        let (from, to) = cx.env.net.measure;
        if from <= now && now < to {
            incoming.in_window += bytes;
            self.counts.delivered_in_window += bytes;
        }
        if cx.env.net.records_delivery {
            self.record_delivery(cx, now, slot, bytes);
        }
        if self.application.is_some() {
            self.pass_on(now, flow, bytes);
        }
    }

    /// Lets the flow that passes `flow` on, if there is one, have the data that has arrived.
    #[inline(never)]
    fn pass_on(&mut self, now: Instant, flow: FlowId, bytes: u64) {
        let supply = self.application.as_mut().and_then(|application| application.arrived(flow, bytes));
        if let Some(Supply { transport, to, flow, bytes }) = supply {
            self.transport.supply(now, transport, to, conn_of(flow), bytes);
        }
    }

    /// No more will arrive of the flow in `slot`.
    #[cold]
    #[inline(never)]
    fn silent(&mut self, now: Instant, slot: u32) {
        let flow = self.incoming[slot as usize].flow;
        let supply = self.application.as_mut().and_then(|application| application.arrived(flow, 0));
        if let Some(Supply { transport, to, flow, .. }) = supply {
            self.transport.cut_off(now, transport, to, conn_of(flow));
        }
    }

    /// Counts a whole data packet that the transport has handled without taking it.
    #[cold]
    #[inline(never)]
    pub(super) fn count_surplus(&self, cx: &mut HostContext<'_, W>, packet: &Packet<W>) {
        let Some((conn, _)) = cx.env.net.headers.about(packet.packed()) else { return };
        cx.log.count_surplus(self.incoming_flow(cx.env.net, conn));
    }

    /// The flow to here of connection `conn`. All receivers of a group know the session by the number of its first flow.
    fn incoming_flow(&self, net: &Network<W>, conn: ConnId) -> FlowId {
        let flow = flow_of(conn);
        net.groups.as_ref().map_or(flow, |groups| groups.row(flow, self.id))
    }

    /// Records payload that has arrived.
    #[cold]
    #[inline(never)]
    fn record_delivery(&mut self, cx: &mut HostContext<'_, W>, now: Instant, slot: u32, bytes: u64) {
        let incoming = &mut self.incoming[slot as usize];
        if let Some(series) = &cx.env.net.probes().series {
            incoming.add_share(cx.log, now.0 / series.interval.0, bytes);
        }
        if cx.env.net.watches.any(Watches::DELIVERED) {
            let (host, at, flow) = (self.id, now, incoming.flow);
            cx.log.recorded.note(&Seen::Delivered { host, at, flow, bytes });
        }
    }

    #[inline(never)]
    fn received(&mut self, cx: &mut HostContext<'_, W>, now: Instant, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        let Incoming { flow, delivered, in_window, .. } = *incoming;
        incoming.over = true;
        incoming.close_share(cx.log);
        self.fingerprint.add(now, flow.get().into(), 5);
        cx.reports.push(Report { at: now, flow, news: News::Received { delivered, in_window } });
        self.cue(cx, now, flow, Cue::Received);
    }

    fn acked(&self, cx: &mut HostContext<'_, W>, now: Instant, flow: FlowId, latency: Picos) {
        if cx.env.net.watches.any(Watches::ACKED) {
            let (host, at) = (self.id, now);
            cx.log.recorded.note(&Seen::Acked { host, at, flow, latency });
        }
    }

    /// Ends the run: reports the bytes of unfinished flows.
    pub fn finish(&mut self, now: Instant, reports: &mut Vec<Report>, log: &mut HostLog) {
        for slot in 0..self.incoming.len() {
            self.abandon(reports, log, now, slot);
        }
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
