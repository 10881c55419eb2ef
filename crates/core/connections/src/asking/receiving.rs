//! The receiving side of a host: acknowledges every packet and returns the replies of the switches.

use pullnet_transport::{ConnId, HostAddr};
use pullnet_units::Instant;

use super::{Ack, Asking, AskingRules};
use crate::endpoint::Flows;
use crate::incoming::Admitted;

/// Origin of a packet: the host, its connection, and the number of paths back.
type From = (HostAddr, ConnId, u16);

impl<S: Asking> AskingRules<S> {
    /// The reply to a question that needs one.
    fn reply_to(&self, question: Option<S::Question>) -> Option<S::Reply> {
        question.filter(|question| !S::ends(question)).map(|question| S::reply(&question, &self.host))
    }

    /// Finds or opens the connection. Data opens it too, in case the first question was lost.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        (peer, conn, paths): From,
        answers: Option<u32>,
    ) -> Option<u32> {
        let silence = self.silence();
        match flows.admit(now, (peer, conn), silence, || (paths, self.own_path(paths))) {
            Admitted::Open(slot) => Some(slot),
            Admitted::Ended((_, path)) => {
                let ack = Ack { cumulative: 0, answers, finished: true, reply: None };
                self.push_control(flows, peer, path, S::ack(conn, ack));
                None
            }
            Admitted::Stray => None,
        }
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        (seq, last): (u32, bool),
        bytes: u32,
        question: Option<S::Question>,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, Some(seq)) else { return };
        let Some((receiver, _)) = flows.take_data(now, slot, (seq, last), bytes) else { return };
        let (finished, cumulative, path) = (receiver.is_complete(), receiver.cumulative(), receiver.paths.1);
        let (peer, conn, _) = from;
        let ack = Ack { cumulative, answers: Some(seq), finished, reply: self.reply_to(question) };
        self.push_control(flows, peer, path, S::ack(conn, ack));
        if finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_question(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: From,
        given_up: bool,
        question: S::Question,
    ) {
        let (peer, conn, _) = from;
        let known = flows.receivers.find(peer, conn);
        if given_up {
            return known.into_iter().for_each(|slot| flows.dismiss(now, slot, peer, conn));
        }
        // The end of a flow needs no answer and may arrive after the flow was forgotten.
        if S::ends(&question) && known.is_none() {
            return;
        }
        let Some(slot) = self.receiver_for(flows, now, from, None) else { return };
        let Some(receiver) = flows.receivers.get_mut(slot) else { return };
        receiver.last_heard = now;
        let (cumulative, path) = (receiver.cumulative(), receiver.paths.1);
        let reply = self.reply_to(Some(question));
        if reply.is_some() {
            let ack = Ack { cumulative, answers: None, finished: false, reply };
            self.push_control(flows, peer, path, S::ack(conn, ack));
        }
    }
}
