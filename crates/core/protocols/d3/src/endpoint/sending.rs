//! The sending side of a host.

use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::{D3Endpoint, Timer};
use crate::header::D3Header;
use crate::sender::{Ack, Expiry, Sender};

/// Most packets of a flow: numbers are 32 bits, and the largest one stands for a flow that never ends.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl D3Endpoint {
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
        let path = self.own_path(flow.paths);
        let sender = Sender::open(now, &self.rules, flow, total, (self.host.rate, path));
        let slot = self.senders.insert(to, conn, sender);
        self.line_up(now, slot);
    }

    /// A path that a flow keeps: grants are those of its switches.
    pub(super) fn own_path(&mut self, paths: u16) -> u16 {
        if paths < 2 { 0 } else { self.chance.below(paths.into()) as u16 }
    }

    /// A sender stands in line as soon as its next packet may leave, and its timer runs.
    fn line_up(&mut self, now: Instant, slot: u32) {
        let Some(sender) = self.senders.get_mut(slot) else { return };
        if !sender.in_line && sender.ready_at(now, &self.rules) <= now {
            sender.in_line = true;
            self.line.push(slot, sender.priority);
        }
        let due = sender.due(now, &self.rules).max(now);
        if due < sender.armed {
            sender.armed = due;
            self.arm(due, Timer::Sender(slot));
        }
    }

    pub(super) fn on_ack(&mut self, now: Instant, (to, conn): (HostAddr, ConnId), ack: Ack) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let Some(sender) = self.senders.get_mut(slot) else { return };
        let events = &mut self.events;
        sender.on_ack(now, &self.rules, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.is_complete() {
            let counts = self.close_sender(now, slot, false);
            return self.events.push(Event::Completed { to, conn, counts });
        }
        self.line_up(now, slot);
    }

    /// The flow ends: what it holds goes back to the switches. Its number rests until its receiver has forgotten it.
    fn close_sender(&mut self, now: Instant, slot: u32, quenched: bool) -> SendCounts {
        let Some(sender) = self.senders.get_mut(slot) else { return SendCounts::default() };
        let (to, conn, path, counts) = (sender.to, sender.conn, sender.path, sender.counts);
        if sender.in_line {
            self.line.remove(slot);
        }
        if let Some(header) = sender.farewell(now, &self.rules, quenched) {
            self.push_control(to, path, header);
        }
        self.senders.remove(to, conn);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        counts
    }

    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(slot).filter(|sender| sender.armed == at) else { return };
        sender.armed = Instant::NEVER;
        let (to, conn) = (sender.to, sender.conn);
        match sender.on_timer(now, &self.rules) {
            Expiry::Nothing => {}
            Expiry::Timeout(seq) => self.events.push(Event::TimedOut { to, conn, seq }),
            Expiry::Failed(reason) => {
                let counts = self.close_sender(now, slot, true);
                return self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
        self.line_up(now, slot);
    }

    /// The next packet of the flow whose turn it is.
    pub(super) fn transmit_next(&mut self, now: Instant) -> Option<Transmit<D3Header>> {
        while let Some(slot) = self.line.pop() {
            let Some(sender) = self.senders.get_mut(slot) else { continue };
            sender.in_line = false;
            let outgoing = sender.transmit(now, &self.rules);
            let (to, path) = (sender.to, sender.path);
            self.line_up(now, slot);
            let Some((header, payload, again)) = outgoing else { continue };
            let wire = (payload + self.rules.header) as u16;
            let class = if payload > 0 { Class::Data } else { Class::Control };
            return Some(Transmit { to, path, wire, class, priority: 0, ect: false, again, header });
        }
        None
    }
}
