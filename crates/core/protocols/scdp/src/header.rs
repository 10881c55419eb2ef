use pullnet_codes::Share;
use pullnet_transport::{ConnId, Header, Medium, Packed};
use pullnet_units::PacketSeq;

use crate::shape::Shape;

/// Header of a packet with a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Sizes of the data and of its blocks and symbols.
    pub shape: Shape,
    /// Source block.
    pub block: u32,
    /// Encoding symbol id: a source symbol below the block's number of symbols, a repair symbol above. 24 bits.
    pub esi: u32,
    /// Number of the symbol among all that the sender sent in this session, from 0.
    pub number: u32,
    /// Symbols that the sender pushes in its initial window.
    pub pushed: u16,
    /// Sent without a pull: opens the session.
    pub syn: bool,
    /// Answers a pull with FIN.
    pub fin: bool,
    /// The number of the latest pull that the sender has served.
    pub served: u32,
    /// Priority set by the application: the receiver pulls higher numbers first.
    pub priority: u8,
    /// Part of the symbols that this sender sends, if several hosts hold the data.
    pub share: Share,
    /// Sent to several receivers at once.
    pub group: bool,
}

impl Symbol {
    /// Whether the symbol was neither pulled nor part of the initial window: a probe by its sender.
    pub fn unasked(&self) -> bool {
        self.syn && self.number >= u32::from(self.pushed)
    }
}

/// A packet of SCDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScdpHeader {
    /// A symbol, whole or trimmed.
    Symbol {
        /// The sender's number for the session.
        conn: ConnId,
        /// The other fields.
        symbol: Symbol,
    },
    /// Requests as many symbols as its number exceeds that of the previous pull.
    Pull {
        /// The sender's number for the session.
        conn: ConnId,
        /// Pulls sent in this session so far.
        number: u32,
        /// The first block that the receiver cannot decode yet.
        first: u32,
        /// A block that needs symbols beyond its source symbols.
        block: u32,
        /// Repair symbols of `block` pulled so far; 0 for none.
        extra: u32,
        /// Pulls the last symbol that is needed.
        fin: bool,
    },
    /// Ends the session: the receiver has everything.
    Done {
        /// The sender's number for the session.
        conn: ConnId,
    },
}

const SYMBOL: u8 = 0;
const PULL: u8 = 1;
const DONE: u8 = 2;
const SYN: u8 = 0x10;
const FIN: u8 = 0x20;
const ENDLESS: u8 = 0x40;
const GROUP: u8 = 0x80;

/// The largest encoding symbol id.
const ESI: u32 = (1 << 24) - 1;

fn pack_symbol(conn: ConnId, symbol: Symbol) -> Packed<Medium> {
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let Shape { bytes, symbol: size, most } = symbol.shape;
    let (low, high) = bytes.map_or((0, 0), |bytes| (bytes as u32, (bytes >> 32) as u32));
    let sizes = u32::from(size) << 16 | u32::from(most);
    let esi = u32::from(symbol.priority) << 24 | symbol.esi;
    let words = [
        conn.get(),
        symbol.block,
        esi,
        low,
        high,
        sizes,
        symbol.number,
        symbol.pushed.into(),
        symbol.served,
        u32::from(symbol.share.sender()) << 16 | u32::from(symbol.share.of()),
        0,
    ];
    let flags = flag(symbol.syn, SYN) | flag(symbol.fin, FIN);
    let flags = flags | flag(bytes.is_none(), ENDLESS) | flag(symbol.group, GROUP);
    Packed { kind: SYMBOL | flags, words }
}

fn unpack_symbol(kind: u8, words: &Medium) -> Symbol {
    let [_, block, esi, low, high, sizes, number, pushed, served, share, _] = *words;
    let bytes = (kind & ENDLESS == 0).then_some(u64::from(high) << 32 | u64::from(low));
    Symbol {
        shape: Shape { bytes, symbol: (sizes >> 16) as u16, most: sizes as u16 },
        block,
        esi: esi & ESI,
        number,
        pushed: pushed as u16,
        syn: kind & SYN != 0,
        fin: kind & FIN != 0,
        served,
        priority: (esi >> 24) as u8,
        share: Share::new((share >> 16) as u16, share as u16).unwrap_or_default(),
        group: kind & GROUP != 0,
    }
}

impl Header for ScdpHeader {
    const KINDS: &'static [&'static str] = &["symbol", "pull", "done"];
    type Words = Medium;

    fn pack(self) -> Packed<Medium> {
        match self {
            Self::Symbol { conn, symbol } => pack_symbol(conn, symbol),
            Self::Pull { conn, number, first, block, extra, fin } => Packed {
                kind: if fin { PULL | FIN } else { PULL },
                words: [conn.get(), number, first, block, extra, 0, 0, 0, 0, 0, 0],
            },
            Self::Done { conn } => Packed { kind: DONE, words: [conn.get(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
        }
    }

    fn unpack(packed: Packed<Medium>) -> Self {
        let [conn, number, first, block, extra, ..] = packed.words;
        let conn = ConnId::new(conn);
        match packed.kind & 0x0f {
            SYMBOL => Self::Symbol { conn, symbol: unpack_symbol(packed.kind, &packed.words) },
            PULL => Self::Pull { conn, number, first, block, extra, fin: packed.kind & FIN != 0 },
            _ => Self::Done { conn },
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        Some(match self {
            Self::Symbol { conn, symbol } => (conn, Some(PacketSeq::new(symbol.number))),
            Self::Pull { conn, .. } | Self::Done { conn } => (conn, None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packing_loses_nothing(
            words: [u32; 5], bytes: Option<u64>, small: [u16; 3], flags: [bool; 3], priority: u8, esi in 0u32..1 << 24,
            of in 1u16.., sender: u16,
        ) {
            let [conn, block, number, served, extra] = words;
            let (conn, [syn, fin, group], share) = (ConnId::new(conn), flags, Share::new(sender % of, of).unwrap());
            let shape = Shape { bytes, symbol: small[0], most: small[1] };
            let symbol = Symbol { shape, block, esi, number, pushed: small[2], syn, fin, served, priority, share, group };
            for header in [
                ScdpHeader::Symbol { conn, symbol },
                ScdpHeader::Pull { conn, number, first: served, block, extra, fin },
                ScdpHeader::Done { conn },
            ] {
                prop_assert_eq!(ScdpHeader::unpack(header.pack()), header);
            }
        }
    }
}
