//! Builds the record of a run from the counts of hosts and ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_probes::{Hops, OccupancyRow, Recorded};
use pullnet_record::{FlowRow, HostRow, PortRow, RunRecord, StuckFlow, Totals};
use pullnet_scenario::Scenario;
use pullnet_topology::Topology;
use pullnet_transport::{FlowStatus, Side};
use pullnet_units::{FlowId, HostId, Id, Instant, Picos};

use crate::counts::{HostCounts, HostLog};
use crate::director::Director;
use crate::report::Report;

/// Maximum number of flows without progress in a record.
const MOST_STUCK: usize = 100;

/// Open flows that have not moved for a while.
pub struct StuckFlows<'a> {
    topology: &'a Topology,
    since: Instant,
    found: Vec<StuckFlow>,
}

impl<'a> StuckFlows<'a> {
    /// Collects flows without progress since `since`.
    pub fn new(topology: &'a Topology, since: Instant) -> Self {
        Self { topology, since, found: Vec::new() }
    }

    /// Adds the flow if it is stuck, with the state of its sender `src`.
    pub fn add(&mut self, flows: &[FlowRow], src: HostId, status: FlowStatus) {
        let FlowStatus { peer, conn, bytes, last_progress, waiting_for, .. } = status;
        let (Some(row), Some(dst)) = (flows.get(conn.get() as usize), self.topology.host(peer)) else {
            return;
        };
        if last_progress < self.since {
            let size = row.size;
            let waiting_for = waiting_for.as_str();
            self.found.push(StuckFlow {
                flow: conn.get(),
                src,
                dst,
                bytes,
                size,
                last_progress,
                waiting_for,
            });
        }
    }

    /// Returns at most `most` of them, longest wait first.
    pub fn longest(mut self, most: usize) -> Vec<StuckFlow> {
        self.found.sort_by_key(|flow| (flow.last_progress, flow.flow));
        self.found.truncate(most);
        self.found
    }
}

/// Builder of a run's record: takes the reports first, then hosts and their open flows, then ports.
pub struct RecordBuilder {
    scenario: Arc<Scenario>,
    director: Director,
    now: Instant,
    hosts: Vec<HostRow>,
    stuck: Vec<StuckFlow>,
    log: HostLog,
    /// Sums over the hosts so far. The caller enters the sums that only it knows.
    pub totals: Totals,
    /// Enabled tables that could not be recorded: name and reason.
    pub left_out: Vec<(&'static str, String)>,
    /// Ports in a cycle of pauses that never ends.
    pub deadlock: Vec<String>,
}

impl RecordBuilder {
    /// Starts the record of a run that stopped at `now`.
    pub fn new(scenario: &Arc<Scenario>, director: Director, now: Instant) -> Self {
        let row = |host: HostId| HostRow {
            delivered_in_window: 0,
            rate_bps: scenario.topology.inbound(host).rate.get(),
            receives: false,
        };
        Self {
            hosts: scenario.topology.hosts.ids().map(row).collect(),
            scenario: Arc::clone(scenario),
            director,
            now,
            stuck: Vec::new(),
            deadlock: Vec::new(),
            log: HostLog::default(),
            totals: Totals::default(),
            left_out: Vec::new(),
        }
    }

    /// All flows of the run.
    pub fn flows(&self) -> &[FlowRow] {
        &self.director.flows
    }

    /// All flows of the run; the caller adds the values that only it knows.
    pub fn flows_mut(&mut self) -> &mut [FlowRow] {
        &mut self.director.flows
    }

    /// Hosts that send a flow.
    pub fn senders(&self, flow: FlowId) -> Vec<HostId> {
        self.director.senders(flow)
    }

    /// The rows recorded by hosts.
    pub fn log(&self) -> &HostLog {
        &self.log
    }

    /// Enters the last news of flows. News of unknown flows is ignored.
    pub fn enter(&mut self, reports: &[Report]) {
        let known = self.director.flows.len();
        let of_known = |report: &&Report| report.flow.index() < known;
        reports.iter().filter(of_known).for_each(|report| self.director.enter(report));
    }

    /// Adds rows that hosts recorded, in their order.
    pub fn add_log(&mut self, log: HostLog) {
        self.log.append(log);
    }

    /// Adds the counts of host `id`.
    pub fn add_host(&mut self, id: HostId, counts: &HostCounts) {
        self.hosts[id.index()].delivered_in_window += counts.delivered_in_window;
        self.totals.packets.data_sent += counts.data_sent;
        self.totals.packets.retransmitted += counts.retransmitted;
        self.totals.packets.data_delivered += counts.data_delivered;
        self.totals.packets.headers_delivered += counts.headers_delivered;
        self.totals.packets.headers_returned += counts.headers_returned;
        self.totals.timeouts += counts.timeouts;
        self.totals.packet_hops += counts.packet_hops;
    }

    /// Enters every open flow that `each` visits: packets sent for it, and whether it is stuck.
    pub fn open_flows(&mut self, each: impl FnOnce(&mut dyn FnMut(HostId, FlowStatus))) {
        self.director.enter_counts_so_far();
        let flows = &mut self.director.flows;
        let mut stuck = StuckFlows::new(&self.scenario.topology, self.now);
        each(&mut |host, status| {
            if status.side != Side::Sender {
                return;
            }
            stuck.add(flows, host, status);
            if let Some(row) = flows.get_mut(status.conn.get() as usize) {
                let counts = status.counts;
                // A flow may have several senders, each with counts of its own.
                row.packets_sent = row.packets_sent.saturating_add(counts.sent);
                row.retransmitted = row.retransmitted.saturating_add(counts.again);
                row.timeouts = row.timeouts.saturating_add(counts.timeouts);
            }
        });
        self.stuck = stuck.longest(MOST_STUCK);
    }

    /// Adds the counts of ports to the sums.
    pub fn add_ports(&mut self, ports: &[PortRow]) {
        let packets = &mut self.totals.packets;
        let mut by_level: BTreeMap<&str, u64> = BTreeMap::new();
        for port in ports {
            packets.marked += port.marked;
            packets.trimmed += port.trimmed;
            packets.returned += port.returned;
            packets.dropped += port.dropped;
            packets.lost += port.lost;
            if port.port.is_some() {
                *by_level.entry(&port.level).or_default() += port.trimmed;
            }
        }
        packets.trimmed_by_tier =
            by_level.into_iter().map(|(level, trimmed)| (level.to_owned(), trimmed)).collect();
    }

    /// The enabled tables, for rows that the engine makes.
    pub fn recorded(&mut self) -> &mut Recorded {
        &mut self.log.recorded
    }

    /// Returns the record.
    pub fn finish(mut self, fingerprint: u64, ports: Vec<PortRow>) -> RunRecord {
        // The setting counts flows as hosts prepared them.
        let prepared = self.director.flows.len() as u32;
        let unknown_flow = match &self.scenario.probes.hops {
            Some(Hops::Of(numbers)) => numbers.beyond(prepared),
            Some(Hops::Every(_)) | None => None,
        };
        for (flow, packets) in &self.log.surplus {
            if let Some(row) = self.director.flows.get_mut(flow.index()) {
                row.surplus = *packets;
            }
        }
        self.number_flows();
        let Self { scenario, director, now, mut log, .. } = self;
        self.totals.packets.data_unique = unique(&scenario, &director.flows);
        director.flows.iter().for_each(|flow| self.hosts[flow.dst.index()].receives = true);
        if let Some(occupancy) = &mut log.recorded.occupancy {
            occupancy.rows = (0..).zip(&ports).flat_map(|(row, port)| occupancy_of(row, port)).collect();
        }
        log.recorded.sort();
        RunRecord {
            fingerprint,
            simulated: now,
            complete: director.complete,
            window: (scenario.measure.0.min(now), scenario.measure.1.min(now)),
            tags: director.tags(),
            tenants: director.tenants(),
            transports: scenario.transports.iter().map(|carried| carried.name.clone()).collect(),
            hosts: self.hosts,
            flows: director.flows,
            ports,
            recorded: log.recorded,
            stuck: self.stuck,
            deadlock: self.deadlock,
            unknown_flow,
            totals: self.totals,
            left_out: self.left_out,
        }
    }
}

impl RecordBuilder {
    /// Takes out flows that hosts would have started by themselves and did not, and closes the gaps in the numbers of the others.
    fn number_flows(&mut self) {
        let flows = &mut self.director.flows;
        if flows.iter().all(|row| row.start < Instant::NEVER) {
            return;
        }
        // Number of each flow in the results. Nothing refers to a flow that has not started.
        let before = |count: &mut u32, row: &FlowRow| {
            let number = *count;
            *count += u32::from(row.start < Instant::NEVER);
            Some(number)
        };
        let numbers: Vec<u32> = flows.iter().scan(0, before).collect();
        let number = |flow: u32| numbers.get(flow as usize).copied().unwrap_or(flow);
        flows.retain(|row| row.start < Instant::NEVER);
        flows.iter_mut().for_each(|row| row.session = number(row.session));
        self.stuck.iter_mut().for_each(|stuck| stuck.flow = number(stuck.flow));
        self.log.recorded.renumber(&|flow| FlowId::new(number(flow.get())));
    }
}

/// How long the port in row `row` held each number of data packets.
fn occupancy_of(row: u32, port: &PortRow) -> impl Iterator<Item = OccupancyRow> + '_ {
    let rows = (0..).zip(&port.occupancy).map(move |(held, time)| OccupancyRow { row, held, time: *time });
    rows.filter(|row| row.time > Picos::ZERO)
}

/// Number of data packets that receivers took as new: all packets of a flow but the last carry the same payload.
fn unique(scenario: &Scenario, flows: &[FlowRow]) -> u64 {
    let mtus: Vec<_> =
        scenario.transports.iter().map(|carried| u64::from(carried.config.framing().mtu)).collect();
    flows.iter().map(|flow| flow.delivered.div_ceil(mtus[usize::from(flow.labels.transport)])).sum()
}
