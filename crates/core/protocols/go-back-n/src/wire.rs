//! Go-back-N on the wire: its packets in headers of version 3 (`docs/wire.md`).

use pullnet_transport::ConnId;
use pullnet_units::PacketSeq;
use pullnet_wire::Framed;

use crate::GoBackN;
use crate::header::GoBackNHeader;

impl Framed for GoBackN {
    const NUMBER: u8 = 3;

    fn data(header: &GoBackNHeader) -> Option<(ConnId, PacketSeq)> {
        match *header {
            GoBackNHeader::Data(data) => Some((data.conn, PacketSeq::new(data.seq))),
            GoBackNHeader::Ack { .. } => None,
        }
    }
}
