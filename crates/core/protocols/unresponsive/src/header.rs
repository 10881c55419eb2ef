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
/// Flag on an ACK.
const FINISHED: u8 = 0x10;

impl Header for UnresponsiveHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(data) => data.pack(DATA),
            Self::Ack { conn, seq, cumulative, finished } => {
                Packed { kind: ACK | flag(finished, FINISHED), words: [conn.get(), seq, cumulative] }
            }
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, seq, cumulative] = packed.words;
        let (conn, finished) = (ConnId::new(conn), packed.kind & FINISHED != 0);
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket::unpack(&packed)),
            _ => Self::Ack { conn, seq, cumulative, finished },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let (Self::Data(DataPacket { conn, seq, .. }) | Self::Ack { conn, seq, .. }) = self;
        Some((conn, Some(PacketSeq::new(seq))))
    }
}
