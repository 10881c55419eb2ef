use pullnet_transport::{ConnId, Header, Medium, Packed};
use pullnet_units::{Instant, PacketSeq};

/// Flow properties that a source states in its RTS and, since that may be lost, in every data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Packets of the flow; `u32::MAX` if it never ends.
    pub packets: u32,
    /// Packets that the source may send without tokens.
    pub free: u16,
    /// Whose flow it is.
    pub tenant: u16,
    /// Priority set by the application; a higher number goes first.
    pub priority: u8,
    /// When the last byte should have arrived.
    pub deadline: Option<Instant>,
}

/// A pHost packet. Packets and tokens are numbered from 0 within a connection; free tokens have the first numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhostHeader {
    /// Announces a flow.
    Rts {
        /// The source's connection.
        conn: ConnId,
        /// The flow.
        about: About,
        /// Sent before: the destination answers, so that the source knows that both are alive.
        again: bool,
    },
    /// The destination knows the flow; its turn has not come.
    Wait {
        /// The source's connection.
        conn: ConnId,
        /// Packets that the destination still lacks.
        left: u32,
    },
    /// Permission to send one packet.
    Token {
        /// The source's connection.
        conn: ConnId,
        /// The packet to send.
        seq: u32,
        /// Number of this token.
        number: u32,
        /// Packets that the destination still lacks.
        left: u32,
    },
    /// Payload.
    Data {
        /// The source's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// The token that it answers.
        number: u32,
        /// The flow.
        about: About,
    },
    /// The whole flow has arrived.
    Ack {
        /// The source's connection.
        conn: ConnId,
    },
}

const RTS: u8 = 0;
const WAIT: u8 = 1;
const TOKEN: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;
const AGAIN: u8 = 0x10;
const DEADLINE: u8 = 0x20;

impl PhostHeader {
    /// The connection, as its opener numbers it.
    pub fn conn(&self) -> ConnId {
        match *self {
            Self::Rts { conn, .. }
            | Self::Wait { conn, .. }
            | Self::Token { conn, .. }
            | Self::Data { conn, .. }
            | Self::Ack { conn } => conn,
        }
    }
}

/// Writes `about` into `words` behind the first three; returns its flags.
fn pack_about(about: About, words: &mut Medium) -> u8 {
    let deadline = about.deadline.map_or(0, |at| at.0);
    words[3] = about.packets;
    words[4] = u32::from(about.free) | u32::from(about.tenant) << 16;
    words[5] = about.priority.into();
    (words[6], words[7]) = (deadline as u32, (deadline >> 32) as u32);
    if about.deadline.is_some() { DEADLINE } else { 0 }
}

fn unpack_about(kind: u8, words: &Medium) -> About {
    let deadline = Instant(u64::from(words[6]) | u64::from(words[7]) << 32);
    About {
        packets: words[3],
        free: words[4] as u16,
        tenant: (words[4] >> 16) as u16,
        priority: words[5] as u8,
        deadline: (kind & DEADLINE != 0).then_some(deadline),
    }
}

impl Header for PhostHeader {
    const KINDS: &'static [&'static str] = &["rts", "wait", "token", "data", "ack"];
    type Words = Medium;

    /// No timer of a source runs for a single packet.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let seq = if let Self::Data { seq, .. } = self { Some(seq) } else { None };
        Some((self.conn(), seq.map(PacketSeq::new)))
    }

    #[inline]
    fn pack(self) -> Packed<Medium> {
        let mut words = [0; 11];
        words[0] = self.conn().get();
        let kind = match self {
            Self::Rts { about, again, .. } => {
                RTS | pack_about(about, &mut words) | if again { AGAIN } else { 0 }
            }
            Self::Wait { left, .. } => {
                words[1] = left;
                WAIT
            }
            Self::Token { seq, number, left, .. } => {
                (words[1], words[2], words[3]) = (seq, number, left);
                TOKEN
            }
            Self::Data { seq, number, about, .. } => {
                (words[1], words[2]) = (seq, number);
                DATA | pack_about(about, &mut words)
            }
            Self::Ack { .. } => ACK,
        };
        Packed { kind, words }
    }

    #[inline]
    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let [conn, second, third, fourth, ..] = words;
        let conn = ConnId::new(conn);
        match kind & 0x0f {
            RTS => Self::Rts { conn, about: unpack_about(kind, &words), again: kind & AGAIN != 0 },
            WAIT => Self::Wait { conn, left: second },
            TOKEN => Self::Token { conn, seq: second, number: third, left: fourth },
            DATA => Self::Data { conn, seq: second, number: third, about: unpack_about(kind, &words) },
            _ => Self::Ack { conn },
        }
    }
}
