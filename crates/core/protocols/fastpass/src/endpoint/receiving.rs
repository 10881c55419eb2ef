//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Admitted, Flows};
use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

use super::FastpassRules;
use crate::header::FastpassHeader;

impl FastpassRules {
    /// Finds the connection or opens it: any data packet may be the first to arrive. One of a finished connection is answered.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        answers: u32,
    ) -> Option<u32> {
        let silence = self.silence();
        match flows.admit(now, (peer, conn), silence, || self.link.paths_to(paths)) {
            Admitted::Open(slot) => Some(slot),
            Admitted::Ended(paths) => {
                let header = FastpassHeader::Ack { conn, cumulative: 0, answers, finished: true };
                let path = self.link.answer_again(paths);
                self.send_by(flows, peer, path, header);
                None
            }
            Admitted::Stray => None,
        }
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
        (seq, last): (u32, bool),
        bytes: u32,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, paths, seq) else { return };
        let Some(receiver) = flows.take_data(now, slot, (seq, last), bytes) else { return };
        let (peer, conn) = from;
        let (finished, cumulative) = (receiver.is_complete(), receiver.cumulative());
        let (paths, repeated) = (receiver.paths, receiver.is_repeated());
        let header = FastpassHeader::Ack { conn, cumulative, answers: seq, finished };
        if repeated {
            let path = self.link.answer_again(paths);
            self.send_by(flows, peer, path, header);
        } else {
            self.send_control(flows, peer, paths, header);
        }
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }
}
