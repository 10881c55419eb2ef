use pullnet_transport::{ConnId, DataPacket, Header, Packed, Small};
use pullnet_units::PacketSeq;

/// A packet of go-back-N. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoBackNHeader {
    /// Payload; packet 0 opens the connection.
    Data(DataPacket),
    /// Every packet below `next` has arrived.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// The packet that the receiver waits for.
        next: u32,
        /// The packet that this ACK answers.
        answers: u32,
    },
}

const DATA: u8 = 0;
const ACK: u8 = 1;

impl Header for GoBackNHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(data) => data.pack(DATA),
            Self::Ack { conn, next, answers } => Packed { kind: ACK, words: [conn.get(), next, answers] },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, next, answers] = packed.words;
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket::unpack(&packed)),
            _ => Self::Ack { conn: ConnId::new(conn), next, answers },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        match self {
            Self::Data(data) => data.concerns(),
            Self::Ack { conn, answers, .. } => Some((conn, Some(PacketSeq::new(answers)))),
        }
    }
}
