use pullnet_rng::RandomStream;
use pullnet_settings::Settings;
use pullnet_units::{BitsPerSec, Bytes, HostAddr, Instant, PacketSeq, Picos, Side, WireLen};

use crate::conn_id::ConnId;
use crate::packed::Header;
use crate::texts::{Awaited, FailureReason, TimerKind};

/// Properties of the host that a transport runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostInfo {
    /// The host's own address.
    pub addr: HostAddr,
    /// Rate of the link that leads to the host: what a receiver paces its senders by.
    pub rate: BitsPerSec,
}

/// Data that the application offers to one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSpec {
    /// The driver's number for the flow; no open flow of this host has it.
    pub conn: ConnId,
    /// The receiver.
    pub to: HostAddr,
    /// Payload bytes; `None` for an endless flow.
    pub size: Option<Bytes>,
    /// 0 is ordinary; a higher number goes first wherever the transport has a choice.
    pub priority: u8,
    /// Number of equal-cost paths to the receiver, at least 1.
    pub paths: u16,
    /// Time by which the last byte should have arrived; `None` for no deadline.
    pub deadline: Option<Instant>,
    /// Tenant that owns the flow, for transports that share capacity between tenants; 0 unless the scenario sets it.
    pub tenant: u16,
}

impl Default for FlowSpec {
    /// An endless flow to host 0 on one path, without priority or deadline.
    fn default() -> Self {
        let (conn, to) = (ConnId::default(), HostAddr::default());
        Self { conn, to, size: None, priority: 0, paths: 1, deadline: None, tenant: 0 }
    }
}

/// One of several receivers of the same data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupMember {
    /// Its own address.
    pub addr: HostAddr,
    /// Number of equal-cost paths to it, at least 1.
    pub paths: u16,
}

/// The place of a host among several senders of the same data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its number, from 0.
    pub index: u16,
    /// How many there are.
    pub of: u16,
}

/// How a switch sees a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Carries payload and may be trimmed.
    Data,
    /// Header-sized and urgent.
    Control,
}

/// State in which a packet arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Arrived as it was sent.
    Whole,
    /// A switch cut the payload; the header arrived.
    Trimmed,
    /// A switch cut the payload and returned the header to its sender.
    Returned,
}

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received<H> {
    /// The other host: the sender, or for a returned header the host that it was meant for.
    pub from: HostAddr,
    /// Number of equal-cost paths to `from`, at least 1.
    pub paths: u16,
    /// Bytes on the wire when it was sent, header included.
    pub wire: WireLen,
    /// Whole, trimmed or returned.
    pub fate: Fate,
    /// Congestion experienced: a switch marked the packet (RFC 3168, CE).
    pub ce: bool,
    /// The protocol's header.
    pub header: H,
}

/// The flow that an arriving packet belongs to, as its receiver knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The sender.
    pub peer: HostAddr,
    /// The sender's number for the connection.
    pub conn: ConnId,
    /// Number of equal-cost paths to the sender.
    pub paths: u16,
}

/// A packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit<H> {
    /// The receiver.
    pub to: HostAddr,
    /// Path label, below the number of paths.
    pub path: u16,
    /// Bytes on the wire, header included.
    pub wire: WireLen,
    /// Whether it may be trimmed and whether it is urgent.
    pub class: Class,
    /// Priority at switches with several queues, 0 to 7; a higher number is more urgent.
    pub priority: u8,
    /// ECN-capable transport: switches may mark the packet instead of dropping it (RFC 3168, ECT).
    pub ect: bool,
    /// Whether payload of this packet was sent before.
    pub again: bool,
    /// The protocol's header.
    pub header: H,
}

impl<H> Received<H> {
    /// The same packet with a converted header.
    #[inline(always)]
    pub fn map<G>(self, header: impl FnOnce(H) -> G) -> Received<G> {
        let Self { from, paths, wire, fate, ce, header: own } = self;
        Received { from, paths, wire, fate, ce, header: header(own) }
    }
}

impl<H> Transmit<H> {
    /// A control packet of the lowest priority, not ECN-capable, sent for the first time.
    #[inline(always)]
    pub fn control(to: HostAddr, path: u16, wire: WireLen, header: H) -> Self {
        Self { to, path, wire, class: Class::Control, priority: 0, ect: false, again: false, header }
    }

    /// A data packet of the lowest priority, not ECN-capable, sent for the first time.
    #[inline(always)]
    pub fn data(to: HostAddr, path: u16, wire: WireLen, header: H) -> Self {
        Self { class: Class::Data, ..Self::control(to, path, wire, header) }
    }

    /// The same packet with a converted header.
    #[inline(always)]
    pub fn map<G>(self, header: impl FnOnce(H) -> G) -> Transmit<G> {
        let Self { to, path, wire, class, priority, ect, again, header: own } = self;
        Transmit { to, path, wire, class, priority, ect, again, header: header(own) }
    }
}

/// An event that a transport reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Receiver: a connection began. `slot` identifies it until another `Opened` reuses the number.
    Opened {
        /// The receiver's own number for the connection, small and reused.
        slot: u32,
        /// The sender.
        peer: HostAddr,
        /// The sender's number for the connection.
        conn: ConnId,
    },
    /// Receiver: a new packet arrived. At most one event for each packet that is handled.
    Delivered {
        /// Which connection.
        slot: u32,
        /// Packet number, as [`Header::concerns`] names it.
        seq: PacketSeq,
        /// New payload bytes.
        bytes: u32,
    },
    /// Receiver: all packets up to the last one have arrived.
    Received {
        /// Which connection.
        slot: u32,
    },
    /// Receiver: the sender was silent for so long that the connection is forgotten.
    Silent {
        /// Which connection.
        slot: u32,
    },
    /// Sender: a packet was acknowledged.
    Acked {
        /// The receiver.
        to: HostAddr,
        /// Which connection.
        conn: ConnId,
        /// Time since the packet was first sent.
        latency: Picos,
    },
    /// Sender: all data was acknowledged.
    Completed {
        /// The receiver.
        to: HostAddr,
        /// Which connection.
        conn: ConnId,
        /// Packets sent and repeated for the flow.
        counts: SendCounts,
    },
    /// Sender: the flow failed.
    Failed {
        /// The receiver.
        to: HostAddr,
        /// Which connection.
        conn: ConnId,
        /// Why.
        reason: FailureReason,
        /// Packets sent and repeated until then.
        counts: SendCounts,
    },
    /// Sender: a retransmission timer expired for one packet.
    TimedOut {
        /// The receiver.
        to: HostAddr,
        /// Which connection.
        conn: ConnId,
        /// Number of the packet, as [`Header::concerns`] gives it for the packet and its answers.
        seq: PacketSeq,
    },
    /// Receiver: data or a probe came for a connection that is dismissed, or that is unknown here and that the packet
    /// may not open. The transport does not answer; the sender waits in vain unless the driver informs it.
    Stray {
        /// The sender.
        peer: HostAddr,
        /// The sender's number for it.
        conn: ConnId,
    },
}

impl Event {
    /// The same event, with another number for the receiver's connection if it has one.
    #[must_use]
    pub fn with_slot(self, renumbered: impl FnOnce(u32) -> u32) -> Self {
        match self {
            Self::Opened { slot, peer, conn } => Self::Opened { slot: renumbered(slot), peer, conn },
            Self::Delivered { slot, seq, bytes } => Self::Delivered { slot: renumbered(slot), seq, bytes },
            Self::Received { slot } => Self::Received { slot: renumbered(slot) },
            Self::Silent { slot } => Self::Silent { slot: renumbered(slot) },
            other => other,
        }
    }
}

/// When to call [`Transport::handle_timeout`], and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// Time of the deadline.
    pub at: Instant,
    /// The timer that expires, for traces.
    pub timer: TimerKind,
}

impl Deadline {
    /// The earlier of this deadline and one at `at`.
    #[inline]
    #[must_use]
    pub fn min_at(self, at: Instant, timer: TimerKind) -> Self {
        if at < self.at { Self { at, timer } } else { self }
    }
}

/// State of an open flow, for the stall detector and the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowStatus {
    /// The end that this state is seen from.
    pub side: Side,
    /// The other host.
    pub peer: HostAddr,
    /// The sender's number for the flow.
    pub conn: ConnId,
    /// Payload bytes acknowledged (sender) or received (receiver).
    pub bytes: u64,
    /// Time at which that number last grew, or at which the flow began.
    pub last_progress: Instant,
    /// Event that the flow waits for.
    pub waiting_for: Awaited,
    /// The sender's counters; zeros at the receiver.
    pub counts: SendCounts,
}

impl FlowStatus {
    /// State of a flow at its receiver, which waits for data and has received `bytes` of payload.
    pub fn of_receiver(peer: HostAddr, conn: ConnId, bytes: u64, last_progress: Instant) -> Self {
        let (waiting_for, counts) = (Awaited::Data, SendCounts::default());
        Self { side: Side::Receiver, peer, conn, bytes, last_progress, waiting_for, counts }
    }
}

/// A transport's endpoint on one host: all its flows, both directions.
pub trait Transport: Sized {
    /// The protocol's header.
    type Header: Header;
    /// Bytes at the start of the endpoint that nearly every call needs: a hint for drivers, as [`Transport::prefetch_targets`].
    const HOT_BYTES: usize = size_of::<Self>();

    /// The application offers data.
    fn open(&mut self, now: Instant, flow: FlowSpec);
    /// The application offers data to several receivers at once; only for a protocol that multicasts
    /// ([`Protocol::MULTICASTS`]). A packet to `flow.to`, the address of a group, reaches all of them, by one of
    /// `flow.paths` trees. The flow to receiver i has the number `flow.conn + i`: so are reports of it called, while packets
    /// carry `flow.conn`.
    fn open_group(&mut self, now: Instant, flow: FlowSpec, receivers: &[GroupMember]) {
        debug_assert!(false, "a group for a transport that does not multicast");
        for (conn, member) in (flow.conn.get()..).zip(receivers) {
            let GroupMember { addr, paths } = *member;
            self.open(now, FlowSpec { conn: ConnId::new(conn), to: addr, paths, ..flow });
        }
    }
    /// The application offers data that other hosts hold and offer to the same receiver too, under the same number, which
    /// no other flow to the receiver has; only for a protocol that joins senders ([`Protocol::JOINS_SENDERS`]).
    fn open_source(&mut self, now: Instant, flow: FlowSpec, source: Source) {
        debug_assert!(false, "one of {} senders for a transport that does not join them", source.of);
        self.open(now, flow);
    }
    /// The application passes on data that is itself still on its way to this host. A transport that keeps to
    /// [`Transport::supply`] sends none of it ahead of that; others take all of it as offered, and may send it before it is here.
    fn open_relay(&mut self, now: Instant, flow: FlowSpec) {
        self.open(now, flow);
    }
    /// Of the data of flow `conn` to `to`, which [`Transport::open_relay`] began, this host has `bytes` by now.
    fn supply(&mut self, _now: Instant, _to: HostAddr, _conn: ConnId, _bytes: u64) {}
    /// No more than [`Transport::supply`] has named will come here: a flow that lacks some fails.
    fn cut_off(&mut self, _now: Instant, _to: HostAddr, _conn: ConnId) {}
    /// A packet has arrived.
    fn handle(&mut self, now: Instant, packet: Received<Self::Header>);
    /// The deadline of [`Transport::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Instant);
    /// Polls for a packet when the link is free. `None`: no packet until the next input.
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Self::Header>>;
    /// The next event, oldest first.
    fn poll_event(&mut self) -> Option<Event>;
    /// The next deadline.
    fn poll_timeout(&self) -> Option<Deadline>;
    /// Visits memory that the next call will read: first (`step` 0) memory that the endpoint points to, then (`step` 1)
    /// memory that those places point to. Drivers with many endpoints prefetch it. This is only a hint and may visit
    /// nothing.
    fn prefetch_targets(&self, _step: u8, _visit: &mut impl FnMut(*const u8)) {}
    /// Visits every flow that has not ended, in a fixed order.
    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus));
}

/// How a transport cuts data into packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Bytes on the wire beside the payload; the length of the shortest packet.
    pub header: u32,
}

/// Counters of one flow at its sender.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SendCounts {
    /// Data packets sent, including retransmissions.
    pub sent: u32,
    /// Retransmissions among them.
    pub again: u32,
    /// Retransmission timers that expired.
    pub timeouts: u32,
}

/// A service beyond queues that a transport expects of switches. Without it, its hosts send as if nothing were in their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reliance {
    /// Packets are marked before queues are full (ECN).
    Marks,
    /// Packets are served by the priority in their headers.
    Priorities,
    /// Packets are served and dropped in the order of their flows' urgency ([`Header::hop_view`]).
    Ranks,
    /// Rates are written into headers ([`Hop::allocate`](crate::hop::Hop::allocate)).
    Rates,
    /// The state of ports is written into headers ([`PortState`](crate::hop::PortState)).
    Telemetry,
    /// Flows are paused by writing into headers ([`Hop::take_turn`](crate::hop::Hop::take_turn)).
    Turns,
}

/// A transport that scenarios can name: a name, settings and endpoints.
pub trait Protocol {
    /// The name in `[transport] kind = "..."`.
    const NAME: &'static str;
    /// One line for `pullnet list protocols`.
    const SUMMARY: &'static str;
    /// Names of settings that have an effect only where the sender chooses the path.
    const PATH_SETTINGS: &'static [&'static str] = &[];
    /// Name of the setting that states the first retransmission timeout; `None` if no setting does.
    const TIMEOUT_SETTING: Option<&'static str> = None;
    /// Names of settings that name a host by its number: where there is a topology they are checked and become addresses.
    const HOST_SETTINGS: &'static [&'static str] = &[];
    /// Name of the setting that states how many addresses a rack has. If it is absent, it is set where racks are ranges of
    /// addresses.
    const RACK_SETTING: Option<&'static str> = None;
    /// Whether all its packets are not ECN-capable, so that no switch marks them.
    const IGNORES_MARKS: bool = false;
    /// The service that its rules expect of every switch, if any.
    const RELIES_ON: Option<Reliance> = None;
    /// Name of the setting that states how long a flow may be silent and still rely on what switches keep for it.
    const RENEWAL_SETTING: Option<&'static str> = None;
    /// Whether one sender can serve several receivers with packets that switches copy.
    const MULTICASTS: bool = false;
    /// Whether several senders of the same data can serve one receiver together.
    const JOINS_SENDERS: bool = false;
    /// Its settings; one that exists is valid.
    type Config: Settings + Clone;
    /// Its state machine.
    type Endpoint: Transport;

    /// Division of data into packets.
    fn framing(config: &Self::Config) -> Framing;
    /// Whether hosts make use of a data packet that a switch has trimmed or returned. Otherwise it is as good as lost.
    fn hears_headers(_config: &Self::Config) -> bool {
        false
    }
    /// The endpoint of one host.
    fn endpoint(config: &Self::Config, host: HostInfo, chance: RandomStream) -> Self::Endpoint;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_no_larger_than_with_a_str() {
        assert_eq!(size_of::<Event>(), 40);
    }
}
