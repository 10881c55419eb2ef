//! What is decided once for all hosts: which flows start, what became of them, and when the run ends. The simulator asks
//! between two windows, a testbed whenever it looks at the clock.

use std::sync::Arc;

use pullnet_record::FlowRow;
use pullnet_scenario::{Scenario, Stop};
use pullnet_transport::{Framing, SendCounts, Side};
use pullnet_units::{Instant, Picos};
use pullnet_workload::{Completion, FlowStart, Workload};

/// Something about a flow that the rest of the run has to know.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// When.
    pub at: u64,
    /// Which flow.
    pub flow: u32,
    /// What.
    pub news: News,
}

/// What a [`Report`] says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum News {
    /// The receiver has everything.
    Received {
        /// Payload bytes.
        delivered: u64,
        /// Payload bytes within the measurement window.
        in_window: u64,
    },
    /// The sender knows that the receiver has everything.
    Acknowledged(SendCounts),
    /// The sender gave up.
    Failed(&'static str, SendCounts),
    /// The receiver forgot it, or the run ended.
    Unfinished {
        /// Payload bytes.
        delivered: u64,
        /// Payload bytes within the measurement window.
        in_window: u64,
    },
}

/// Serial state of a run.
pub struct Director {
    scenario: Arc<Scenario>,
    /// By transport.
    framings: Vec<Framing>,
    workload: Workload,
    stop: Stop,
    /// All flows so far.
    pub flows: Vec<FlowRow>,
    /// Flows with an end that have neither been received and acknowledged nor failed.
    open: u64,
    /// Whether a flow without an end has started.
    endless: bool,
    /// Flows received.
    pub received: u64,
    /// Flows failed.
    pub failed: u64,
    starts: Vec<FlowStart>,
    completions: Vec<Completion>,
    /// When the run ended, if it did.
    pub ended: Option<u64>,
    /// Whether it ended as the scenario wants it to.
    pub complete: bool,
}

impl Director {
    /// The start of a run whose transports cut data by `framings`, each by its number. What an end of a flow causes starts no earlier than `signal` after
    /// it.
    pub fn new(scenario: Arc<Scenario>, framings: Vec<Framing>, signal: Picos) -> Self {
        Self {
            stop: scenario.stop,
            workload: scenario.workload.start(signal),
            scenario,
            framings,
            flows: Vec::new(),
            open: 0,
            endless: false,
            received: 0,
            failed: 0,
            starts: Vec::new(),
            completions: Vec::new(),
            ended: None,
            complete: false,
        }
    }

    /// The latest end of the run.
    pub fn end(&self) -> u64 {
        self.stop.latest().0
    }

    /// Names of the tenants; that of number 0, no tenant, is empty.
    pub fn tenants(&self) -> Vec<String> {
        self.workload.tenants().to_vec()
    }

    /// Names of the tags.
    pub fn tags(&self) -> Vec<String> {
        self.workload.tags().to_vec()
    }

    /// Whether no flow is under way, ends of their own or not.
    pub fn is_quiet(&self) -> bool {
        self.open == 0 && !self.endless
    }

    /// Whether what becomes of a flow may change what the run does next.
    pub fn awaits_news(&self) -> bool {
        matches!(self.stop, Stop::FlowsDone { .. }) || self.workload.watches()
    }

    /// Earliest start already known.
    pub fn next_start(&self) -> Option<u64> {
        self.workload.next_start().map(|at| at.0)
    }

    /// Takes note of what happened before `now`, and gives out what starts from then on and before `until`.
    pub fn decide(
        &mut self,
        now: u64,
        until: u64,
        reports: &mut Vec<Report>,
        mut start: impl FnMut(FlowStart),
    ) {
        self.note(reports);
        if now >= self.end() {
            self.ended = Some(self.end());
            self.complete = matches!(self.stop, Stop::At(_));
            return;
        }
        self.workload.starts_before(Instant(until), &mut self.starts);
        for flow in core::mem::take(&mut self.starts) {
            self.flows.push(self.row(&flow));
            self.open += u64::from(flow.size.is_some());
            self.endless |= flow.size.is_none();
            start(flow);
        }
        let done = self.open == 0 && self.workload.exhausted();
        if done && matches!(self.stop, Stop::FlowsDone { .. }) {
            self.ended = Some(now);
            self.complete = true;
        }
    }

    fn row(&self, start: &FlowStart) -> FlowRow {
        let Framing { mtu, header } = self.framings[usize::from(start.transport)];
        let ideal = |size| self.scenario.topology.ideal_fct(start.src, start.dst, size, mtu, header);
        FlowRow {
            src: start.src,
            dst: start.dst,
            size: start.size.map(|size| size.0),
            start: start.at,
            received: None,
            acknowledged: None,
            failed: None,
            delivered: 0,
            delivered_in_window: 0,
            ideal: start.size.map(|size| ideal(size.0)),
            priority: start.priority,
            tag: start.tag,
            transport: start.transport,
            deadline: start.deadline,
            tenant: start.tenant,
            coflow: start.coflow,
            packets_sent: 0,
            retransmitted: 0,
            timeouts: 0,
            unexplained: 0,
            lost: 0,
        }
    }

    /// Enters news of flows, in an order that does not depend on threads.
    fn note(&mut self, reports: &mut Vec<Report>) {
        reports.sort_by_key(|report| (report.at, report.flow, matches!(report.news, News::Acknowledged(_))));
        for report in reports.drain(..) {
            self.enter(&report);
        }
        for completion in core::mem::take(&mut self.completions) {
            self.workload.completed(completion);
        }
    }

    /// Enters one piece of news.
    pub fn enter(&mut self, report: &Report) {
        let at = Instant(report.at);
        let row = &mut self.flows[report.flow as usize];
        let (side, failed) = match report.news {
            News::Received { delivered, in_window } => {
                (row.received, row.delivered, row.delivered_in_window) = (Some(at), delivered, in_window);
                self.received += 1;
                // A sender that gave up after its last packet had left did not hear of its success.
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
                // A flow whose data has all arrived is complete, also where the sender gave up waiting for the last ACK.
                if row.received.is_none() {
                    row.failed = Some(reason);
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

trait Count {
    fn count(&mut self, counts: SendCounts);
}

impl Count for FlowRow {
    fn count(&mut self, counts: SendCounts) {
        (self.packets_sent, self.retransmitted, self.timeouts) = (counts.sent, counts.again, counts.timeouts);
    }
}
