//! The receiving side of a host: answers, and pulls from its one pull queue.

use core::hash::BuildHasher;

use pullnet_transport::{ConnId, Event, Fate, HostAddr, Received};
use pullnet_units::{Instant, Picos};

use super::{NdpEndpoint, Timer};
use crate::header::NdpHeader;
use crate::receiver::{Arrival, LARGEST_FIRST_WINDOW, Receiver};

impl<S: BuildHasher + Default> NdpEndpoint<S> {
    /// Rule 1: finds the connection, or opens it if the packet may do so. A packet that nobody can have sent is refused,
    /// one for a finished connection is answered.
    fn receiver_for(
        &mut self,
        now: Instant,
        packet: &Received<NdpHeader>,
        seq: u32,
        syn: bool,
    ) -> Option<u32> {
        let conn = packet.header.conn();
        if let Some(slot) = self.receivers.find(packet.from, conn) {
            let accepted = self.receivers.get_mut(slot).is_some_and(|receiver| receiver.accepts(seq));
            self.refused += u64::from(!accepted);
            return accepted.then_some(slot);
        }
        if self.received.contains(packet.from, conn) {
            self.answer_late(now, packet, seq);
            return None;
        }
        if !syn || self.dismissed.contains(packet.from, conn) {
            self.stray(now, packet);
            return None;
        }
        if seq >= LARGEST_FIRST_WINDOW {
            self.refused += 1;
            return None;
        }
        let receiver = Receiver::open(now, packet.from, conn, packet.paths, &self.rules, &mut self.chance);
        let slot = self.receivers.insert(packet.from, conn, receiver);
        self.events.push_back(Event::Opened { slot, peer: packet.from, conn });
        self.arm(now + self.rules.time_wait, Timer::Silence(packet.from, conn));
        Some(slot)
    }

    /// Nothing answers a packet that belongs nowhere. One of a dismissed connection keeps that one in mind.
    fn stray(&mut self, now: Instant, packet: &Received<NdpHeader>) {
        let (peer, conn) = (packet.from, packet.header.conn());
        if self.dismissed.contains(peer, conn) {
            self.dismissed.note(now, peer, conn);
            self.due = self.due.min(self.dismissed.due());
        }
        self.events.push_back(Event::Stray { peer, conn });
    }

    /// A receiver outlives the sender's patience, then it is forgotten.
    fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    pub(super) fn handle_data(&mut self, now: Instant, packet: &Received<NdpHeader>) {
        let NdpHeader::Data { seq, syn, last, pulled, priority, .. } = packet.header else { return };
        let Some(slot) = self.receiver_for(now, packet, seq, syn) else { return };
        let whole = packet.fate == Fate::Whole;
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.ask(priority);
        let bytes = u32::from(packet.wire).saturating_sub(self.rules.header);
        if bytes > 0 {
            // An empty packet does not say how long others are.
            receiver.wire = packet.wire;
        }
        let arrival = receiver.on_data(now, seq, last, pulled, whole);
        if arrival.new {
            receiver.bytes += u64::from(bytes);
            self.events.push_back(Event::Delivered { slot, seq, bytes });
        }
        self.answer(slot, seq, arrival, now);
        self.drop_excess_pulls(slot);
        self.finish_if_complete(now, slot);
    }

    /// Rule 7, time-wait: what comes for a finished connection is there already, and nothing more is to be pulled.
    fn answer_late(&mut self, now: Instant, packet: &Received<NdpHeader>, seq: u32) {
        let conn = packet.header.conn();
        self.received.note(now, packet.from, conn);
        self.due = self.due.min(self.received.due());
        let path = self.chance.below(packet.paths.into()) as u16;
        self.send_control(packet.from, path, NdpHeader::Ack { conn, seq, pull: None });
    }

    /// Rule 4: the answer leaves at once and carries the pull if nobody else waits for one and the link is free.
    fn answer(&mut self, slot: u32, seq: u32, arrival: Arrival, now: Instant) {
        let free = self.rules.piggyback && self.pulls.is_empty() && self.pacer.free_at() <= now;
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let piggyback = arrival.pull && free && !receiver.held;
        let (conn, to, path) = (receiver.conn, receiver.peer, receiver.control_path(&mut self.chance));
        let pull = piggyback.then(|| receiver.next_pull());
        if piggyback {
            let interval = self.rules.pull_interval(receiver.wire);
            self.pacer.spend(now, interval, &self.rules.spacing, &mut self.chance);
        } else if arrival.pull {
            if !receiver.held {
                self.pacer.wake(now);
                self.pulls.add(slot, receiver.priority, receiver.pending);
            }
            receiver.pending += 1;
        }
        let header = if arrival.acknowledge {
            NdpHeader::Ack { conn, seq, pull }
        } else {
            NdpHeader::Nack { conn, seq, pull }
        };
        self.send_control(to, path, header);
    }

    fn drop_excess_pulls(&mut self, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let excess = receiver.excess_pulls();
        if excess > 0 {
            receiver.pending -= excess;
            if !receiver.held {
                self.pulls.remove(slot, excess, receiver.pending);
            }
        }
    }

    fn finish_if_complete(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.complete() {
            let (peer, conn) = (receiver.peer, receiver.conn);
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push_back(Event::Received { slot });
        }
    }

    /// The pacer lets the next pull go.
    pub(super) fn release_pull(&mut self, now: Instant) {
        let Some(slot) = self.pulls.take() else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.pending -= 1;
        if receiver.pending > 0 {
            self.pulls.keep(slot, receiver.priority);
        }
        let header = NdpHeader::Pull { conn: receiver.conn, number: receiver.next_pull() };
        let (to, path) = (receiver.peer, receiver.control_path(&mut self.chance));
        let interval = self.rules.pull_interval(receiver.wire);
        self.pacer.spend(now, interval, &self.rules.spacing, &mut self.chance);
        self.send_control(to, path, header);
    }

    /// A sender misses a pull: tell it how its packet stands, and pull if no pull waits for it.
    pub(super) fn handle_probe(&mut self, now: Instant, packet: &Received<NdpHeader>, seq: u32) {
        let conn = packet.header.conn();
        if self.received.contains(packet.from, conn) {
            return self.answer_late(now, packet, seq);
        }
        let Some(slot) = self.receivers.find(packet.from, conn) else { return self.stray(now, packet) };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (pull, acknowledge) = (receiver.on_probe(now), receiver.has(seq));
        self.answer(slot, seq, Arrival { new: false, acknowledge, pull }, now);
    }

    /// One timer per receiver looks again after a time-wait, or after as long as the sender is silent: those of idle
    /// streams cost little, and none outlives its connection for long.
    pub(super) fn check_silence(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        let silence = self.silence();
        let Some(slot) = self.receivers.find(peer, conn) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let until = receiver.last_heard + silence;
        if until > now {
            let step = self.rules.time_wait.max(now.since(receiver.last_heard));
            return self.arm(until.min(now + step), Timer::Silence(peer, conn));
        }
        self.withdraw_pulls(slot);
        self.receivers.remove(peer, conn);
        self.events.push_back(Event::Silent { slot });
    }

    /// Takes the pulls of a connection out of the pull queue; the connection still counts them.
    pub(super) fn withdraw_pulls(&mut self, slot: u32) {
        if let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.waits()) {
            self.pulls.remove(slot, receiver.pending, 0);
        }
    }

    /// Puts them back, behind those of the others.
    pub(super) fn return_pulls(&mut self, slot: u32) {
        if let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.waits()) {
            self.pulls.join(slot, receiver.priority, receiver.pending);
        }
    }
}
