//! The receiving side of a host: it acknowledges every packet.

use pullnet_pull::{Noted, Sprayer};
use pullnet_transport::{ConnId, Event, HostAddr};
use pullnet_units::Instant;

use super::{FastpassEndpoint, Timer};
use crate::header::FastpassHeader;
use crate::receiver::Receiver;

impl FastpassEndpoint {
    /// Finds the connection or opens it: any data packet may be the first to arrive. One of a finished connection is answered.
    fn receiver_for(
        &mut self,
        now: Instant,
        (peer, conn): (HostAddr, ConnId),
        paths: u16,
        answers: u32,
    ) -> Option<u32> {
        let known = self.receivers.find(peer, conn);
        if known.is_some() {
            return known;
        }
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            let paths = (paths, Sprayer::own(paths, &mut self.chance));
            let header = FastpassHeader::Ack { conn, cumulative: 0, answers, finished: true };
            self.send_control(peer, paths, header);
            return None;
        }
        if self.dismissed.contains(peer, conn) {
            self.events.push(Event::Stray { peer, conn });
            return None;
        }
        let path = Sprayer::own(paths, &mut self.chance);
        let armed = now.after(self.silence());
        let receiver = Receiver::open(now, (peer, conn), (paths, path), armed);
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.arm(armed, Timer::Receiver(slot));
        Some(slot)
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        from: (HostAddr, ConnId),
        paths: u16,
        (seq, last): (u32, bool),
        bytes: u32,
    ) {
        let Some(slot) = self.receiver_for(now, from, paths, seq) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, last) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq, bytes });
        }
        let (peer, conn) = from;
        let (finished, cumulative) = (receiver.is_complete(), receiver.received.cumulative());
        let paths = (receiver.paths, receiver.path);
        self.send_control(peer, paths, FastpassHeader::Ack { conn, cumulative, answers: seq, finished });
        if finished {
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push(Event::Received { slot });
        }
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
