//! The receiving side of a host.

use core::hash::BuildHasher;

use pullnet_connections::FlowTimer;
use pullnet_transport::{ConnId, Event, HostAddr, Origin};
use pullnet_units::{Instant, PacketSeq};

use super::Endpoint;
use crate::control::Control;
use crate::receiver::{Data, Receiver};
use crate::segment::{Ranges, Segment};

impl<C: Control, S: BuildHasher + Default> Endpoint<C, S> {
    fn open_receiver(&mut self, now: Instant, from: Origin) -> u32 {
        let Origin { peer, conn, paths } = from;
        let receiver = Receiver::open(now, peer, conn, paths, &mut self.chance);
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.arm_receiver(now, slot);
        slot
    }

    fn arm_receiver(&mut self, now: Instant, slot: u32) {
        let silence = self.silence;
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let due = receiver.due(now, &self.rules, silence);
        if due < receiver.armed {
            receiver.armed = due;
            self.arm(due, FlowTimer::Receiver(slot));
        }
    }

    /// A SYN opens a connection once. A repeated SYN is answered again, because the SYN-ACK may have been lost.
    pub(super) fn handle_syn(&mut self, now: Instant, from: Origin) {
        let Origin { peer, conn, .. } = from;
        if self.received.contains(peer, conn) {
            return self.stray(now, peer, conn);
        }
        let slot = match self.receivers.find(peer, conn) {
            Some(slot) => slot,
            None => self.open_receiver(now, from),
        };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let path = receiver.path(&self.rules, &mut self.chance);
        self.reply(peer, path, Segment::SynAck { conn });
    }

    /// Handles a packet without an open connection that may not open one. The memory of an ended connection is renewed.
    fn stray(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
        }
        self.events.push(Event::Stray { peer, conn });
    }

    #[inline]
    pub(super) fn handle_data(&mut self, now: Instant, from: Origin, opens: bool, data: Data) {
        let Some(slot) = self.receiver_of(now, from, opens, data) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let arrival = receiver.on_data(now, &self.rules, data);
        let complete = receiver.complete();
        if arrival.new {
            self.events.push(Event::Delivered { slot, seq: PacketSeq::new(data.seq), bytes: data.bytes });
        }
        if arrival.before.is_none() && arrival.ack.is_none() {
            return self.arm_receiver(now, slot);
        }
        for ack in arrival.before.into_iter().chain(arrival.ack) {
            let Some(receiver) = self.receivers.get_mut(slot) else { return };
            let path = receiver.path(&self.rules, &mut self.chance);
            self.reply(from.peer, path, ack);
        }
        if complete {
            self.finish_receiver(now, from.peer, from.conn, slot);
        } else if arrival.ack.is_none() {
            self.arm_receiver(now, slot);
        }
    }

    /// The slot of the connection that `data` belongs to or opens, unless `data` lies beyond the receive window.
    #[inline]
    fn receiver_of(&mut self, now: Instant, from: Origin, opens: bool, data: Data) -> Option<u32> {
        let Origin { peer, conn, .. } = from;
        let slot = match self.receivers.find(peer, conn) {
            Some(slot) => slot,
            None if self.received.contains(peer, conn) => {
                self.answer_late(now, from, data);
                return None;
            }
            None if opens && data.seq < self.rules.receive_window => self.open_receiver(now, from),
            None => {
                self.stray(now, peer, conn);
                return None;
            }
        };
        let accepted = self.receivers.get_mut(slot)?.accepts(&self.rules, data.seq);
        self.refused += u64::from(!accepted);
        accepted.then_some(slot)
    }

    /// Handles the header of a data packet whose payload a switch has cut.
    #[inline(never)]
    pub(super) fn handle_trimmed(&mut self, now: Instant, from: Origin, opens: bool, data: Data) {
        let Some(slot) = self.receiver_of(now, from, opens, data) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let answers = receiver.on_trimmed(now, &self.rules, data);
        for answer in answers.into_iter().flatten() {
            let Some(receiver) = self.receivers.get_mut(slot) else { return };
            let path = receiver.path(&self.rules, &mut self.chance);
            self.reply(from.peer, path, answer);
        }
        self.arm_receiver(now, slot);
    }

    fn finish_receiver(&mut self, now: Instant, peer: HostAddr, conn: ConnId, slot: u32) {
        self.receivers.remove(peer, conn);
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        self.events.push(Event::Received { slot });
    }

    /// The last ACK of an ended connection was lost: tells the sender again that all data has arrived.
    fn answer_late(&mut self, now: Instant, from: Origin, data: Data) {
        let Origin { peer, conn, paths } = from;
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        let (seq, echo) = (data.seq, data.ce && self.rules.ecn);
        let cumulative = seq.saturating_add(1);
        let path = self.chance.below(paths.into()) as u16;
        let ranges = Ranges::default();
        self.reply(peer, path, Segment::Ack { conn, cumulative, answers: seq, echo, finished: true, ranges });
    }

    /// As [`Endpoint::check_sender`], for a delayed ACK or a silent sender.
    pub(super) fn check_receiver(&mut self, now: Instant, slot: u32, at: Instant) {
        let silence = self.silence;
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.armed == at) else {
            return;
        };
        receiver.armed = Instant::NEVER;
        let (peer, conn) = (receiver.peer, receiver.conn);
        if let Some(ack) = receiver.on_timeout(now, &self.rules) {
            let path = receiver.path(&self.rules, &mut self.chance);
            self.reply(peer, path, ack);
        } else if receiver.is_silent(now, silence) {
            self.receivers.remove(peer, conn);
            self.events.push(Event::Silent { slot });
            return;
        }
        self.arm_receiver(now, slot);
    }
}
