use pullnet_transport::{ConnId, Header, Packed, Small};
use pullnet_units::PacketSeq;

/// Kind and fields of an NDP packet. Numbers count packets from 0 within a connection; pull numbers count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NdpHeader {
    /// Payload, possibly trimmed.
    Data {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number: with `syn` also the offset from the first packet.
        seq: u32,
        /// Belongs to the first window: may open the connection.
        syn: bool,
        /// Whether the sender has no packet after this one.
        last: bool,
        /// Sent on a pull: the pull clock counts on its arrival.
        pulled: bool,
        /// Priority that the application requested; the receiver pulls higher numbers first.
        priority: u8,
    },
    /// The packet arrived whole.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// Which packet.
        seq: u32,
        /// The pull that it carries, if any.
        pull: Option<u32>,
    },
    /// The packet arrived without its payload.
    Nack {
        /// The sender's connection.
        conn: ConnId,
        /// Which packet.
        seq: u32,
        /// The pull that it carries, if any.
        pull: Option<u32>,
    },
    /// Send the packets that this number is ahead of the last.
    Pull {
        /// The sender's connection.
        conn: ConnId,
        /// Pulls sent on this connection so far.
        number: u32,
    },
    /// The sender waits for a pull that may be lost.
    Probe {
        /// The sender's connection.
        conn: ConnId,
        /// A packet that it wants to send.
        seq: u32,
    },
}

const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const PULL: u8 = 3;
const PROBE: u8 = 4;
const SYN: u8 = 0x10;
const LAST: u8 = 0x20;
const CARRIES_PULL: u8 = 0x40;
const PULLED: u8 = 0x80;

impl NdpHeader {
    /// The connection, as its opener numbers it.
    pub fn conn(&self) -> ConnId {
        match *self {
            Self::Data { conn, .. }
            | Self::Ack { conn, .. }
            | Self::Nack { conn, .. }
            | Self::Pull { conn, .. }
            | Self::Probe { conn, .. } => conn,
        }
    }

    /// [`Header::pack`] for all kinds but data. All kinds have the same words in the same places: the kind of a packet
    /// is unpredictable, and a branch on it would be mispredicted often.
    #[inline]
    fn pack_control(self) -> Packed<Small> {
        let (kind, conn, second, pull) = match self {
            Self::Data { conn, seq, .. } => (DATA, conn, seq, None),
            Self::Ack { conn, seq, pull } => (ACK, conn, seq, pull),
            Self::Nack { conn, seq, pull } => (NACK, conn, seq, pull),
            Self::Pull { conn, number } => (PULL, conn, number, None),
            Self::Probe { conn, seq } => (PROBE, conn, seq, None),
        };
        let flag = if pull.is_some() { CARRIES_PULL } else { 0 };
        Packed { kind: kind | flag, words: [conn.get(), second, pull.unwrap_or(0)] }
    }
}

impl Header for NdpHeader {
    const KINDS: &'static [&'static str] = &["data", "ack", "nack", "pull", "probe"];
    type Words = Small;

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        let awaited = match self {
            Self::Data { seq, .. } | Self::Ack { seq, .. } | Self::Nack { seq, .. } => Some(seq),
            Self::Pull { .. } | Self::Probe { .. } => None,
        };
        Some((self.conn(), awaited.map(PacketSeq::new)))
    }

    #[inline]
    fn pack(self) -> Packed<Small> {
        match self {
            Self::Data { conn, seq, syn, last, pulled, priority } => {
                let flag = |set: bool, bit: u8| if set { bit } else { 0 };
                let flags = flag(syn, SYN) | flag(last, LAST) | flag(pulled, PULLED);
                Packed { kind: DATA | flags, words: [conn.get(), seq, priority.into()] }
            }
            other => other.pack_control(),
        }
    }

    #[inline]
    fn unpack(packed: Packed<Small>) -> Self {
        let [conn, second, third] = packed.words;
        let conn = ConnId::new(conn);
        let pull = (packed.kind & CARRIES_PULL != 0).then_some(third);
        match packed.kind & 0x0f {
            DATA => Self::Data {
                conn,
                seq: second,
                syn: packed.kind & SYN != 0,
                last: packed.kind & LAST != 0,
                pulled: packed.kind & PULLED != 0,
                priority: third as u8,
            },
            ACK => Self::Ack { conn, seq: second, pull },
            NACK => Self::Nack { conn, seq: second, pull },
            PULL => Self::Pull { conn, number: second },
            _ => Self::Probe { conn, seq: second },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_header() -> impl Strategy<Value = NdpHeader> {
        let parts = (any::<u32>(), any::<u32>(), any::<[bool; 3]>(), any::<u8>(), any::<Option<u32>>(), 0..5);
        parts.prop_map(|(conn, seq, [syn, last, pulled], priority, pull, kind)| {
            let conn = ConnId::new(conn);
            match kind {
                0 => NdpHeader::Data { conn, seq, syn, last, pulled, priority },
                1 => NdpHeader::Ack { conn, seq, pull },
                2 => NdpHeader::Nack { conn, seq, pull },
                3 => NdpHeader::Pull { conn, number: seq },
                _ => NdpHeader::Probe { conn, seq },
            }
        })
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(header in any_header()) {
            prop_assert_eq!(NdpHeader::unpack(header.pack()), header);
        }
    }
}
