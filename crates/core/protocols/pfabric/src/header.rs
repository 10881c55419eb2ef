use pullnet_transport::{ConnId, CumulativeAck, DataPacket, Header, HopView, Packed, Small};
use pullnet_units::PacketSeq;

/// A packet of pFabric. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PfabricHeader {
    /// Payload.
    Data {
        /// The packet.
        data: DataPacket,
        /// Rank: a smaller number is more urgent.
        rank: u32,
    },
    /// Requests an ACK.
    Probe {
        /// The sender's connection.
        conn: ConnId,
        /// As in data.
        rank: u32,
    },
    /// Acknowledges packets.
    Ack(CumulativeAck),
}

const DATA: u8 = 0;
const PROBE: u8 = 1;
const ACK: u8 = 2;

impl Header for PfabricHeader {
    const KINDS: &'static [&'static str] = &["data", "probe", "ack"];
    type Words = Small;

    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data { data, rank } => {
                let mut packed: Packed<Small> = data.pack(DATA);
                packed.words[2] = rank;
                packed
            }
            Self::Probe { conn, rank } => Packed { kind: PROBE, words: [conn.get(), 0, rank] },
            Self::Ack(ack) => ack.pack(ACK),
        }
    }

    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, _, rank] = packed.words;
        match packed.kind & 0x0f {
            DATA => Self::Data { data: DataPacket::unpack(&packed), rank },
            PROBE => Self::Probe { conn: ConnId::new(conn), rank },
            _ => Self::Ack(CumulativeAck::unpack(&packed)),
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        match self {
            Self::Data { data, .. } => data.concerns(),
            Self::Probe { conn, .. } => Some((conn, None)),
            Self::Ack(ack) => ack.concerns(),
        }
    }

    /// ACKs have a better rank than all data.
    fn hop_view(self) -> Option<HopView> {
        Some(match self {
            Self::Data { data, rank } => HopView { conn: data.conn, rank },
            Self::Probe { conn, rank } => HopView { conn, rank },
            Self::Ack(ack) => HopView { conn: ack.conn, rank: 0 },
        })
    }
}
