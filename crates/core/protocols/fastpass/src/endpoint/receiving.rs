//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Flows, Receipt};
use pullnet_transport::{DataPacket, HostAddr};
use pullnet_units::Instant;

use super::FastpassRules;
use crate::header::FastpassHeader;

impl FastpassRules {
    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, paths): (HostAddr, u16),
        data: DataPacket,
        bytes: u32,
    ) {
        let (silence, link) = (self.silence(), &mut self.link);
        let receipt = flows.receive(now, peer, data, bytes, silence, || link.paths_to(paths));
        let Some(Receipt { paths, cumulative, finished, repeated }) = receipt else { return };
        let header = FastpassHeader::Ack { conn: data.conn, cumulative, answers: data.seq, finished };
        if repeated {
            let path = self.link.answer_again(paths);
            self.send_by(flows, peer, path, header);
        } else {
            self.send_control(flows, peer, paths, header);
        }
    }
}
