//! The sending side of a host.

use pullnet_connections::Flows;
use pullnet_transport::{Class, CumulativeAck, Event, FailureReason, HostAddr, Transmit};
use pullnet_units::{Instant, PacketSeq, WireLen};

use super::PfabricRules;
use crate::header::PfabricHeader;
use crate::sender::Expiry;

impl PfabricRules {
    pub(super) fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, to: HostAddr, ack: CumulativeAck) {
        let acknowledged = flows.acknowledge(now, (to, ack.conn), |sender, visit| {
            sender.on_ack(now, &self.config, ack, visit);
            sender.packets.ended()
        });
        match acknowledged {
            Some((slot, Some(ended))) => {
                self.link.ready.forget(slot);
                flows.end(now, to, ack.conn, ended);
            }
            Some((slot, None)) => self.link.line_up(flows, slot),
            None => (),
        }
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn) = (sender.flow.to, sender.flow.conn);
        match sender.on_timeout(now, &self.config) {
            Expiry::Early => {}
            Expiry::Timeout(seq) => flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) }),
            Expiry::GiveUp(seq) => {
                let counts = sender.packets.counts;
                flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
                self.link.ready.forget(slot);
                return flows.fail(
                    now,
                    to,
                    conn,
                    FailureReason::of_protocol(&"no data packet is acknowledged"),
                    counts,
                );
            }
        }
        self.link.line_up(flows, slot);
    }

    /// The next packet of the flow that switches would serve first.
    pub(super) fn transmit_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<PfabricHeader>> {
        let slot = self.link.ready.first()?;
        let sender = flows.senders.get_mut(slot)?;
        let (header, payload, again) = sender.transmit(now, &self.config);
        let (to, paths) = (sender.flow.to, sender.flow.paths);
        self.link.ready.note_served(slot);
        self.link.line_up(flows, slot);
        let path = self.link.path(paths, false);
        let wire = WireLen::of(payload + self.config.header.0 as u32);
        let class = if payload > 0 { Class::Data } else { Class::Control };
        Some(Transmit { class, again, ..Transmit::data(to, path, wire, header) })
    }
}
