//! The sending side of a host.

use pullnet_pull::Sprayer;
use pullnet_transport::{Class, ConnId, Event, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::{HomaEndpoint, Timer};
use crate::config::HomaConfig;
use crate::header::HomaHeader;
use crate::sender::{Check, Sender};

/// Most packets of a message: numbers are 32 bits, and the largest one stands for a message that never ends.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl HomaEndpoint {
    pub(super) fn open_message(&mut self, now: Instant, flow: &FlowSpec) {
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

    /// A message stands in line while it can send, and its timer runs.
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

    /// Lets a word of the receiver change the message that it is meant for.
    pub(super) fn hear<R>(
        &mut self,
        now: Instant,
        (to, conn): (HostAddr, ConnId),
        input: impl FnOnce(&mut Sender, &HomaConfig) -> R,
    ) -> Option<(u32, R)> {
        let slot = self.senders.find(to, conn)?;
        let sender = self.senders.get_mut(slot)?;
        let result = input(sender, &self.config);
        sender.on_word(now, &self.config);
        self.line_up(slot);
        Some((slot, result))
    }

    /// A message that has nothing to repeat waits for its turn on the link: the receiver learns that.
    pub(super) fn on_resend(&mut self, now: Instant, from: (HostAddr, ConnId), first: u32, until: u32) {
        let heard = self.hear(now, from, |sender, config| {
            let waits = sender.on_resend(now, config, first, until);
            waits.then_some((sender.paths, sender.path))
        });
        if let Some((_, Some(paths))) = heard {
            let (to, conn) = from;
            self.send_control(to, paths, HomaHeader::Busy { conn, by_sender: true });
        }
    }

    /// Rule S6: the message is over.
    pub(super) fn on_ack(&mut self, now: Instant, (to, conn): (HostAddr, ConnId)) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        if !self.senders.get_mut(slot).is_some_and(|sender| sender.all_sent()) {
            // Nobody can have everything before it was sent.
            return;
        }
        let counts = self.close_sender(now, to, conn, slot);
        self.events.push(Event::Completed { to, conn, counts });
    }

    /// The number of an ended message rests until its receiver has forgotten it.
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        self.ready.forget(slot);
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        self.senders.remove(to, conn).map_or_else(SendCounts::default, |sender| sender.counts)
    }

    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let Some(sender) = self.senders.get_mut(slot).filter(|sender| sender.armed == at) else { return };
        sender.armed = Instant::NEVER;
        let (to, conn, packets) = (sender.to, sender.conn, sender.packets);
        let paths = (sender.paths, sender.path);
        match sender.check(now, &self.config) {
            Check::Early => {}
            Check::Query => self.send_control(to, paths, HomaHeader::Query { conn, packets }),
            Check::GiveUp => {
                let counts = self.close_sender(now, to, conn, slot);
                let reason = "the receiver is silent";
                return self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
        self.line_up(slot);
    }

    /// Rule S2: the message with the fewest packets left to send has the link.
    pub(super) fn transmit_data(&mut self, _now: Instant) -> Option<Transmit<HomaHeader>> {
        let slot = self.ready.first()?;
        let sender = self.senders.get_mut(slot)?;
        let outgoing = sender.transmit(&self.config)?;
        let (to, paths) = (sender.to, (sender.paths, sender.path));
        self.ready.note_served(slot);
        self.line_up(slot);
        let path = self.sprayer.next(paths, &mut self.chance);
        let wire = (outgoing.payload + self.config.header.0 as u32) as u16;
        let (class, priority) = (Class::Data, outgoing.priority);
        let (header, again) = (outgoing.header, outgoing.again);
        Some(Transmit { to, path, wire, class, priority, ect: false, again, header })
    }
}
