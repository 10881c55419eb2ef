//! The sources of a host.

use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::{FastpassEndpoint, SCHEDULED, Timer, UNSCHEDULED};
use crate::header::FastpassHeader;
use crate::sender::{Ack, Check, Outgoing, Sender};

/// Most packets of a flow: numbers are 32 bits, and the largest one stands for a flow that never ends.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl FastpassEndpoint {
    pub(super) fn open_flow(&mut self, now: Instant, flow: &FlowSpec) {
        let (to, conn) = (flow.to, flow.conn);
        let packets = flow.size.map(|size| size.0.div_ceil(u64::from(self.rules.mtu)));
        let in_use = self.senders.find(to, conn).is_some() || self.sent.contains(to, conn);
        let refusal = match packets {
            Some(0) => Some("a flow of zero bytes has nothing to send"),
            Some(packets) if packets > MOST_PACKETS => {
                Some("a flow has at most 2^32 - 2 packets: use a larger mtu or several flows")
            }
            _ if in_use => Some("the connection number is still in use or in time-wait"),
            _ => None,
        };
        if let Some(reason) = refusal {
            let counts = SendCounts::default();
            return self.events.push(Event::Failed { to, conn, reason, counts });
        }
        let total = packets.map_or(u32::MAX, |packets| packets as u32);
        let own = Sprayer::own(flow.paths, &mut self.chance);
        self.opened += 1;
        let sender = Sender::open(now, &self.rules, flow, total, self.opened, own);
        let handle = self.senders.insert(to, conn, sender);
        (self.sending, self.handles) = (self.sending + 1, self.handles.max(handle + 1));
        self.watch_the_dead(now);
        self.ask(now, handle);
    }

    /// A sender stands in line while it may send without a slot, and its timer runs.
    pub(super) fn line_up(&mut self, handle: u32) {
        let Some(sender) = self.senders.get_mut(handle) else { return };
        if sender.can_send() {
            self.unscheduled.insert(handle, &sender.standing());
        } else {
            self.unscheduled.remove(handle);
        }
        let due = sender.due;
        if due < sender.armed {
            sender.armed = due;
            self.arm(due, Timer::Sender(handle));
        }
    }

    pub(super) fn on_ack(&mut self, now: Instant, (to, conn): (HostAddr, ConnId), ack: Ack) {
        let Some(handle) = self.senders.find(to, conn) else { return };
        let Some(sender) = self.senders.get_mut(handle) else { return };
        let events = &mut self.events;
        sender.on_ack(now, &self.rules, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.is_complete() {
            let counts = self.close_sender(now, to, conn, handle);
            return self.events.push(Event::Completed { to, conn, counts });
        }
        self.line_up(handle);
    }

    /// The number of an ended connection rests until its receiver has forgotten it.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, handle: u32) -> SendCounts {
        self.unscheduled.forget(handle);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        let counts = self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts);
        self.leave(now, handle);
        counts
    }

    pub(super) fn check_sender(&mut self, now: Instant, handle: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(handle).filter(|sender| sender.armed == at) else { return };
        sender.armed = Instant::NEVER;
        let (to, conn) = (sender.to, sender.conn);
        match sender.check(now, &self.rules) {
            Check::Early => self.line_up(handle),
            Check::Repeat => {
                self.line_up(handle);
                self.repeat(now, handle);
            }
            Check::Anew(seq) => {
                self.events.push(Event::TimedOut { to, conn, seq });
                self.ask(now, handle);
            }
            Check::Timeout(seq) => {
                self.events.push(Event::TimedOut { to, conn, seq });
                self.line_up(handle);
            }
            Check::GiveUp(seq) => {
                self.events.push(Event::TimedOut { to, conn, seq });
                let counts = self.close_sender(now, to, conn, handle);
                let reason = "the receiver is silent";
                self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
    }

    /// The packet of a slot whose time has come; where no arbiter answers, one of a small window.
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit<FastpassHeader>> {
        while let Some(slot) = self.ready.pop_front() {
            let found = self.senders.get_mut(slot.handle).filter(|sender| sender.conn == slot.conn);
            // The flow may have ended: its slot stays empty.
            let Some(sender) = found else { continue };
            let Some(packet) = sender.use_slot(now, &self.rules) else { continue };
            let (to, paths) = (sender.to, (sender.paths, sender.path));
            self.line_up(slot.handle);
            let chosen = slot.path.map(u16::from).filter(|path| *path < paths.0);
            let path = chosen.unwrap_or_else(|| self.sprayer.next(paths, &mut self.chance));
            return Some(self.packet(to, path, SCHEDULED, packet));
        }
        let handle = self.unscheduled.first()?;
        let sender = self.senders.get_mut(handle)?;
        let packet = sender.send_unscheduled(now, &self.rules);
        let (to, paths) = (sender.to, (sender.paths, sender.path));
        self.unscheduled.note_served(handle);
        self.line_up(handle);
        let path = self.sprayer.next(paths, &mut self.chance);
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
