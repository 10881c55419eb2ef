use pullnet_transport::{ConnId, DataPacket, Header, Packed, Small, flag};
use pullnet_units::PacketSeq;

/// A packet of an unresponsive host. Packets are numbered from 0 within a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnresponsiveHeader {
    /// Payload; any packet opens the connection.
    Data(DataPacket),
    /// A packet has arrived.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// Every packet below this number has arrived, too.
        cumulative: u32,
        /// The whole flow has arrived.
        finished: bool,
    },
}

const DATA: u8 = 0;
const ACK: u8 = 1;
/// Flags share a byte with the kind: they are the high nibble. On data: the last packet; on an ACK: finished.
const END: u8 = 0x10;

impl Header for UnresponsiveHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        let (kind, end, words) = match self {
            Self::Data(DataPacket { conn, seq, last }) => (DATA, last, [conn.get(), seq, 0]),
            Self::Ack { conn, seq, cumulative, finished } => (ACK, finished, [conn.get(), seq, cumulative]),
        };
        Packed { kind: kind | flag(end, END), words }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, seq, cumulative] = packed.words;
        let (conn, end) = (ConnId::new(conn), packed.kind & END != 0);
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket { conn, seq, last: end }),
            _ => Self::Ack { conn, seq, cumulative, finished: end },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let (Self::Data(DataPacket { conn, seq, .. }) | Self::Ack { conn, seq, .. }) = self;
        Some((conn, Some(PacketSeq::new(seq))))
    }
}
