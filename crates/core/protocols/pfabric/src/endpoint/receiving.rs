//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Admitted, Flows};
use pullnet_transport::{ConnId, HostAddr, Transmit};
use pullnet_units::{Instant, Picos, WireLen};

use super::PfabricRules;
use crate::header::PfabricHeader;

impl PfabricRules {
    fn acknowledge(
        &mut self,
        flows: &mut Flows<Self>,
        to: HostAddr,
        paths: (u16, u16),
        header: PfabricHeader,
    ) {
        let path = self.link.path(paths, false);
        let wire = WireLen::of(self.config.header.0 as u32);
        flows.control.push(Transmit::control(to, path, wire, header));
    }

    /// Finds the connection or opens it: any data packet may be the first to arrive. A packet of a finished connection
    /// is answered.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        answers: Option<u32>,
    ) -> Option<u32> {
        let silence = self.silence();
        match flows.admit(now, (peer, conn), silence, || self.link.paths_to(paths)) {
            Admitted::Open(slot) => Some(slot),
            Admitted::Ended(paths) => {
                let header = PfabricHeader::Ack { conn, cumulative: 0, answers, finished: true };
                self.acknowledge(flows, peer, paths, header);
                None
            }
            Admitted::Stray => None,
        }
    }

    /// How long a sender may be silent before its receiver is forgotten.
    pub(super) fn silence(&self) -> Picos {
        self.config.give_up.saturating_mul(2)
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
        let Some(slot) = self.receiver_for(flows, now, from, paths, Some(seq)) else { return };
        let Some(receiver) = flows.take_data(now, slot, (seq, last), bytes) else { return };
        let (peer, conn) = from;
        let (finished, cumulative) = (receiver.is_complete(), receiver.cumulative());
        let paths = receiver.paths;
        self.acknowledge(
            flows,
            peer,
            paths,
            PfabricHeader::Ack { conn, cumulative, answers: Some(seq), finished },
        );
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_probe(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, paths, None) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, conn) = (receiver.cumulative(), receiver.conn);
        let (peer, paths) = (receiver.peer, receiver.paths);
        let header = PfabricHeader::Ack { conn, cumulative, answers: None, finished: false };
        self.acknowledge(flows, peer, paths, header);
    }
}
