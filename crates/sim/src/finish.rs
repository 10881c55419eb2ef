//! From the state at the end of a run to its record.

use std::collections::BTreeMap;

use pullnet_qdisc::Discipline;
use pullnet_record::{FlowRow, HostRow, PortRow, RunRecord, StuckFlow, Totals};
use pullnet_topology::LinkRef;
use pullnet_transport::{FlowStatus, Packed, Side, Transport};
use pullnet_units::{HostId, Id, Instant, Picos};

use crate::director::{Director, Report};
use crate::fingerprint::Fingerprint;
use crate::host::{Host, HostCounts};
use crate::line::Line;
use crate::losses;
use crate::network::Network;
use crate::packet::Packet;
use crate::port::Port;
use crate::probe::HostLog;
use crate::series::{self, HeldSum};
use crate::shard::Shard;

/// Flows without progress that a record names at most.
const MOST_STUCK: usize = 100;

/// The record of a run that stopped at `now`.
pub fn record<T: Transport, Q: Discipline<Packet>>(
    net: &Network,
    mut shards: Vec<Shard<T, Q>>,
    mut director: Director,
    mut reports: Vec<Report>,
    held: &HeldSum,
    now: Instant,
) -> RunRecord {
    let mut log = HostLog::default();
    for shard in &mut shards {
        shard.hosts.iter_mut().for_each(|host| host.finish(now.0, &mut reports, &mut shard.log));
        log.shares.append(&mut shard.log.shares);
        log.latencies.append(&mut shard.log.latencies);
        log.control.append(&mut shard.log.control);
        log.packets.append(&mut shard.log.packets);
        log.timed_out.append(&mut shard.log.timed_out);
    }
    reports.iter().for_each(|report| director.enter(report));
    enter_counts(&shards, &mut director.flows);
    losses::enter::<T::Header>(lost(&shards), &log.timed_out, &mut director.flows);
    let stuck = stuck(net, &shards, &director.flows, now, MOST_STUCK);
    let totals = totals(net, &shards);
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
        ports: port_rows(net, shards, now),
        series: rows,
        series_interval: series.map(|series| series.interval),
        latencies: log.latencies,
        control: log.control,
        packets: log.packets,
        stuck,
        totals,
        left_out: too_many.map(|why| ("series", why)).into_iter().collect(),
    }
}

fn hosts<T: Transport, Q: Discipline<Packet>>(shards: &[Shard<T, Q>]) -> impl Iterator<Item = &Host<T>> {
    shards.iter().flat_map(|shard| &shard.hosts)
}

fn ports<T: Transport, Q: Discipline<Packet>>(shards: &[Shard<T, Q>]) -> impl Iterator<Item = &Port<Q>> {
    shards.iter().flat_map(|shard| &shard.ports)
}

/// Headers of all packets that were lost on links or dropped by switches.
fn lost<T: Transport, Q: Discipline<Packet>>(shards: &[Shard<T, Q>]) -> impl Iterator<Item = Packed> {
    let lines = hosts(shards).map(|host| &host.line).chain(ports(shards).map(|port| &port.line));
    lines.flat_map(Line::casualties)
}

/// Visits every sender's view of its open flows, with the host that it is on.
fn senders<T: Transport, Q: Discipline<Packet>>(
    shards: &[Shard<T, Q>],
    mut visit: impl FnMut(HostId, FlowStatus),
) {
    for host in hosts(shards) {
        host.transport().open_flows(&mut |status| {
            if status.side == Side::Sender {
                visit(host.id, status);
            }
        });
    }
}

/// Packets sent for flows that are still open.
fn enter_counts<T: Transport, Q: Discipline<Packet>>(shards: &[Shard<T, Q>], flows: &mut [FlowRow]) {
    senders(shards, |_, status| {
        if let Some(row) = flows.get_mut(status.conn.0 as usize) {
            row.packets_sent = status.counts.sent;
            row.retransmitted = status.counts.again;
            row.timeouts = status.counts.timeouts;
        }
    });
}

/// Open flows that have not moved since `since`, those first that have waited longest.
pub fn stuck<T: Transport, Q: Discipline<Packet>>(
    net: &Network,
    shards: &[Shard<T, Q>],
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
fn fingerprint<T: Transport, Q: Discipline<Packet>>(net: &Network, shards: &[Shard<T, Q>]) -> u64 {
    let hosts: Vec<_> = hosts(shards).map(|host| host.fingerprint).collect();
    let ports: Vec<_> = ports(shards).map(|port| port.fingerprint).collect();
    let hosts = net.numbering.of_host.iter().map(|process| hosts[*process as usize]);
    Fingerprint::join(hosts.chain(net.numbering.of_port.iter().map(|process| ports[*process as usize])))
}

fn totals<T: Transport, Q: Discipline<Packet>>(net: &Network, shards: &[Shard<T, Q>]) -> Totals {
    let mut totals = Totals::default();
    let mut in_flight = 0;
    let mut count = |packet: &Packet| in_flight += u64::from(packet.was_data());
    for host in hosts(shards) {
        totals.add_host(&host.counts);
        totals.add_line(&host.line);
        host.packets(&mut count);
    }
    let mut by_level: BTreeMap<String, u64> = BTreeMap::new();
    for (port, id) in ports(shards).zip(&net.numbering.port) {
        let counts = &port.counts;
        totals.trimmed += counts.trimmed;
        totals.returned += counts.returned;
        totals.dropped += counts.dropped;
        totals.data_dropped += counts.data_dropped;
        totals.returned_dropped += counts.returned_dropped;
        totals.add_line(&port.line);
        port.packets(&mut count);
        *by_level.entry(net.topology().ports[*id].level.to_string()).or_default() += counts.trimmed;
    }
    let unsent = shards.iter().flat_map(|shard| shard.abroad.packets().chain(shard.out.packets()));
    unsent.for_each(count);
    totals.data_in_flight = in_flight;
    totals.trimmed_by_level = by_level.into_iter().collect();
    totals
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

fn host_rows<T: Transport, Q: Discipline<Packet>>(
    net: &Network,
    shards: &[Shard<T, Q>],
    flows: &[FlowRow],
) -> Vec<HostRow> {
    let by_process: Vec<_> = hosts(shards).map(|host| host.counts.delivered_in_window).collect();
    let row = |id: HostId| HostRow {
        delivered_in_window: by_process[net.numbering.of_host[id.index()] as usize],
        rate_bps: net.topology().hosts[id].link.rate.get(),
        receives: false,
    };
    let mut rows: Vec<_> = net.topology().hosts.ids().map(row).collect();
    flows.iter().for_each(|flow| rows[flow.dst.index()].receives = true);
    rows
}

/// NICs in order of their hosts, then ports in order of their numbers.
fn port_rows<T: Transport, Q: Discipline<Packet>>(
    net: &Network,
    shards: Vec<Shard<T, Q>>,
    now: Instant,
) -> Vec<PortRow> {
    let topology = net.topology();
    let (mut nics, mut rows) = (Vec::new(), Vec::new());
    for shard in shards {
        for host in shard.hosts {
            let row = line_row(
                &host.line,
                host.busy_until,
                topology.nic_name(host.id),
                topology.nic_level().to_string(),
                now,
            );
            nics.push((host.id, row));
        }
        for (port, id) in shard.ports.into_iter().zip(&net.numbering.port[shard.port_range.start as usize..])
        {
            let level = topology.level(LinkRef::Port(*id)).to_string();
            let row = line_row(&port.line, port.sending_until(), topology.port_name(*id), level, now);
            let occupancy = port.held.map(|held| held.finish(now.0)).unwrap_or_default();
            rows.push(PortRow {
                port: Some(*id),
                trimmed: port.counts.trimmed,
                returned: port.counts.returned,
                dropped: port.counts.dropped,
                peak_data: port.peaks[0],
                peak_control: port.peaks[1],
                occupancy: occupancy.into_iter().map(Picos).collect(),
                ..row
            });
        }
    }
    nics.sort_by_key(|(host, _)| *host);
    rows.sort_by_key(|row| row.port);
    nics.into_iter().map(|(_, row)| row).chain(rows).collect()
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
