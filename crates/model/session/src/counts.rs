//! Counts and records of hosts.

use std::collections::BTreeMap;

use pullnet_probes::Recorded;
use pullnet_units::{FlowId, PacketSeq};

/// Counts of one host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostCounts {
    /// Data packets sent.
    pub data_sent: u64,
    /// Of these, packets that were sent before.
    pub retransmitted: u64,
    /// Data packets that arrived whole.
    pub data_delivered: u64,
    /// Of these, packets that the receiver needed.
    pub data_taken: u64,
    /// Headers of trimmed packets that arrived.
    pub headers_delivered: u64,
    /// Headers that came back to their sender.
    pub headers_returned: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Whole data packets that arrived times links on their path.
    pub packet_hops: u64,
    /// Payload bytes that arrived within the measurement window.
    pub delivered_in_window: u64,
}

/// Payload of one flow in one interval of the series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Number of the flow.
    pub flow: FlowId,
    /// Number of the interval.
    pub index: u64,
    /// Payload bytes.
    pub bytes: u64,
}

/// Rows that hosts record; most only on request of the scenario.
#[derive(Clone, Debug, Default)]
pub struct HostLog {
    /// Goodput over time.
    pub shares: Vec<Share>,
    /// The optional tables that the scenario enables.
    pub recorded: Recorded,
    /// Retransmission timers that ran out: flow and packet.
    pub timed_out: Vec<(FlowId, PacketSeq)>,
    /// By flow: data packets that arrived whole and that the receiver did not need.
    pub surplus: BTreeMap<FlowId, u32>,
}

impl HostLog {
    /// A log without rows, of the tables `recorded`.
    pub fn new(recorded: Recorded) -> Self {
        Self { recorded, ..Self::default() }
    }

    /// Takes over the rows of other hosts.
    pub fn append(&mut self, mut other: Self) {
        self.shares.append(&mut other.shares);
        self.recorded.append(other.recorded);
        self.timed_out.append(&mut other.timed_out);
        for (flow, packets) in other.surplus {
            *self.surplus.entry(flow).or_default() += packets;
        }
    }

    /// Counts a data packet of `flow` that the receiver did not need.
    pub fn count_surplus(&mut self, flow: FlowId) {
        *self.surplus.entry(flow).or_default() += 1;
    }
}
