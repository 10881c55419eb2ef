//! The sources of a host.

use pullnet_connections::Flows;
use pullnet_transport::{ConnId, FailureReason, HostAddr, Transmit};
use pullnet_units::{Instant, WireLen};

use super::PhostRules;
use crate::header::PhostHeader;
use crate::sender::{Check, Sender};

impl PhostRules {
    /// A source stands in line while it has a valid token, and its timer runs.
    pub(super) fn line_up(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        if sender.has_token(now) {
            self.link.ready.insert(slot, &sender.standing());
        }
        let due = sender.due;
        flows.arm_sender(slot, due);
    }

    pub(super) fn on_token(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        (seq, number): (u32, u32),
        left: u32,
    ) {
        let Some(slot) = flows.senders.find(peer, conn) else { return };
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        sender.on_token(now, &self.rules, seq, number, left);
        self.line_up(flows, now, slot);
    }

    pub(super) fn on_wait(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        left: u32,
    ) {
        let Some(slot) = flows.senders.find(peer, conn) else { return };
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        sender.on_word(now, &self.rules, left);
        self.line_up(flows, now, slot);
    }

    /// Rule S6: the flow is over.
    pub(super) fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, (to, conn): (HostAddr, ConnId)) {
        let Some(slot) = flows.senders.find(to, conn) else { return };
        let complete = |sender: &Sender| sender.counts.sent - sender.counts.again == sender.about.packets;
        // An ACK before everything was sent cannot be genuine.
        let Some(sender) = flows.senders.get_mut(slot).filter(|sender| complete(sender)) else { return };
        let counts = sender.counts;
        self.link.ready.forget(slot);
        flows.complete(now, to, conn, counts);
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn, about) = (sender.flow.to, sender.flow.conn, sender.about);
        let paths = sender.flow.paths;
        match sender.check(now, &self.rules) {
            Check::Early => {}
            Check::Again => {
                let header = PhostHeader::Rts { conn, about, again: true };
                self.send_control(flows, to, (paths, true), header);
            }
            Check::GiveUp => {
                let counts = sender.counts;
                self.link.ready.forget(slot);
                return flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
            }
        }
        self.line_up(flows, now, slot);
    }

    /// A packet of the flow that the policy puts first among those with a valid token.
    pub(super) fn transmit_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<PhostHeader>> {
        loop {
            let slot = self.link.ready.first()?;
            let Some(sender) = flows.senders.get_mut(slot) else {
                self.link.ready.forget(slot);
                continue;
            };
            let Some((header, payload, again)) = sender.transmit(now) else {
                self.link.ready.remove(slot);
                continue;
            };
            let priority = self.rules.data_priority(sender.about.packets);
            let (to, paths) = (sender.flow.to, sender.flow.paths);
            let more = sender.has_token(now);
            self.link.ready.note_served(slot);
            if !more {
                self.link.ready.remove(slot);
            }
            let path = self.link.path(paths, again);
            let wire = WireLen::of(payload + self.rules.limits.header);
            return Some(Transmit { priority, again, ..Transmit::data(to, path, wire, header) });
        }
    }
}
