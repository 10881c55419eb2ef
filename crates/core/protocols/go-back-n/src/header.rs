use pullnet_transport::{ConnId, DataPacket, Header, Packed, Small, flag};
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
/// Flags share a byte with the kind: they are the high nibble.
const LAST: u8 = 0x10;

impl Header for GoBackNHeader {
    const KINDS: &'static [&'static str] = &["data", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data(DataPacket { conn, seq, last }) => {
                Packed { kind: DATA | flag(last, LAST), words: [conn.get(), seq, 0] }
            }
            Self::Ack { conn, next, answers } => Packed { kind: ACK, words: [conn.get(), next, answers] },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, number, answers] = packed.words;
        let conn = ConnId::new(conn);
        match packed.kind & 0x0f {
            DATA => Self::Data(DataPacket { conn, seq: number, last: packed.kind & LAST != 0 }),
            _ => Self::Ack { conn, next: number, answers },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Data(DataPacket { conn, seq, .. }) => (conn, Some(PacketSeq::new(seq))),
            Self::Ack { conn, answers, .. } => (conn, Some(PacketSeq::new(answers))),
        })
    }
}
