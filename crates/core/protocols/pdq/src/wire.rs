//! PDQ on the wire: its packets in headers of version 3 (`docs/wire.md`).

use pullnet_transport::ConnId;
use pullnet_units::PacketSeq;
use pullnet_wire::{FRAME_HEADERS, Framed};

use crate::{Pdq, PdqHeader};

/// Bytes of the words behind the first 32 of a header that carries a scheduling header. The last of them is never 0, so
/// that ports can write into it without making it longer or shorter.
const WORDS: usize = 4 * 5;

impl Framed for Pdq {
    const NUMBER: u8 = 7;
    const HEADERS: usize = FRAME_HEADERS + WORDS;

    fn data(header: &PdqHeader) -> Option<(ConnId, PacketSeq)> {
        match *header {
            PdqHeader::Data { data, .. } => Some((data.conn, PacketSeq::new(data.seq))),
            PdqHeader::Probe { .. } | PdqHeader::Ack { .. } => None,
        }
    }
}
