//! Decisions for all hosts: which flows start, how they ended, and when the run ends. The simulator consults the director
//! between two windows, a testbed whenever it reads the clock.

use std::sync::Arc;

use pullnet_record::FlowRow;
use pullnet_scenario::{Scenario, Stop};
use pullnet_transport::{Framing, SendCounts, Side};
use pullnet_units::{FlowId, HostId, Id, Instant, Picos};
use pullnet_workload::{Completion, FlowStart, Instruction, Watch, Workload};

use crate::report::{News, Report};
use crate::sources::Sources;

/// Serial state of a run.
pub struct Director {
    scenario: Arc<Scenario>,
    /// By transport.
    framings: Vec<Framing>,
    workload: Workload,
    stop: Stop,
    /// Flows by number. A prepared flow has the start [`Instant::NEVER`] until its sender has reported the start.
    pub flows: Vec<FlowRow>,
    /// Of these, flows without a start.
    prepared: u64,
    /// Of these, flows that start in any case unless another flow fails.
    certain: u64,
    /// Hosts with one more flow whose news others wait for (true), or one less.
    watched: Vec<(HostId, bool)>,
    /// Flows with an end that have neither been received and acknowledged nor failed.
    open: u64,
    /// Whether a flow without an end has started.
    endless: bool,
    /// Latest of the lower bounds of the ends of started flows: no flow is faster than in an empty network.
    earliest_end: Instant,
    /// Whether a flow failed, perhaps before its earliest end.
    failed_early: bool,
    /// Flows with several senders.
    sources: Sources,
    /// Flows received.
    pub received: u64,
    /// Flows failed.
    pub failed: u64,
    starts: Vec<FlowStart>,
    completions: Vec<Completion>,
    /// Time at which the run ended, if it did.
    pub ended: Option<Instant>,
    /// Whether the run reached the end that the scenario states.
    pub complete: bool,
}

impl Director {
    /// Starts a run whose transports cut data by `framings`, each by its number. Effects of the end of a flow start no
    /// earlier than `signal` after it.
    pub fn new(scenario: Arc<Scenario>, framings: Vec<Framing>, signal: Picos) -> Self {
        Self {
            stop: scenario.stop,
            workload: scenario.workload.start(signal),
            scenario,
            framings,
            flows: Vec::new(),
            prepared: 0,
            certain: 0,
            watched: Vec::new(),
            open: 0,
            endless: false,
            earliest_end: Instant::ZERO,
            failed_early: false,
            sources: Sources::default(),
            received: 0,
            failed: 0,
            starts: Vec::new(),
            completions: Vec::new(),
            ended: None,
            complete: false,
        }
    }

    /// Latest end of the run.
    pub fn end(&self) -> Instant {
        self.stop.latest()
    }

    /// Names of the tenants by number; number 0, no tenant, has an empty name.
    pub fn tenants(&self) -> Vec<String> {
        self.workload.tenants().to_vec()
    }

    /// Names of the tags.
    pub fn tags(&self) -> Vec<String> {
        self.workload.tags().to_vec()
    }

    /// Whether no flow is under way, endless ones included.
    pub fn is_quiet(&self) -> bool {
        self.open == 0 && !self.endless
    }

    /// From this time on any news of a flow may end the run, so that it must be known at once. Flows take at least as long
    /// as in an empty network, and planned flows have to start first.
    pub fn may_end_from(&self) -> Instant {
        match self.stop {
            Stop::At(_) => Instant::NEVER,
            Stop::FlowsDone { .. } if self.failed_early => Instant::ZERO,
            Stop::FlowsDone { .. } if self.certain > 0 => Instant::NEVER,
            Stop::FlowsDone { .. } => self.next_start().unwrap_or_default().max(self.earliest_end),
        }
    }

    /// Takes the hosts with one more flow whose news must be known at once (true), or one less: sender and receiver of a flow that its
    /// pattern watches ([`FlowStart::watch`]), and a host that will start a flow by itself.
    pub fn watched(&mut self) -> impl Iterator<Item = (HostId, bool)> {
        let released: Vec<_> = self.workload.released().collect();
        released.into_iter().for_each(|flow| self.watch(flow, false));
        self.watched.drain(..)
    }

    fn watch(&mut self, flow: FlowId, more: bool) {
        let FlowRow { src, dst, .. } = self.flows[flow.index()];
        self.watched.extend([(src, more), (dst, more)]);
    }

    /// Earliest start already known.
    pub fn next_start(&self) -> Option<Instant> {
        self.workload.next_start()
    }

    /// Flows that have started.
    pub fn started(&self) -> u64 {
        self.flows.len() as u64 - self.prepared
    }

    /// Handles the reports before `now`, and tells hosts which flows start from then on and before `until`, and which flows they
    /// start by themselves.
    pub fn decide(
        &mut self,
        now: Instant,
        until: Instant,
        reports: &mut Vec<Report>,
        mut tell: impl FnMut(Instruction),
    ) {
        self.note(reports);
        if now >= self.end() {
            self.ended = Some(self.end());
            self.complete = matches!(self.stop, Stop::At(_));
            return;
        }
        self.workload.starts_before(until, &mut self.starts);
        let starts = core::mem::take(&mut self.starts);
        // Prepared flows have numbers between those of the starts, and rows.
        let mut prepared = self.workload.instructions().collect::<Vec<_>>().into_iter().peekable();
        for (next, flow) in (1..).zip(starts.iter().copied()) {
            if flow.is_further_sender() {
                tell(Instruction::Start(flow));
                continue;
            }
            while let Some(instruction) = prepared.next_if(|other| precedes(other, flow.flow)) {
                self.prepare(instruction, &mut tell);
            }
            let further = starts[next..].iter().take_while(|start| start.is_further_sender());
            let sources: Vec<_> = core::iter::once(flow.src).chain(further.map(|start| start.src)).collect();
            let row = self.row(&flow, &sources);
            self.sources.begin(flow.flow, sources);
            let ideal = row.ideal.unwrap_or_default();
            self.earliest_end = self.earliest_end.max(row.start.after(ideal));
            self.flows.push(row);
            self.open += u64::from(flow.size.is_some());
            self.endless |= flow.size.is_none();
            if flow.watch != Watch::Nothing {
                self.watch(flow.flow, true);
            }
            tell(Instruction::Start(flow));
        }
        prepared.for_each(|instruction| self.prepare(instruction, &mut tell));
        let done = self.open == 0 && self.workload.exhausted();
        if done && matches!(self.stop, Stop::FlowsDone { .. }) {
            self.ended = Some(now);
            self.complete = true;
        }
    }

    /// Passes on an instruction about a flow that its sender starts by itself.
    fn prepare(&mut self, instruction: Instruction, tell: &mut impl FnMut(Instruction)) {
        if let Instruction::Prepare(prepared) = instruction {
            debug_assert_eq!(prepared.start.flow.index(), self.flows.len(), "a flow without its number");
            let row = self.row(&prepared.start, &[prepared.start.src]);
            self.flows.push(row);
            self.prepared += 1;
            self.watched.push((prepared.start.src, true));
            self.certain += u64::from(prepared.after.latest == Instant::NEVER);
        }
        tell(instruction);
    }

    /// A host starts a flow by itself at `at`.
    fn begin(&mut self, flow: FlowId, at: Instant) {
        if at >= self.end() {
            return;
        }
        let row = &mut self.flows[flow.index()];
        row.start = at;
        self.watched.push((row.src, false));
        self.earliest_end = self.earliest_end.max(at.after(row.ideal.unwrap_or_default()));
        self.open += u64::from(row.size.is_some());
        self.endless |= row.size.is_none();
        self.prepared -= 1;
        let Some(began) = self.workload.began(flow, at) else { return };
        self.certain -= u64::from(began.is_certain);
        let row = &mut self.flows[flow.index()];
        (row.labels.coflow, row.labels.deadline) = (began.coflow, began.deadline);
        if began.watch != Watch::Nothing {
            self.watch(flow, true);
        }
    }

    /// Enters the counts of senders that are done with a flow whose other senders are not.
    pub(crate) fn enter_counts_so_far(&mut self) {
        for (number, row) in (0..).zip(&mut self.flows) {
            if row.senders > 1 && row.acknowledged.is_none() && row.failed.is_none() {
                row.count(self.sources.so_far(FlowId::new(number)));
            }
        }
    }

    /// Hosts that send a flow.
    pub fn senders(&self, flow: FlowId) -> Vec<HostId> {
        self.sources.of(flow).map_or_else(|| vec![self.flows[flow.index()].src], <[HostId]>::to_vec)
    }

    fn row(&self, start: &FlowStart, sources: &[HostId]) -> FlowRow {
        let Framing { mtu, header } = self.framings[usize::from(start.labels.transport)];
        let topology = &self.scenario.topology;
        let ideal = |size| match sources {
            [src] => topology.ideal_fct(*src, start.dst, size, mtu, header),
            sources => topology.ideal_fetch(sources, start.dst, size, mtu, header),
        };
        FlowRow {
            src: start.src,
            dst: start.dst,
            size: start.size.map(|size| size.0),
            start: start.at,
            ideal: start.size.map(|size| ideal(size.0)),
            labels: start.labels,
            session: start.session.get(),
            senders: sources.len() as u16,
            ..FlowRow::default()
        }
    }

    /// Enters news of flows, in an order that does not depend on threads.
    fn note(&mut self, reports: &mut Vec<Report>) {
        reports.sort_by_key(Report::place);
        for report in reports.drain(..) {
            self.enter(&report);
        }
        for completion in core::mem::take(&mut self.completions) {
            self.workload.completed(completion);
        }
    }

    /// Enters one report.
    pub fn enter(&mut self, report: &Report) {
        let Some((at, news)) = self.sources.join(report.flow, report.at, report.news) else { return };
        if let News::Begins(at) = news {
            return self.begin(report.flow, at);
        }
        let row = &mut self.flows[report.flow.index()];
        let (side, failed) = match news {
            News::Begins(_) => return,
            News::Received { delivered, in_window } => {
                (row.received, row.delivered, row.delivered_in_window) = (Some(at), delivered, in_window);
                self.received += 1;
                // A sender that gave up after its last packet had left may not know that the flow succeeded.
                self.failed -= u64::from(row.failed.take().is_some());
                (Side::Receiver, false)
            }
            News::Acknowledged(counts) => {
                row.acknowledged = Some(at);
                row.count(counts);
                self.open -= 1;
                (Side::Sender, false)
            }
            News::Failed(reason, counts) => {
                row.count(counts);
                self.failed_early = true;
                // A flow whose data has all arrived is complete, even if the sender gave up waiting for the last ACK.
                if row.received.is_none() {
                    row.failed = Some(reason.as_str());
                    self.failed += 1;
                }
                self.open -= u64::from(row.size.is_some());
                (Side::Sender, true)
            }
            News::Unfinished { .. } if row.received.is_some() => return,
            News::Unfinished { delivered, in_window } => {
                (row.delivered, row.delivered_in_window) = (delivered, in_window);
                return;
            }
        };
        self.completions.push(Completion { flow: report.flow, at, side, failed });
    }
}

/// Whether `instruction` prepares a flow with a lower number than `flow`.
fn precedes(instruction: &Instruction, flow: FlowId) -> bool {
    match instruction {
        Instruction::Prepare(prepared) => prepared.start.flow < flow,
        Instruction::Start(_) | Instruction::Release { .. } => true,
    }
}

trait Count {
    fn count(&mut self, counts: SendCounts);
}

impl Count for FlowRow {
    fn count(&mut self, counts: SendCounts) {
        (self.packets_sent, self.retransmitted, self.timeouts) = (counts.sent, counts.again, counts.timeouts);
    }
}

#[cfg(test)]
mod tests {
    use pullnet_transport::FailureReason;

    use super::*;

    #[test]
    fn reports_of_one_flow_at_one_instant_have_an_order() {
        let all = [
            News::Received { delivered: 9, in_window: 9 },
            News::Unfinished { delivered: 9, in_window: 9 },
            News::Acknowledged(SendCounts::default()),
            News::Failed(FailureReason::ReceiverSilent, SendCounts::default()),
        ];
        let reports = all.map(|news| Report { at: Instant(7), flow: FlowId::new(1), news });
        for first in 0..4 {
            for second in (0..4).filter(|second| *second != first) {
                // Every pair in either order, as threads may bring them.
                let mut pair = [reports[first], reports[second]];
                pair.sort_by_key(Report::place);
                assert_eq!(pair, [reports[first.min(second)], reports[first.max(second)]]);
            }
        }
    }
}
