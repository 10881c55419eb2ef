use pullnet_transport::{ConnId, DataPacket, Header, Packed, Small, flag};
use pullnet_units::PacketSeq;

/// A packet of a RoCE host. Packets are numbered from 0 within a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RdmaHeader {
    /// Payload; any packet opens the connection.
    Data(DataPacket),
    /// Acknowledges a packet.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// The packet that is answered.
        seq: u32,
        /// Every packet below this number has arrived.
        cumulative: u32,
        /// The whole flow has arrived.
        finished: bool,
        /// A switch has marked the packet that is answered.
        marked: bool,
    },
    /// Reports a missing packet on the arrival of a later one.
    Nack {
        /// The sender's connection.
        conn: ConnId,
        /// The packet that is answered.
        seq: u32,
        /// The oldest missing packet.
        cumulative: u32,
        /// A switch has marked the packet that is answered.
        marked: bool,
    },
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
/// Flag in the high nibble of the kind. On data: the last packet; on an ACK: finished.
const END: u8 = 0x10;
/// Flag on an ACK or a NACK: the packet that it answers was marked.
const MARKED: u8 = 0x20;

impl Header for RdmaHeader {
    const KINDS: &'static [&'static str] = &["data", "ack", "nack", "cnp"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        let (kind, words) = match self {
            Self::Data(DataPacket { conn, seq, last }) => (DATA | flag(last, END), [conn.get(), seq, 0]),
            Self::Ack { conn, seq, cumulative, finished, marked } => {
                (ACK | flag(finished, END) | flag(marked, MARKED), [conn.get(), seq, cumulative])
            }
            Self::Nack { conn, seq, cumulative, marked } => {
                (NACK | flag(marked, MARKED), [conn.get(), seq, cumulative])
            }
            Self::Cnp { conn } => (CNP, [conn.get(), 0, 0]),
        };
        Packed { kind, words }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, seq, cumulative] = packed.words;
        let (conn, end, marked) = (ConnId::new(conn), packed.kind & END != 0, packed.kind & MARKED != 0);
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket { conn, seq, last: end }),
            ACK => Self::Ack { conn, seq, cumulative, finished: end, marked },
            NACK => Self::Nack { conn, seq, cumulative, marked },
            _ => Self::Cnp { conn },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Data(DataPacket { conn, seq, .. }) | Self::Ack { conn, seq, .. } => {
                (conn, Some(PacketSeq::new(seq)))
            }
            // The sender's timer runs for the missing packet.
            Self::Nack { conn, cumulative, .. } => (conn, Some(PacketSeq::new(cumulative))),
            Self::Cnp { conn } => (conn, None),
        })
    }
}
