//! The sources of a host.

use pullnet_connections::{FlowPackets, Flows};
use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, Transmit};
use pullnet_units::Instant;

use super::{FastpassRules, SCHEDULED, UNSCHEDULED};
use crate::header::FastpassHeader;
use crate::sender::{Ack, Check, Outgoing, Sender};

impl FastpassRules {
    pub(super) fn open_flow(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        flow: &FlowSpec,
        packets: FlowPackets,
    ) {
        let own = Sprayer::own(flow.paths, &mut self.chance);
        self.opened += 1;
        let sender = Sender::open(now, flow, packets, self.opened, own);
        let handle = flows.open_sender(flow.to, flow.conn, sender);
        (self.sending, self.handles) = (self.sending + 1, self.handles.max(handle + 1));
        self.watch_the_dead(now);
        self.ask(flows, now, handle);
    }

    /// A sender stands in line while it may send without a slot, and its timer runs.
    pub(super) fn line_up(&mut self, flows: &mut Flows<Self>, handle: u32) {
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        if sender.can_send() {
            self.unscheduled.insert(handle, &sender.standing());
        } else {
            self.unscheduled.remove(handle);
        }
        let due = sender.due;
        flows.arm_sender(handle, due);
    }

    pub(super) fn on_ack(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        ack: Ack,
    ) {
        let Some(handle) = flows.senders.find(to, conn) else { return };
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        let events = &mut flows.events;
        sender.on_ack(now, &self.rules, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.is_complete() {
            let counts = sender.counts;
            self.part(flows, now, handle);
            return flows.complete(now, to, conn, counts);
        }
        self.line_up(flows, handle);
    }

    /// A flow is about to end: it leaves the line and the arbiter.
    fn part(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        self.unscheduled.forget(handle);
        self.leave(flows, now, handle);
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, handle: u32) {
        let Some(sender) = flows.senders.get_mut(handle) else { return };
        let (to, conn) = (sender.to, sender.conn);
        match sender.check(now, &self.rules) {
            Check::Early => self.line_up(flows, handle),
            Check::Repeat => {
                self.line_up(flows, handle);
                self.repeat(flows, now, handle);
            }
            Check::Anew(seq) => {
                flows.events.push(Event::TimedOut { to, conn, seq });
                self.ask(flows, now, handle);
            }
            Check::Timeout(seq) => {
                flows.events.push(Event::TimedOut { to, conn, seq });
                self.line_up(flows, handle);
            }
            Check::GiveUp(seq) => {
                let counts = sender.counts;
                flows.events.push(Event::TimedOut { to, conn, seq });
                self.part(flows, now, handle);
                flows.fail(now, to, conn, "the receiver is silent", counts);
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
            let found = flows.senders.get_mut(slot.handle).filter(|sender| sender.conn == slot.conn);
            // The flow may have ended: its slot stays empty.
            let Some(sender) = found else { continue };
            let Some(packet) = sender.use_slot(now, &self.rules) else { continue };
            let (to, paths) = (sender.to, (sender.paths, sender.path));
            self.line_up(flows, slot.handle);
            let chosen = slot.path.map(u16::from).filter(|path| *path < paths.0);
            let path = chosen.unwrap_or_else(|| self.sprayer.next(paths, packet.2, &mut self.chance));
            return Some(self.packet(to, path, SCHEDULED, packet));
        }
        let handle = self.unscheduled.first()?;
        let sender = flows.senders.get_mut(handle)?;
        let packet = sender.send_unscheduled(now, &self.rules);
        let (to, paths) = (sender.to, (sender.paths, sender.path));
        self.unscheduled.note_served(handle);
        self.line_up(flows, handle);
        let path = self.sprayer.next(paths, packet.2, &mut self.chance);
        Some(self.packet(to, path, UNSCHEDULED, packet))
    }

    fn packet(
        &self,
        to: HostAddr,
        path: u16,
        priority: u8,
        (header, payload, again): Outgoing,
    ) -> Transmit<FastpassHeader> {
        let wire = (payload + self.rules.header) as u16;
        Transmit { to, path, wire, class: Class::Data, priority, ect: false, again, header }
    }
}
