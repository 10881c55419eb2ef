//! The receiving side of a host: acknowledges every packet and returns the replies of the switches.

use pullnet_transport::{CumulativeAck, DataPacket, Origin};
use pullnet_units::Instant;

use super::{Asking, AskingRules};
use crate::endpoint::Flows;
use crate::incoming::Admitted;

impl<S: Asking> AskingRules<S> {
    /// The reply to a question, if it needs one. A packet without a question is answered with the latest reply again, so that
    /// an ACK that is lost takes no reply with it.
    fn reply_to(&self, question: Option<S::Question>, latest: &mut Option<S::Reply>) -> Option<S::Reply> {
        if let Some(question) = question {
            *latest = (!S::ends(&question)).then(|| S::reply(&question, &self.host));
        }
        *latest
    }

    /// Finds or opens the connection. Data opens it too, in case the first question was lost.
    fn receiver_for(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        Origin { peer, conn, paths }: Origin,
        answers: Option<u32>,
    ) -> Option<u32> {
        let silence = self.silence();
        match flows.admit(now, (peer, conn), silence, || (paths, self.own_path(paths))) {
            Admitted::Open(slot) => Some(slot),
            Admitted::Ended((_, path)) => {
                self.push_control(flows, peer, path, S::ack(CumulativeAck::ended(conn, answers), None));
                None
            }
            Admitted::Stray => None,
        }
    }

    pub(super) fn on_data(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: Origin,
        data: DataPacket,
        bytes: u32,
        question: Option<S::Question>,
    ) {
        let Some(slot) = self.receiver_for(flows, now, from, Some(data.seq)) else { return };
        let Some((receiver, _)) = flows.take_data(now, slot, data, bytes) else { return };
        let (ack, path) = (receiver.ack(Some(data.seq)), receiver.paths.1);
        let reply = self.reply_to(question, &mut receiver.kept);
        let Origin { peer, conn, .. } = from;
        self.push_control(flows, peer, path, S::ack(ack, reply));
        if ack.finished {
            flows.finish(now, slot, peer, conn);
        }
    }

    pub(super) fn on_question(
        &mut self,
        flows: &mut Flows<Self>,
        now: Instant,
        from: Origin,
        given_up: bool,
        question: S::Question,
    ) {
        let Origin { peer, conn, .. } = from;
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
        let (ack, path) = (receiver.ack(None), receiver.paths.1);
        let reply = self.reply_to(Some(question), &mut receiver.kept);
        if reply.is_some() {
            self.push_control(flows, peer, path, S::ack(ack, reply));
        }
    }
}
