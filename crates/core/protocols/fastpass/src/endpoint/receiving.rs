//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Flows, Receipt};
use pullnet_transport::{ConnId, CumulativeAck, DataPacket, HostAddr};
use pullnet_units::Instant;

use super::FastpassRules;
use crate::header::FastpassHeader;

impl FastpassRules {
    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, paths): (HostAddr, u16),
        (data, bytes): (DataPacket, u32),
    ) {
        let silence = self.silence();
        let receipt = self.link.receive(flows, now, (peer, paths), (data, bytes), silence);
        let Some(Receipt { paths, ack, repeated }) = receipt else { return };
        let CumulativeAck { conn, cumulative, finished, .. } = ack;
        let header = FastpassHeader::Ack { conn, cumulative, answers: data.seq, finished };
        if repeated {
            let path = self.link.answer_again(paths);
            self.send_by(flows, peer, path, header);
        } else {
            self.send_control(flows, peer, paths, header);
        }
    }

    /// A source waits for slots: its flow is not forgotten.
    pub(super) fn on_alive(flows: &mut Flows<Self>, now: Instant, (peer, conn): (HostAddr, ConnId)) {
        let Some(slot) = flows.receivers.find(peer, conn) else { return };
        if let Some(receiver) = flows.receivers.get_mut(slot) {
            receiver.last_heard = now;
        }
    }
}
