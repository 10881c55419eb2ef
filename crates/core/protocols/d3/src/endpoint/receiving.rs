//! The receiving side of a host: it acknowledges every packet and echoes what switches granted.

use pullnet_connections::Noted;
use pullnet_transport::{ConnId, Event, HostAddr};
use pullnet_units::{Instant, Picos};

use super::{D3Endpoint, Timer};
use crate::header::{Ask, D3Header, Grants};
use crate::receiver::Receiver;

/// Where a packet comes from: host, its connection, and the number of paths back.
type From = (HostAddr, ConnId, u16);

/// Rule 5: grants go back to whoever asked; an end is not answered.
fn reply_to(ask: Option<Ask>) -> Option<(u8, Grants)> {
    ask.filter(|ask| !ask.ends).map(|ask| (ask.number, ask.grants))
}

impl D3Endpoint {
    /// Finds the connection or opens it: a lost request does not keep data from opening it.
    fn receiver_for(&mut self, now: Instant, (peer, conn, paths): From, answers: Option<u32>) -> Option<u32> {
        let known = self.receivers.find(peer, conn);
        if known.is_some() {
            return known;
        }
        if self.received.contains(peer, conn) {
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            let path = self.own_path(paths);
            let header = D3Header::Ack { conn, cumulative: 0, answers, finished: true, reply: None };
            self.push_control(peer, path, header);
            return None;
        }
        if self.dismissed.contains(peer, conn) {
            self.events.push(Event::Stray { peer, conn });
            return None;
        }
        let (path, armed) = (self.own_path(paths), now.after(self.silence()));
        let receiver = Receiver::open(now, (peer, conn), path, armed);
        let slot = self.receivers.insert(peer, conn, receiver);
        self.events.push(Event::Opened { slot, peer, conn });
        self.arm(armed, Timer::Receiver(slot));
        Some(slot)
    }

    /// A sender that has been silent for longer than it may be is forgotten.
    fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        from: From,
        (seq, last): (u32, bool),
        bytes: u32,
        ask: Option<Ask>,
    ) {
        let Some(slot) = self.receiver_for(now, from, Some(seq)) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        let Some(noted) = receiver.on_data(now, seq, last) else { return };
        if noted == Noted::New {
            receiver.bytes += u64::from(bytes);
            self.events.push(Event::Delivered { slot, seq, bytes });
        }
        let (finished, cumulative, path) = (receiver.is_complete(), receiver.cumulative(), receiver.path);
        let (peer, conn, _) = from;
        let (answers, reply) = (Some(seq), reply_to(ask));
        self.push_control(peer, path, D3Header::Ack { conn, cumulative, answers, finished, reply });
        if finished {
            self.receivers.remove(peer, conn);
            self.received.note(now, peer, conn);
            self.due = self.due.min(self.received.due());
            self.events.push(Event::Received { slot });
        }
    }

    pub(super) fn on_request(&mut self, now: Instant, from: From, quenched: bool, ask: Ask) {
        let (peer, conn, _) = from;
        if quenched {
            return self.dismiss(now, peer, conn);
        }
        let known = self.receivers.find(peer, conn).is_some();
        // An end asks for nothing, and may come after the flow is forgotten.
        if ask.ends && !known {
            return;
        }
        let Some(slot) = self.receiver_for(now, from, None) else { return };
        let Some(receiver) = self.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, path, reply) = (receiver.cumulative(), receiver.path, reply_to(Some(ask)));
        if reply.is_some() {
            let header = D3Header::Ack { conn, cumulative, answers: None, finished: false, reply };
            self.push_control(peer, path, header);
        }
    }

    /// A flow that its sender has given up, or that is silent, is forgotten.
    fn dismiss(&mut self, now: Instant, peer: HostAddr, conn: ConnId) {
        let Some(slot) = self.receivers.find(peer, conn) else { return };
        self.receivers.remove(peer, conn);
        self.dismissed.note(now, peer, conn);
        self.due = self.due.min(self.dismissed.due());
        self.events.push(Event::Silent { slot });
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
        self.dismiss(now, peer, conn);
    }
}
