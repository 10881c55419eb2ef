//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Flows, Receipt};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

use super::FastpassRules;
use crate::header::FastpassHeader;

impl FastpassRules {
    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        (seq, last): (u32, bool),
        bytes: u32,
    ) {
        let (silence, link) = (self.silence(), &mut self.link);
        let receipt = flows.receive(now, (peer, conn), (seq, last), bytes, silence, || link.paths_to(paths));
        let Some(Receipt { paths, cumulative, finished, repeated }) = receipt else { return };
        let header = FastpassHeader::Ack { conn, cumulative, answers: seq, finished };
        if repeated {
            let path = self.link.answer_again(paths);
            self.send_by(flows, peer, path, header);
        } else {
            self.send_control(flows, peer, paths, header);
        }
    }
}
