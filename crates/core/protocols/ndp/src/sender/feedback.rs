//! Feedback that a sender gets: rules 2 to 5.

use pullnet_pull::Feedback;
use pullnet_units::{Instant, Picos};

use super::{Context, Sender};
use crate::config::Rules;
use crate::window::{Slot, State};

/// News of an ACK for the application.
pub(crate) struct Acked {
    /// Time since the packet was first sent.
    pub latency: Picos,
    /// Whether the flow is complete now.
    pub complete: bool,
}

impl Sender {
    /// Rule 2, ACK: the packet has arrived. The ACK may carry a pull. `None` if the packet was already acknowledged.
    #[inline]
    pub fn on_ack(&mut self, cx: &Context<'_>, seq: u32, pull: Option<u32>) -> Option<Acked> {
        self.expected_pulls += 1;
        let acked = self.note_ack(cx, seq);
        pull.into_iter().for_each(|number| self.on_pull(cx, number));
        acked
    }

    #[inline]
    fn note_ack(&mut self, cx: &Context<'_>, seq: u32) -> Option<Acked> {
        self.on_feedback(cx.now, true);
        self.patience.answered(cx.rules, cx.now, seq);
        let payload = self.payload(cx.rules, seq);
        let slot = self.window.get_mut(seq).filter(|slot| slot.state != State::Acked)?;
        let first_time = !core::mem::replace(&mut slot.heard, true);
        let Slot { path, first_sent, sent, timeouts, state, .. } = *slot;
        slot.state = State::Acked;
        self.window.note(state, State::Acked);
        let latency = cx.now.since(first_sent);
        self.sample(cx, sent, timeouts);
        self.paths.feedback(path, Feedback::Ack);
        self.account_first(cx.rules, seq, first_time);
        self.window.advance();
        self.forget_payloads();
        self.acked_bytes += u64::from(payload);
        self.last_progress = cx.now;
        Some(Acked { latency, complete: self.last.is_some_and(|last| self.window.first() > last) })
    }

    /// Rule 3, NACK: the packet waits for a pull. A NACK for a packet that already waits or has arrived is ignored. The
    /// NACK may carry a pull.
    #[inline(never)]
    pub fn on_nack(&mut self, cx: &Context<'_>, seq: u32, pull: Option<u32>) {
        self.expected_pulls += 1;
        self.note_nack(cx, seq);
        pull.into_iter().for_each(|number| self.on_pull(cx, number));
    }

    fn note_nack(&mut self, cx: &Context<'_>, seq: u32) {
        self.on_feedback(cx.now, false);
        self.patience.answered(cx.rules, cx.now, seq);
        let Some(slot) = self.window.get_mut(seq).filter(|slot| slot.state == State::Sent) else { return };
        let first_time = !core::mem::replace(&mut slot.heard, true);
        slot.state = State::Waiting;
        let (path, sent, timeouts) = (slot.path, slot.sent, slot.timeouts);
        self.sample(cx, sent, timeouts);
        self.paths.feedback(path, Feedback::Nack);
        self.account_first(cx.rules, seq, first_time);
        self.window.note(State::Sent, State::Waiting);
        self.again.push_back(seq);
    }

    /// Rule 4, PULL: as many packets may leave as the number is ahead of the highest one so far. Unused credit is kept
    /// for the next NACK or new data: a pull may overtake the NACK that goes with it.
    pub fn on_pull(&mut self, cx: &Context<'_>, number: u32) {
        self.last_heard = cx.now;
        let ahead = number.wrapping_sub(self.served);
        if ahead == 0 || ahead > u32::MAX / 2 {
            return;
        }
        self.served = number;
        self.expected_pulls = self.expected_pulls.saturating_sub(ahead);
        // A gap fades over some eight pulls: one outage must not make a connection wait longer forever.
        let faded = Picos(self.longest_pull_gap.0 - self.longest_pull_gap.0 / 8);
        self.longest_pull_gap = faded.max(cx.now.since(self.last_pull));
        self.last_pull = cx.now;
        self.probes = 0;
        self.credit = self.credit.saturating_add(ahead).min(self.useful_credit(cx.rules));
    }

    /// Rule 5, returned header: the packet is first in line for the next pull. It is sent at once if no pull would
    /// come, or if other feedback is mostly ACKs, which points to a bad path and not to an incast.
    #[inline(never)]
    pub fn on_return(&mut self, cx: &Context<'_>, seq: u32) {
        self.note_answer(false);
        let Some(slot) = self.window.get_mut(seq).filter(|slot| slot.state == State::Sent) else { return };
        let first_time = !core::mem::replace(&mut slot.heard, true);
        let (path, sent, timeouts) = (slot.path, slot.sent, slot.timeouts);
        if first_time {
            // Repeated returns of the same packets must not keep a flow to a dead host alive forever.
            self.last_heard = cx.now;
        }
        self.sample(cx, sent, timeouts);
        self.account_first(cx.rules, seq, first_time);
        let at_once = self.nothing_else_comes() || self.some_acks();
        let state = if at_once { State::Urgent } else { State::Waiting };
        self.window.note(State::Sent, state);
        self.set_state(seq, state);
        self.paths.feedback(path, Feedback::Return);
        if at_once { self.urgent.push_back(seq) } else { self.again.push_front(seq) }
    }

    /// Rules 5a and 5b in the form of the public code: no pull is expected, and at most one packet of the first window
    /// is unaccounted for. The current packet counts as accounted for.
    fn nothing_else_comes(&self) -> bool {
        self.expected_pulls == 0 && self.first_unheard <= 1
    }

    /// Rule 5c in the form of the public code: an ACK among every three of the latest feedback, in whole numbers.
    fn some_acks(&self) -> bool {
        let answers = self.patience.answers;
        answers.acks() > 0 && answers.known() / answers.acks() <= 3
    }

    /// Whether the receiver has answered anything; headers that switches return do not count.
    pub(super) fn is_answered(&self) -> bool {
        self.served > 0 || self.expected_pulls > 0
    }

    /// Notes the round trip of a packet that was not retransmitted.
    #[inline]
    fn sample(&mut self, cx: &Context<'_>, sent: Instant, timeouts: u8) {
        if timeouts == 0 {
            self.patience.sample(cx.rules, cx.now, cx.now.since(sent));
        }
    }

    pub(super) fn set_state(&mut self, seq: u32, state: State) {
        if let Some(slot) = self.window.get_mut(seq) {
            slot.state = state;
        }
    }

    /// Notes that the receiver has answered.
    fn on_feedback(&mut self, now: Instant, ack: bool) {
        self.last_heard = now;
        self.note_answer(ack);
    }

    /// Notes whether a packet arrived whole.
    fn note_answer(&mut self, whole: bool) {
        self.patience.answers.note(whole);
        self.bursts.note(whole);
    }

    fn account_first(&mut self, rules: &Rules, seq: u32, first_time: bool) {
        if first_time && seq < rules.initial_window {
            self.first_unheard = self.first_unheard.saturating_sub(1);
        }
    }
}
