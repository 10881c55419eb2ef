//! The sending side of a host.

use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::{PfabricEndpoint, Timer};
use crate::header::PfabricHeader;
use crate::sender::{Ack, Expiry, Sender};

/// Most packets of a flow: numbers are 32 bits, and the largest one stands for a flow that never ends.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl PfabricEndpoint {
    pub(super) fn open_flow(&mut self, now: Instant, flow: &FlowSpec) {
        let (to, conn) = (flow.to, flow.conn);
        let packets = flow.size.map(|size| size.0.div_ceil(self.config.mtu.0));
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
        let sender = Sender::open(now, &self.config, flow, total, self.opened, own);
        let slot = self.senders.insert(to, conn, sender);
        self.line_up(slot);
    }

    /// A sender stands in line while it can send, and its timer runs.
    fn line_up(&mut self, slot: u32) {
        let Some(sender) = self.senders.get_mut(slot) else { return };
        if sender.can_send() {
            self.ready.insert(slot, &sender.standing());
        } else {
            self.ready.remove(slot);
        }
        let due = sender.due;
        if due < sender.armed {
            sender.armed = due;
            self.arm(due, Timer::Sender(slot));
        }
    }

    pub(super) fn on_ack(&mut self, now: Instant, (to, conn): (HostAddr, ConnId), ack: Ack) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let Some(sender) = self.senders.get_mut(slot) else { return };
        let events = &mut self.events;
        sender.on_ack(now, &self.config, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.is_complete() {
            let counts = self.close_sender(now, to, conn, slot);
            return self.events.push(Event::Completed { to, conn, counts });
        }
        self.line_up(slot);
    }

    /// The number of an ended connection rests until its receiver has forgotten it.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready.forget(slot);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts)
    }

    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(slot).filter(|sender| sender.armed == at) else { return };
        sender.armed = Instant::NEVER;
        let (to, conn) = (sender.to, sender.conn);
        match sender.on_timeout(now, &self.config) {
            Expiry::Early => {}
            Expiry::Timeout(seq) => self.events.push(Event::TimedOut { to, conn, seq }),
            Expiry::GiveUp(seq) => {
                self.events.push(Event::TimedOut { to, conn, seq });
                let counts = self.close_sender(now, to, conn, slot);
                let reason = "the receiver is silent";
                return self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
        self.line_up(slot);
    }

    /// The next packet of the flow that switches would serve first.
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit<PfabricHeader>> {
        let slot = self.ready.first()?;
        let sender = self.senders.get_mut(slot)?;
        let (header, payload, again) = sender.transmit(now, &self.config);
        let (to, paths) = (sender.to, (sender.paths, sender.path));
        self.ready.note_served(slot);
        self.line_up(slot);
        let path = self.sprayer.next(paths, &mut self.chance);
        let wire = (payload + self.config.header.0 as u32) as u16;
        let class = if payload > 0 { Class::Data } else { Class::Control };
        Some(Transmit { to, path, wire, class, priority: 0, ect: false, again, header })
    }
}
