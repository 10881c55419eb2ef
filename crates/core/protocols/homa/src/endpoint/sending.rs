//! The sending side of a host.

use pullnet_connections::Flows;
use pullnet_transport::{ConnId, FailureReason, HostAddr, Transmit};
use pullnet_units::{Instant, WireLen};

use super::HomaRules;
use crate::header::HomaHeader;
use crate::sender::{Check, Sender};

impl HomaRules {
    /// Applies feedback of the receiver to its message.
    pub(super) fn on_feedback<R>(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        input: impl FnOnce(&mut Sender) -> R,
    ) -> Option<(u32, R)> {
        let slot = flows.senders.find(to, conn)?;
        let sender = flows.senders.get_mut(slot)?;
        let result = input(sender);
        sender.on_word(now, &self.config);
        self.link.line_up(flows, slot);
        Some((slot, result))
    }

    /// Handles a RESEND. If no packet can be repeated, because the message waits for the link, the receiver is told so.
    pub(super) fn on_resend(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: (HostAddr, ConnId),
        first: u32,
        until: u32,
    ) {
        let heard = self.on_feedback(flows, now, from, |sender| {
            let waits = sender.on_resend(now, first, until);
            waits.then_some(sender.flow.paths)
        });
        if let Some((_, Some(paths))) = heard {
            let (to, conn) = from;
            self.send_control(flows, to, paths, HomaHeader::Busy { conn, by_sender: true });
        }
    }

    /// Rule S6: ends the message.
    pub(super) fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, (to, conn): (HostAddr, ConnId)) {
        let Some(slot) = flows.senders.find(to, conn) else { return };
        // An ACK for a message that has not been sent completely is not genuine.
        let Some(sender) = flows.senders.get_mut(slot).filter(|sender| sender.all_sent()) else { return };
        let counts = sender.counts;
        self.link.ready.forget(slot);
        flows.complete(now, to, conn, counts);
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn, packets) = (sender.flow.to, sender.flow.conn, sender.packets.number);
        let paths = sender.flow.paths;
        match sender.check(now, &self.config) {
            Check::Early => {}
            Check::Query => self.send_control(flows, to, paths, HomaHeader::Query { conn, packets }),
            Check::GiveUp => {
                let counts = sender.counts;
                self.link.ready.forget(slot);
                return flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
            }
        }
        self.link.line_up(flows, slot);
    }

    /// The next packet of the message whose turn it is.
    pub(super) fn transmit_data(&mut self, flows: &mut Flows<Self>) -> Option<Transmit<HomaHeader>> {
        let slot = self.link.ready.first()?;
        let sender = flows.senders.get_mut(slot)?;
        let outgoing = sender.transmit()?;
        let (to, paths) = (sender.flow.to, sender.flow.paths);
        self.link.ready.note_served(slot);
        self.link.line_up(flows, slot);
        let path = self.link.path(paths, false);
        let wire = WireLen::of(outgoing.payload + self.config.header.0 as u32);
        let priority = outgoing.priority;
        let (header, again) = (outgoing.header, outgoing.again);
        Some(Transmit { priority, again, ..Transmit::data(to, path, wire, header) })
    }
}
