use pullnet_transport::{ConnId, Header, Medium, Packed};
use pullnet_units::PacketSeq;
use pullnet_window::Ranges;

/// A data packet of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubflowData {
    /// The sender's connection.
    pub conn: ConnId,
    /// Which subflow.
    pub subflow: u32,
    /// Packet number within the subflow.
    pub seq: u32,
    /// Data sequence number: the packet's place within the connection (DSS).
    pub data: u32,
    /// Opens the subflow, and the connection, if they are unknown: set without a handshake until the first ACK.
    pub opens: bool,
    /// The last data of the connection (DATA_FIN).
    pub last: bool,
}

/// Acknowledges packets of a subflow, and data of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubflowAck {
    /// The sender's connection.
    pub conn: ConnId,
    /// Which subflow.
    pub subflow: u32,
    /// Every packet of the subflow below this number has arrived.
    pub cumulative: u32,
    /// All data of the connection below this number has arrived (DATA_ACK).
    pub data_ack: u32,
    /// Data of the packet whose arrival caused this ACK or started its delay timer.
    pub answers: u32,
    /// Echo of congestion experienced (ECE).
    pub echo: bool,
    /// All data has arrived.
    pub finished: bool,
    /// Packets of the subflow above `cumulative` that have arrived; at most three.
    pub ranges: Ranges,
}

/// A packet of a multipath transport. Packets are numbered from 0 within a subflow (`seq`), and the data that they carry from
/// 0 within the connection (`data`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultipathHeader {
    /// Opens a subflow: the first one the connection (MP_CAPABLE), others join it (MP_JOIN).
    Syn {
        /// The sender's connection.
        conn: ConnId,
        /// Which subflow.
        subflow: u32,
    },
    /// Answers a SYN.
    SynAck {
        /// The sender's connection.
        conn: ConnId,
        /// Which subflow.
        subflow: u32,
    },
    /// Payload.
    Data(SubflowData),
    /// Acknowledges packets of a subflow, and data of the connection.
    Ack(SubflowAck),
    /// A data packet arrived without its payload: a switch has trimmed it.
    Nack {
        /// The sender's connection.
        conn: ConnId,
        /// Which subflow.
        subflow: u32,
        /// Packet number within the subflow.
        seq: u32,
        /// The data that is missing.
        data: u32,
    },
}

/// Most SACK ranges of an ACK: three fit in the TCP option space beside a DATA_ACK (RFC 2018, section 3; RFC 8684, section
/// 3.3.1).
pub(crate) const MAX_RANGES: usize = 3;

const SYN: u8 = 0;
const SYN_ACK: u8 = 1;
const DATA: u8 = 2;
const ACK: u8 = 3;
const NACK: u8 = 4;
/// Flags share a byte with the kind: they are the high nibble. On data: opens; on an ACK: echo.
const FIRST_FLAG: u8 = 0x10;
/// On data: last; on an ACK: finished.
const SECOND_FLAG: u8 = 0x20;

fn flags(first: bool, second: bool) -> u8 {
    u8::from(first) * FIRST_FLAG + u8::from(second) * SECOND_FLAG
}

impl MultipathHeader {
    /// Connection and subflow.
    fn name(self) -> (ConnId, u32) {
        match self {
            Self::Syn { conn, subflow }
            | Self::SynAck { conn, subflow }
            | Self::Data(SubflowData { conn, subflow, .. })
            | Self::Ack(SubflowAck { conn, subflow, .. })
            | Self::Nack { conn, subflow, .. } => (conn, subflow),
        }
    }
}

impl Header for MultipathHeader {
    const KINDS: &'static [&'static str] = &["syn", "syn-ack", "data", "ack", "nack"];
    type Words = Medium;

    /// The handshake counts as packet 0; packets are named by the data that they carry.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Syn { conn, .. } | Self::SynAck { conn, .. } => (conn, Some(PacketSeq::new(0))),
            Self::Data(SubflowData { conn, data, .. }) | Self::Nack { conn, data, .. } => {
                (conn, Some(PacketSeq::new(data)))
            }
            Self::Ack(SubflowAck { conn, answers, .. }) => (conn, Some(PacketSeq::new(answers))),
        })
    }

    #[inline]
    fn pack(self) -> Packed<Medium> {
        let mut words = [0; 11];
        let (conn, subflow) = self.name();
        (words[0], words[1]) = (conn.get(), subflow);
        let kind = match self {
            Self::Syn { .. } => SYN,
            Self::SynAck { .. } => SYN_ACK,
            Self::Data(SubflowData { seq, data, opens, last, .. }) => {
                (words[2], words[3]) = (seq, data);
                DATA | flags(opens, last)
            }
            Self::Ack(SubflowAck { cumulative, data_ack, answers, echo, finished, ranges, .. }) => {
                (words[2], words[3], words[4]) = (cumulative, data_ack, answers);
                for (range, words) in ranges.iter().zip(words[5..].chunks_exact_mut(2)) {
                    (words[0], words[1]) = range;
                }
                ACK | flags(echo, finished)
            }
            Self::Nack { seq, data, .. } => {
                (words[2], words[3]) = (seq, data);
                NACK
            }
        };
        Packed { kind, words }
    }

    #[inline]
    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let (conn, subflow) = (ConnId::new(words[0]), words[1]);
        let (first, second) = (kind & FIRST_FLAG != 0, kind & SECOND_FLAG != 0);
        match kind & 0x0f {
            SYN => Self::Syn { conn, subflow },
            SYN_ACK => Self::SynAck { conn, subflow },
            DATA => Self::Data(SubflowData {
                conn,
                subflow,
                seq: words[2],
                data: words[3],
                opens: first,
                last: second,
            }),
            NACK => Self::Nack { conn, subflow, seq: words[2], data: words[3] },
            _ => Self::Ack(SubflowAck {
                conn,
                subflow,
                cumulative: words[2],
                data_ack: words[3],
                answers: words[4],
                echo: first,
                finished: second,
                ranges: words[5..].chunks_exact(2).map(|words| (words[0], words[1])).collect(),
            }),
        }
    }
}
