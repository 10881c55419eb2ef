//! The sending side of a host.

use pullnet_connections::{FlowPackets, Flows};
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::PdqRules;
use crate::header::PdqHeader;
use crate::sender::{Ack, Expiry, Sender};

impl PdqRules {
    pub(super) fn open_flow(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        flow: &FlowSpec,
        packets: FlowPackets,
    ) {
        let path = self.own_path(flow.paths);
        let sender = Sender::open(now, flow, packets, (self.host, path));
        let slot = flows.open_sender(flow.to, flow.conn, sender);
        self.proceed(flows, now, slot);
    }

    /// Draws the path of a flow. The flow keeps it, because the switches on that path list it.
    pub(super) fn own_path(&mut self, paths: u16) -> u16 {
        if paths < 2 { 0 } else { self.chance.below(paths.into()) as u16 }
    }

    /// Sends the probe that is due, puts the sender into the transmit queue once its next data packet may leave, and sets its
    /// timer.
    fn proceed(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, path) = (sender.to, sender.path);
        let probe = sender.probe(now, &self.config);
        if !sender.in_line && sender.data_at() <= now {
            sender.in_line = true;
            self.line.push(slot, sender.priority);
        }
        let due = sender.due(&self.config).max(now);
        flows.arm_sender(slot, due);
        if let Some(header) = probe {
            self.push_control(flows, to, path, header);
        }
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
        sender.on_ack(now, ack, |sent| {
            events.push(Event::Acked { to, conn, latency: now.since(sent) });
        });
        if sender.sent.is_complete() {
            let counts = self.part(flows, now, slot, false);
            return flows.complete(now, to, conn, counts);
        }
        self.proceed(flows, now, slot);
    }

    /// Ends a flow: takes it off the lists of the switches.
    fn part(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32, given_up: bool) -> SendCounts {
        let Some(sender) = flows.senders.get_mut(slot) else { return SendCounts::default() };
        let (to, path, counts) = (sender.to, sender.path, sender.sent.counts);
        if sender.in_line {
            self.line.remove(slot);
        }
        if let Some(header) = sender.farewell(now, &self.config, given_up) {
            self.push_control(flows, to, path, header);
        }
        counts
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let (to, conn) = (sender.to, sender.conn);
        match sender.on_timer(now, &self.config) {
            Expiry::Nothing => {}
            Expiry::Timeout(seq) => flows.events.push(Event::TimedOut { to, conn, seq }),
            Expiry::Failed(reason) => {
                let counts = self.part(flows, now, slot, true);
                return flows.fail(now, to, conn, reason, counts);
            }
        }
        self.proceed(flows, now, slot);
    }

    /// The next data packet of the first sender in the transmit queue.
    pub(super) fn transmit_next(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<PdqHeader>> {
        while let Some(slot) = self.line.pop() {
            let Some(sender) = flows.senders.get_mut(slot) else { continue };
            sender.in_line = false;
            let outgoing = sender.data(now, &self.config);
            let (to, path) = (sender.to, sender.path);
            self.proceed(flows, now, slot);
            let Some((header, payload, again)) = outgoing else { continue };
            let (wire, class) = ((payload + self.config.header.0 as u32) as u16, Class::Data);
            return Some(Transmit { to, path, wire, class, priority: 0, ect: false, again, header });
        }
        None
    }
}
