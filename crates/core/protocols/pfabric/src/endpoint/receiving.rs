//! The receiving side of a host: it acknowledges every packet.

use pullnet_pull::{Noted, ReceivedSet, Sprayer};
use pullnet_transport::{Class, ConnId, Event, HostAddr, Transmit};
use pullnet_units::{Instant, Picos};

use super::{PfabricEndpoint, Timer};
use crate::header::PfabricHeader;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub peer: HostAddr,
    pub conn: ConnId,
    paths: u16,
    path: u16,
    received: ReceivedSet,
    /// Packets in all, once the last one was seen.
    total: Option<u32>,
    pub bytes: u64,
    pub last_progress: Instant,
    last_heard: Instant,
    /// The host's timer entry for this flow.
    armed: Instant,
}

impl Receiver {
    /// Notes a packet. `None`: no sender that keeps to the rules has sent it.
    fn on_data(&mut self, now: Instant, seq: u32, last: bool) -> Option<Noted> {
        let beyond = self.total.is_some_and(|total| seq >= total);
        if beyond || seq == u32::MAX {
            return None;
        }
        let noted = self.received.insert(seq);
        if noted == Noted::TooFar {
            return None;
        }
        if last && self.total.is_none() {
            self.total = Some(seq + 1);
        }
        self.last_heard = now;
        if noted == Noted::New {
            self.last_progress = now;
        }
        Some(noted)
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.received.cumulative() >= total)
    }
}

impl PfabricEndpoint {
    fn acknowledge(&mut self, to: HostAddr, paths: (u16, u16), header: PfabricHeader) {
        let path = self.sprayer.next(paths, &mut self.chance);
        let wire = self.config.header.0 as u16;
        let (class, priority) = (Class::Control, 0);
        self.acks.push(Transmit { to, path, wire, class, priority, ect: false, again: false, header });
    }

    /// Finds the connection or opens it: any data packet may be the first to arrive. One of a finished connection is answered.
    fn receiver_for(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        answers: Option<u32>,
    ) -> Option<u32> {
        let known = self.receivers.find(peer, conn);
        if known.is_some() {
            return known;
        }
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            let paths = (paths, Sprayer::own(paths, &mut self.chance));
            let header = PfabricHeader::Ack { conn, cumulative: 0, answers, finished: true };
            self.acknowledge(peer, paths, header);
            return None;
        }
        if self.dismissed.contains(peer, conn) {
            self.events.push(Event::Stray { peer, conn });
            return None;
        }
        let path = Sprayer::own(paths, &mut self.chance);
        let armed = now.after(self.silence());
        let receiver = Receiver {
            peer,
            conn,
            paths,
            path,
            received: ReceivedSet::default(),
            total: None,
            bytes: 0,
            last_progress: now,
            last_heard: now,
            armed,
        };
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.arm(armed, Timer::Receiver(slot));
        Some(slot)
    }

    /// A sender that has been silent for longer than it may be is forgotten.
    fn silence(&self) -> Picos {
        self.config.give_up.saturating_mul(2)
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
        (seq, last): (u32, bool),
        bytes: u32,
    ) {
        let Some(slot) = self.receiver_for(now, from, paths, Some(seq)) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, last) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq, bytes });
        }
        let (peer, conn) = from;
        let (finished, cumulative) = (receiver.is_complete(), receiver.received.cumulative());
        let paths = (receiver.paths, receiver.path);
        self.acknowledge(peer, paths, PfabricHeader::Ack { conn, cumulative, answers: Some(seq), finished });
        if finished {
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push(Event::Received { slot });
        }
    }

    pub(super) fn on_probe(&mut self, now: Instant, from: (HostAddr, ConnId), paths: u16) {
        let Some(slot) = self.receiver_for(now, from, paths, None) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, conn) = (receiver.received.cumulative(), receiver.conn);
        let (peer, paths) = (receiver.peer, (receiver.paths, receiver.path));
        let header = PfabricHeader::Ack { conn, cumulative, answers: None, finished: false };
        self.acknowledge(peer, paths, header);
    }

    pub(super) fn check_receiver(&mut self, now: Instant, slot: u32, at: Instant) {
        let silence = self.silence();
        let Some(receiver) = self.receivers.get_mut(slot).filter(|receiver| receiver.armed == at) else {
            return;
        };
        let until = receiver.last_heard.after(silence);
        if until > now {
            receiver.armed = until;
            return self.arm(until, Timer::Receiver(slot));
        }
        let (peer, conn) = (receiver.peer, receiver.conn);
        self.receivers.remove(peer, conn);
        self.dismissed.note(now, peer, conn);
        self.due = self.due.min(self.dismissed.due());
        self.events.push(Event::Silent { slot });
    }
}
