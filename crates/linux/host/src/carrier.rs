//! Requirements on a transport that carries the streams of services.

use std::hash::RandomState;

use pullnet_ndp::wire::{Carriage, Label};
use pullnet_ndp::{Ndp, NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::RandomStream;
use pullnet_transport::{ConnId, HostAddr, HostInfo, Protocol, Received, Streaming, Transmit, Transport};
use pullnet_units::{Bytes, Picos};
use pullnet_wire::{Arrived, Packet};

/// A transport that carries streams between applications of hosts that do not trust each other.
///
/// Beside [`Streaming`] it must provide: packets of the host's own form ([`Packet`]), which carry the stream's secret and
/// the stamp of its opening, so that no third party can open, acknowledge or end the stream; a connection that is opened by
/// its data, so that a call needs no extra round trip; and hash maps whose hashes outsiders cannot predict. TCP, DCTCP and
/// go-back-N have a wire format, but provide none of these: they run in testbeds only.
pub trait Carrier: Protocol {
    /// The endpoint of one host.
    type Streams: Streaming;

    /// Creates an endpoint with unpredictable hashes.
    fn streams(config: &Self::Config, host: HostInfo, chance: RandomStream) -> Self::Streams;

    /// The settings for packets of `mtu` bytes of payload, with `header` bytes on the line beside it.
    fn sized(config: &Self::Config, mtu: Bytes, header: Bytes) -> Self::Config;

    /// Timeouts of the transport.
    fn times(config: &Self::Config) -> Times;

    /// Packets that an opener may send before the first answer.
    fn first_window(config: &Self::Config) -> u32;

    /// Whether everything of a connection from `from` has arrived, and the connection is still remembered.
    fn has_received(streams: &Self::Streams, from: HostAddr, conn: ConnId) -> bool;

    /// Number of ended connections that are remembered.
    fn remembered(streams: &Self::Streams) -> usize;

    /// Connection and purpose of a packet that the endpoint sends.
    fn purpose(header: &HeaderOf<Self>) -> (ConnId, Purpose);

    /// Converts a packet for the wire, from a host that listens on `home` and counts `header` bytes beside a payload.
    fn packet(form: &Form, packet: &Transmit<HeaderOf<Self>>, label: &Label) -> Packet;

    /// Converts an arrived packet for the endpoint; `None`: the packet is for the owner of the stream.
    fn received(form: &Form, arrived: &Arrived<'_>, from: HostAddr, paths: u16) -> Taken<Self>;
}

/// The header of a carrier's packets.
pub type HeaderOf<C> = <<C as Carrier>::Streams as Transport>::Header;

/// A packet for the endpoint of a carrier, or none.
pub type Taken<C> = Option<Received<HeaderOf<C>>>;

/// Fields common to all packets of a host.
pub type Form = Carriage;

/// Timeouts of a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// Time without an answer before a retransmission.
    pub timeout: Picos,
    /// Time without any packet of a host before its connections fail.
    pub give_up: Picos,
    /// Longest round trip of a packet.
    pub time_wait: Picos,
}

/// Purpose of a packet that an endpoint sends. All packets of a connection name it as its sender does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Data of a connection that this host sends: the packet's number.
    Data(u32),
    /// A probe of a connection that this host sends and that has been silent for long.
    Question,
    /// The ACK of a data packet: its number, and the pull that it carries. Without a pull the other host does not wait for it: it
    /// may be delayed until a frame leaves that can carry it.
    Ack(u32, Option<u32>),
    /// A pull without an ACK: the number of pulls so far.
    Pull(u32),
    /// Any other answer.
    Answer,
}

impl Purpose {
    /// Whether the other host sends the data of the connection.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Ack(..) | Self::Pull(_) | Self::Answer)
    }
}

impl Carrier for Ndp {
    type Streams = NdpEndpoint<RandomState>;

    fn streams(config: &NdpConfig, host: HostInfo, chance: RandomStream) -> Self::Streams {
        NdpEndpoint::with_hashes(config, host, chance)
    }

    fn sized(config: &NdpConfig, mtu: Bytes, header: Bytes) -> NdpConfig {
        NdpConfig { mtu, header, ..config.clone() }
    }

    fn times(config: &NdpConfig) -> Times {
        Times { timeout: config.timeout, give_up: config.give_up, time_wait: config.time_wait }
    }

    fn first_window(config: &NdpConfig) -> u32 {
        config.initial_window.0
    }

    fn has_received(streams: &Self::Streams, from: HostAddr, conn: ConnId) -> bool {
        streams.has_received(from, conn)
    }

    fn remembered(streams: &Self::Streams) -> usize {
        streams.remembered()
    }

    fn purpose(header: &NdpHeader) -> (ConnId, Purpose) {
        let purpose = match *header {
            NdpHeader::Data { seq, .. } => Purpose::Data(seq),
            NdpHeader::Probe { .. } => Purpose::Question,
            NdpHeader::Ack { seq, pull, .. } => Purpose::Ack(seq, pull),
            NdpHeader::Pull { number, .. } => Purpose::Pull(number),
            NdpHeader::Nack { .. } => Purpose::Answer,
        };
        (header.conn(), purpose)
    }

    fn packet(form: &Form, packet: &Transmit<NdpHeader>, label: &Label) -> Packet {
        form.packet(packet, label)
    }

    fn received(form: &Form, arrived: &Arrived<'_>, from: HostAddr, paths: u16) -> Taken<Self> {
        form.received(arrived, from, paths)
    }
}
