//! The sending side of a host: its connections take turns on the link.

use core::hash::BuildHasher;

use pullnet_connections::FlowTimer;
use pullnet_transport::{ConnId, Event, FailureReason, FlowSpec, HostAddr, SendCounts, Transmit};
use pullnet_units::Instant;

use super::Endpoint;
use crate::control::Control;
use crate::segment::Segment;
use crate::sender::{Ack, Context, Expiry, Sender};

/// Most packets of a flow: numbers have 32 bits, and one past the last packet has to be a number too.
const MOST_PACKETS: u64 = u32::MAX as u64 - 1;

impl<C: Control, S: BuildHasher + Default> Endpoint<C, S> {
    pub(super) fn open_flow(&mut self, now: Instant, flow: &FlowSpec) {
        let packets = flow.size.map_or(0, |size| size.0.div_ceil(u64::from(self.rules.mtu)));
        if flow.size.is_some() && packets == 0 {
            return self.refuse(flow, FailureReason::EmptyFlow);
        }
        if packets > MOST_PACKETS {
            return self.refuse(flow, FailureReason::TooManyPackets);
        }
        if self.sent.contains(flow.to, flow.conn) || self.senders.find(flow.to, flow.conn).is_some() {
            return self.refuse(flow, FailureReason::NumberInUse);
        }
        let Self { rules, control, chance, events, .. } = self;
        let mut cx = Context { now, rules, control, chance, events };
        let total = if flow.size.is_some() { packets as u32 } else { u32::MAX };
        let sender = Sender::open(&mut cx, flow, total);
        let path = sender.path(&self.rules, &mut self.chance);
        let slot = self.senders.insert(flow.to, flow.conn, sender);
        if self.rules.handshake {
            self.reply(flow.to, path, Segment::Syn { conn: flow.conn });
        }
        self.with_sender(now, slot, |_, _| ());
    }

    fn refuse(&mut self, flow: &FlowSpec, reason: FailureReason) {
        let counts = SendCounts::default();
        self.events.push(Event::Failed { to: flow.to, conn: flow.conn, reason, counts });
    }

    /// Applies `input` to the sender in `slot`. Afterwards the sender is queued for the link if it can send, and has a
    /// timer entry if its timer runs.
    #[inline]
    pub(super) fn with_sender<R>(
        &mut self,
        now: Instant,
        slot: u32,
        input: impl FnOnce(&mut Sender<C>, &mut Context<'_, C>) -> R,
    ) -> Option<R> {
        let Self { senders, rules, control, chance, events, .. } = self;
        let sender = senders.get_mut(slot)?;
        let mut cx = Context { now, rules, control, chance, events };
        let result = input(sender, &mut cx);
        if !sender.queued && sender.ready(rules) {
            sender.queued = true;
            self.ready.push(slot, sender.priority);
        }
        sender.guard(now, rules);
        if sender.due < sender.armed {
            sender.armed = sender.due;
            let at = sender.due;
            self.arm(at, FlowTimer::Sender(slot));
        }
        Some(result)
    }

    #[inline]
    pub(super) fn handle_ack(&mut self, now: Instant, peer: HostAddr, conn: ConnId, ack: Ack) {
        let Some(slot) = self.senders.find(peer, conn) else { return };
        if self.with_sender(now, slot, |sender, cx| sender.on_ack(cx, ack)) == Some(true) {
            let counts = self.close_sender(now, peer, conn, slot);
            self.events.push(Event::Completed { to: peer, conn, counts });
        }
    }

    pub(super) fn handle_nack(&mut self, now: Instant, peer: HostAddr, conn: ConnId, seq: u32) {
        if let Some(slot) = self.senders.find(peer, conn) {
            self.with_sender(now, slot, |sender, cx| sender.on_nack(cx, seq));
        }
    }

    pub(super) fn handle_syn_ack(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        if let Some(slot) = self.senders.find(peer, conn) {
            self.with_sender(now, slot, |sender, cx| sender.on_syn_ack(cx));
        }
    }

    /// The number of an ended connection is not reused until its receiver has forgotten it.
    #[inline(never)]
    fn close_sender(&mut self, now: Instant, to: HostAddr, conn: ConnId, slot: u32) -> SendCounts {
        let Some(sender) = self.senders.remove(to, conn) else { return SendCounts::default() };
        if sender.queued {
            self.ready.remove(slot);
        }
        self.sent.note(now, to, conn);
        self.due = self.due.min(self.sent.due());
        sender.counts
    }

    /// Handles a timer entry that is due. A stale entry is ignored: it belongs to an earlier connection in this slot,
    /// or an earlier deadline has replaced it.
    pub(super) fn check_sender(&mut self, now: Instant, slot: u32, at: Instant) {
        let expiry = self.with_sender(now, slot, |sender, cx| {
            if sender.armed != at {
                return None;
            }
            sender.armed = Instant::NEVER;
            let path = sender.path(cx.rules, cx.chance);
            Some((sender.to, sender.conn, path, sender.on_timeout(cx)))
        });
        let Some((to, conn, path, expiry)) = expiry.flatten() else { return };
        match expiry {
            Expiry::Early | Expiry::Retransmit => {}
            Expiry::Syn => self.reply(to, path, Segment::Syn { conn }),
            Expiry::GiveUp(reason) => {
                let counts = self.close_sender(now, to, conn, slot);
                self.events.push(Event::Failed { to, conn, reason, counts });
            }
        }
    }

    /// The next data packet of the connection that has the turn.
    pub(super) fn transmit_data(&mut self, now: Instant) -> Option<Transmit<Segment>> {
        loop {
            let slot = self.ready.pop()?;
            let packet = self.with_sender(now, slot, |sender, cx| {
                sender.queued = false;
                sender.transmit(cx)
            });
            if let Some(Some(packet)) = packet {
                return Some(packet);
            }
        }
    }
}
