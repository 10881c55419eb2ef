//! The receiving side of a host: answers, and pulls from its one pull queue.

use core::hash::BuildHasher;
use core::hint::cold_path;

use pullnet_transport::{ConnId, Event, HostAddr, Origin};
use pullnet_units::{Instant, PacketSeq, Picos, WireLen};

use super::{NdpEndpoint, Timer};
use crate::header::NdpHeader;
use crate::receiver::{Arrival, LARGEST_FIRST_WINDOW, Receiver};

/// Fields of a data packet, and whether it arrived whole.
pub(super) struct Data {
    pub seq: u32,
    pub syn: bool,
    pub last: bool,
    pub pulled: bool,
    pub priority: u8,
    /// Bytes on the wire when it was sent.
    pub wire: WireLen,
    /// Whether the payload is there.
    pub whole: bool,
}

impl<S: BuildHasher + Default> NdpEndpoint<S> {
    /// Rule 1: finds the connection, or opens it if the packet may do so. Refuses a packet that no peer can have sent;
    /// answers a packet of a finished connection.
    #[inline]
    fn receiver_for(&mut self, now: Instant, origin: Origin, data: &Data) -> Option<u32> {
        let Some(slot) = self.receivers.find(origin.peer, origin.conn) else {
            return self.receiver_for_new(now, origin, data.seq, data.syn);
        };
        let accepted = self.receivers.get_mut(slot).is_some_and(|receiver| receiver.accepts(data.seq));
        if !accepted {
            // A branch rather than arithmetic: the counter is in cold memory.
            cold_path();
            self.refused += 1;
            return None;
        }
        Some(slot)
    }

    /// The same for an unknown connection.
    #[inline(never)]
    fn receiver_for_new(&mut self, now: Instant, origin: Origin, seq: u32, syn: bool) -> Option<u32> {
        let Origin { peer, conn, paths } = origin;
        if self.received.contains(peer, conn) {
            self.answer_late(now, origin, seq);
            return None;
        }
        if !syn || self.dismissed.contains(peer, conn) {
            self.stray(now, peer, conn);
            return None;
        }
        if seq >= LARGEST_FIRST_WINDOW {
            self.refused += 1;
            return None;
        }
        let receiver = Receiver::open(now, peer, conn, paths, &self.rules, &mut self.chance);
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.arm(now + self.rules.time_wait, Timer::Silence(peer, conn));
        Some(slot)
    }

    /// Reports a packet without a connection; nothing answers it. If its connection was dismissed, the memory of that
    /// is renewed.
    fn stray(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        if self.dismissed.contains(peer, conn) {
            self.dismissed.note(now, peer, conn);
            self.due = self.due.min(self.dismissed.due());
        }
        self.events.push(Event::Stray { peer, conn });
    }

    /// A receiver is kept for longer than its sender would wait, and then forgotten.
    fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    /// Handles data, whole or trimmed.
    #[inline]
    pub(super) fn handle_data(&mut self, now: Instant, origin: Origin, data: Data) {
        let Some(slot) = self.receiver_for(now, origin, &data) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Data { seq, wire, .. } = data;
        receiver.ask(data.priority);
        let bytes = u32::from(wire).saturating_sub(self.rules.header);
        if bytes > 0 {
            // An empty packet does not tell the length of other packets.
            receiver.wire = wire;
        }
        let arrival = receiver.on_data(now, seq, data.last, data.pulled, data.whole);
        let ends = receiver.knows_end();
        if arrival.new {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq: PacketSeq::new(seq), bytes });
        }
        self.answer(slot, seq, arrival, now);
        if ends {
            self.drop_excess_pulls(slot);
            self.finish_if_complete(now, slot);
        }
    }

    /// Rule 7, time-wait: data of a finished connection is already there, and no pull is needed.
    fn answer_late(&mut self, now: Instant, origin: Origin, seq: u32) {
        let Origin { peer, conn, paths } = origin;
        self.received.note(now, peer, conn);
        self.due = self.due.min(self.received.due());
        let path = self.chance.below(paths.into()) as u16;
        self.send_control(peer, path, NdpHeader::Ack { conn, seq, pull: None });
    }

    /// Rule 4: the answer leaves at once. It carries the pull if no other connection waits to pull and the pacer is
    /// free.
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

    #[inline(never)]
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

    #[inline(never)]
    fn finish_if_complete(&mut self, now: Instant, slot: u32) {
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        if receiver.complete() {
            let (peer, conn) = (receiver.peer, receiver.conn);
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push(Event::Received { slot });
        }
    }

    /// Sends the pull that the pacer allows.
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

    /// A sender misses a pull: answers with the state of its packet, and pulls if no pull waits for the connection.
    #[inline(never)]
    pub(super) fn handle_probe(&mut self, now: Instant, origin: Origin, seq: u32) {
        let Origin { peer, conn, .. } = origin;
        if self.received.contains(peer, conn) {
            return self.answer_late(now, origin, seq);
        }
        let Some(slot) = self.receivers.find(peer, conn) else { return self.stray(now, peer, conn) };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let (pull, acknowledge) = (receiver.on_probe(now), receiver.has(seq));
        self.answer(slot, seq, Arrival { new: false, acknowledge, pull }, now);
    }

    /// One timer per receiver, due after a time-wait, or after as long as the sender has been silent: timers of idle
    /// streams are rare, and none outlives its connection for long.
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
        self.events.push(Event::Silent { slot });
    }

    /// Takes the pulls of a connection out of the pull queue; the connection still counts them.
    pub(super) fn withdraw_pulls(&mut self, slot: u32) {
        if let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.waits()) {
            self.pulls.remove(slot, receiver.pending, 0);
        }
    }

    /// Puts the pulls back, at the end of the queue.
    pub(super) fn return_pulls(&mut self, slot: u32) {
        if let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.waits()) {
            self.pulls.join(slot, receiver.priority, receiver.pending);
        }
    }
}
