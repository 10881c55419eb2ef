//! The sending side of a host.

use pullnet_transport::{Class, CumulativeAck, Event, HostAddr, SendCounts, Transmit};
use pullnet_units::{Instant, PacketSeq, WireLen};

use super::{Asking, AskingRules, Expiry, Outgoing, Outlook};
use crate::endpoint::Flows;

impl<S: Asking> AskingRules<S> {
    /// Sends the question that is due, puts the sender into the transmit queue once its next packet may leave, and sets its
    /// timer.
    pub(super) fn proceed(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let urgent = sender.urgent(now, &self.config);
        if !sender.outlook().in_line && sender.ready_at(now, &self.config) <= now {
            let outlook = sender.outlook_mut();
            outlook.in_line = true;
            self.line.push(slot, outlook.priority);
        }
        let (to, path) = (sender.outlook().to, sender.outlook().path);
        let due = sender.due(now, &self.config).max(now);
        flows.arm_sender(slot, due);
        if let Some(header) = urgent {
            self.push_control(flows, to, path, header);
        }
    }

    pub(super) fn on_ack(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        to: HostAddr,
        ack: CumulativeAck,
        reply: Option<S::Reply>,
    ) {
        let taken = flows.acknowledge(now, (to, ack.conn), |sender, visit| {
            let mut latest = None;
            sender.outlook_mut().sent.on_ack(now, ack, |departure| {
                latest = latest.max(Some(departure));
                visit(departure);
            });
            if let Some(departure) = latest {
                sender.acknowledged(now, departure);
            }
            if let Some(reply) = reply {
                sender.on_reply(now, &self.config, reply);
            }
            sender.outlook().sent.is_complete()
        });
        match taken {
            Some((slot, true)) => {
                let counts = self.part(flows, now, slot, false);
                flows.complete(now, to, ack.conn, counts);
            }
            Some((slot, false)) => self.proceed(flows, now, slot),
            None => (),
        }
    }

    /// Ends a flow: the switches forget it.
    fn part(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32, given_up: bool) -> SendCounts {
        let Some(sender) = flows.senders.get_mut(slot) else { return SendCounts::default() };
        let Outlook { to, path, in_line, .. } = *sender.outlook();
        let counts = sender.outlook().sent.counts;
        if in_line {
            self.line.remove(slot);
        }
        if let Some(header) = sender.farewell(now, &self.config, given_up) {
            self.push_control(flows, to, path, header);
        }
        counts
    }

    pub(super) fn check_sender(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(sender) = flows.senders.get_mut(slot) else { return };
        let Outlook { to, conn, .. } = *sender.outlook();
        match sender.on_timer(now, &self.config) {
            Expiry::Nothing => {}
            Expiry::Timeout(seq) => flows.events.push(Event::TimedOut { to, conn, seq: PacketSeq::new(seq) }),
            Expiry::Failed(reason) => {
                let counts = self.part(flows, now, slot, true);
                return flows.fail(now, to, conn, reason, counts);
            }
        }
        self.proceed(flows, now, slot);
    }

    /// The next packet of the first sender in the transmit queue.
    pub(super) fn transmit_next(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
    ) -> Option<Transmit<S::Header>> {
        while let Some(slot) = self.line.pop() {
            let Some(sender) = flows.senders.get_mut(slot) else { continue };
            sender.outlook_mut().in_line = false;
            let outgoing = sender.transmit(now, &self.config);
            let Outlook { to, path, .. } = *sender.outlook();
            self.proceed(flows, now, slot);
            let Some(Outgoing { header, payload, again }) = outgoing else { continue };
            let wire = WireLen::of(payload + self.limits.header);
            let class = if payload > 0 { Class::Data } else { Class::Control };
            return Some(Transmit { class, again, ..Transmit::data(to, path, wire, header) });
        }
        None
    }
}
