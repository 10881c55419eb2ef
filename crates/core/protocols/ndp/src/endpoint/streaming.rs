//! Streams: data offered piece by piece, and receivers that may be slow.

use core::hash::BuildHasher;

use pullnet_transport::{ConnId, Event, FailureReason, FlowSpec, HostAddr, Streaming};
use pullnet_units::Instant;

use super::NdpEndpoint;
use crate::receiver::Receiver;
use crate::sender::Sender;

impl<S: BuildHasher + Default> Streaming for NdpEndpoint<S> {
    fn open_stream(&mut self, now: Instant, flow: FlowSpec) {
        self.add_sender(now, &flow, Sender::open_stream);
    }

    fn offer(&mut self, now: Instant, to: HostAddr, conn: ConnId, payload: u16, last: bool) {
        let Some(slot) = self.senders.find(to, conn) else { return };
        let numbered = self.with_sender(now, slot, |sender, cx| sender.offer(cx, payload, last));
        if numbered == Some(false) {
            let counts = self.close_sender(now, to, conn, slot);
            self.events.push(Event::Failed { to, conn, reason: FailureReason::NumbersUsedUp, counts });
        }
    }

    fn abandon(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        if let Some(slot) = self.senders.find(to, conn) {
            self.close_sender(now, to, conn, slot);
        }
    }

    fn acknowledged(&self, to: HostAddr, conn: ConnId) -> Option<u32> {
        self.senders.get(to, conn).map(Sender::acknowledged)
    }

    fn dismiss(&mut self, now: Instant, slot: u32) {
        self.withdraw_pulls(slot);
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        self.receivers.remove(peer, conn);
        self.dismissed.note(now, peer, conn);
        self.due = self.due.min(self.dismissed.due());
    }

    fn remembers(&self, from: HostAddr, conn: ConnId) -> bool {
        self.received.contains(from, conn) || self.dismissed.contains(from, conn)
    }

    fn hold(&mut self, now: Instant, slot: u32, held: bool) {
        // No pull leaves before the time of its request, even if the pacer was free long before.
        self.pacer.wake(now);
        self.change_receiver(slot, |receiver| receiver.held = held);
    }

    fn prefer(&mut self, slot: u32, priority: u8) {
        self.change_receiver(slot, |receiver| receiver.prefer(priority));
    }
}

impl<S: BuildHasher + Default> NdpEndpoint<S> {
    /// Changes the properties of a receiver that decide whether and where its pulls are in the pull queue.
    fn change_receiver(&mut self, slot: u32, change: impl FnOnce(&mut Receiver)) {
        self.withdraw_pulls(slot);
        if let Some(receiver) = self.receivers.get_mut(slot) {
            change(receiver);
        }
        self.return_pulls(slot);
    }
}
