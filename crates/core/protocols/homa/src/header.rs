use pullnet_transport::{ConnId, Header, Packed, Small};
use pullnet_units::PacketSeq;

/// A Homa packet. Packets are numbered from 0 within a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomaHeader {
    /// Payload.
    Data {
        /// The sender's message.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// Packets of the message; `u32::MAX` if it is endless.
        packets: u32,
    },
    /// Permission to send.
    Grant {
        /// The sender's message.
        conn: ConnId,
        /// Packets below this number may be sent.
        until: u32,
        /// Network priority to send them with.
        priority: u8,
    },
    /// Requests packets again.
    Resend {
        /// The sender's message.
        conn: ConnId,
        /// The first packet.
        first: u32,
        /// One past the last.
        until: u32,
    },
    /// The sender has other messages to send first; the receiver has other messages to grant first.
    Busy {
        /// The sender's message.
        conn: ConnId,
        /// Whether the message's sender is busy; otherwise its receiver is.
        by_sender: bool,
    },
    /// The sender has heard nothing, and queries the state of the message.
    Query {
        /// The sender's message.
        conn: ConnId,
        /// Packets of the message.
        packets: u32,
    },
    /// The whole message has arrived.
    Ack {
        /// The sender's message.
        conn: ConnId,
    },
}

const DATA: u8 = 0;
const GRANT: u8 = 1;
const RESEND: u8 = 2;
const BUSY: u8 = 3;
const QUERY: u8 = 4;
const ACK: u8 = 5;
const BY_SENDER: u8 = 0x10;

impl HomaHeader {
    /// The message, as its sender numbers it.
    pub fn conn(&self) -> ConnId {
        match *self {
            Self::Data { conn, .. }
            | Self::Grant { conn, .. }
            | Self::Resend { conn, .. }
            | Self::Busy { conn, .. }
            | Self::Query { conn, .. }
            | Self::Ack { conn } => conn,
        }
    }
}

impl Header for HomaHeader {
    const KINDS: &'static [&'static str] = &["data", "grant", "resend", "busy", "query", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        let (kind, second, third) = match self {
            Self::Data { seq, packets, .. } => (DATA, seq, packets),
            Self::Grant { until, priority, .. } => (GRANT, until, priority.into()),
            Self::Resend { first, until, .. } => (RESEND, first, until),
            Self::Busy { by_sender, .. } => (BUSY | if by_sender { BY_SENDER } else { 0 }, 0, 0),
            Self::Query { packets, .. } => (QUERY, packets, 0),
            Self::Ack { .. } => (ACK, 0, 0),
        };
        Packed { kind, words: [self.conn().get(), second, third] }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let Packed { kind, words: [conn, second, third] } = packed;
        let conn = ConnId::new(conn);
        match kind & 0x0f {
            DATA => Self::Data { conn, seq: second, packets: third },
            GRANT => Self::Grant { conn, until: second, priority: third as u8 & 7 },
            RESEND => Self::Resend { conn, first: second, until: third },
            BUSY => Self::Busy { conn, by_sender: kind & BY_SENDER != 0 },
            QUERY => Self::Query { conn, packets: second },
            _ => Self::Ack { conn },
        }
    }

    /// No timer of a sender runs for a single packet.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let seq = if let Self::Data { seq, .. } = self { Some(seq) } else { None };
        Some((self.conn(), seq.map(PacketSeq::new)))
    }
}
