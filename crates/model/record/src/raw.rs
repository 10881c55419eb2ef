use pullnet_probes::Recorded;
use pullnet_units::{HostId, Instant, Labels, Picos, PortId};

use crate::counts::PacketCounts;

/// One flow, in order of its number.
///
/// Long: a row of a table, a field for each column.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FlowRow {
    /// Sender.
    pub src: HostId,
    /// Receiver.
    pub dst: HostId,
    /// Payload bytes; `None` for an endless flow.
    pub size: Option<u64>,
    /// Time at which the application offered the flow.
    pub start: Instant,
    /// Time at which the last payload byte reached the receiver.
    pub received: Option<Instant>,
    /// Time at which the sender knew that everything had arrived.
    pub acknowledged: Option<Instant>,
    /// Reason of the failure.
    pub failed: Option<&'static str>,
    /// Payload bytes that reached the receiver.
    pub delivered: u64,
    /// The same within the measurement window.
    pub delivered_in_window: u64,
    /// Ideal completion time in an unloaded network; `None` for endless flows.
    pub ideal: Option<Picos>,
    /// Priority, deadline and the like. Names are indexes into [`RunRecord::tags`], [`RunRecord::transports`] and
    /// [`RunRecord::tenants`].
    pub labels: Labels,
    /// Number of the first flow of its session: its own if it is the whole session.
    pub session: u32,
    /// Hosts that send it.
    pub senders: u16,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u32,
    /// Data packets retransmitted.
    pub retransmitted: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Spurious timeouts: the packet, its header, its ACK and its NACK were not lost.
    pub unexplained: u32,
    /// Packets of the flow lost on links or dropped by switches, including control packets of both directions.
    pub lost: u32,
    /// Data packets that arrived whole although the receiver did not need them: copies, and symbols of a block that it could
    /// decode without them.
    pub surplus: u32,
}

/// One host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostRow {
    /// Payload bytes received within the measurement window.
    pub delivered_in_window: u64,
    /// Rate of the link that leads to the host, in bits per second.
    pub rate_bps: u64,
    /// Whether any flow of the run was sent to the host.
    pub receives: bool,
}

/// One egress port of a switch, or a host's NIC.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRow {
    /// The port; `None` for a NIC.
    pub port: Option<PortId>,
    /// For instance `"tor 3 -> agg 5"`.
    pub name: String,
    /// For instance `"tor->agg"`, or `"host->tor"`.
    pub level: String,
    /// Packets sent on the link.
    pub packets: u64,
    /// Bytes sent on the link.
    pub bytes: u64,
    /// Of these, untrimmed data packets.
    pub data_packets: u64,
    /// Packets marked (ECN, congestion experienced).
    pub marked: u64,
    /// Data packets trimmed at this port.
    pub trimmed: u64,
    /// Headers returned to their sender from this port.
    pub returned: u64,
    /// Packets dropped because a queue was full.
    pub dropped: u64,
    /// Packets that were lost on the link: down, lossy or corrupting.
    pub lost: u64,
    /// Pause frames sent on the link, both to pause the other end and to resume it.
    pub pauses: u64,
    /// Time for which the other end had paused this port or one of its priorities.
    pub paused: Picos,
    /// Time during which the link was sending.
    pub busy: Picos,
    /// Largest number of data packets held, including the packet in service.
    pub peak_data: u32,
    /// Largest number of control packets held.
    pub peak_control: u32,
    /// Time spent with n data packets held, n = 0, 1, ...; empty unless the port probe is on.
    pub occupancy: Vec<Picos>,
}

/// Sums over the whole run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Counts of packets.
    pub packets: PacketCounts,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Sum of the links on the paths of all delivered data packets.
    pub packet_hops: u64,
}

/// A flow without recent progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckFlow {
    /// Flow number.
    pub flow: u32,
    /// Sender.
    pub src: HostId,
    /// Receiver.
    pub dst: HostId,
    /// Payload bytes acknowledged so far.
    pub bytes: u64,
    /// Payload bytes in total; `None` for an endless flow.
    pub size: Option<u64>,
    /// Time of the latest progress.
    pub last_progress: Instant,
    /// Event that its sender is waiting for.
    pub waiting_for: &'static str,
}

/// All results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRecord {
    /// Hash of all deliveries, completions, trims and drops with their times.
    pub fingerprint: u64,
    /// Virtual time at the end.
    pub simulated: Instant,
    /// Whether the run reached its stated end.
    pub complete: bool,
    /// The measurement window, clipped to the simulated time.
    pub window: (Instant, Instant),
    /// Names indexed by [`Labels::tag`].
    pub tags: Vec<String>,
    /// Names indexed by [`Labels::tenant`]; the first, for flows without a tenant, is empty.
    pub tenants: Vec<String>,
    /// Names indexed by [`Labels::transport`].
    pub transports: Vec<String>,
    /// Flows.
    pub flows: Vec<FlowRow>,
    /// Hosts.
    pub hosts: Vec<HostRow>,
    /// Ports and NICs.
    pub ports: Vec<PortRow>,
    /// The optional tables that the scenario enables.
    pub recorded: Recorded,
    /// Flows without progress at the end.
    pub stuck: Vec<StuckFlow>,
    /// Names of ports in a circle of pauses: at the end each waits for the next port, which has paused it, and the last
    /// waits for the first. None of them will ever send again. Empty if there is no such circle.
    pub deadlock: Vec<String>,
    /// Number of a flow that `probes.hops` names and that the run does not have; `None` if it has all.
    pub unknown_flow: Option<u32>,
    /// Sums.
    pub totals: Totals,
    /// Tables that were enabled but could not be recorded: name and reason.
    pub left_out: Vec<(&'static str, String)>,
}
