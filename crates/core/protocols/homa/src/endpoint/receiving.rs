//! The receiving side of a host: grants and missing packets.

use alloc::vec::Vec;

use pullnet_pull::{Noted, Sprayer};
use pullnet_transport::{ConnId, Event, HostAddr};
use pullnet_units::Instant;

use super::{HomaEndpoint, Timer};
use crate::header::HomaHeader;
use crate::receiver::{Check, Receiver};

impl HomaEndpoint {
    /// Rule R1: finds the message or opens it. A packet of a finished one is answered.
    pub(super) fn receiver_for(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        packets: u32,
        paths: u16,
    ) -> Option<u32> {
        let known = self.receivers.find(peer, conn);
        if known.is_some() {
            return known;
        }
        let own = Sprayer::own(paths, &mut self.chance);
        if self.received.contains(peer, conn) {
            // The ACK was lost.
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.send_control(peer, (paths, own), HomaHeader::Ack { conn });
            return None;
        }
        if packets == 0 || self.dismissed.contains(peer, conn) {
            self.events.push(Event::Stray { peer, conn });
            return None;
        }
        self.opened += 1;
        let mut receiver =
            Receiver::open(now, &self.config, (peer, conn), packets, self.opened, (paths, own));
        let due = now.after(self.config.timeout);
        receiver.armed = due;
        let (waits, standing) = (receiver.needs_grants(), receiver.standing());
        let slot = self.receivers.insert(peer, conn, receiver);
        self.arm(due, Timer::Receiver(slot));
        self.events.push(Event::Opened { slot, peer, conn });
        if waits {
            self.waiting.insert(slot, &standing);
        }
        Some(slot)
    }

    pub(super) fn on_data(&mut self, now: Instant, slot: u32, seq: u32, bytes: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq, bytes });
        }
        if receiver.is_complete() {
            self.finish(now, slot);
        } else if receiver.needs_grants() {
            self.waiting.insert(slot, &receiver.standing());
        }
        self.give_grants();
    }

    /// Rule R6: one ACK says that everything is there.
    fn finish(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        self.close_receiver(slot, peer, conn);
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        self.events.push(Event::Received { slot });
        self.send_control(peer, paths, HomaHeader::Ack { conn });
    }

    fn close_receiver(&mut self, slot: u32, peer: HostAddr, conn: ConnId) {
        self.waiting.forget(slot);
        self.receivers.remove(peer, conn);
    }

    /// Rules R2 to R4: the messages with the fewest packets left are granted, as many as may be at a time; the shortest has
    /// the most urgent of the lowest priorities that suffice.
    fn give_grants(&mut self) {
        let chosen: Vec<u32> = self.waiting.leading(self.config.degree()).collect();
        let levels = usize::from(self.config.scheduled_levels());
        for (rank, slot) in chosen.iter().enumerate() {
            let Some(receiver) = self.receivers.get_mut(*slot) else { continue };
            let priority = (chosen.len() - 1 - rank).min(levels - 1) as u8;
            let Some(grant) = receiver.grant(&self.config, priority) else { continue };
            let (to, paths) = (receiver.peer, (receiver.paths, receiver.path));
            if !receiver.needs_grants() {
                self.waiting.remove(*slot);
            }
            self.send_control(to, paths, grant);
        }
    }

    /// The sender has heard nothing. What has not come by now is asked for again: the timer has decided so there.
    pub(super) fn on_query(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (to, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        let answer = receiver.missing().unwrap_or(HomaHeader::Busy { conn, by_sender: false });
        self.send_control(to, paths, answer);
    }

    /// The sender has not forgotten the message.
    pub(super) fn on_busy(&mut self, now: Instant, (peer, conn): (HostAddr, ConnId)) {
        let Some(slot) = self.receivers.find(peer, conn) else { return };
        if let Some(receiver) = self.receivers.get_mut(slot) {
            receiver.last_heard = now;
        }
    }

    pub(super) fn check_receiver(&mut self, now: Instant, slot: u32, at: Instant) {
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.armed == at) else {
            return;
        };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        let check = receiver.check(now, &self.config);
        if check == Check::GiveUp {
            self.close_receiver(slot, peer, conn);
            self.dismissed.note(now, peer, conn);
            self.due = self.due.min(self.dismissed.due());
            self.events.push(Event::Silent { slot });
            return self.give_grants();
        }
        let next = if let Check::At(next) = check { next } else { now.after(self.config.timeout) };
        receiver.armed = next;
        self.arm(next, Timer::Receiver(slot));
        if let Check::Resend(header) = check {
            self.send_control(peer, paths, header);
            // Others are granted until data arrives again.
            self.waiting.remove(slot);
            self.give_grants();
        }
    }
}
