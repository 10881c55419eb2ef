use pullnet_transport::{ConnId, DataPacket, Header, PacketSeq, Packed, Small, flag};

/// A packet of stencil-name. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StencilNameHeader {
    /// Payload; packet 0 opens the connection.
    Data(DataPacket),
    /// Acknowledges one packet.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// The packet that has arrived.
        seq: u32,
    },
}

const DATA: u8 = 0;
const ACK: u8 = 1;
/// A flag in the high nibble, beside the kind in the low one.
const LAST: u8 = 0x10;

impl Header for StencilNameHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(DataPacket { conn, seq, last }) => {
                Packed { kind: DATA | flag(last, LAST), words: [conn.get(), seq, 0] }
            }
            Self::Ack { conn, seq } => Packed { kind: ACK, words: [conn.get(), seq, 0] },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let (conn, seq) = (ConnId::new(packed.words[0]), packed.words[1]);
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket { conn, seq, last: packed.kind & LAST != 0 }),
            _ => Self::Ack { conn, seq },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let (Self::Data(DataPacket { conn, seq, .. }) | Self::Ack { conn, seq }) = self;
        Some((conn, Some(PacketSeq::new(seq))))
    }
}
