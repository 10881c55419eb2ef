//! The destinations of a host and its token clock.

use pullnet_pull::{Noted, Sprayer};
use pullnet_transport::{ConnId, Event, HostAddr};
use pullnet_units::{Instant, Picos};

use super::{PhostEndpoint, Timer};
use crate::header::{About, PhostHeader};
use crate::receiver::{Eligible, Receiver};

impl PhostEndpoint {
    /// Rule D1: finds the connection or opens it. A packet of a finished one is answered; one of a flow without packets is
    /// refused.
    pub(super) fn receiver_for(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        about: About,
        paths: u16,
    ) -> Option<u32> {
        let known = self.receivers.find(peer, conn);
        if known.is_some() {
            return known;
        }
        if self.received.contains(peer, conn) {
            // The ACK was lost.
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            let own = Sprayer::own(paths, &mut self.chance);
            self.send_control(peer, (paths, own), PhostHeader::Ack { conn });
            return None;
        }
        if about.packets == 0 || self.dismissed.contains(peer, conn) {
            self.events.push(Event::Stray { peer, conn });
            return None;
        }
        Some(self.open_receiver(now, (peer, conn), about, paths))
    }

    fn open_receiver(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        about: About,
        paths: u16,
    ) -> u32 {
        let own = Sprayer::own(paths, &mut self.chance);
        self.opened += 1;
        let receiver = Receiver::open(now, &self.rules, (peer, conn), about, self.opened, (paths, own));
        // The packets of free tokens come without being asked for: so many tokens are left out. The latest flow decides.
        let held = self.rules.packet_time.saturating_mul(receiver.free().into());
        self.clock.held_until = self.clock.free_at.max(now).after(held);
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.settle(now, slot);
        slot
    }

    /// A flow that may get a token stands in line for the token clock; another one has a timer.
    fn settle(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        match receiver.eligible(now, &self.rules) {
            Eligible::Now => self.waiting.insert(slot, &receiver.standing()),
            Eligible::At(at) => {
                self.waiting.remove(slot);
                if at < receiver.armed {
                    receiver.armed = at;
                    self.arm(at, Timer::Receiver(slot));
                }
            }
        }
        self.set_clock(now);
    }

    fn set_clock(&mut self, now: Instant) {
        let next = self.clock.free_at.max(self.clock.held_until).max(now);
        self.clock.due = if self.waiting.is_empty() { Instant::NEVER } else { next };
    }

    /// A flow is announced. A repeated RTS is answered, unless a token will say the same at once.
    pub(super) fn on_rts(&mut self, now: Instant, slot: u32, again: bool) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        if again {
            let (to, conn, left) = (receiver.peer, receiver.conn, receiver.left());
            let paths = (receiver.paths, receiver.path);
            self.send_control(to, paths, PhostHeader::Wait { conn, left });
        }
    }

    pub(super) fn on_data(&mut self, now: Instant, slot: u32, (seq, number): (u32, u32), bytes: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, number) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq, bytes });
        }
        if receiver.is_complete() {
            return self.finish(now, slot);
        }
        self.settle(now, slot);
    }

    /// Rule D6: one ACK says that everything is there.
    fn finish(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        self.close_receiver(now, slot, peer, conn);
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        self.events.push(Event::Received { slot });
        self.send_control(peer, paths, PhostHeader::Ack { conn });
    }

    fn close_receiver(&mut self, now: Instant, slot: u32, peer: HostAddr, conn: ConnId) {
        self.waiting.forget(slot);
        self.receivers.remove(peer, conn);
        self.set_clock(now);
    }

    /// The token clock ticks.
    pub(super) fn give_token(&mut self, now: Instant) {
        let Some(slot) = self.waiting.first() else { return self.set_clock(now) };
        let Some(receiver) = self.receivers.get_mut(slot) else {
            self.waiting.forget(slot);
            return self.set_clock(now);
        };
        let header = receiver.token(now, &self.rules);
        let (to, paths) = (receiver.peer, (receiver.paths, receiver.path));
        self.waiting.note_served(slot);
        self.clock.free_at = now.after(self.rules.packet_time);
        self.send_control(to, paths, header);
        self.settle(now, slot);
    }

    /// A source that has been silent for longer than it may be is forgotten.
    fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    pub(super) fn check_receiver(&mut self, now: Instant, slot: u32, at: Instant) {
        let silence = self.silence();
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.armed == at) else {
            return;
        };
        receiver.armed = Instant::NEVER;
        if now.since(receiver.last_heard) < silence {
            return self.settle(now, slot);
        }
        let (peer, conn) = (receiver.peer, receiver.conn);
        self.close_receiver(now, slot, peer, conn);
        self.dismissed.note(now, peer, conn);
        self.due = self.due.min(self.dismissed.due());
        self.events.push(Event::Silent { slot });
    }
}
