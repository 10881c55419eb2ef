//! From the state at the end of a run to its record.

use std::collections::BTreeMap;

use pullnet_record::{FlowRow, HostRow, PortRow, PortSeriesRow, RunRecord, StuckFlow, Totals};
use pullnet_topology::LinkRef;
use pullnet_transport::{FlowStatus, Side, Words};
use pullnet_units::{HostId, Id, Instant, Picos};

use crate::director::{Director, Report};
use crate::fingerprint::Fingerprint;
use crate::host::HostCounts;
use crate::hosts::HostView;
use crate::line::Line;
use crate::losses::Losses;
use crate::network::Network;
use crate::packet::Packet;
use crate::ports::PortView;
use crate::probe::HostLog;
use crate::series::{self, HeldSum};
use crate::shard::Shard;

/// Flows without progress that a record names at most.
const MOST_STUCK: usize = 100;

/// The record of a run that stopped at `now`.
pub fn record<W: Words>(
    net: &Network<W>,
    mut shards: Vec<Shard<W>>,
    mut director: Director,
    mut reports: Vec<Report>,
    held: &HeldSum,
    now: Instant,
) -> RunRecord {
    let mut log = HostLog::default();
    for shard in &mut shards {
        log.append(shard.hosts.finish(now.0, &mut reports));
    }
    reports.iter().for_each(|report| director.enter(report));
    enter_counts(&shards, &mut director.flows);
    enter_losses(&shards, &log.timed_out, &mut director.flows);
    let stuck = stuck(net, &shards, &director.flows, now, MOST_STUCK);
    enter_ideals(net, &mut director.flows);
    let totals = Totals { data_unique: unique(net, &director.flows), ..totals(net, &shards) };
    let fingerprint = fingerprint(net, &shards);
    let series = net.probes().series.as_ref();
    let rows = series.map(|series| series::rows(series, &log.shares, &director.flows, held, now));
    let (rows, too_many) =
        rows.unwrap_or(Ok(Vec::new())).map_or_else(|why| (Vec::new(), Some(why)), |rows| (rows, None));
    log.latencies.sort_by_key(|row| (row.flow, row.at));
    log.control.sort_by_key(|row| (row.host, row.at));
    // A host's own order stays.
    log.packets.sort_by_key(|row| (row.host, row.at));
    RunRecord {
        fingerprint,
        simulated: now,
        complete: director.complete,
        window: (Instant(net.measure.0).min(now), Instant(net.measure.1).min(now)),
        tags: director.tags(),
        hosts: host_rows(net, &shards, &director.flows),
        flows: director.flows,
        ports: port_rows(net, &shards, now),
        series: rows,
        series_interval: series.map(|series| series.interval),
        port_series: port_series(net, &shards),
        port_series_interval: net.probes().port_series.as_ref().map(|series| series.interval),
        latencies: log.latencies,
        control: log.control,
        packets: log.packets,
        stuck,
        totals,
        left_out: too_many.map(|why| ("series", why)).into_iter().collect(),
    }
}

fn each_host<W: Words>(shards: &[Shard<W>], mut visit: impl FnMut(HostView<'_>)) {
    shards.iter().for_each(|shard| shard.hosts.each(&mut visit));
}

fn each_port<W: Words>(shards: &[Shard<W>], mut visit: impl FnMut(PortView<'_>)) {
    shards.iter().for_each(|shard| shard.ports.each(&mut visit));
}

/// Explains timeouts by packets that were lost on links or dropped by switches.
fn enter_losses<W: Words>(shards: &[Shard<W>], timed_out: &[(u32, u32)], flows: &mut [FlowRow]) {
    let mut explained = Losses::new(timed_out);
    each_host(shards, |host| host.line.losses().into_iter().for_each(|losses| explained.add(losses, flows)));
    each_port(shards, |port| port.line.losses().into_iter().for_each(|losses| explained.add(losses, flows)));
    explained.enter(flows);
}

/// Where links have faults, the least time of a completed flow is that under the best rate which each link had while the flow
/// lasted: no flow is faster, and one that had a slow link to itself is not called slow.
fn enter_ideals<W: Words>(net: &Network<W>, flows: &mut [FlowRow]) {
    if net.scenario.faults.is_empty() {
        return;
    }
    for row in flows {
        if let (Some(size), Some(received)) = (row.size, row.received) {
            let (topology, faults, framing) = (net.topology(), &net.scenario.faults, net.framing);
            let ends = (row.src, row.dst);
            let span = (row.start, received);
            row.ideal = Some(topology.ideal_fct_under(faults, span, ends, size, framing.mtu, framing.header));
        }
    }
}

/// Data packets that receivers took as new: all packets of a flow but the last carry the same.
fn unique<W: Words>(net: &Network<W>, flows: &[FlowRow]) -> u64 {
    flows.iter().map(|flow| flow.delivered.div_ceil(net.framing.mtu.into())).sum()
}

/// Visits every sender's view of its open flows, with the host that it is on.
fn senders<W: Words>(shards: &[Shard<W>], mut visit: impl FnMut(HostId, FlowStatus)) {
    for shard in shards {
        shard.hosts.open_flows(&mut |host, status| {
            if status.side == Side::Sender {
                visit(host, status);
            }
        });
    }
}

/// Packets sent for flows that are still open.
fn enter_counts<W: Words>(shards: &[Shard<W>], flows: &mut [FlowRow]) {
    senders(shards, |_, status| {
        if let Some(row) = flows.get_mut(status.conn.0 as usize) {
            row.packets_sent = status.counts.sent;
            row.retransmitted = status.counts.again;
            row.timeouts = status.counts.timeouts;
        }
    });
}

/// Open flows that have not moved since `since`, those first that have waited longest.
pub fn stuck<W: Words>(
    net: &Network<W>,
    shards: &[Shard<W>],
    flows: &[FlowRow],
    since: Instant,
    most: usize,
) -> Vec<StuckFlow> {
    let mut stuck = Vec::new();
    senders(shards, |src, status| {
        let (Some(row), Some(dst)) = (flows.get(status.conn.0 as usize), net.topology().host(status.peer))
        else {
            return;
        };
        if status.last_progress < since {
            let FlowStatus { bytes, last_progress, waiting_for, .. } = status;
            stuck.push(StuckFlow {
                flow: status.conn.0,
                src,
                dst,
                bytes,
                size: row.size,
                last_progress,
                waiting_for,
            });
        }
    });
    stuck.sort_by_key(|flow| (flow.last_progress, flow.flow));
    stuck.truncate(most);
    stuck
}

/// Hashes of all places, in the order of the topology and not of processes.
fn fingerprint<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> u64 {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    each_host(shards, |host| hosts.push(host.fingerprint));
    each_port(shards, |port| ports.push(port.fingerprint));
    let hosts = net.numbering.of_host.iter().map(|process| hosts[*process as usize]);
    Fingerprint::join(hosts.chain(net.numbering.of_port.iter().map(|process| ports[*process as usize])))
}

fn totals<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> Totals {
    let mut totals = Totals { data_in_flight: data_in_flight(shards), ..Totals::default() };
    each_host(shards, |host| {
        totals.add_host(host.counts);
        totals.add_line(host.line);
    });
    let mut by_level: BTreeMap<String, u64> = BTreeMap::new();
    let mut ids = net.numbering.port.iter();
    each_port(shards, |port| {
        let (counts, id) = (port.counts, ids.next().expect("a port for each process"));
        totals.marked += counts.marked;
        totals.trimmed += counts.trimmed;
        totals.returned += counts.returned;
        totals.dropped += counts.dropped;
        totals.data_dropped += counts.data_dropped;
        totals.returned_dropped += counts.returned_dropped;
        totals.add_line(port.line);
        *by_level.entry(net.topology().ports[*id].level.to_string()).or_default() += counts.trimmed;
    });
    totals.trimmed_by_level = by_level.into_iter().collect();
    totals
}

/// Packets sent as data that are on their way or wait in a queue.
fn data_in_flight<W: Words>(shards: &[Shard<W>]) -> u64 {
    let mut in_flight = 0;
    for shard in shards {
        let count = &mut |packet: &Packet<W>| in_flight += u64::from(packet.was_data());
        shard.hosts.packets(count);
        shard.ports.packets(count);
        shard.out.packets().for_each(count);
    }
    in_flight
}

trait Add {
    fn add_host(&mut self, counts: &HostCounts);
    fn add_line(&mut self, line: &Line);
}

impl Add for Totals {
    fn add_host(&mut self, counts: &HostCounts) {
        self.data_sent += counts.data_sent;
        self.retransmitted += counts.retransmitted;
        self.data_delivered += counts.data_delivered;
        self.headers_delivered += counts.headers_delivered;
        self.headers_returned += counts.headers_returned;
        self.timeouts += counts.timeouts;
        self.packet_hops += counts.packet_hops;
    }

    fn add_line(&mut self, line: &Line) {
        self.lost += line.lost;
        self.data_lost += line.data_lost();
    }
}

fn host_rows<W: Words>(net: &Network<W>, shards: &[Shard<W>], flows: &[FlowRow]) -> Vec<HostRow> {
    let mut by_process = Vec::new();
    each_host(shards, |host| by_process.push(host.counts.delivered_in_window));
    let row = |id: HostId| HostRow {
        delivered_in_window: by_process[net.numbering.of_host[id.index()] as usize],
        rate_bps: net.topology().inbound(id).rate.get(),
        receives: false,
    };
    let mut rows: Vec<_> = net.topology().hosts.ids().map(row).collect();
    flows.iter().for_each(|flow| rows[flow.dst.index()].receives = true);
    rows
}

/// NICs in order of their hosts, then ports in order of their numbers.
fn port_rows<W: Words>(net: &Network<W>, shards: &[Shard<W>], now: Instant) -> Vec<PortRow> {
    let topology = net.topology();
    let (mut nics, mut rows) = (Vec::new(), Vec::new());
    each_host(shards, |host| {
        let (name, level) = (topology.nic_name(host.id), topology.nic_level().to_string());
        nics.push((host.id, line_row(host.line, host.busy_until, name, level, now)));
    });
    let mut ids = net.numbering.port.iter();
    each_port(shards, |port| {
        let id = *ids.next().expect("a port for each process");
        let (name, level) = (topology.port_name(id), topology.level(LinkRef::Port(id)).to_string());
        let occupancy = port.held.map(|held| held.finish(now.0)).unwrap_or_default();
        rows.push(PortRow {
            port: Some(id),
            marked: port.counts.marked,
            trimmed: port.counts.trimmed,
            returned: port.counts.returned,
            dropped: port.counts.dropped,
            peak_data: port.peaks[0],
            peak_control: port.peaks[1],
            occupancy: occupancy.into_iter().map(Picos).collect(),
            ..line_row(port.line, port.sending_until, name, level, now)
        });
    });
    nics.sort_by_key(|(host, _)| *host);
    rows.sort_by_key(|row| row.port);
    nics.into_iter().map(|(_, row)| row).chain(rows).collect()
}

/// What happened at single ports over time, by row of the port and time. Rows of NICs come before those of ports.
fn port_series<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> Vec<PortSeriesRow> {
    let nics = net.topology().hosts.len() as u32;
    let (mut rows, mut ids) = (Vec::new(), net.numbering.port.iter());
    each_port(shards, |port| {
        let id = ids.next().expect("a port for each process");
        rows.extend(port.held.map(|held| held.port_series(nics + id.0)).unwrap_or_default());
    });
    rows.sort_by_key(|row| (row.row, row.at));
    rows
}

/// What the sending end of a link knows. What is still being sent at the end counts as far as it got.
fn line_row(line: &Line, sending_until: u64, name: String, level: String, now: Instant) -> PortRow {
    let ahead = sending_until.saturating_sub(now.0);
    PortRow {
        port: None,
        name,
        level,
        packets: line.packets(),
        bytes: line.bytes(),
        data_packets: line.data_packets(),
        marked: 0,
        trimmed: 0,
        returned: 0,
        dropped: 0,
        lost: line.lost,
        busy: Picos(line.busy().0.saturating_sub(ahead)),
        peak_data: 0,
        peak_control: 0,
        occupancy: Vec::new(),
    }
}
