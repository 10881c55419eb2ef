use pullnet_transport::{ConnId, Header, HopView, Packed, Small, flag};
use pullnet_units::PacketSeq;

/// A packet of pFabric. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PfabricHeader {
    /// Payload.
    Data {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// Rank: a smaller number is more urgent.
        rank: u32,
        /// The last packet of the flow.
        last: bool,
    },
    /// Requests an ACK.
    Probe {
        /// The sender's connection.
        conn: ConnId,
        /// As in data.
        rank: u32,
    },
    /// Acknowledges packets.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// Every packet below this number has arrived.
        cumulative: u32,
        /// The data packet that this ACK answers; `None` for the answer to a probe.
        answers: Option<u32>,
        /// The whole flow has arrived.
        finished: bool,
    },
}

const DATA: u8 = 0;
const PROBE: u8 = 1;
const ACK: u8 = 2;
const LAST: u8 = 0x10;
const ANSWERS: u8 = 0x10;
const FINISHED: u8 = 0x20;

impl Header for PfabricHeader {
    const KINDS: &'static [&'static str] = &["data", "probe", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data { conn, seq, rank, last } => {
                Packed { kind: DATA | flag(last, LAST), words: [conn.get(), seq, rank] }
            }
            Self::Probe { conn, rank } => Packed { kind: PROBE, words: [conn.get(), 0, rank] },
            Self::Ack { conn, cumulative, answers, finished } => Packed {
                kind: ACK | flag(answers.is_some(), ANSWERS) | flag(finished, FINISHED),
                words: [conn.get(), cumulative, answers.unwrap_or(0)],
            },
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let Packed { kind, words: [conn, second, third] } = packed;
        let conn = ConnId::new(conn);
        match kind & 0x0f {
            DATA => Self::Data { conn, seq: second, rank: third, last: kind & LAST != 0 },
            PROBE => Self::Probe { conn, rank: third },
            _ => Self::Ack {
                conn,
                cumulative: second,
                answers: (kind & ANSWERS != 0).then_some(third),
                finished: kind & FINISHED != 0,
            },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Data { conn, seq, .. } => (conn, Some(PacketSeq::new(seq))),
            Self::Probe { conn, .. } => (conn, None),
            Self::Ack { conn, answers, .. } => (conn, answers.map(PacketSeq::new)),
        })
    }

    /// ACKs have a better rank than all data.
    fn hop_view(self) -> Option<HopView> {
        Some(match self {
            Self::Data { conn, rank, .. } | Self::Probe { conn, rank } => HopView { conn, rank },
            Self::Ack { conn, .. } => HopView { conn, rank: 0 },
        })
    }
}
