//! D3 and RCP on the wire: their packets in headers of version 3 (`docs/wire.md`).

use pullnet_transport::ConnId;
use pullnet_units::PacketSeq;
use pullnet_wire::{FRAME_HEADERS, Framed};

use crate::{D3, D3Header, Rcp};

/// Bytes of the words behind the first 32 of a header. The last of them is never 0, so that every packet has all of them
/// and ports can write grants into it without making it longer.
const WORDS: usize = 4 * 7;

fn data(header: &D3Header) -> Option<(ConnId, PacketSeq)> {
    match *header {
        D3Header::Data { data, .. } => Some((data.conn, PacketSeq::new(data.seq))),
        D3Header::Request { .. } | D3Header::Ack { .. } => None,
    }
}

impl Framed for D3 {
    const NUMBER: u8 = 5;
    const HEADERS: usize = FRAME_HEADERS + WORDS;

    fn data(header: &D3Header) -> Option<(ConnId, PacketSeq)> {
        data(header)
    }
}

impl Framed for Rcp {
    const NUMBER: u8 = 6;
    const HEADERS: usize = FRAME_HEADERS + WORDS;

    fn data(header: &D3Header) -> Option<(ConnId, PacketSeq)> {
        data(header)
    }
}
