use pullnet_units::{Instant, Picos};

use crate::table::{Builder, Table};
use crate::{Direction, FlowRow, HopRow, PortRow, PortSeriesRow, RunRecord, SeriesKey, SeriesRow};

/// Optional tables that are enabled. An enabled table exists even if it has no rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// `occupancy`: time that each port spent with each number of packets.
    pub occupancy: bool,
    /// `series`: goodput and queueing over time.
    pub series: bool,
    /// `port_series`: activity of single ports over time.
    pub port_series: bool,
    /// `latency`: one row per acknowledged packet.
    pub latency: bool,
    /// `control`: one row per control packet sent by a host.
    pub control: bool,
    /// `packets`: one row per packet sent or received by a host.
    pub packets: bool,
    /// `hops`: one row per packet and port of some flows.
    pub hops: bool,
}

/// All tables of a run.
pub fn tables(record: &RunRecord, wanted: Wanted) -> Vec<Table> {
    let mut tables = vec![flows(record), hosts(record), ports(record)];
    tables.extend(wanted.occupancy.then(|| occupancy(record)));
    tables.extend(wanted.series.then(|| series(record)));
    tables.extend(wanted.port_series.then(|| port_series(record)));
    tables.extend(wanted.latency.then(|| latency(record)));
    tables.extend(wanted.control.then(|| control(record)));
    tables.extend(wanted.packets.then(|| packets(record)));
    tables.extend(wanted.hops.then(|| hops(record)));
    tables.retain(|table| record.left_out.iter().all(|(name, _)| *name != table.name));
    tables
}

impl FlowRow {
    /// Flow completion time: from the offer to the last payload byte at the receiver.
    pub(crate) fn fct(&self) -> Option<Picos> {
        self.received.map(|received| received.since(self.start))
    }

    /// Completion time divided by the ideal completion time.
    pub(crate) fn slowdown(&self) -> Option<f64> {
        Some(self.fct()?.0 as f64 / self.ideal?.0 as f64).filter(|ratio| ratio.is_finite())
    }

    /// Whether all data arrived by the deadline; `None` if there is none, or if the run ended at `now` before it.
    pub(crate) fn deadline_met(&self, now: Instant) -> Option<bool> {
        match (self.deadline?, self.received) {
            (deadline, Some(received)) => Some(received <= deadline),
            (deadline, None) => (self.failed.is_some() || deadline < now).then_some(false),
        }
    }

    /// `completed`, `failed` or `unfinished`. A flow whose data has arrived is completed, even if its sender never learnt of
    /// it.
    pub(crate) fn state(&self) -> &'static str {
        match (self.received, self.failed) {
            (Some(_), _) => "completed",
            (None, Some(_)) => "failed",
            (None, None) => "unfinished",
        }
    }
}

impl RunRecord {
    /// Name of a flow's tenant, if it has one.
    pub(crate) fn tenant_of(&self, flow: &FlowRow) -> Option<&str> {
        let name = self.tenants.get(usize::from(flow.tenant)).map(String::as_str);
        name.filter(|_| flow.tenant > 0)
    }
}

/// Rate of `bytes` over `span` in Gb/s; `None` if `span` is zero.
pub(crate) fn gbps(bytes: u64, span: Picos) -> Option<f64> {
    (span > Picos::ZERO).then(|| bytes as f64 * 8_000.0 / span.0 as f64)
}

fn flows(record: &RunRecord) -> Table {
    let window = record.window.1.since(record.window.0);
    let tag = |row: &FlowRow| record.tags.get(usize::from(row.tag)).map_or("", String::as_str);
    let transport =
        |row: &FlowRow| record.transports.get(usize::from(row.transport)).map_or("", String::as_str);
    let tenant = |row: &FlowRow| record.tenant_of(row);
    let tags: Vec<_> = record.flows.iter().map(|row| (row, tag(row))).collect();
    Builder::new("flows", "One row per flow, in order of start.", &tags)
        .numbered(["flow", "", "Number of the flow, from 0."])
        .id(["src", "", "Number of the sending host."], |(row, _)| row.src.0)
        .id(["dst", "", "Number of the receiving host."], |(row, _)| row.dst.0)
        .maybe_count(["size_bytes", "B", "Payload; missing for a flow that never ends."], |(row, _)| row.size)
        .text(["tag", "", "Name that the scenario gave to the traffic."], |(_, tag)| tag)
        .text(["transport", "", "Name of the transport that carried it."], |(row, _)| transport(row))
        .maybe_text(["tenant", "", "Tenant of the flow; missing if it has none."], |(row, _)| tenant(row))
        .maybe_id(["coflow", "", "Number of the coflow that it is part of; missing if of none."], |(row, _)| row.coflow)
        .id(["session", "", "Number of the first flow of its session: flows to several receivers, or from several senders, that began as one."], |(row, _)| row.session)
        .id(["senders", "", "Hosts that send it; src is the first of them."], |(row, _)| row.senders.into())
        .maybe_count(["deadline_ps", "ps", "When all of it should have arrived; missing if there is no deadline."], |(row, _)| {
            ps(row.deadline)
        })
        .maybe_flag(["deadline_met", "", "Whether it had; missing without a deadline, or if the run ended before."], |(row, _)| {
            row.deadline_met(record.simulated)
        })
        .id(["priority", "", "0 is ordinary; higher goes first."], |(row, _)| row.priority.into())
        .text(["state", "", "completed (all data at the receiver), failed or unfinished."], |(row, _)| {
            row.state()
        })
        .maybe_text(["reason", "", "Why the sender gave up."], |(row, _)| row.failed)
        .count(["start_ps", "ps", "When the application offered the data."], |(row, _)| row.start.0)
        .maybe_count(
            ["received_ps", "ps", "When the last payload byte arrived."],
            |(row, _)| ps(row.received),
        )
        .maybe_count(["acknowledged_ps", "ps", "When the sender knew that all had arrived."], |(row, _)| {
            ps(row.acknowledged)
        })
        .maybe_ratio(["fct_us", "us", "Flow completion time: received_ps - start_ps."], |(row, _)| {
            row.fct().map(Picos::as_micros_f64)
        })
        .maybe_ratio(["ideal_fct_us", "us", "Least time that the unloaded network needs; of a completed flow with the best rate that each link had meanwhile."], |(row, _)| {
            row.ideal.map(Picos::as_micros_f64)
        })
        .maybe_ratio(["slowdown", "", "fct_us / ideal_fct_us; never below 1."], |(row, _)| row.slowdown())
        .count(["delivered_bytes", "B", "Payload that reached the receiver."], |(row, _)| row.delivered)
        .count(["window_bytes", "B", "The same within the measurement window."], |(row, _)| {
            row.delivered_in_window
        })
        .maybe_ratio(["window_gbps", "Gb/s", "window_bytes over the length of the window."], |(row, _)| {
            gbps(row.delivered_in_window, window)
        })
        .count(["packets_sent", "packets", "Data packets sent, repetitions included."], |(row, _)| {
            row.packets_sent.into()
        })
        .count(["retransmitted", "packets", "Data packets sent again."], |(row, _)| row.retransmitted.into())
        .count(["timeouts", "", "Retransmission timers that ran out."], |(row, _)| row.timeouts.into())
        .count(["unexplained_timeouts", "", "Of these, those that no loss of the very packet, its header, its ACK or its NACK explains."], |(row, _)| row.unexplained.into())
        .count(["lost", "packets", "Packets of the flow that links lost or switches dropped, control packets of both directions included."], |(row, _)| row.lost.into())
        .finish()
}

fn ps(instant: Option<Instant>) -> Option<u64> {
    instant.map(|at| at.0)
}

fn hosts(record: &RunRecord) -> Table {
    let window = record.window.1.since(record.window.0);
    Builder::new("hosts", "One row per host.", &record.hosts)
        .numbered(["host", "", "Number of the host, from 0."])
        .ratio(["rate_gbps", "Gb/s", "Rate of the link that leads to the host."], |row| {
            row.rate_bps as f64 / 1e9
        })
        .flag(["receives", "", "Whether any flow was addressed to it."], |row| row.receives)
        .count(["window_bytes", "B", "Payload received within the measurement window."], |row| {
            row.delivered_in_window
        })
        .maybe_ratio(["window_gbps", "Gb/s", "window_bytes over the length of the window."], |row| {
            gbps(row.delivered_in_window, window)
        })
        .maybe_ratio(["utilisation", "", "window_gbps / rate_gbps."], |row| {
            gbps(row.delivered_in_window, window).map(|rate| rate * 1e9 / row.rate_bps as f64)
        })
        .finish()
}

fn ports(record: &RunRecord) -> Table {
    let simulated = record.simulated.0 as f64;
    Builder::new("ports", "One row per egress port of a switch and per host's NIC.", &record.ports)
        .numbered(["row", "", "Number of the row; the table occupancy refers to it."])
        .maybe_id(["port", "", "Number of the port in the topology; missing for a NIC."], |row| {
            row.port.map(|port| port.0)
        })
        .text(["name", "", "Where it is and where it leads."], |row| &row.name)
        .text(["level", "", "Tiers that it joins, for instance tor->agg."], |row| &row.level)
        .count(["packets", "packets", "Packets sent on the link."], |row| row.packets)
        .count(["bytes", "B", "Bytes sent on the link, headers included."], |row| row.bytes)
        .count(["data_packets", "packets", "Of the packets, whole data packets."], |row| row.data_packets)
        .count(["marked", "packets", "Packets marked here (ECN, congestion experienced)."], |row| row.marked)
        .count(["trimmed", "packets", "Data packets that lost their payload here."], |row| row.trimmed)
        .count(["returned", "packets", "Headers sent back to their sender from here."], |row| row.returned)
        .count(["dropped", "packets", "Packets dropped because a queue was full."], |row| row.dropped)
        .count(["lost", "packets", "Packets lost on the link: down, lossy or corrupting."], |row| row.lost)
        .count(["pauses", "packets", "Pause frames sent: requests to pause or to go on (PFC)."], |row| {
            row.pauses
        })
        .count(["paused_ps", "ps", "Time for which the other end had paused some priority here."], |row| {
            row.paused.0
        })
        .count(["busy_ps", "ps", "Time during which the link was sending."], |row| row.busy.0)
        .ratio(["utilisation", "", "busy_ps over the simulated time."], |row| row.busy.0 as f64 / simulated)
        .id(["peak_data", "packets", "Most data packets held, the one in service included."], |row| {
            row.peak_data
        })
        .id(["peak_control", "packets", "Most control packets held."], |row| row.peak_control)
        .maybe_ratio(
            ["mean_data", "packets", "Mean over time of the data packets held; with the port probe."],
            mean_data,
        )
        .finish()
}

/// Time average of the number of data packets held.
fn mean_data(row: &PortRow) -> Option<f64> {
    let total: f64 = row.occupancy.iter().map(|time| time.0 as f64).sum();
    let held: f64 = row.occupancy.iter().enumerate().map(|(n, time)| n as f64 * time.0 as f64).sum();
    (total > 0.0).then(|| held / total)
}

fn occupancy(record: &RunRecord) -> Table {
    let cells: Vec<(usize, usize, Picos)> = record.ports.iter().enumerate().flat_map(occupancy_of).collect();
    Builder::new(
        "occupancy",
        "How long each port held how many data packets; numbers that never occurred are left out.",
        &cells,
    )
    .id(["row", "", "Row of the table ports."], |cell| cell.0 as u32)
    .id(["held", "packets", "Data packets held, the one in service included."], |cell| cell.1 as u32)
    .count(["time_ps", "ps", "For how long in all."], |cell| cell.2.0)
    .finish()
}

fn occupancy_of((row, port): (usize, &PortRow)) -> impl Iterator<Item = (usize, usize, Picos)> {
    let cells = port.occupancy.iter().enumerate().map(move |(held, time)| (row, held, *time));
    cells.filter(|cell| cell.2 > Picos::ZERO)
}

fn series(record: &RunRecord) -> Table {
    let interval = record.series_interval.unwrap_or_default();
    let end = record.simulated;
    // The end of the run may have cut the last interval short.
    let length = |row: &SeriesRow| interval.min(end.since(row.at));
    Builder::new("series", "One row per interval and thing measured.", &record.series)
        .count(["at_ps", "ps", "Start of the interval."], |row| row.at.0)
        .text(["of", "", "Subject of the measurement: total, host, flow or tag."], |row| kind(row.key))
        .maybe_id(
            ["number", "", "Number of the host or flow, or position of the tag; missing for the total."],
            |row| number(row.key),
        )
        .count(["delivered_bytes", "B", "Payload that arrived in the interval."], |row| row.delivered)
        .maybe_ratio(["goodput_gbps", "Gb/s", "delivered_bytes over the length of the interval."], |row| {
            gbps(row.delivered, length(row))
        })
        .maybe_count(
            ["queued", "packets", "Data packets held by all switch ports at its end; for the total."],
            |row| row.queued,
        )
        .finish()
}

fn port_series(record: &RunRecord) -> Table {
    let (interval, end) = (record.port_series_interval.unwrap_or_default(), record.simulated);
    let length = |row: &PortSeriesRow| interval.min(end.since(row.at));
    let name = |row: &PortSeriesRow| record.ports.get(row.row as usize).map_or("", |port| port.name.as_str());
    let named: Vec<_> = record.port_series.iter().map(|row| (row, name(row))).collect();
    let doc = "One row per port and interval in which anything happened there; in between, numbers held stay as they are.";
    Builder::new("port_series", doc, &named)
        .id(["row", "", "Row of the table ports."], |(row, _)| row.row)
        .text(["name", "", "Where the port is and where it leads."], |(_, name)| name)
        .count(["at_ps", "ps", "Start of the interval."], |(row, _)| row.at.0)
        .id(["data", "packets", "Data packets held at its end, the one in service included."], |(row, _)| {
            row.data
        })
        .id(["control", "packets", "Control packets and headers that wait at its end."], |(row, _)| {
            row.control
        })
        .count(["packets", "packets", "Packets put on the link."], |(row, _)| row.packets)
        .count(["bytes", "B", "Bytes put on the link, headers included."], |(row, _)| row.bytes)
        .maybe_ratio(["rate_gbps", "Gb/s", "bytes over the length of the interval."], |(row, _)| {
            gbps(row.bytes, length(row))
        })
        .count(["marked", "packets", "Packets marked (ECN, congestion experienced)."], |(row, _)| row.marked)
        .count(["trimmed", "packets", "Data packets that lost their payload."], |(row, _)| row.trimmed)
        .count(["returned", "packets", "Headers sent back to their sender."], |(row, _)| row.returned)
        .count(["dropped", "packets", "Packets dropped because a queue was full."], |(row, _)| row.dropped)
        .count(["lost", "packets", "Packets lost on the link: down, lossy or corrupting."], |(row, _)| {
            row.lost
        })
        .finish()
}

fn kind(key: SeriesKey) -> &'static str {
    match key {
        SeriesKey::Total => "total",
        SeriesKey::Host(_) => "host",
        SeriesKey::Flow(_) => "flow",
        SeriesKey::Tag(_) => "tag",
    }
}

fn number(key: SeriesKey) -> Option<u32> {
    match key {
        SeriesKey::Total => None,
        SeriesKey::Host(host) => Some(host.0),
        SeriesKey::Flow(flow) => Some(flow),
        SeriesKey::Tag(tag) => Some(tag.into()),
    }
}

fn latency(record: &RunRecord) -> Table {
    Builder::new("latency", "One row per acknowledged packet.", &record.latencies)
        .id(["flow", "", "Number of the flow."], |row| row.flow)
        .count(["at_ps", "ps", "When the ACK arrived."], |row| row.at.0)
        .count(
            ["latency_ps", "ps", "Time since the packet was first sent, retransmissions included."],
            |row| row.latency.0,
        )
        .finish()
}

fn control(record: &RunRecord) -> Table {
    Builder::new("control", "One row per control packet that left a host.", &record.control)
        .id(["host", "", "Number of the host."], |row| row.host.0)
        .count(["at_ps", "ps", "When its first bit was sent."], |row| row.at.0)
        .text(["kind", "", "Packet type, as the protocol names it."], |row| row.kind)
        .finish()
}

fn packets(record: &RunRecord) -> Table {
    let way = |direction| if direction == Direction::Sent { "sent" } else { "received" };
    Builder::new("packets", "One row per packet that a host sent or received, in its order.", &record.packets)
        .id(["host", "", "Number of the host."], |row| row.host.0)
        .id(["peer", "", "Number of the host at the other end."], |row| row.peer.0)
        .count(["at_ps", "ps", "When it was sent, or was there."], |row| row.at.0)
        .text(["direction", "", "sent or received."], |row| way(row.direction))
        .text(["fate", "", "whole, trimmed or returned; what leaves is whole."], |row| row.fate)
        .text(["kind", "", "Packet type, as the protocol names it."], |row| row.kind)
        .id(["flags", "", "Its flags, as the protocol packs them."], |row| row.flags.into())
        .id(["flow", "", "Number of the flow."], |row| row.words[0])
        .id(
            ["number", "", "Second word of the header: of NDP's PULL the pull's number, else the packet's."],
            |row| row.words[1],
        )
        .id(
            ["extra", "", "Third word of the header: of NDP's ACK and NACK the pull that it carries."],
            |row| row.words[2],
        )
        .maybe_id(["path", "", "Number of the path; missing for what was received."], |row| {
            row.path.map(u32::from)
        })
        .id(["wire_bytes", "B", "Bytes on the wire when it was sent."], |row| row.wire.into())
        .finish()
}

fn hops(record: &RunRecord) -> Table {
    let name = |row: &HopRow| record.ports.get(row.row as usize).map_or("", |port| port.name.as_str());
    let named: Vec<_> = record.hops.iter().map(|row| (row, name(row))).collect();
    let doc = "One row per packet and port that it came to, NICs included, by flow and time.";
    let builder = Builder::new("hops", doc, &named)
        .id(["flow", "", "Number of the flow; of a session that is one, of its first flow."], |(row, _)| {
            row.flow
        })
        .maybe_id(
            [
                "number",
                "",
                "Number of the data packet that it is, or that it answers; missing if its header names none.",
            ],
            |(row, _)| row.number,
        )
        .id(
            ["from", "", "Number of the host that sent it, or that a returned header comes back from."],
            |(row, _)| row.from.0,
        )
        .text(["kind", "", "Packet type, as the protocol names it."], |(row, _)| row.kind)
        .text(["class", "", "As it came: data, header (trimmed), returned or control."], |(row, _)| row.class)
        .id(
            ["priority", "", "Its priority at switches; higher goes first where switches look at it."],
            |(row, _)| row.priority.into(),
        )
        .id(["wire_bytes", "B", "Bytes on the wire as it came."], |(row, _)| row.wire)
        .id(["row", "", "Row of the table ports."], |(row, _)| row.row)
        .text(["name", "", "Where the port is and where it leads."], |(_, name)| name)
        .count(
            [
                "at_ps",
                "ps",
                "When it was there: with its last bit, or with its header where switches cut through.",
            ],
            |(row, _)| row.at.0,
        );
    hop_waits(builder).text(["outcome", "", "sent, marked, trimmed, replicated, lost (on the link), returned, dropped, or waiting at the end of the run."], |(row, _)| row.outcome).finish()
}

/// Adds the columns of the table `hops` that say how long a packet waited, and behind what.
fn hop_waits<'a>(builder: Builder<'a, (&'a HopRow, &'a str)>) -> Builder<'a, (&'a HopRow, &'a str)> {
    builder
        .maybe_count(["start_ps", "ps", "When its first bit was sent; missing if it was not."], |(row, _)| {
            ps(row.start)
        })
        .maybe_count(["out_ps", "ps", "When its last bit was sent; missing if it was not."], |(row, _)| {
            ps(row.out)
        })
        .maybe_ratio(["wait_us", "us", "start_ps - at_ps."], |(row, _)| {
            row.start.map(|start| start.since(row.at).as_micros_f64())
        })
        .count(
            ["busy_ps", "ps", "For how long the packet in service still took when it came."],
            |(row, _)| row.busy.0,
        )
        .count(["ahead_data_bytes", "B", "Whole data packets that waited when it came."], |(row, _)| {
            row.ahead[0]
        })
        .count(
            ["ahead_control_bytes", "B", "Control packets and headers that waited when it came."],
            |(row, _)| row.ahead[1],
        )
        .count(["ahead_own_bytes", "B", "Of both, packets of its own flow."], |(row, _)| row.ahead_own)
        .count(
            [
                "behind_data_bytes",
                "B",
                "Whole data packets that were served between its coming and its own turn.",
            ],
            |(row, _)| row.behind[0],
        )
        .count(
            ["behind_control_bytes", "B", "Control packets and headers that were served in that time."],
            |(row, _)| row.behind[1],
        )
}
