use pullnet_probes::{Builder, Facts, Table, gbps};
use pullnet_units::{Instant, Picos};

use crate::raw::{FlowRow, PortRow, RunRecord};

/// All tables of a run.
pub fn tables(record: &RunRecord) -> Vec<Table> {
    let mut tables = vec![flows(record), hosts(record), ports(record)];
    let port_name = |row: u32| record.ports.get(row as usize).map_or("", |port| port.name.as_str());
    tables.append(&mut record.recorded.tables(Facts { simulated: record.simulated, port_name: &port_name }));
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
        match (self.labels.deadline?, self.received) {
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
        let name = self.tenants.get(usize::from(flow.labels.tenant)).map(String::as_str);
        name.filter(|_| flow.labels.tenant > 0)
    }
}

/// Long: an entry for each column.
fn flows(record: &RunRecord) -> Table {
    let window = record.window.1.since(record.window.0);
    let tag = |row: &FlowRow| record.tags.get(usize::from(row.labels.tag)).map_or("", String::as_str);
    let transport =
        |row: &FlowRow| record.transports.get(usize::from(row.labels.transport)).map_or("", String::as_str);
    let tenant = |row: &FlowRow| record.tenant_of(row);
    let tags: Vec<_> = record.flows.iter().map(|row| (row, tag(row))).collect();
    Builder::new("flows", "One row per flow, in order of start.", &tags)
        .numbered(["flow", "", "Number of the flow, from 0."])
        .id(["src", "", "Number of the sending host."], |(row, _)| row.src.get())
        .id(["dst", "", "Number of the receiving host."], |(row, _)| row.dst.get())
        .maybe_count(["size_bytes", "B", "Payload; missing for a flow that never ends."], |(row, _)| row.size)
        .text(["tag", "", "Name that the scenario gave to the traffic."], |(_, tag)| tag)
        .text(["transport", "", "Name of the transport that carried it."], |(row, _)| transport(row))
        .maybe_text(["tenant", "", "Tenant of the flow; missing if it has none."], |(row, _)| tenant(row))
        .maybe_id(["coflow", "", "Number of the coflow that it is part of; missing if of none."], |(row, _)| row.labels.coflow)
        .id(["session", "", "Number of the first flow of its session: flows to several receivers, or from several senders, that began as one."], |(row, _)| row.session)
        .id(["senders", "", "Hosts that send it; src is the first of them."], |(row, _)| row.senders.into())
        .maybe_count(["deadline_ps", "ps", "When all of it should have arrived; missing if there is no deadline."], |(row, _)| {
            ps(row.labels.deadline)
        })
        .maybe_flag(["deadline_met", "", "Whether it had; missing without a deadline, or if the run ended before."], |(row, _)| {
            row.deadline_met(record.simulated)
        })
        .id(["priority", "", "0 is ordinary; higher goes first."], |(row, _)| row.labels.priority.into())
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
        .count(["surplus", "packets", "Data packets that arrived whole although the receiver did not need them: copies, and symbols of a block that it could decode without them."], |(row, _)| row.surplus.into())
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
        .count(["window_bytes", "B", "Payload received within the measurement window; a packet counts whole when its last bit has arrived."], |row| {
            row.delivered_in_window
        })
        .maybe_ratio(["window_gbps", "Gb/s", "window_bytes over the length of the window."], |row| {
            gbps(row.delivered_in_window, window)
        })
        .maybe_ratio(["utilisation", "", "window_gbps / rate_gbps. Above 1 by at most the payload of one packet: a packet counts whole when its last bit has arrived, also if the first bits came before the window."], |row| {
            gbps(row.delivered_in_window, window).map(|rate| rate * 1e9 / row.rate_bps as f64)
        })
        .finish()
}

fn ports(record: &RunRecord) -> Table {
    let simulated = record.simulated.0 as f64;
    Builder::new("ports", "One row per egress port of a switch and per host's NIC.", &record.ports)
        .numbered(["row", "", "Number of the row; the table occupancy refers to it."])
        .maybe_id(["port", "", "Number of the port in the topology; missing for a NIC."], |row| {
            row.port.map(|port| port.get())
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
