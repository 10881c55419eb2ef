//! The sources of a host.

use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::{PhostEndpoint, Timer};
use crate::header::PhostHeader;
use crate::sender::{Check, Sender};

/// Most packets of a flow: numbers are 32 bits, and the largest one stands for a flow that never ends.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl PhostEndpoint {
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
        let header = PhostHeader::Rts { conn, about: sender.about, again: false };
        let slot = self.senders.insert(to, conn, sender);
        self.send_control(to, (flow.paths, own), header);
        self.line_up(now, slot);
    }

    /// A source stands in line while it has a valid token, and its timer runs.
    fn line_up(&mut self, now: Instant, slot: u32) {
        let Some(sender) = self.senders.get_mut(slot) else { return };
        if sender.has_token(now) {
            self.ready.insert(slot, &sender.standing());
        }
        let due = sender.due;
        if due < sender.armed {
            sender.armed = due;
            self.arm(due, Timer::Sender(slot));
        }
    }

    pub(super) fn on_token(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        (seq, number): (u32, u32),
        left: u32,
    ) {
        let Some(slot) = self.senders.find(peer, conn) else { return };
        let Some(sender) = self.senders.get_mut(slot) else { return };
        sender.on_token(now, &self.rules, seq, number, left);
        self.line_up(now, slot);
    }

    pub(super) fn on_wait(&mut self, now: Instant, (peer, conn): (HostAddr, ConnId), left: u32) {
        let Some(slot) = self.senders.find(peer, conn) else { return };
        let Some(sender) = self.senders.get_mut(slot) else { return };
        sender.on_word(now, &self.rules, left);
        self.line_up(now, slot);
    }

    /// Rule S6: the flow is over.
    pub(super) fn on_ack(&mut self, now: Instant, (to, conn): (HostAddr, ConnId)) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let complete = |sender: &mut Sender| sender.counts.sent - sender.counts.again == sender.about.packets;
        if !self.senders.get_mut(slot).is_some_and(complete) {
            // Nobody can have everything before it was sent.
            return;
        }
        let counts = self.close_sender(now, to, conn, slot);
        self.events.push(Event::Completed { to, conn, counts });
    }

    /// The number of an ended connection rests until its destination has forgotten it.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready.forget(slot);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts)
    }

    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(slot).filter(|sender| sender.armed == at) else { return };
        sender.armed = Instant::NEVER;
        let (to, conn, about) = (sender.to, sender.conn, sender.about);
        let paths = (sender.paths, sender.path);
        match sender.check(now, &self.rules) {
            Check::Early => {}
            Check::Again => self.send_control(to, paths, PhostHeader::Rts { conn, about, again: true }),
            Check::GiveUp => {
                let counts = self.close_sender(now, to, conn, slot);
                let reason = "the receiver is silent";
                return self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
        self.line_up(now, slot);
    }

    /// A packet of the flow that the policy puts first among those with a valid token.
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit<PhostHeader>> {
        loop {
            let slot = self.ready.first()?;
            let Some(sender) = self.senders.get_mut(slot) else {
                self.ready.forget(slot);
                continue;
            };
            let Some((header, payload, again)) = sender.transmit(now, &self.rules) else {
                self.ready.remove(slot);
                continue;
            };
            let priority = self.rules.data_priority(sender.about.packets);
            let (to, paths) = (sender.to, (sender.paths, sender.path));
            let more = sender.has_token(now);
            self.ready.note_served(slot);
            if !more {
                self.ready.remove(slot);
            }
            let path = self.sprayer.next(paths, &mut self.chance);
            let wire = (payload + self.rules.header) as u16;
            let class = Class::Data;
            return Some(Transmit { to, path, wire, class, priority, ect: false, again, header });
        }
    }
}
