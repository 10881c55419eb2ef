use pullnet_transport::{ConnId, DataPacket, Header, PacketSeq, Packed, Small};

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

impl Header for StencilNameHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(data) => data.pack(DATA),
            Self::Ack { conn, seq } => Packed { kind: ACK, words: [conn.get(), seq, 0] },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, seq, _] = packed.words;
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket::unpack(&packed)),
            _ => Self::Ack { conn: ConnId::new(conn), seq },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let (Self::Data(DataPacket { conn, seq, .. }) | Self::Ack { conn, seq }) = self;
        Some((conn, Some(PacketSeq::new(seq))))
    }
}
