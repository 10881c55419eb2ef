//! From the state at the end of a run to its record.

use std::collections::BTreeMap;

use pullnet_record::{FlowRow, HostRow, PortRow, RunRecord, StuckFlow, Totals};
use pullnet_sim::{Director, Report};
use pullnet_transport::{FlowStatus, Side, Transport};
use pullnet_units::{HostId, Id, Instant};
use pullnet_wire::Framed;

use crate::PortCounts;
use crate::ports;
use crate::site::Site;
use crate::stack::Stack;

/// Flows without progress that a record names at most.
const MOST_STUCK: usize = 100;

/// The record of a run that stopped at `now`.
pub(crate) fn record<P: Framed>(
    site: &Site<P>,
    mut director: Director,
    stacks: Vec<Stack<P>>,
    reports: &[Report],
    now: Instant,
    counted: &[PortCounts],
) -> RunRecord {
    let known = director.flows.len();
    reports.iter().filter(|report| (report.flow as usize) < known).for_each(|report| director.enter(report));
    let mut stuck = Vec::new();
    for stack in &stacks {
        senders(stack, |status| open_flow(site, stack.host, status, &mut director.flows, &mut stuck));
    }
    stuck.sort_by_key(|flow: &StuckFlow| (flow.last_progress, flow.flow));
    stuck.truncate(MOST_STUCK);
    let topology = &site.scenario.topology;
    let sent: Vec<_> = stacks.iter().map(|stack| stack.counts.data_sent).collect();
    let ports = ports::rows(topology, counted, &sent);
    let (from, to) = site.scenario.measure;
    let hosts = host_rows(site, &stacks, &director.flows);
    let totals = totals(&stacks, &ports);
    let mut record = RunRecord {
        fingerprint: 0,
        simulated: now,
        complete: director.complete,
        window: (from.min(now), to.min(now)),
        tags: director.tags(),
        flows: director.flows,
        hosts,
        ports,
        series: Vec::new(),
        series_interval: None,
        left_out: Vec::new(),
        latencies: Vec::new(),
        control: Vec::new(),
        packets: Vec::new(),
        stuck,
        totals,
    };
    for mut stack in stacks {
        record.latencies.append(&mut stack.log.latencies);
        record.control.append(&mut stack.log.control);
        record.packets.append(&mut stack.log.packets);
    }
    record.latencies.sort_by_key(|row| (row.flow, row.at));
    record
}

fn senders<P: Framed>(stack: &Stack<P>, mut visit: impl FnMut(FlowStatus)) {
    stack.endpoint.open_flows(&mut |status| {
        if status.side == Side::Sender {
            visit(status);
        }
    });
}

/// A flow that is still open: what was sent for it, and since when it stands still.
fn open_flow<P: Framed>(
    site: &Site<P>,
    src: HostId,
    status: FlowStatus,
    flows: &mut [FlowRow],
    stuck: &mut Vec<StuckFlow>,
) {
    let flow = status.conn.0;
    let (Some(row), Some(dst)) = (flows.get_mut(flow as usize), site.scenario.topology.host(status.peer))
    else {
        return;
    };
    let counts = status.counts;
    (row.packets_sent, row.retransmitted, row.timeouts) = (counts.sent, counts.again, counts.timeouts);
    let FlowStatus { bytes, last_progress, waiting_for, .. } = status;
    stuck.push(StuckFlow { flow, src, dst, bytes, size: row.size, last_progress, waiting_for });
}

fn host_rows<P: Framed>(site: &Site<P>, stacks: &[Stack<P>], flows: &[FlowRow]) -> Vec<HostRow> {
    let row = |stack: &Stack<P>| HostRow {
        delivered_in_window: stack.counts.delivered_in_window,
        rate_bps: site.scenario.topology.hosts[stack.host].link.rate.get(),
        receives: false,
    };
    let mut rows: Vec<_> = stacks.iter().map(row).collect();
    flows.iter().for_each(|flow| rows[flow.dst.index()].receives = true);
    rows
}

/// Sums over hosts and ports. What is in flight at the end is what nobody has seen arrive or vanish; which of the dropped
/// packets carried data nobody counts.
fn totals<P: Framed>(stacks: &[Stack<P>], ports: &[PortRow]) -> Totals {
    let mut totals = Totals::default();
    for counts in stacks.iter().map(|stack| &stack.counts) {
        totals.data_sent += counts.data_sent;
        totals.retransmitted += counts.retransmitted;
        totals.data_delivered += counts.data_delivered;
        totals.headers_delivered += counts.headers_delivered;
        totals.headers_returned += counts.headers_returned;
        totals.timeouts += counts.timeouts;
        totals.packet_hops += counts.packet_hops;
    }
    let mut by_level: BTreeMap<String, u64> = BTreeMap::new();
    for port in ports {
        totals.marked += port.marked;
        totals.trimmed += port.trimmed;
        totals.returned += port.returned;
        totals.dropped += port.dropped;
        totals.lost += port.lost;
        *by_level.entry(port.level.clone()).or_default() += port.trimmed;
    }
    let seen = totals.data_delivered + totals.headers_delivered + totals.headers_returned;
    totals.data_in_flight = totals.data_sent.saturating_sub(seen + totals.dropped + totals.lost);
    totals.trimmed_by_level = by_level.into_iter().filter(|(_, trimmed)| *trimmed > 0).collect();
    totals
}
