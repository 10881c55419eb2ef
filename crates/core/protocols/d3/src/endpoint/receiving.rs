//! The receiving side of a host: acknowledges every packet and echoes the grants of the switches.

use pullnet_connections::{Flows, Incoming, Known};
use pullnet_transport::{ConnId, Event, HostAddr};
use pullnet_units::{Instant, Picos};

use super::D3Rules;
use crate::header::{Ask, D3Header, Grants};

/// Origin of a packet: the host, its connection, and the number of paths back.
type From = (HostAddr, ConnId, u16);

/// Rule 5: grants return to the sender of the request. A FIN is not answered.
fn reply_to(ask: Option<Ask>) -> Option<(u8, Grants)> {
    ask.filter(|ask| !ask.ends).map(|ask| (ask.number, ask.grants))
}

impl D3Rules {
    /// Finds or opens the connection. Data opens it too, in case the first request was lost.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn, paths): From,
        answers: Option<u32>,
    ) -> Option<u32> {
        match flows.known(now, peer, conn) {
            Known::Open(slot) => return Some(slot),
            Known::Finished => {
                let path = self.own_path(paths);
                let header = D3Header::Ack { conn, cumulative: 0, answers, finished: true, reply: None };
                self.push_control(flows, peer, path, header);
                return None;
            }
            Known::Dismissed => {
                flows.events.push(Event::Stray { peer, conn });
                return None;
            }
            Known::New => {}
        }
        let receiver = Incoming::open(now, (peer, conn), (paths, self.own_path(paths)));
        let slot = flows.open_receiver(peer, conn, receiver);
        flows.arm_receiver(slot, now.after(self.silence()));
        Some(slot)
    }

    /// Silence after which a sender is forgotten: twice `give_up`.
    pub(super) fn silence(&self) -> Picos {
        self.rules.give_up.saturating_mul(2)
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        (seq, last): (u32, bool),
        bytes: u32,
        ask: Option<Ask>,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, Some(seq)) else { return };
        let Some(receiver) = flows.take_data(now, slot, (seq, last), bytes) else { return };
        let (finished, cumulative, path) = (receiver.is_complete(), receiver.cumulative(), receiver.paths.1);
        let (peer, conn, _) = from;
        let (answers, reply) = (Some(seq), reply_to(ask));
        let header = D3Header::Ack { conn, cumulative, answers, finished, reply };
        self.push_control(flows, peer, path, header);
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_request(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        quenched: bool,
        ask: Ask,
    ) {
        let (peer, conn, _) = from;
        let known = flows.receivers.find(peer, conn);
        if quenched {
            // The sender has given the flow up.
            return known.into_iter().for_each(|slot| flows.dismiss(now, slot, peer, conn));
        }
        // A FIN needs no answer and may arrive after the flow was forgotten.
        if ask.ends && known.is_none() {
            return;
        }
        let Some(slot) = self.receiver_for(flows, now, from, None) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, path, reply) = (receiver.cumulative(), receiver.paths.1, reply_to(Some(ask)));
        if reply.is_some() {
            let header = D3Header::Ack { conn, cumulative, answers: None, finished: false, reply };
            self.push_control(flows, peer, path, header);
        }
    }
}
