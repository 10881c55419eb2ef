//! The receiving side of a host: acknowledges every packet and echoes the answers of the switches.

use pullnet_connections::{Flows, Incoming, Known};
use pullnet_transport::{ConnId, Event, HostAddr, MOST_RATE, RATE_UNIT, RateUnits};
use pullnet_units::{Instant, Picos};

use super::PdqRules;
use crate::header::{Ask, PdqHeader, Reply};

/// Origin of a packet: the host, its connection, and the number of paths back.
type From = (HostAddr, ConnId, u16);

impl PdqRules {
    /// Rule 2: the answers of the switches return to the sender, with a rate that this host can receive. A flow that ends needs
    /// none.
    fn reply_to(&self, ask: Ask) -> Option<Reply> {
        let most = (self.host.rate.get() / RATE_UNIT).clamp(1, MOST_RATE.into()) as RateUnits;
        let reply = ask.reply();
        (!ask.ends).then_some(Reply { rate: reply.rate.min(most), ..reply })
    }

    /// Finds or opens the connection. Data opens it too, in case the first probe was lost.
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
                let header = PdqHeader::Ack { conn, cumulative: 0, answers, finished: true, reply: None };
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
        self.config.give_up.saturating_mul(2)
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        (seq, last): (u32, bool),
        bytes: u32,
        ask: Ask,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, Some(seq)) else { return };
        let Some(receiver) = flows.take_data(now, slot, (seq, last), bytes) else { return };
        let (finished, cumulative, path) = (receiver.is_complete(), receiver.cumulative(), receiver.paths.1);
        let (peer, conn, _) = from;
        let (answers, reply) = (Some(seq), self.reply_to(ask));
        let header = PdqHeader::Ack { conn, cumulative, answers, finished, reply };
        self.push_control(flows, peer, path, header);
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_probe(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        given_up: bool,
        ask: Ask,
    ) {
        let (peer, conn, _) = from;
        let known = flows.receivers.find(peer, conn);
        if given_up {
            // The sender has given the flow up.
            return known.into_iter().for_each(|slot| flows.dismiss(now, slot, peer, conn));
        }
        // The end of a flow needs no answer and may arrive after the flow was forgotten.
        if ask.ends && known.is_none() {
            return;
        }
        let Some(slot) = self.receiver_for(flows, now, from, None) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, path) = (receiver.cumulative(), receiver.paths.1);
        let reply = self.reply_to(ask);
        if reply.is_some() {
            let header = PdqHeader::Ack { conn, cumulative, answers: None, finished: false, reply };
            self.push_control(flows, peer, path, header);
        }
    }
}
