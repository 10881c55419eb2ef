//! The destinations of a host and its token clock.

use pullnet_connections::{Flows, Known};
use pullnet_pull::Noted;
use pullnet_transport::{Event, Origin};
use pullnet_units::{Instant, PacketSeq, Picos};

use super::PhostRules;
use crate::header::{About, PhostHeader};
use crate::receiver::{Eligible, Receiver};

impl PhostRules {
    /// Rule D1: finds the connection or opens it. A packet of a finished one is answered; one of a flow without packets is
    /// refused.
    pub(super) fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: Origin,
        about: About,
    ) -> Option<u32> {
        let Origin { peer, conn, paths } = from;
        match flows.known(now, peer, conn) {
            Known::Open(slot) => return Some(slot),
            // The ACK was lost.
            Known::Finished => {
                let paths = self.link.paths_to(paths);
                self.send_control(flows, peer, (paths, true), PhostHeader::Ack { conn });
            }
            Known::New if about.packets > 0 => {
                return Some(self.open_receiver(flows, now, from, about));
            }
            Known::New | Known::Dismissed => flows.events.push(Event::Stray { peer, conn }),
        }
        None
    }

    fn open_receiver(&mut self, flows: &mut Flows<Self>, now: Instant, from: Origin, about: About) -> u32 {
        let Origin { peer, conn, paths } = from;
        let (paths, opened) = (self.link.paths_to(paths), self.link.number());
        let receiver = Receiver::open(now, &self.rules, (peer, conn), about, opened, paths);
        // The packets of free tokens come without further tokens: so many tokens are left out. The latest flow decides.
        let held = self.rules.packet_time.saturating_mul(receiver.free().into());
        self.clock.held_until = self.clock.next_turn(now, self.rules.packet_time).after(held);
        self.clock.asleep_until = now;
        let slot = flows.open_receiver(peer, conn, receiver);
        self.settle(flows, now, slot);
        slot
    }

    /// A flow that may get a token stands in line for the token clock; another one has a timer.
    fn settle(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        match receiver.eligible(now, &self.rules) {
            Eligible::Now => self.waiting.insert(slot, &receiver.standing()),
            Eligible::At(at) => {
                self.waiting.remove(slot);
                flows.arm_receiver(slot, at);
            }
        }
        self.set_clock(now);
    }

    fn set_clock(&mut self, now: Instant) {
        let next = self.clock.turns_from().max(self.clock.asleep_until).max(now);
        self.clock.due = if self.waiting.is_empty() { Instant::NEVER } else { next };
    }

    /// Rule D7: a clock that has found no flow to give a token to sleeps until the first timer of its flows ends. It is
    /// noted when data comes, which changes these timers.
    fn note_sleep(&mut self, flows: &mut Flows<Self>, now: Instant) {
        let sleeps =
            self.waiting.is_empty() && self.clock.turns_from() < now && self.clock.asleep_until <= now;
        if sleeps && !self.rules.data_wakes {
            let timers = flows.receivers.iter().filter_map(|receiver| receiver.waits_until(now, &self.rules));
            self.clock.asleep_until = timers.min().unwrap_or(now);
        }
    }

    /// A flow is announced. A repeated RTS is answered, unless a token will say the same at once.
    pub(super) fn on_rts(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32, again: bool) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        if again {
            let (to, conn, left) = (receiver.peer, receiver.conn, receiver.left());
            let paths = (receiver.paths, receiver.path);
            self.send_control(flows, to, (paths, true), PhostHeader::Wait { conn, left });
        }
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        slot: u32,
        (seq, number): (u32, u32),
        bytes: u32,
    ) {
        self.note_sleep(flows, now);
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, number) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            flows.events.push(Event::Delivered { slot, seq: PacketSeq::new(seq), bytes });
        }
        if receiver.is_complete() {
            return self.finish(flows, now, slot);
        }
        self.settle(flows, now, slot);
    }

    /// Rule D6: one ACK says that everything is there.
    fn finish(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn, paths) = (receiver.peer, receiver.conn, (receiver.paths, receiver.path));
        self.waiting.forget(slot);
        self.set_clock(now);
        flows.finish(now, slot, peer, conn);
        self.send_control(flows, peer, (paths, false), PhostHeader::Ack { conn });
    }

    /// The token clock ticks.
    pub(super) fn give_token(&mut self, flows: &mut Flows<Self>, now: Instant) {
        let Some(slot) = self.waiting.first() else { return self.set_clock(now) };
        let Some(receiver) = flows.receivers.get_mut(slot) else {
            self.waiting.forget(slot);
            return self.set_clock(now);
        };
        let again = receiver.resends();
        let header = receiver.token(now, &self.rules);
        let (to, paths) = (receiver.peer, (receiver.paths, receiver.path));
        self.waiting.note_served(slot);
        self.clock.free_at = now.after(self.rules.packet_time);
        self.send_control(flows, to, (paths, again), header);
        self.settle(flows, now, slot);
    }

    /// A source that has been silent for longer than it may be is forgotten.
    fn silence(&self) -> Picos {
        self.rules.limits.silence()
    }

    pub(super) fn check_receiver(&mut self, flows: &mut Flows<Self>, now: Instant, slot: u32) {
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        let (peer, conn) = (receiver.peer, receiver.conn);
        if now.since(receiver.last_heard) < self.silence() {
            return self.settle(flows, now, slot);
        }
        self.waiting.forget(slot);
        self.set_clock(now);
        flows.dismiss(now, slot, peer, conn);
    }
}
