//! TCP on the wire: its segments in headers of version 3 (`docs/wire.md`). Packets are counted, not bytes, so that this is not
//! the header of RFC 9293.

use pullnet_transport::ConnId;
use pullnet_units::PacketSeq;
use pullnet_window::Segment;
use pullnet_wire::Framed;

use crate::Tcp;

impl Framed for Tcp {
    const NUMBER: u8 = 1;

    fn data(segment: &Segment) -> Option<(ConnId, PacketSeq)> {
        segment.data()
    }
}
