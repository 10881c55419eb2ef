//! Events that hosts and ports show to probes.

use pullnet_units::{FlowId, HostId, Instant, PacketSeq, Picos, WireLen};

/// Kinds of events that a probe records. The engine shows an event only if a probe watches its kind, so that a run
/// without probes does no more than ask.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Watches(u8);

impl Watches {
    /// No events: the engine itself makes the rows of the probe.
    pub const NONE: Self = Self(0);
    /// Packets that hosts send.
    pub const SENT: Self = Self(1);
    /// Packets that hosts receive.
    pub const RECEIVED: Self = Self(2);
    /// Packets whose ACK has arrived.
    pub const ACKED: Self = Self(4);
    /// Payload that has arrived.
    pub const DELIVERED: Self = Self(8);
    /// Retransmission timers that ran out.
    pub const TIMED_OUT: Self = Self(16);
    /// Marks, trims, returns and drops at queues of switches. Only the simulator shows it.
    pub const INCIDENTS: Self = Self(32);

    /// The events of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is an event in both.
    #[inline]
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether hosts show all of these events, and there is one.
    pub const fn at_hosts(self) -> bool {
        self.0 != 0 && !self.any(Self::INCIDENTS)
    }
}

/// Direction of a packet at a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// The host received it.
    Received,
    /// The host sent it.
    Sent,
}

/// A packet sent or received by a host, as seen by its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRow {
    /// The host.
    pub host: HostId,
    /// The host at the other end.
    pub peer: HostId,
    /// Time at which the packet was sent or received.
    pub at: Instant,
    /// Direction of the packet.
    pub direction: Direction,
    /// Fate of the packet: `whole`, `trimmed` or `returned`; a sent packet is whole.
    pub fate: &'static str,
    /// Packet type, in the protocol's terms.
    pub kind: &'static str,
    /// Whether switches treat it as a control packet; of sent packets.
    pub control: bool,
    /// Flags of the packet type, in the protocol's encoding.
    pub flags: u8,
    /// Words of the header, in the protocol's encoding; the first is the flow.
    pub words: [u32; 3],
    /// Number of the path, for sent packets.
    pub path: Option<u16>,
    /// Bytes on the wire when the packet was sent.
    pub wire: WireLen,
}

/// The treatment of a packet by a queue, other than holding it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incident {
    /// It marks the packet (ECN, congestion experienced).
    Marked,
    /// It removes the payload.
    Trimmed,
    /// It sends the header back to its sender; a payload is removed without a further incident.
    Returned,
    /// It drops the packet, or its header after removing the payload.
    Dropped,
}

impl Incident {
    /// The word for it in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Marked => "marked",
            Self::Trimmed => "trimmed",
            Self::Returned => "returned",
            Self::Dropped => "dropped",
        }
    }
}

/// A packet at a port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortPacket {
    /// Row of the port in the table `ports`.
    pub row: u32,
    /// Flow number, if its header names one.
    pub flow: Option<FlowId>,
    /// Number of the data packet that it is, or that it is about, if its header names one.
    pub number: Option<PacketSeq>,
    /// Packet type, in the protocol's terms.
    pub kind: &'static str,
    /// `data`, `header` (trimmed), `returned` or `control`, afterwards.
    pub class: &'static str,
    /// Priority at switches.
    pub priority: u8,
    /// Bytes on the wire afterwards.
    pub wire: u32,
}

/// An event that a host or a port shows; [`Watches`] has the kinds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Seen {
    /// A packet is sent ([`Watches::SENT`]) or received ([`Watches::RECEIVED`]).
    Packet(PacketRow),
    /// An ACK has arrived for a packet.
    Acked {
        /// The sender.
        host: HostId,
        /// Time of the event.
        at: Instant,
        /// Flow number.
        flow: FlowId,
        /// Time since the packet was first sent.
        latency: Picos,
    },
    /// Payload has arrived.
    Delivered {
        /// The receiver.
        host: HostId,
        /// Time of the event.
        at: Instant,
        /// Flow number.
        flow: FlowId,
        /// Payload bytes.
        bytes: u64,
    },
    /// A retransmission timer ran out.
    TimedOut {
        /// The sender.
        host: HostId,
        /// Time of the event.
        at: Instant,
        /// Flow number.
        flow: FlowId,
        /// Number of the packet.
        number: PacketSeq,
    },
    /// The queue of a port does something to a packet.
    Incident {
        /// Time of the event.
        at: Instant,
        /// The treatment.
        incident: Incident,
        /// The packet afterwards.
        packet: PortPacket,
    },
}
