//! Status of a host, as data.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Totals and streams of a host. A rate is the difference of two of these, divided by the time between them.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Status {
    /// Counts since the host started.
    pub totals: Totals,
    /// Streams at the moment, in the order in which they are kept.
    pub streams: Vec<StreamStatus>,
    /// Streams that are not listed because they exceed the requested number.
    pub left_out: u64,
    /// Hosts for which there are keys, in order.
    pub keys: Vec<KeyStatus>,
}

/// Encryption status with another host. Keys by number.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct KeyStatus {
    /// The other host.
    pub peer: SocketAddr,
    /// The key that this host sends under; `None`: it has sent nothing yet.
    pub sends: Option<u16>,
    /// This host's newest key.
    pub newest: u16,
    /// The other host's newest key; `None`: not announced yet.
    pub theirs: Option<u16>,
}

/// Counts of one stream, or of all of them. Packets, unless the name says bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct Counts {
    /// Bytes that the application wrote.
    pub written_bytes: u64,
    /// Of these, bytes that the other host has acknowledged.
    pub acknowledged_bytes: u64,
    /// Payload bytes that arrived, each once.
    pub received_bytes: u64,
    /// Of these, bytes that the application has read.
    pub read_bytes: u64,
    /// Data packets sent, repetitions included.
    pub sent: u64,
    /// Of these, packets that were sent before.
    pub repeated: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Data packets that arrived whole and for the first time.
    pub received: u64,
    /// Own packets that were trimmed on their way: NACKs.
    pub trimmed_out: u64,
    /// Headers that arrived without their payload.
    pub trimmed_in: u64,
    /// Own headers that a switch sent back.
    pub returned: u64,
    /// Packets whose payload arrived damaged; treated as trimmed.
    pub damaged: u64,
    /// Packets that found no room because the application did not read; treated as trimmed.
    pub no_room: u64,
}

impl Counts {
    /// Every count with its name and its help text.
    pub(crate) fn rows(&self) -> [(&'static str, &'static str, u64); 13] {
        [
            ("written_bytes", "Bytes that applications wrote", self.written_bytes),
            ("acknowledged_bytes", "Bytes that other hosts acknowledged", self.acknowledged_bytes),
            ("received_bytes", "Payload bytes that arrived, each once", self.received_bytes),
            ("read_bytes", "Bytes that applications read", self.read_bytes),
            ("sent_packets", "Data packets sent, repetitions included", self.sent),
            ("repeated_packets", "Data packets sent again", self.repeated),
            ("timeouts", "Retransmission timers that ran out", self.timeouts),
            ("received_packets", "Data packets that arrived whole and new", self.received),
            ("trimmed_out_packets", "Own packets that were trimmed on their way", self.trimmed_out),
            ("trimmed_in_packets", "Headers that arrived without payload", self.trimmed_in),
            ("returned_packets", "Own headers that switches sent back", self.returned),
            ("damaged_packets", "Packets with a wrong payload check", self.damaged),
            ("no_room_packets", "Packets that found no room for want of a reader", self.no_room),
        ]
    }
}

/// Refused frames and streams, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Refusals {
    /// Frames that belong to other programs or protocols.
    pub foreign: u64,
    /// Frames for this host that no host sends: truncated, with a wrong check, or nonsense.
    pub malformed: u64,
    /// Packets of connections that are not known.
    pub unknown: u64,
    /// Openings without a valid token, or too old.
    pub unproven: u64,
    /// Packets of streams without the tag of the stream.
    pub forged: u64,
    /// Streams for services without listener.
    pub no_listener: u64,
    /// Streams beyond the limits.
    pub full: u64,
    /// Openings and token requests beyond the limit per second.
    pub too_fast: u64,
    /// Encrypted packets under a key that this host does not have for their sender.
    pub no_key: u64,
    /// Encrypted packets whose header is not authentic: forged, changed or damaged.
    pub unauthentic: u64,
    /// Encrypted packets that are copies.
    pub replayed: u64,
    /// Unencrypted packets of streams or services that must be encrypted.
    pub plain: u64,
}

impl Refusals {
    pub(crate) fn rows(&self) -> [(&'static str, u64); 12] {
        [
            ("foreign", self.foreign),
            ("malformed", self.malformed),
            ("unknown", self.unknown),
            ("unproven", self.unproven),
            ("forged", self.forged),
            ("no_listener", self.no_listener),
            ("full", self.full),
            ("too_fast", self.too_fast),
            ("no_key", self.no_key),
            ("unauthentic", self.unauthentic),
            ("replayed", self.replayed),
            ("plain", self.plain),
        ]
    }
}

/// Counts of a host since it started.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Totals {
    /// All streams together, including streams that are gone.
    pub counts: Counts,
    /// Refused packets and streams.
    pub refused: Refusals,
    /// Streams that this host opened.
    pub opened: u64,
    /// Streams that others opened.
    pub incoming: u64,
    /// Streams that ended early.
    pub failed: u64,
    /// Tokens given to other hosts.
    pub tokens: u64,
    /// Packets that were sent encrypted.
    pub sealed: u64,
    /// Encrypted packets that were taken.
    pub unsealed: u64,
    /// RESETs sent.
    pub resets_sent: u64,
    /// RESETs that ended a stream.
    pub resets_received: u64,
    /// Streams at the moment.
    pub streams: u64,
    /// Memory of packets that wait for readers at the moment, of all streams. Bytes.
    pub waiting_bytes: u64,
    /// Bytes at the moment that are not acknowledged, of all streams.
    pub sending_bytes: u64,
    /// Ended connections whose late copies are refused at the moment.
    pub remembered: u64,
    /// Peers that are remembered at the moment.
    pub peers: u64,
}

/// One stream.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct StreamStatus {
    /// The other host.
    pub peer: SocketAddr,
    /// The service that the opener addresses at the other host.
    pub service: u16,
    /// The number that the opener gave it.
    pub number: u32,
    /// Whether this host opened it.
    pub ours: bool,
    /// Its state, in words.
    pub state: &'static str,
    /// Whether its packets are encrypted and authenticated.
    pub encrypted: bool,
    /// Whether its sender is held because the application does not read.
    pub held: bool,
    /// Bytes that wait for the reader.
    pub waiting_bytes: u64,
    /// Counts of the stream.
    pub counts: Counts,
}
