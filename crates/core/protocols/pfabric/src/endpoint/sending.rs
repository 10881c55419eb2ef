//! The sending side of a host.

use pullnet_connections::{FlowPackets, Flows};
use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, Transmit};
use pullnet_units::Instant;

use super::PfabricRules;
use crate::header::PfabricHeader;
use crate::sender::{Ack, Expiry, Sender};

impl PfabricRules {
    pub(super) fn open_flow(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        flow: &FlowSpec,
        packets: FlowPackets,
    ) {
        let own = Sprayer::own(flow.paths, &mut self.chance);
        self.opened += 1;
        let sender = Sender::open(now, &self.config, flow, packets, self.opened, own);
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.line_up(flows, slot);
    }

    /// A sender is queued for the link while it can send, and its timer runs.
    fn line_up(&mut self, flows: &mut Flows<Self>, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        if sender.can_send() {
            self.ready.insert(slot, &sender.standing());
        } else {
            self.ready.remove(slot);
        }
        let due = sender.due;
        flows.arm_sender(slot, due);
    }

    pub(super) fn on_ack(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        ack: Ack,
    ) {
        let Some(slot) = flows.senders.find(to, conn) else { return };
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let events = &mut flows.events;
        sender.on_ack(now, &self.config, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.is_complete() {
            let counts = sender.counts;
            self.ready.forget(slot);
            return flows.complete(now, to, conn, counts);
        }
        self.line_up(flows, slot);
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn) = (sender.to, sender.conn);
        match sender.on_timeout(now, &self.config) {
            Expiry::Early => {}
            Expiry::Timeout(seq) => flows.events.push(Event::TimedOut { to, conn, seq }),
            Expiry::GiveUp(seq) => {
                let counts = sender.counts;
                flows.events.push(Event::TimedOut { to, conn, seq });
                self.ready.forget(slot);
                return flows.fail(now, to, conn, "no data packet is acknowledged", counts);
            }
        }
        self.line_up(flows, slot);
    }

    /// The next packet of the flow that switches would serve first.
    pub(super) fn transmit_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<PfabricHeader>> {
        let slot = self.ready.first()?;
        let sender = flows.senders.get_mut(slot)?;
        let (header, payload, again) = sender.transmit(now, &self.config);
        let (to, paths) = (sender.to, (sender.paths, sender.path));
        self.ready.note_served(slot);
        self.line_up(flows, slot);
        let path = self.sprayer.next(paths, false, &mut self.chance);
        let wire = (payload + self.config.header.0 as u32) as u16;
        let class = if payload > 0 { Class::Data } else { Class::Control };
        Some(Transmit { to, path, wire, class, priority: 0, ect: false, again, header })
    }
}
