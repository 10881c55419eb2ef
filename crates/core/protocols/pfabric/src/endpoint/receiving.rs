//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Admitted, Flows, Receipt};
use pullnet_transport::{ConnId, DataPacket, HostAddr, Transmit};
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

    /// How long a sender may be silent before its receiver is forgotten.
    pub(super) fn silence(&self) -> Picos {
        self.config.give_up.saturating_mul(2)
    }

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
        let Some(Receipt { paths, cumulative, finished, .. }) = receipt else { return };
        let header = PfabricHeader::Ack { conn: data.conn, cumulative, answers: Some(data.seq), finished };
        self.acknowledge(flows, peer, paths, header);
    }

    /// A probe is answered with what has arrived, also if it opens the connection or that has ended.
    pub(super) fn on_probe(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
    ) {
        let silence = self.silence();
        let (paths, cumulative, finished) =
            match flows.admit(now, (peer, conn), silence, || self.link.paths_to(paths)) {
                Admitted::Open(slot) => {
                    let Some(receiver) = flows.receivers.get_mut(slot) else { return };
                    receiver.last_heard = now;
                    (receiver.paths, receiver.cumulative(), false)
                }
                Admitted::Ended(paths) => (paths, 0, true),
                Admitted::Stray => return,
            };
        let header = PfabricHeader::Ack { conn, cumulative, answers: None, finished };
        self.acknowledge(flows, peer, paths, header);
    }
}
