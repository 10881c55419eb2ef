//! SCDP on the wire: its packets in headers of version 3 (`docs/wire.md`).

use pullnet_transport::ConnId;
use pullnet_units::PacketSeq;
use pullnet_wire::{FRAME_HEADERS, Framed};

use crate::Scdp;
use crate::header::ScdpHeader;

/// Bytes of the words of a symbol behind the first 32 of its header. The last of them, the share of the sender, is never 0,
/// so that every symbol has all of them.
const WORDS: usize = 4 * 6;

impl Framed for Scdp {
    const NUMBER: u8 = 4;
    const HEADERS: usize = FRAME_HEADERS + WORDS;

    fn data(header: &ScdpHeader) -> Option<(ConnId, PacketSeq)> {
        match *header {
            ScdpHeader::Symbol { conn, symbol } => Some((conn, PacketSeq::new(symbol.number))),
            ScdpHeader::Pull { .. } | ScdpHeader::Done { .. } => None,
        }
    }
}
