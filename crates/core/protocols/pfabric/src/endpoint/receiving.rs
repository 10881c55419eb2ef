//! The receiving side of a host: it acknowledges every packet.

use pullnet_connections::{Admitted, Flows};
use pullnet_transport::{ConnId, CumulativeAck, HostAddr, Transmit};
use pullnet_units::{Instant, Picos, WireLen};

use super::PfabricRules;
use crate::header::PfabricHeader;

impl PfabricRules {
    pub(super) fn acknowledge(
        &mut self,
        flows: &mut Flows<Self>,
        to: HostAddr,
        paths: (u16, u16),
        ack: CumulativeAck,
    ) {
        let path = self.link.path(paths, false);
        let wire = WireLen::of(self.config.header.0 as u32);
        flows.control.push(Transmit::control(to, path, wire, PfabricHeader::Ack(ack)));
    }

    /// How long a sender may be silent before its receiver is forgotten.
    pub(super) fn silence(&self) -> Picos {
        self.config.give_up.saturating_mul(2)
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
        let (paths, ack) = match flows.admit(now, (peer, conn), silence, || self.link.paths_to(paths)) {
            Admitted::Open(slot) => {
                let Some(receiver) = flows.receivers.get_mut(slot) else { return };
                receiver.last_heard = now;
                (receiver.paths, receiver.ack(None))
            }
            Admitted::Ended(paths) => (paths, CumulativeAck::ended(conn, None)),
            Admitted::Stray => return,
        };
        self.acknowledge(flows, peer, paths, ack);
    }
}
