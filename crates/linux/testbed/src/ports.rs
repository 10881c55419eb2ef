//! Counters of a testbed's switches as rows of a result.

use std::collections::BTreeMap;

use pullnet_record::PortRow;
use pullnet_topology::{LinkRef, Topology};
use pullnet_units::{Bytes, HostId, Picos, PortId};
use serde_json::Value;

use crate::plan::{host_names, port_names};

/// Counters of one switch port during a run, by name (`pullnet_switch::PortCounters`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortCounts {
    switch: String,
    name: String,
    counters: BTreeMap<String, u64>,
}

/// Counters that are maxima since the start instead of sums.
const PEAKS: [&str; 2] = ["queue_watermark_data_packets", "queue_watermark_control_packets"];

impl PortCounts {
    /// Difference between two `status` answers of the switches. `None` if one of them is malformed.
    pub fn between(before: &Value, after: &Value) -> Option<Vec<Self>> {
        let (before, after) = (Self::all(before)?, Self::all(after)?);
        let grown = |port: Self| {
            let old = before.iter().find(|old| (&old.switch, &old.name) == (&port.switch, &port.name));
            let since = |(name, value): (String, u64)| {
                let start = old.and_then(|old| old.counters.get(&name)).copied();
                let start = start.filter(|_| !PEAKS.contains(&name.as_str())).unwrap_or(0);
                (name, value.saturating_sub(start))
            };
            Self { counters: port.counters.into_iter().map(since).collect(), ..port }
        };
        Some(after.into_iter().map(grown).collect())
    }

    fn all(status: &Value) -> Option<Vec<Self>> {
        status.get("ports")?.as_array()?.iter().map(Self::of).collect()
    }

    fn of(port: &Value) -> Option<Self> {
        let text = |key| Some(port.get(key)?.as_str()?.to_owned());
        let counters = port.get("counters")?.as_object()?.iter();
        let counters = counters.map(|(name, value)| Some((name.clone(), value.as_u64()?)));
        Some(Self {
            switch: text("switch")?,
            name: text("name")?,
            counters: counters.collect::<Option<_>>()?,
        })
    }

    fn get(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or(0)
    }

    fn peak(&self, counter: &str) -> u32 {
        self.get(counter).try_into().unwrap_or(u32::MAX)
    }
}

/// NICs in the order of their hosts, then ports in the order of their numbers, as in the simulator. `data_sent`: data
/// packets sent by each host. Missing counters become 0.
pub(crate) fn rows(topology: &Topology, ports: &[PortCounts], data_sent: &[u64]) -> Vec<PortRow> {
    let nics = topology.hosts.ids().zip(host_names(topology)).zip(data_sent).map(|((host, name), data)| {
        let at_switch = ports.iter().find(|port| port.name == name);
        nic(topology, host, at_switch, *data)
    });
    let switches = topology.ports.ids().zip(port_names(topology)).map(|(id, (switch, name))| {
        let found = ports.iter().find(|port| (&port.switch, &port.name) == (&switch, &name));
        port(topology, id, found)
    });
    nics.chain(switches).collect()
}

fn empty(port: Option<PortId>, name: String, level: String) -> PortRow {
    PortRow {
        port,
        name,
        level,
        packets: 0,
        bytes: 0,
        data_packets: 0,
        marked: 0,
        trimmed: 0,
        returned: 0,
        dropped: 0,
        lost: 0,
        pauses: 0,
        paused: Picos::ZERO,
        busy: Picos::ZERO,
        peak_data: 0,
        peak_control: 0,
        occupancy: Vec::new(),
    }
}

/// The NIC's frames are those received by the switch. Between two hosts without a switch, the NIC is a line whose far end
/// drops frames that find no room.
fn nic(topology: &Topology, host: HostId, at_switch: Option<&PortCounts>, data_packets: u64) -> PortRow {
    let row = empty(None, topology.nic_name(host), topology.level(LinkRef::Nic(host)).to_string());
    let Some(counts) = at_switch else { return row };
    let link = topology.hosts[host].link;
    let bytes = counts.get("if_in_octets");
    PortRow {
        packets: counts.get("if_in_ucast_pkts") + counts.get("if_in_non_ucast_pkts"),
        bytes,
        data_packets,
        lost: counts.get("if_in_errors"),
        busy: link.rate.serialization(Bytes(bytes)),
        ..row
    }
}

fn port(topology: &Topology, id: PortId, found: Option<&PortCounts>) -> PortRow {
    let level = topology.level(LinkRef::Port(id)).to_string();
    let row = empty(Some(id), topology.port_name(id), level);
    let Some(counts) = found else { return row };
    PortRow {
        packets: counts.get("if_out_ucast_pkts") + counts.get("if_out_non_ucast_pkts"),
        bytes: counts.get("if_out_octets"),
        data_packets: counts.get("tx_data_packets"),
        marked: counts.get("ecn_marked_packets"),
        trimmed: counts.get("trim_packets"),
        returned: counts.get("returned_packets"),
        dropped: counts.get("if_out_discards") + counts.get("if_in_discards"),
        lost: counts.get("fault_lost_packets"),
        busy: Picos(counts.get("busy_ps")),
        peak_data: counts.peak(PEAKS[0]),
        peak_control: counts.peak(PEAKS[1]),
        ..row
    }
}
