//! Record of a run, made from the state at its end.

use std::collections::BTreeMap;

use pullnet_probes::{HopRow, Hops, PortSeriesRow, Probe, Series};
use pullnet_record::{FlowRow, PortRow, RunRecord, StuckFlow};
use pullnet_session::{Director, RecordBuilder, Report, StuckFlows};
use pullnet_topology::LinkRef;
use pullnet_transport::{Framing, Side, Words};
use pullnet_units::{FlowId, Id, Instant, Picos};

use crate::deadlock;
use crate::fingerprint::Fingerprint;
use crate::hosts::HostView;
use crate::line::Line;
use crate::losses::Losses;
use crate::network::Network;
use crate::ports::PortView;
use crate::series::{self, HeldSum};
use crate::shard::Shard;

/// The record of a run that stopped at `now`.
pub fn record<W: Words>(
    net: &Network<W>,
    mut shards: Vec<Shard<W>>,
    director: Director,
    mut reports: Vec<Report>,
    held: &HeldSum,
    now: Instant,
) -> RunRecord {
    let mut builder = RecordBuilder::new(&net.scenario, director, now);
    for shard in &mut shards {
        builder.add_log(shard.hosts.finish(now, &mut reports));
    }
    builder.enter(&reports);
    each_host(&shards, |host| builder.add_host(host.id, host.counts));
    builder.open_flows(|visit| shards.iter().for_each(|shard| shard.hosts.open_flows(visit)));
    enter_losses(net, &shards, &mut builder);
    enter_ideals(net, &mut builder);
    add_rows(net, &shards, held, &mut builder, now);
    let circle = deadlock::circle(net, &shards);
    builder.deadlock = circle.into_iter().map(|port| net.topology().port_name(port)).collect();
    add_totals(&mut builder, &shards);
    let fingerprint = fingerprint(net, &shards);
    let ports = port_rows(net, shards, now);
    builder.add_ports(&ports);
    builder.finish(fingerprint, ports)
}

/// Adds the rows of optional tables that do not come from hosts.
fn add_rows<W: Words>(
    net: &Network<W>,
    shards: &[Shard<W>],
    held: &HeldSum,
    builder: &mut RecordBuilder,
    now: Instant,
) {
    add_notes(net, shards, builder);
    let rows = |series| series::rows(series, &builder.log().shares, builder.flows(), held, now);
    match net.probes().series.as_ref().map(rows) {
        Some(Ok(rows)) => builder.recorded().series.as_mut().expect("the table is enabled").rows = rows,
        Some(Err(why)) => builder.left_out.push((Series::TABLE, why)),
        None => {}
    }
    if let Some(table) = &mut builder.recorded().port_series {
        table.rows = port_series(net, shards);
    }
    let too_many = Hops::too_many(net.hop_count.get());
    if let Some(table) = &mut builder.recorded().hops {
        match too_many {
            Some(_) => table.rows.clear(),
            None => table.rows.append(&mut hops(net, shards)),
        }
    }
    builder.left_out.extend(too_many.map(|why| (Hops::TABLE, why)));
}

fn each_host<W: Words>(shards: &[Shard<W>], mut visit: impl FnMut(HostView<'_>)) {
    shards.iter().for_each(|shard| shard.hosts.each(&mut visit));
}

fn each_port<W: Words>(shards: &[Shard<W>], mut visit: impl FnMut(PortView<'_>)) {
    shards.iter().for_each(|shard| shard.ports.each(&mut visit));
}

/// Explains timeouts by packets that were lost on links or dropped by switches.
fn enter_losses<W: Words>(net: &Network<W>, shards: &[Shard<W>], builder: &mut RecordBuilder) {
    let mut explained = Losses::new(&builder.log().timed_out);
    let flows = builder.flows_mut();
    each_host(shards, |host| host.line.losses().into_iter().for_each(|losses| explained.add(losses, flows)));
    each_port(shards, |port| port.line.losses().into_iter().for_each(|losses| explained.add(losses, flows)));
    let lost = |row: &FlowRow| !net.hears_headers[usize::from(row.labels.transport)];
    each_host(shards, |host| host.line.cut().into_iter().for_each(|cut| explained.add_cut(cut, flows, lost)));
    explained.enter(flows);
}

/// Ideal completion times where links have faults: the least time under the best rate that each link had during the
/// flow. So no flow beats its ideal, and a flow that had a slow link to itself is not called slow.
fn enter_ideals<W: Words>(net: &Network<W>, builder: &mut RecordBuilder) {
    if net.scenario.faults.is_empty() {
        return;
    }
    for number in 0..builder.flows().len() {
        let senders = builder.senders(FlowId::new(number as u32));
        let row = &mut builder.flows_mut()[number];
        if let (Some(size), Some(received)) = (row.size, row.received) {
            let (topology, faults) = (net.topology(), &net.scenario.faults);
            let Framing { mtu, header } = net.framings[usize::from(row.labels.transport)];
            let span = (row.start, received);
            row.ideal = Some(match &senders[..] {
                [src] => topology.ideal_fct_under(faults, span, (*src, row.dst), size, mtu, header),
                sources => topology.ideal_fetch_under(faults, span, (sources, row.dst), size, mtu, header),
            });
        }
    }
}

/// Open flows that have not moved since `since`, longest wait first.
pub fn stuck<W: Words>(
    net: &Network<W>,
    shards: &[Shard<W>],
    flows: &[FlowRow],
    since: Instant,
    most: usize,
) -> Vec<StuckFlow> {
    let mut stuck = StuckFlows::new(net.topology(), since);
    for shard in shards {
        shard.hosts.open_flows(&mut |host, status| {
            if status.side == Side::Sender {
                stuck.add(flows, host, status);
            }
        });
    }
    stuck.longest(most)
}

/// Hashes of all places, in the order of the topology and not of processes.
fn fingerprint<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> u64 {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    each_host(shards, |host| hosts.push(host.fingerprint));
    each_port(shards, |port| ports.push(port.fingerprint));
    let hosts = net.numbering.of_host.iter().map(|process| hosts[process.index()]);
    Fingerprint::join(hosts.chain(net.numbering.of_port.iter().map(|process| ports[process.index()])))
}

/// Adds totals that port rows do not contain.
fn add_totals<W: Words>(builder: &mut RecordBuilder, shards: &[Shard<W>]) {
    let packets = &mut builder.totals.packets;
    packets.in_flight = data_in_flight(shards);
    each_host(shards, |host| {
        packets.data_lost += host.line.data_lost();
        packets.copied += host.line.copied();
    });
    each_port(shards, |port| {
        packets.data_dropped += port.counts.data_dropped;
        packets.returned_dropped += port.counts.returned_dropped;
        packets.data_lost += port.line.data_lost();
        packets.copied += port.line.copied();
    });
}

/// Packets sent as data that are in flight or wait in a queue.
fn data_in_flight<W: Words>(shards: &[Shard<W>]) -> u64 {
    let of_shard = |shard: &Shard<W>| {
        let between = shard.out.packets().filter(|packet| packet.was_data()).count() as u64;
        shard.hosts.data_in_flight() + shard.ports.data_in_flight() + between
    };
    shards.iter().map(of_shard).sum()
}

/// NICs in order of their hosts, then ports in order of their numbers. The rows of ports come into being once the hosts are gone:
/// of a large network, both together would take more memory than the run.
fn port_rows<W: Words>(net: &Network<W>, shards: Vec<Shard<W>>, now: Instant) -> Vec<PortRow> {
    let topology = net.topology();
    let mut nics = Vec::with_capacity(topology.hosts.len());
    each_host(&shards, |host| {
        let (name, level) = (topology.nic_name(host.id), topology.level(LinkRef::Nic(host.id)).to_string());
        nics.push((host.id, line_row(host.line, host.busy_until, name, level, now)));
    });
    let ports: Vec<_> = shards.into_iter().map(|shard| shard.ports).collect();
    nics.sort_unstable_by_key(|(host, _)| *host);
    let mut rows = Vec::with_capacity(nics.len() + topology.ports.len());
    rows.extend(nics.into_iter().map(|(_, row)| row));
    let first = rows.len();
    let mut ids = net.numbering.port.iter();
    let mut add = |port: PortView<'_>| {
        let id = *ids.next().expect("a port for each process");
        let (name, level) = (topology.port_name(id), topology.level(LinkRef::Port(id)).to_string());
        let occupancy = port.held.map(|held| held.finish(now)).unwrap_or_default();
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
    };
    ports.iter().for_each(|ports| ports.each(&mut add));
    rows[first..].sort_unstable_by_key(|row| row.port);
    rows
}

/// Activity of single ports over time, ordered by row of the port, then by time. Rows of NICs come before rows of
/// ports.
fn port_series<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> Vec<PortSeriesRow> {
    let nics = net.topology().hosts.len() as u32;
    let (mut rows, mut ids) = (Vec::new(), net.numbering.port.iter());
    each_port(shards, |port| {
        let id = ids.next().expect("a port for each process");
        rows.extend(port.held.map(|held| held.port_series(nics + id.get())).unwrap_or_default());
    });
    rows.sort_by_key(|row| (row.row, row.at));
    rows
}

/// Adds what probes have noted at ports, in the order of the ports.
fn add_notes<W: Words>(net: &Network<W>, shards: &[Shard<W>], builder: &mut RecordBuilder) {
    let (mut noted, mut ids) = (BTreeMap::new(), net.numbering.port.iter());
    each_port(shards, |port| {
        let id = *ids.next().expect("a port for each process");
        noted.extend(port.notes.map(|notes| (id, notes.clone())));
    });
    noted.into_values().for_each(|notes| builder.recorded().append(notes));
}

/// Packets of some flows at ports of switches, in the order in which they came to each port.
fn hops<W: Words>(net: &Network<W>, shards: &[Shard<W>]) -> Vec<HopRow> {
    let nics = net.topology().hosts.len() as u32;
    let (mut rows, mut ids) = (Vec::new(), net.numbering.port.iter());
    each_port(shards, |port| {
        let id = ids.next().expect("a port for each process");
        rows.extend(port.hops.into_iter().flat_map(|log| log.rows(nics + id.get())));
    });
    rows
}

/// Row of a port, from the counters of its link's sending end. A packet still in service at the end counts by the share
/// already sent.
fn line_row(line: &Line, sending_until: Instant, name: String, level: String, now: Instant) -> PortRow {
    let ahead = sending_until.since(now).0;
    let (pauses, paused) = line.pauses(now);
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
        lost: line.lost(),
        pauses,
        paused,
        busy: Picos(line.busy().0.saturating_sub(ahead)),
        peak_data: 0,
        peak_control: 0,
        occupancy: Vec::new(),
    }
}
