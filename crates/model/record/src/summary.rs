use std::collections::BTreeMap;

use pullnet_units::{Instant, Picos};
use serde::Serialize;

use crate::tables::gbps;
use crate::{FlowRow, HostRow, RunRecord, Spread, StuckFlow};

/// What the engine does not know about a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Where it ran: `simulator` or `linux`.
    pub world: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Threads that simulated.
    pub threads: u32,
    /// Version of the program.
    pub version: String,
    /// Whether somebody broke it off.
    pub interrupted: bool,
    /// How long an open flow must have stood still at the end to count as stuck.
    pub stuck_after: Picos,
    /// Warnings about the scenario.
    pub warnings: Vec<Notice>,
    /// Names of warnings that are not given.
    pub silenced: Vec<&'static str>,
}

/// A warning: a result that probably is not what its reader expects.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Notice {
    /// Its name: a key of the scenario's table `[warnings]`, which silences it.
    pub name: &'static str,
    /// Where the setting was written, as `file:line:column`; empty for the result as a whole.
    pub place: String,
    /// The setting; empty for the whole scenario.
    pub setting: String,
    /// What is wrong, and what would work.
    pub message: String,
}

impl Notice {
    /// The warning that percentiles cover only some of the flows.
    fn unfinished(flows: FlowCounts) -> Option<Self> {
        let open = flows.unfinished - flows.endless;
        let message = format!(
            "{open} of {} flows were unfinished at the end: completion times and slowdowns are those of completed flows \
             only, which are the short and lucky ones; run longer, or use until = \"all flows done\"",
            flows.started
        );
        let (place, setting) = Default::default();
        (open > 0).then_some(Self { name: "unfinished_flows", place, setting, message })
    }

    /// The warning that ports wait for each other for ever.
    fn deadlock(ports: &[String]) -> Option<Self> {
        let circle = ports.join(", ");
        let message = format!(
            "{} ports have paused each other in a circle and will never send again: {circle}; use routes without circles \
             (up, then down), more memory, or rate control that keeps switches from pausing",
            ports.len()
        );
        let (place, setting) = Default::default();
        (!ports.is_empty()).then_some(Self { name: "deadlock", place, setting, message })
    }
}

/// What the run cost, measured by whoever drove it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// Time on the wall. Unit: seconds.
    pub wall_s: f64,
    /// Processor time, all threads. Unit: seconds.
    pub cpu_s: f64,
    /// Largest resident memory of the process.
    pub peak_rss_bytes: u64,
}

/// The summary of a run: what `summary.json` holds.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Summary {
    /// Where it ran: `simulator` or `linux`.
    pub world: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Threads that simulated; no result depends on them.
    pub threads: u32,
    /// Version of the program.
    pub version: String,
    /// Hash of every delivery, completion, trim and drop with its time, 16 hexadecimal digits; 0 on Linux.
    pub fingerprint: String,
    /// Whether the run reached its stated end.
    pub complete: bool,
    /// Why it ended: `stated end`, `time limit` with flows still open, or `interrupted`.
    pub ended: &'static str,
    /// Simulated time. Unit: microseconds.
    pub simulated_us: f64,
    /// Start and end of the measurement window. Unit: microseconds.
    pub window_us: [f64; 2],
    /// What became of the flows.
    pub flows: FlowCounts,
    /// Flows that failed, by reason.
    pub failures: BTreeMap<&'static str, u64>,
    /// Completion times of the completed flows. Unit: microseconds.
    pub fct_us: Spread,
    /// Completion time over the least possible, of the completed flows.
    pub slowdown: Spread,
    /// Payload received within the window over the link rate, across hosts that receive.
    pub utilisation: Range,
    /// Payload received within the window. Unit: Gb/s.
    pub goodput_gbps: Goodput,
    /// Counts of packets over the whole run.
    pub packets: PacketCounts,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Of these, timers that no lost or dropped packet explains.
    pub unexplained_timeouts: u64,
    /// The same by tag of the traffic.
    pub by_tag: BTreeMap<String, GroupSummary>,
    /// The same by transport.
    pub by_transport: BTreeMap<String, GroupSummary>,
    /// The same by tenant; flows of no tenant are left out.
    pub by_tenant: BTreeMap<String, GroupSummary>,
    /// How many flows met their deadlines.
    pub deadlines: Deadlines,
    /// Flows that were parts of one job.
    pub coflows: CoflowSummary,
    /// Open flows that had stood still for long when the run ended.
    pub stuck: Vec<StuckSummary>,
    /// What a reader must not overlook: results that probably are not what they seem.
    pub warnings: Vec<Notice>,
    /// What the run cost.
    pub cost: CostSummary,
}

/// What became of flows: `started = completed + failed + unfinished`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Default, Debug)]
pub struct FlowCounts {
    /// Offered by the application.
    pub started: u64,
    /// All data at the receiver.
    pub completed: u64,
    /// Given up by the sender.
    pub failed: u64,
    /// Still open at the end.
    pub unfinished: u64,
    /// Of the unfinished, those that never end.
    pub endless: u64,
}

/// Mean and bounds; `None` where there is nothing to measure.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct Range {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl From<Spread> for Range {
    fn from(spread: Spread) -> Self {
        Self { mean: spread.mean, min: spread.min, max: spread.max }
    }
}

/// Goodput within the measurement window. Unit: Gb/s.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct Goodput {
    /// Of the whole network.
    pub total: Option<f64>,
    /// Of a receiving host, on average.
    pub mean: Option<f64>,
    /// Of the receiving host that got least.
    pub min: Option<f64>,
    /// Of the receiving host that got most.
    pub max: Option<f64>,
}

/// Counts of packets over the whole run.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct PacketCounts {
    /// Data packets that hosts sent.
    pub data_sent: u64,
    /// Data packets that arrived whole. A packet that was sent again and arrived twice counts twice.
    pub data_delivered: u64,
    /// Of these, packets that a receiver took as new: no repetitions, and none that it discarded for want of one before.
    pub data_unique: u64,
    /// Packets marked by switches (ECN, congestion experienced).
    pub marked: u64,
    /// Payloads that switches cut off.
    pub trimmed: u64,
    /// Headers that switches sent back.
    pub returned: u64,
    /// Packets dropped for want of room.
    pub dropped: u64,
    /// Packets lost on links: down, lossy or corrupting.
    pub lost: u64,
    /// Data packets that hosts sent again.
    pub retransmitted: u64,
    /// Data packets, whole or as headers, still in the network at the end.
    pub in_flight: u64,
    /// Headers of trimmed packets that arrived at the receiver.
    pub headers_delivered: u64,
    /// Headers that arrived back at their sender.
    pub headers_returned: u64,
    /// Of the dropped packets, those that carried data or had been data.
    pub data_dropped: u64,
    /// Of the dropped packets, headers that had been sent back once and found no room on their way.
    pub returned_dropped: u64,
    /// Of the lost packets, those that carried data or had been data.
    pub data_lost: u64,
    /// Trimmed payloads by the tiers that the port joins.
    pub trimmed_by_tier: BTreeMap<String, u64>,
}

/// Flows with a deadline. Those of which the run ended before it could be told are neither met nor missed.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct Deadlines {
    /// Flows with a deadline.
    pub stated: u64,
    /// All data arrived in time.
    pub met: u64,
    /// It did not.
    pub missed: u64,
    /// `met` over `met + missed`.
    pub share_met: Option<f64>,
}

/// Coflows: each is completed when all its flows are.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct CoflowSummary {
    /// Coflows of which a flow started.
    pub started: u64,
    /// Coflows all of whose flows completed.
    pub completed: u64,
    /// Time from the start of its first flow to the end of its last, of completed coflows. Unit: microseconds.
    pub cct_us: Spread,
}

/// The flows of one tag, of one transport or of one tenant.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct GroupSummary {
    /// What became of them.
    pub flows: FlowCounts,
    /// Their completion times. Unit: microseconds.
    pub fct_us: Spread,
    /// Completion time over the least possible.
    pub slowdown: Spread,
    /// Their payload within the measurement window. Unit: Gb/s.
    pub goodput_gbps: Option<f64>,
    /// How many of them met their deadlines.
    pub deadlines: Deadlines,
}

/// A flow without progress at the end.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct StuckSummary {
    /// Flow number.
    pub flow: u32,
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Payload bytes acknowledged.
    pub bytes: u64,
    /// Payload bytes in all; `None` never ends.
    pub size: Option<u64>,
    /// When it last moved. Unit: picoseconds.
    pub last_progress_ps: u64,
    /// What its sender waits for.
    pub waiting_for: &'static str,
}

impl From<&StuckFlow> for StuckSummary {
    fn from(flow: &StuckFlow) -> Self {
        Self {
            flow: flow.flow,
            src: flow.src.0,
            dst: flow.dst.0,
            bytes: flow.bytes,
            size: flow.size,
            last_progress_ps: flow.last_progress.0,
            waiting_for: flow.waiting_for,
        }
    }
}

/// What the run cost.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct CostSummary {
    /// Time on the wall. Unit: seconds.
    pub wall_s: f64,
    /// Processor time, all threads. Unit: seconds.
    pub cpu_s: f64,
    /// Data packets delivered times links on their path.
    pub packet_hops: u64,
    /// Packet-hops over processor time.
    pub packet_hops_per_cpu_s: Option<f64>,
    /// Largest resident memory of the process.
    pub peak_rss_bytes: u64,
}

impl Summary {
    /// Of what the engine recorded, and of what it does not know.
    pub fn of(record: &RunRecord, about: About, cost: Cost) -> Self {
        let window = record.window.1.since(record.window.0);
        let all: Vec<&FlowRow> = record.flows.iter().collect();
        Self {
            world: about.world,
            scenario: about.scenario,
            seed: about.seed,
            threads: about.threads,
            version: about.version,
            fingerprint: format!("{:016x}", record.fingerprint),
            complete: record.complete,
            ended: ended(record.complete, about.interrupted),
            simulated_us: Picos(record.simulated.0).as_micros_f64(),
            window_us: [record.window.0, record.window.1].map(|at| Picos(at.0).as_micros_f64()),
            warnings: warnings(record, counts(&all), about.warnings, &about.silenced),
            flows: counts(&all),
            failures: failures(&all),
            fct_us: fct(&all),
            slowdown: slowdown(&all),
            utilisation: per_receiver(&record.hosts, |host| utilisation(host, window)).into(),
            goodput_gbps: goodput(&record.hosts, window),
            packets: packets(record),
            timeouts: record.totals.timeouts,
            unexplained_timeouts: all.iter().map(|flow| u64::from(flow.unexplained)).sum(),
            by_tag: by(record, &record.tags, |flow| flow.tag.into()),
            by_transport: by(record, &record.transports, |flow| flow.transport.into()),
            by_tenant: by_tenant(record),
            deadlines: deadlines(&all, record.simulated),
            coflows: coflows(&all),
            stuck: stuck(record, about.stuck_after),
            cost: cost_summary(record.totals.packet_hops, cost),
        }
    }

    /// As JSON, indented, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key is a text and no value can fail");
        text.push('\n');
        text
    }
}

/// The scenario's warnings, and those about the result.
fn warnings(
    record: &RunRecord,
    flows: FlowCounts,
    of_scenario: Vec<Notice>,
    silenced: &[&str],
) -> Vec<Notice> {
    let own = [Notice::deadlock(&record.deadlock), Notice::unfinished(flows)];
    let all = own.into_iter().flatten().chain(of_scenario);
    all.filter(|notice| !silenced.contains(&notice.name)).collect()
}

fn stuck(record: &RunRecord, after: Picos) -> Vec<StuckSummary> {
    let still = |flow: &&StuckFlow| record.simulated.since(flow.last_progress) >= after;
    record.stuck.iter().filter(still).map(StuckSummary::from).collect()
}

fn ended(complete: bool, interrupted: bool) -> &'static str {
    match (complete, interrupted) {
        (true, _) => "stated end",
        (false, true) => "interrupted",
        (false, false) => "time limit",
    }
}

fn counts(flows: &[&FlowRow]) -> FlowCounts {
    let with = |state| flows.iter().filter(|flow| flow.state() == state).count() as u64;
    let endless = |flow: &&&FlowRow| flow.size.is_none() && flow.state() == "unfinished";
    FlowCounts {
        started: flows.len() as u64,
        completed: with("completed"),
        failed: with("failed"),
        unfinished: with("unfinished"),
        endless: flows.iter().filter(endless).count() as u64,
    }
}

fn failures(flows: &[&FlowRow]) -> BTreeMap<&'static str, u64> {
    let mut reasons = BTreeMap::new();
    for reason in flows.iter().filter(|flow| flow.received.is_none()).filter_map(|flow| flow.failed) {
        *reasons.entry(reason).or_default() += 1;
    }
    reasons
}

fn fct(flows: &[&FlowRow]) -> Spread {
    Spread::of(flows.iter().filter_map(|flow| flow.fct()).map(Picos::as_micros_f64).collect())
}

fn slowdown(flows: &[&FlowRow]) -> Spread {
    Spread::of(flows.iter().filter_map(|flow| flow.slowdown()).collect())
}

fn utilisation(host: &HostRow, window: Picos) -> Option<f64> {
    gbps(host.delivered_in_window, window).map(|rate| rate * 1e9 / host.rate_bps as f64)
}

fn per_receiver(hosts: &[HostRow], of: impl Fn(&HostRow) -> Option<f64>) -> Spread {
    Spread::of(hosts.iter().filter(|host| host.receives).filter_map(of).collect())
}

fn goodput(hosts: &[HostRow], window: Picos) -> Goodput {
    let spread = per_receiver(hosts, |host| gbps(host.delivered_in_window, window));
    let bytes = hosts.iter().map(|host| host.delivered_in_window).sum();
    Goodput { total: gbps(bytes, window), mean: spread.mean, min: spread.min, max: spread.max }
}

fn packets(record: &RunRecord) -> PacketCounts {
    let totals = &record.totals;
    PacketCounts {
        data_sent: totals.data_sent,
        data_delivered: totals.data_delivered,
        data_unique: totals.data_unique,
        marked: totals.marked,
        trimmed: totals.trimmed,
        returned: totals.returned,
        dropped: totals.dropped,
        lost: totals.lost,
        retransmitted: totals.retransmitted,
        in_flight: totals.data_in_flight,
        headers_delivered: totals.headers_delivered,
        headers_returned: totals.headers_returned,
        data_dropped: totals.data_dropped,
        returned_dropped: totals.returned_dropped,
        data_lost: totals.data_lost,
        trimmed_by_tier: totals.trimmed_by_level.iter().cloned().collect(),
    }
}

/// Flows by one of the `names`, whose number `of` reads from a flow.
fn by(
    record: &RunRecord,
    names: &[String],
    of: impl Fn(&FlowRow) -> usize,
) -> BTreeMap<String, GroupSummary> {
    let mut groups: BTreeMap<usize, Vec<&FlowRow>> = BTreeMap::new();
    record.flows.iter().for_each(|flow| groups.entry(of(flow)).or_default().push(flow));
    let name = |number: usize| names.get(number).cloned().unwrap_or_default();
    groups.into_iter().map(|(number, flows)| (name(number), group_summary(record, &flows))).collect()
}

fn by_tenant(record: &RunRecord) -> BTreeMap<String, GroupSummary> {
    let mut all = by(record, &record.tenants, |flow| flow.tenant.into());
    // The first name, which is empty, is that of no tenant.
    all.remove("");
    all
}

fn group_summary(record: &RunRecord, flows: &[&FlowRow]) -> GroupSummary {
    let window = record.window.1.since(record.window.0);
    let bytes = flows.iter().map(|flow| flow.delivered_in_window).sum();
    GroupSummary {
        flows: counts(flows),
        fct_us: fct(flows),
        slowdown: slowdown(flows),
        goodput_gbps: gbps(bytes, window),
        deadlines: deadlines(flows, record.simulated),
    }
}

fn deadlines(flows: &[&FlowRow], now: Instant) -> Deadlines {
    let stated = flows.iter().filter(|flow| flow.deadline.is_some()).count() as u64;
    let told = |met| flows.iter().filter(|flow| flow.deadline_met(now) == Some(met)).count() as u64;
    let (met, missed) = (told(true), told(false));
    let share_met = (met + missed > 0).then(|| met as f64 / (met + missed) as f64);
    Deadlines { stated, met, missed, share_met }
}

fn coflows(flows: &[&FlowRow]) -> CoflowSummary {
    // Start of the first flow, and end of the last; `None` as soon as one has not ended.
    let mut ends: BTreeMap<u32, (Instant, Option<Instant>)> = BTreeMap::new();
    for (coflow, flow) in flows.iter().filter_map(|flow| Some((flow.coflow?, flow))) {
        let (start, end) = ends.entry(coflow).or_insert((flow.start, Some(flow.start)));
        *start = flow.start.min(*start);
        *end = end.zip(flow.received).map(|(end, received)| end.max(received));
    }
    let times = ends.values().filter_map(|(start, end)| Some(end.as_ref()?.since(*start).as_micros_f64()));
    let times: Vec<_> = times.collect();
    CoflowSummary { started: ends.len() as u64, completed: times.len() as u64, cct_us: Spread::of(times) }
}

fn cost_summary(packet_hops: u64, cost: Cost) -> CostSummary {
    CostSummary {
        wall_s: cost.wall_s,
        cpu_s: cost.cpu_s,
        packet_hops,
        packet_hops_per_cpu_s: (cost.cpu_s > 0.0).then(|| packet_hops as f64 / cost.cpu_s),
        peak_rss_bytes: cost.peak_rss_bytes,
    }
}
