//! The sources of a host.

use pullnet_connections::Flows;
use pullnet_transport::{CumulativeAck, Event, FailureReason, HostAddr, Transmit};
use pullnet_units::{Instant, PacketSeq, WireLen};

use super::{FastpassRules, SCHEDULED, UNSCHEDULED};
use crate::header::FastpassHeader;
use crate::sender::{Check, Outgoing};

impl FastpassRules {
    pub(super) fn on_ack(&mut self, flows: &mut Flows<Self>, now: Instant, to: HostAddr, ack: CumulativeAck) {
        let acknowledged = flows.acknowledge(now, (to, ack.conn), |sender, visit| {
            sender.on_ack(now, &self.rules, ack, visit);
            sender.packets.ended()
        });
        match acknowledged {
            Some((handle, Some(ended))) => {
                self.part(flows, now, handle);
                flows.end(now, to, ack.conn, ended);
            }
            Some((handle, None)) => self.link.line_up(flows, handle),
            None => (),
        }
    }

    /// A flow is about to end: it leaves the line and the arbiter.
    fn part(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        self.link.ready.forget(handle);
        self.leave(flows, now, handle);
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        let (to, conn) = (sender.flow.to, sender.flow.conn);
        let report = |flows: &mut Flows<Self>, missed: Option<u32>| {
            if let Some(seq) = missed {
                flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
            }
        };
        match sender.check(now, &self.rules) {
            Check::Early => self.link.line_up(flows, handle),
            Check::Repeat => {
                self.link.line_up(flows, handle);
                self.repeat(flows, now, handle);
            }
            Check::Anew(missed) => {
                report(flows, missed);
                self.ask(flows, now, handle);
            }
            Check::Timeout(missed) => {
                report(flows, missed);
                self.link.line_up(flows, handle);
            }
            Check::GiveUp(seq) => {
                let counts = sender.packets.counts;
                flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) });
                self.part(flows, now, handle);
                flows.fail(now, to, conn, FailureReason::ReceiverSilent, counts);
            }
        }
    }

    /// The packet of a slot whose time has come; where no arbiter answers, one of a small window.
    pub(super) fn transmit_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<FastpassHeader>> {
        while let Some(slot) = self.ready.pop_front() {
            let found = flows.senders.get_mut(slot.handle).filter(|sender| sender.flow.conn == slot.conn);
            // The flow may have ended: its slot stays empty.
            let Some(sender) = found else { continue };
            let Some(packet) = sender.use_slot(now, &self.rules) else { continue };
            let (to, paths) = (sender.flow.to, sender.flow.paths);
            self.link.line_up(flows, slot.handle);
            let chosen = slot.path.map(u16::from).filter(|path| *path < paths.0);
            let path = chosen.unwrap_or_else(|| self.link.path(paths, packet.2));
            return Some(self.packet(to, path, SCHEDULED, packet));
        }
        let handle = self.link.ready.first()?;
        let sender = flows.senders.get_mut(handle)?;
        let packet = sender.send_unscheduled(now, &self.rules);
        let (to, paths) = (sender.flow.to, sender.flow.paths);
        self.link.ready.note_served(handle);
        self.link.line_up(flows, handle);
        let path = self.link.path(paths, packet.2);
        Some(self.packet(to, path, UNSCHEDULED, packet))
    }

    fn packet(
        &self,
        to: HostAddr,
        path: u16,
        priority: u8,
        (header, payload, again): Outgoing,
    ) -> Transmit<FastpassHeader> {
        let wire = WireLen::of(payload + self.rules.limits.header);
        Transmit { priority, again, ..Transmit::data(to, path, wire, header) }
    }
}
