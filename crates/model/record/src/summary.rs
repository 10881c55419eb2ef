use std::collections::BTreeMap;

use pullnet_probes::gbps;
use pullnet_units::{Instant, Picos};
use serde::Serialize;

use crate::counts::PacketCounts;
use crate::raw::{FlowRow, HostRow, RunRecord, StuckFlow};
use crate::spread::Spread;

/// Properties of a run that the engine does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Execution environment: `simulator` or `linux`.
    pub world: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Number of simulating threads.
    pub threads: u32,
    /// Version of the program.
    pub version: String,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// Time without progress after which an open flow counts as stuck at the end.
    pub stuck_after: Picos,
    /// Warnings about the scenario.
    pub warnings: Vec<Notice>,
    /// Names of suppressed warnings.
    pub silenced: Vec<&'static str>,
}

/// A warning that a result probably differs from what its reader expects.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Notice {
    /// Name of the warning: the key in the scenario's table `[warnings]` that silences it.
    pub name: &'static str,
    /// Position of the setting, as `file:line:column`; empty for the result as a whole.
    pub place: String,
    /// The setting; empty for the whole scenario.
    pub setting: String,
    /// The problem and the remedy.
    pub message: String,
}

impl Notice {
    /// Warns that percentiles cover only some of the flows.
    fn unfinished(flows: FlowCounts, ended: &str) -> Option<Self> {
        let open = flows.unfinished - flows.endless;
        let remedy = match ended {
            // The scenario waits for all flows already.
            TIME_LIMIT => "raise limit, or find out what the open flows wait for",
            _ => "run longer, or use until = \"all flows done\"",
        };
        let message = format!(
            "{open} of {} flows were unfinished at the end: completion times and slowdowns are those of completed flows \
             only, which are the short and lucky ones; {remedy}",
            flows.started
        );
        let (place, setting) = Default::default();
        (open > 0).then_some(Self { name: "unfinished_flows", place, setting, message })
    }

    /// Warns that there is nothing to look at.
    fn no_flows(flows: FlowCounts) -> Option<Self> {
        let message = "no flow started: the run ended before the first one, or its traffic is too rare; run longer, raise the \
                       load, or use smaller flows";
        let (place, setting) = Default::default();
        let message = message.to_owned();
        (flows.started == 0).then_some(Self { name: "no_flows", place, setting, message })
    }

    /// Warns that nothing was measured. Without a simulated moment there is no window either, and `no_flows` says why.
    fn empty_window(record: &RunRecord) -> Option<Self> {
        let message = format!(
            "the run ended after {} us, before its measurement window began: goodput and utilisation have no value; \
             measure from earlier, or run longer",
            Picos(record.simulated.0).as_micros_f64()
        );
        let (place, setting) = (String::new(), "measure.from".to_owned());
        let empty = record.window.0 > Instant::ZERO && record.window.0 >= record.window.1;
        empty.then_some(Self { name: "empty_window", place, setting, message })
    }

    /// Warns that the table of hops lacks a flow that `probes.hops` names.
    fn unknown_flow(record: &RunRecord, flows: FlowCounts) -> Option<Self> {
        let unknown = record.unknown_flow.filter(|_| flows.started > 0)?;
        let message = format!(
            "names flow {unknown}, which the run does not have: {} flows started, and their numbers begin at 0; use numbers of \
             the table flows",
            flows.started
        );
        let (place, setting) = (String::new(), "probes.hops.flows".to_owned());
        Some(Self { name: "unknown_flow", place, setting, message })
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

/// Cost of the run, measured by the caller.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    /// Wall-clock time. Unit: seconds.
    pub wall_s: f64,
    /// Processor time of all threads. Unit: seconds.
    pub cpu_s: f64,
    /// Peak resident memory of the process.
    pub peak_rss_bytes: u64,
}

/// Summary of a run: the contents of `summary.json`.
///
/// Long: a field for each key of the file.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Summary {
    /// Execution environment: `simulator` or `linux`.
    pub world: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Number of simulating threads; results do not depend on it.
    pub threads: u32,
    /// Version of the program.
    pub version: String,
    /// Hash of all deliveries, completions, trims and drops with their times, 16 hexadecimal digits; 0 on Linux.
    pub fingerprint: String,
    /// Whether the run reached its stated end.
    pub complete: bool,
    /// Reason for the end: `stated end`, `time limit` with flows still open, or `interrupted`.
    pub ended: &'static str,
    /// Simulated time. Unit: microseconds.
    pub simulated_us: f64,
    /// Start and end of the measurement window. Unit: microseconds.
    pub window_us: [f64; 2],
    /// Numbers of flows by outcome.
    pub flows: FlowCounts,
    /// Failed flows by reason.
    pub failures: BTreeMap<&'static str, u64>,
    /// Completion times of the completed flows. Unit: microseconds.
    pub fct_us: Spread,
    /// Completion time divided by the ideal completion time, for completed flows.
    pub slowdown: Spread,
    /// Payload received within the window divided by the link rate, across hosts that receive. A packet counts whole when its
    /// last bit has arrived: in a window of a few packet times the value can exceed 1, by one packet at most.
    pub utilisation: Range,
    /// Payload received within the window. Unit: Gb/s.
    pub goodput_gbps: Goodput,
    /// Counts of packets over the whole run.
    pub packets: PacketCounts,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Of these, timeouts without a lost or dropped packet.
    pub unexplained_timeouts: u64,
    /// Results by tag of the traffic.
    pub by_tag: BTreeMap<String, GroupSummary>,
    /// Results by transport.
    pub by_transport: BTreeMap<String, GroupSummary>,
    /// Results by tenant; flows without a tenant are omitted.
    pub by_tenant: BTreeMap<String, GroupSummary>,
    /// Flows with deadlines, by outcome.
    pub deadlines: Deadlines,
    /// Results of coflows, that is of jobs with several flows.
    pub coflows: CoflowSummary,
    /// Open flows that had made no progress for long when the run ended.
    pub stuck: Vec<StuckSummary>,
    /// Results that probably are not what they seem.
    pub warnings: Vec<Notice>,
    /// Cost of the run.
    pub cost: CostSummary,
}

/// Numbers of flows: `started = completed + failed + unfinished`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Default, Debug)]
pub struct FlowCounts {
    /// Flows offered by the application.
    pub started: u64,
    /// Flows with all data at the receiver.
    pub completed: u64,
    /// Flows that the sender has given up.
    pub failed: u64,
    /// Flows still open at the end.
    pub unfinished: u64,
    /// Of the unfinished, endless flows.
    pub endless: u64,
}

/// Mean and bounds; `None` if there is no value.
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
    /// The whole network.
    pub total: Option<f64>,
    /// Mean over receiving hosts.
    pub mean: Option<f64>,
    /// The slowest receiving host.
    pub min: Option<f64>,
    /// The fastest receiving host.
    pub max: Option<f64>,
}

/// Flows with a deadline. A flow is neither met nor missed if the run ended before its deadline.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct Deadlines {
    /// Flows with a deadline.
    pub stated: u64,
    /// Flows whose data arrived in time.
    pub met: u64,
    /// Flows whose data did not arrive in time.
    pub missed: u64,
    /// `met` divided by `met + missed`.
    pub share_met: Option<f64>,
}

/// Coflows; a coflow completes when all its flows have completed.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct CoflowSummary {
    /// Coflows with at least one started flow.
    pub started: u64,
    /// Coflows all of whose flows completed.
    pub completed: u64,
    /// Time from the start of the first flow to the end of the last, for completed coflows. Unit: microseconds.
    pub cct_us: Spread,
}

/// Results of the flows of one tag, one transport or one tenant.
#[derive(Clone, PartialEq, Serialize, Default, Debug)]
pub struct GroupSummary {
    /// Numbers of flows by outcome.
    pub flows: FlowCounts,
    /// Completion times. Unit: microseconds.
    pub fct_us: Spread,
    /// Completion time divided by the ideal completion time.
    pub slowdown: Spread,
    /// Payload received within the measurement window. Unit: Gb/s.
    pub goodput_gbps: Option<f64>,
    /// Flows with deadlines, by outcome.
    pub deadlines: Deadlines,
}

/// A flow without progress at the end of the run.
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
    /// Payload bytes in total; `None` for an endless flow.
    pub size: Option<u64>,
    /// Time of the latest progress. Unit: picoseconds.
    pub last_progress_ps: u64,
    /// Event that its sender is waiting for.
    pub waiting_for: &'static str,
}

impl From<&StuckFlow> for StuckSummary {
    fn from(flow: &StuckFlow) -> Self {
        Self {
            flow: flow.flow,
            src: flow.src.get(),
            dst: flow.dst.get(),
            bytes: flow.bytes,
            size: flow.size,
            last_progress_ps: flow.last_progress.0,
            waiting_for: flow.waiting_for,
        }
    }
}

/// Cost of the run.
#[derive(Clone, Copy, PartialEq, Serialize, Default, Debug)]
pub struct CostSummary {
    /// Wall-clock time. Unit: seconds.
    pub wall_s: f64,
    /// Processor time of all threads. Unit: seconds.
    pub cpu_s: f64,
    /// Sum of the links on the paths of all delivered data packets.
    pub packet_hops: u64,
    /// Packet-hops divided by processor time.
    pub packet_hops_per_cpu_s: Option<f64>,
    /// Peak resident memory of the process.
    pub peak_rss_bytes: u64,
}

impl Summary {
    /// Builds the summary from the engine's record and the caller's data.
    pub fn of(record: &RunRecord, about: About, cost: Cost) -> Self {
        let window = record.window.1.since(record.window.0);
        let all: Vec<&FlowRow> = record.flows.iter().collect();
        let ended = ended(record.complete, about.interrupted);
        Self {
            world: about.world,
            scenario: about.scenario,
            seed: about.seed,
            threads: about.threads,
            version: about.version,
            fingerprint: format!("{:016x}", record.fingerprint),
            complete: record.complete,
            ended,
            simulated_us: Picos(record.simulated.0).as_micros_f64(),
            window_us: [record.window.0, record.window.1].map(|at| Picos(at.0).as_micros_f64()),
            warnings: warnings(record, (counts(&all), ended), about.warnings, &about.silenced),
            flows: counts(&all),
            failures: failures(&all),
            fct_us: fct(&all),
            slowdown: slowdown(&all),
            utilisation: per_receiver(&record.hosts, |host| utilisation(host, window)).into(),
            goodput_gbps: goodput(&record.hosts, window),
            packets: record.totals.packets.clone(),
            timeouts: record.totals.timeouts,
            unexplained_timeouts: all.iter().map(|flow| u64::from(flow.unexplained)).sum(),
            by_tag: by(record, &record.tags, |flow| flow.labels.tag.into()),
            by_transport: by(record, &record.transports, |flow| flow.labels.transport.into()),
            by_tenant: by_tenant(record),
            deadlines: deadlines(&all, record.simulated),
            coflows: coflows(&all),
            stuck: stuck(record, about.stuck_after),
            cost: cost_summary(record.totals.packet_hops, cost),
        }
    }

    /// Indented JSON with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key is a text and no value can fail");
        text.push('\n');
        text
    }
}

/// The scenario's warnings and those about the result.
fn warnings(
    record: &RunRecord,
    (flows, ended): (FlowCounts, &str),
    of_scenario: Vec<Notice>,
    silenced: &[&str],
) -> Vec<Notice> {
    let own = [
        Notice::deadlock(&record.deadlock),
        Notice::no_flows(flows),
        Notice::unfinished(flows, ended),
        Notice::empty_window(record),
        Notice::unknown_flow(record, flows),
    ];
    let all = own.into_iter().flatten().chain(of_scenario);
    all.filter(|notice| !silenced.contains(&notice.name)).collect()
}

fn stuck(record: &RunRecord, after: Picos) -> Vec<StuckSummary> {
    let still = |flow: &&StuckFlow| record.simulated.since(flow.last_progress) >= after;
    record.stuck.iter().filter(still).map(StuckSummary::from).collect()
}

/// [`Summary::ended`] of a run that waits for all flows and came to its `limit` before.
const TIME_LIMIT: &str = "time limit";

fn ended(complete: bool, interrupted: bool) -> &'static str {
    match (complete, interrupted) {
        (true, _) => "stated end",
        (false, true) => "interrupted",
        (false, false) => TIME_LIMIT,
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

/// Groups flows by `names`; `of` returns a flow's index into them.
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
    let mut all = by(record, &record.tenants, |flow| flow.labels.tenant.into());
    // The first name is empty and stands for flows without a tenant.
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
    let stated = flows.iter().filter(|flow| flow.labels.deadline.is_some()).count() as u64;
    let told = |met| flows.iter().filter(|flow| flow.deadline_met(now) == Some(met)).count() as u64;
    let (met, missed) = (told(true), told(false));
    let share_met = (met + missed > 0).then(|| met as f64 / (met + missed) as f64);
    Deadlines { stated, met, missed, share_met }
}

fn coflows(flows: &[&FlowRow]) -> CoflowSummary {
    // Start of the first flow and end of the last; `None` if any has not ended.
    let mut ends: BTreeMap<u32, (Instant, Option<Instant>)> = BTreeMap::new();
    for (coflow, flow) in flows.iter().filter_map(|flow| Some((flow.labels.coflow?, flow))) {
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
