use pullnet_transport::{ConnId, DataPacket, Header, Packed, Small, flag};
use pullnet_units::PacketSeq;

/// Fields of both ACKs and NACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The sender's connection.
    pub conn: ConnId,
    /// The packet that is answered.
    pub seq: u32,
    /// Every packet below this number has arrived.
    pub cumulative: u32,
    /// A switch has marked the packet that is answered.
    pub marked: bool,
}

impl Feedback {
    fn pack(self, kind: u8) -> Packed<Small> {
        let words = [self.conn.get(), self.seq, self.cumulative];
        Packed { kind: kind | flag(self.marked, MARKED), words }
    }

    fn unpack(packed: &Packed<Small>) -> Self {
        let [conn, seq, cumulative] = packed.words;
        Self { conn: ConnId::new(conn), seq, cumulative, marked: packed.kind & MARKED != 0 }
    }
}

/// A packet of a RoCE host. Packets are numbered from 0 within a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RdmaHeader {
    /// Payload; any packet opens the connection.
    Data(DataPacket),
    /// Acknowledges a packet.
    Ack {
        /// The packets that it acknowledges.
        feedback: Feedback,
        /// The whole flow has arrived.
        finished: bool,
    },
    /// Reports a missing packet, the oldest one, on the arrival of a later one.
    Nack(Feedback),
    /// Congestion notification: packets of the connection arrive marked.
    Cnp {
        /// The sender's connection.
        conn: ConnId,
    },
}

/// The form of [`RdmaHeader`] in which the hosts of one protocol send it: with what packets collect at switches, where rate
/// control needs that.
pub trait Carrier: Header {
    /// Data that a packet collects and its answer brings back; `()` for none.
    type Collected: Copy + Default + core::fmt::Debug;

    /// The header of a packet with what was collected.
    fn join(header: RdmaHeader, collected: Self::Collected) -> Self;
    /// The inverse of [`Carrier::join`].
    fn split(self) -> (RdmaHeader, Self::Collected);
}

impl Carrier for RdmaHeader {
    type Collected = ();

    #[inline]
    fn join(header: RdmaHeader, (): ()) -> Self {
        header
    }

    #[inline]
    fn split(self) -> (RdmaHeader, ()) {
        (self, ())
    }
}

const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const CNP: u8 = 3;
/// Flag on an ACK.
const FINISHED: u8 = 0x10;
/// Flag on an ACK or a NACK: the packet that it answers was marked.
const MARKED: u8 = 0x20;

impl Header for RdmaHeader {
    const KINDS: &'static [&'static str] = &["data", "ack", "nack", "cnp"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(data) => data.pack(DATA),
            Self::Ack { feedback, finished } => feedback.pack(ACK | flag(finished, FINISHED)),
            Self::Nack(feedback) => feedback.pack(NACK),
            Self::Cnp { conn } => Packed { kind: CNP, words: [conn.get(), 0, 0] },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket::unpack(&packed)),
            ACK => Self::Ack { feedback: Feedback::unpack(&packed), finished: packed.kind & FINISHED != 0 },
            NACK => Self::Nack(Feedback::unpack(&packed)),
            _ => Self::Cnp { conn: ConnId::new(packed.words[0]) },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Data(data) => return data.concerns(),
            Self::Ack { feedback: Feedback { conn, seq, .. }, .. } => (conn, Some(PacketSeq::new(seq))),
            // The sender's timer runs for the missing packet.
            Self::Nack(Feedback { conn, cumulative, .. }) => (conn, Some(PacketSeq::new(cumulative))),
            Self::Cnp { conn } => (conn, None),
        })
    }
}
