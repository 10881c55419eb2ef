use pullnet_transport::{ConnId, Header, Medium, Packed, flag};
use pullnet_units::PacketSeq;

/// Most SACK ranges in an ACK: what fits in the TCP option space without timestamps (RFC 2018, section 3).
pub const MAX_RANGES: usize = 4;

/// SACK ranges, most recently changed first (RFC 2018, section 4). A range is its first packet and one past its last.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ranges {
    count: u8,
    ranges: [(u32, u32); MAX_RANGES],
}

impl Ranges {
    /// Appends a range. Empty ranges, and those beyond [`MAX_RANGES`], are dropped.
    pub fn push(&mut self, (start, end): (u32, u32)) {
        if start < end && self.len() < MAX_RANGES {
            self.ranges[self.len()] = (start, end);
            self.count += 1;
        }
    }

    /// Number of ranges.
    #[inline]
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Whether there is no range.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ranges, most recently changed first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.ranges[..self.len()].iter().copied()
    }
}

impl FromIterator<(u32, u32)> for Ranges {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(ranges: I) -> Self {
        let mut these = Self::default();
        ranges.into_iter().for_each(|range| these.push(range));
        these
    }
}

/// A packet of a window-based transport. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Opens a connection.
    Syn {
        /// The sender's connection.
        conn: ConnId,
    },
    /// Answers a SYN.
    SynAck {
        /// The sender's connection.
        conn: ConnId,
    },
    /// Payload.
    Data {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// Opens the connection if it is unknown: set without a handshake until the first ACK.
        opens: bool,
        /// The last packet of the flow.
        last: bool,
    },
    /// Acknowledges packets.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// Every packet below this number has arrived.
        cumulative: u32,
        /// Number of the data packet whose arrival caused this ACK or started its delay timer.
        answers: u32,
        /// Echo of congestion experienced (ECE).
        echo: bool,
        /// The whole flow has arrived; corresponds to the ACK of a FIN.
        finished: bool,
        /// Packets above `cumulative` that have arrived.
        ranges: Ranges,
    },
    /// A data packet arrived without its payload: a switch has trimmed it.
    Nack {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
    },
}

const SYN: u8 = 0;
const SYN_ACK: u8 = 1;
const DATA: u8 = 2;
const ACK: u8 = 3;
const NACK: u8 = 4;
const OPENS: u8 = 0x10;
const LAST: u8 = 0x20;
const ECHO: u8 = 0x10;
const FINISHED: u8 = 0x20;

impl Segment {
    /// The connection, as its opener numbers it.
    pub fn conn(&self) -> ConnId {
        match *self {
            Self::Syn { conn }
            | Self::SynAck { conn }
            | Self::Data { conn, .. }
            | Self::Ack { conn, .. }
            | Self::Nack { conn, .. } => conn,
        }
    }
}

impl Segment {
    /// Connection and packet number of a packet that may carry payload.
    pub fn data(&self) -> Option<(ConnId, PacketSeq)> {
        match *self {
            Self::Data { conn, seq, .. } => Some((conn, PacketSeq::new(seq))),
            _ => None,
        }
    }
}

impl Header for Segment {
    const KINDS: &'static [&'static str] = &["syn", "syn-ack", "data", "ack", "nack"];
    type Words = Medium;

    /// The handshake counts as packet 0: the SYN timer runs before any data timer.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Syn { conn } | Self::SynAck { conn } => (conn, Some(PacketSeq::new(0))),
            Self::Data { conn, seq, .. } | Self::Nack { conn, seq } => (conn, Some(PacketSeq::new(seq))),
            Self::Ack { conn, answers, .. } => (conn, Some(PacketSeq::new(answers))),
        })
    }

    #[inline]
    fn pack(self) -> Packed<Medium> {
        let mut words = [0; 11];
        words[0] = self.conn().get();
        let kind = match self {
            Self::Syn { .. } => SYN,
            Self::SynAck { .. } => SYN_ACK,
            Self::Data { seq, opens, last, .. } => {
                words[1] = seq;
                DATA | flag(opens, OPENS) | flag(last, LAST)
            }
            Self::Ack { cumulative, answers, echo, finished, ranges, .. } => {
                (words[1], words[2]) = (cumulative, answers);
                for (range, words) in ranges.iter().zip(words[3..].chunks_exact_mut(2)) {
                    (words[0], words[1]) = range;
                }
                ACK | flag(echo, ECHO) | flag(finished, FINISHED)
            }
            Self::Nack { seq, .. } => {
                words[1] = seq;
                NACK
            }
        };
        Packed { kind, words }
    }

    #[inline]
    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let conn = ConnId::new(words[0]);
        match kind & 0x0f {
            SYN => Self::Syn { conn },
            SYN_ACK => Self::SynAck { conn },
            DATA => Self::Data { conn, seq: words[1], opens: kind & OPENS != 0, last: kind & LAST != 0 },
            NACK => Self::Nack { conn, seq: words[1] },
            _ => Self::Ack {
                conn,
                cumulative: words[1],
                answers: words[2],
                echo: kind & ECHO != 0,
                finished: kind & FINISHED != 0,
                ranges: words[3..].chunks_exact(2).map(|words| (words[0], words[1])).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_carries_four_ranges() {
        let ranges: Ranges = [(9, 12), (5, 7), (30, 31), (3, 4)].into_iter().collect();
        let conn = ConnId::new(7);
        let ack = Segment::Ack { conn, cumulative: 2, answers: 11, echo: true, finished: false, ranges };
        assert_eq!((Segment::unpack(ack.pack()), ranges.len()), (ack, 4));
    }
}
