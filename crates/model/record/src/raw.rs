use pullnet_units::{HostId, Instant, Picos, PortId};

/// One flow, in order of its number.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowRow {
    /// Sender.
    pub src: HostId,
    /// Receiver.
    pub dst: HostId,
    /// Payload bytes; `None` never ends.
    pub size: Option<u64>,
    /// When the application offered it.
    pub start: Instant,
    /// When the last payload byte reached the receiver.
    pub received: Option<Instant>,
    /// When the sender knew that everything had arrived.
    pub acknowledged: Option<Instant>,
    /// Why it failed.
    pub failed: Option<&'static str>,
    /// Payload bytes that reached the receiver.
    pub delivered: u64,
    /// The same within the measurement window.
    pub delivered_in_window: u64,
    /// Least time that the unloaded network needs; `None` for endless flows.
    pub ideal: Option<Picos>,
    /// 0 is ordinary; higher goes first.
    pub priority: u8,
    /// Index into [`RunRecord::tags`].
    pub tag: u16,
    /// Index into [`RunRecord::transports`].
    pub transport: u8,
    /// When all of it should have arrived.
    pub deadline: Option<Instant>,
    /// Index into [`RunRecord::tenants`]; 0: no tenant's.
    pub tenant: u16,
    /// Number of the coflow that it is part of.
    pub coflow: Option<u32>,
    /// Data packets that were sent, repetitions included.
    pub packets_sent: u32,
    /// Data packets that were sent again.
    pub retransmitted: u32,
    /// Retransmission timers that ran out.
    pub timeouts: u32,
    /// Of these, those that no loss of the very packet, its header, its ACK or its NACK explains.
    pub unexplained: u32,
    /// Packets of the flow that links lost or switches dropped, control packets of both directions included.
    pub lost: u32,
}

/// One host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostRow {
    /// Payload bytes received within the measurement window.
    pub delivered_in_window: u64,
    /// Rate of the link that leads to the host, in bits per second.
    pub rate_bps: u64,
    /// Whether any flow of the run was addressed to it.
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
    /// Of these, data packets that were whole.
    pub data_packets: u64,
    /// Packets marked (ECN, congestion experienced).
    pub marked: u64,
    /// Data packets that lost their payload here.
    pub trimmed: u64,
    /// Headers that were sent back from here.
    pub returned: u64,
    /// Packets that were dropped for want of room.
    pub dropped: u64,
    /// Packets that were lost on the link: down, lossy or corrupting.
    pub lost: u64,
    /// Pause frames sent on the link, which ask the other end to pause or to go on.
    pub pauses: u64,
    /// Time for which the other end had paused this port, or one of its priorities.
    pub paused: Picos,
    /// Time during which the link was sending.
    pub busy: Picos,
    /// Largest number of data packets held, the one in service included.
    pub peak_data: u32,
    /// Largest number of control packets held.
    pub peak_control: u32,
    /// Time spent with n data packets held, n = 0, 1, ...; empty unless the port probe is on.
    pub occupancy: Vec<Picos>,
}

/// What a point of a time series belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeriesKey {
    /// The whole network.
    Total,
    /// One receiving host.
    Host(HostId),
    /// One flow.
    Flow(u32),
    /// All flows with a tag.
    Tag(u16),
}

/// Goodput and queueing in one interval of a time series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesRow {
    /// Whose.
    pub key: SeriesKey,
    /// Start of the interval.
    pub at: Instant,
    /// Payload bytes that arrived in it.
    pub delivered: u64,
    /// Data packets held by all switch ports at its end; only for [`SeriesKey::Total`].
    pub queued: Option<u64>,
}

/// What happened at one port in one interval; intervals in which nothing did have no row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSeriesRow {
    /// Row of the port in [`RunRecord::ports`].
    pub row: u32,
    /// Start of the interval.
    pub at: Instant,
    /// Data packets held at its end, the one in service included.
    pub data: u32,
    /// Control packets that wait at its end.
    pub control: u32,
    /// Packets put on the link.
    pub packets: u64,
    /// Bytes put on the link.
    pub bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Data packets that lost their payload.
    pub trimmed: u64,
    /// Headers that were sent back.
    pub returned: u64,
    /// Packets dropped for want of room.
    pub dropped: u64,
    /// Packets lost on the link.
    pub lost: u64,
}

/// Time from a packet's first sending to its ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyRow {
    /// Flow number.
    pub flow: u32,
    /// When the ACK arrived.
    pub at: Instant,
    /// How long it took, retransmissions included.
    pub latency: Picos,
}

/// A control packet that left a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlRow {
    /// The host.
    pub host: HostId,
    /// When its first bit was sent.
    pub at: Instant,
    /// The packet type, as the protocol names it.
    pub kind: &'static str,
}

/// Which way a packet passed a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// The host received it.
    Received,
    /// The host sent it.
    Sent,
}

/// A packet that a host sent or received, as its transport saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRow {
    /// The host.
    pub host: HostId,
    /// The host at the other end.
    pub peer: HostId,
    /// When it was sent, or was there.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// What happened to it on its way: `whole`, `trimmed` or `returned`; a packet that leaves is whole.
    pub fate: &'static str,
    /// The packet type, as the protocol names it.
    pub kind: &'static str,
    /// Flags of that type, as the protocol packs them.
    pub flags: u8,
    /// The header's words, as the protocol packs them; the first is the flow.
    pub words: [u32; 3],
    /// Number of the path, if it was sent.
    pub path: Option<u16>,
    /// Bytes on the wire when it was sent.
    pub wire: u16,
}

/// Sums over the whole run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Data packets that hosts sent.
    pub data_sent: u64,
    /// Data packets that arrived whole, repetitions included.
    pub data_delivered: u64,
    /// Of these, packets that a receiver took as new: no repetitions, and none that it discarded for want of one before.
    pub data_unique: u64,
    /// Packets marked (ECN, congestion experienced).
    pub marked: u64,
    /// Payloads that switches cut off.
    pub trimmed: u64,
    /// Headers that switches sent back.
    pub returned: u64,
    /// Packets of any kind dropped for want of room.
    pub dropped: u64,
    /// Packets of any kind lost on links.
    pub lost: u64,
    /// Data packets that hosts sent again.
    pub retransmitted: u64,
    /// Data packets (whole or as headers) still in the network at the end.
    pub data_in_flight: u64,
    /// Headers of trimmed data packets that arrived at the receiver.
    pub headers_delivered: u64,
    /// Headers that arrived back at their sender.
    pub headers_returned: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Data packets delivered times links on their path.
    pub packet_hops: u64,
    /// Of the dropped packets, those that carried data or had been data.
    pub data_dropped: u64,
    /// Of the dropped packets, headers that had been sent back once and found no room on their way.
    pub returned_dropped: u64,
    /// Of the lost packets, those that carried data or had been data.
    pub data_lost: u64,
    /// Trimmed payloads by level of the port, for instance `("tor->host", 812)`.
    pub trimmed_by_level: Vec<(String, u64)>,
}

/// A flow that has not moved for a while.
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
    /// Payload bytes in all; `None` never ends.
    pub size: Option<u64>,
    /// When it last moved.
    pub last_progress: Instant,
    /// What its sender waits for.
    pub waiting_for: &'static str,
}

/// Everything that the engine knows at the end of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRecord {
    /// Hash of every delivery, completion, trim and drop with its time.
    pub fingerprint: u64,
    /// Where virtual time stopped.
    pub simulated: Instant,
    /// Whether the run reached its stated end.
    pub complete: bool,
    /// The measurement window, as far as it was simulated.
    pub window: (Instant, Instant),
    /// Names that [`FlowRow::tag`] points to.
    pub tags: Vec<String>,
    /// Names that [`FlowRow::tenant`] points to; the first, of no tenant, is empty.
    pub tenants: Vec<String>,
    /// Names that [`FlowRow::transport`] points to.
    pub transports: Vec<String>,
    /// Flows.
    pub flows: Vec<FlowRow>,
    /// Hosts.
    pub hosts: Vec<HostRow>,
    /// Ports and NICs.
    pub ports: Vec<PortRow>,
    /// Time series, if asked for.
    pub series: Vec<SeriesRow>,
    /// Length of an interval of the series.
    pub series_interval: Option<Picos>,
    /// What happened at single ports over time, if asked for; by port, then time.
    pub port_series: Vec<PortSeriesRow>,
    /// Length of an interval of these.
    pub port_series_interval: Option<Picos>,
    /// Packet latencies, if asked for.
    pub latencies: Vec<LatencyRow>,
    /// Departures of control packets, if asked for.
    pub control: Vec<ControlRow>,
    /// Packets that hosts sent and received, if asked for.
    pub packets: Vec<PacketRow>,
    /// Flows without progress at the end.
    pub stuck: Vec<StuckFlow>,
    /// Names of ports each of which waits at the end for the next one to send, since that one has paused it, and the last
    /// for the first: none of them will ever send again. Empty if there is no such circle.
    pub deadlock: Vec<String>,
    /// Sums.
    pub totals: Totals,
    /// Tables that were asked for and are not there: name, and why.
    pub left_out: Vec<(&'static str, String)>,
}
