//! Actions of a sender that gets no answer: rule 6, and PROBEs.

use alloc::vec::Vec;

use pullnet_pull::Feedback;
use pullnet_transport::FailureReason;
use pullnet_units::{Instant, Picos};

use super::patience::{LEAST_REPETITIONS, MAX_DOUBLINGS};
use super::{Context, Sender};
use crate::config::Rules;
use crate::header::NdpHeader;
use crate::window::State;

/// Timer checks per timeout: a retransmission is late by a sixteenth of the timeout at most.
const CHECKS_PER_TIMEOUT: u64 = 16;
/// A pull counts as missed after the larger of this many timeouts and as many times the longest gap between pulls so
/// far.
const PATIENCE: u64 = 4;
/// Least number of PROBEs to a silent receiver before the sender gives up.
const LEAST_PROBES: u64 = LEAST_REPETITIONS;
/// A flow fails although the receiver answers, if one packet has timed out so often, and for this many times `give_up`. Where nine packets
/// in ten are lost, one in 850 is lost so often.
const MOST_TIMEOUTS: (u8, u64) = (2 * LEAST_REPETITIONS as u8, 2);
/// Multiplier on the wait for a missed pull during a suspected incast, when the pull may wait in a long queue.
const CROWDED_PATIENCE: u64 = 16;
/// Number of times within `give_up` that an idle stream requests a sign of life.
const SIGNS_OF_LIFE: u64 = 4;

/// Result of a check of the timers.
pub(crate) enum Check {
    /// Check again at this time. These packets have timed out, and a probe may have to be sent.
    Again { at: Instant, timed_out: Vec<u32>, probe: Option<NdpHeader> },
    /// The flow fails for this reason.
    GiveUp(FailureReason),
}

impl Sender {
    /// Rule 6, timeout: packets without an answer leave again on another path. Also requests a pull that must have been
    /// lost, and gives up on a silent receiver.
    pub fn check(&mut self, cx: &Context<'_>) -> Check {
        if self.window.next() > 0 && cx.now.since(self.last_heard) > cx.rules.give_up {
            return Check::GiveUp(FailureReason::ReceiverSilent);
        }
        let Some((timed_out, mut next)) = self.expire(cx) else {
            return Check::GiveUp(FailureReason::PacketUnanswered);
        };
        self.counts.timeouts += timed_out.len() as u32;
        let mut probe = None;
        if let Some(due) = self.probe_at(cx.rules) {
            next = next.min(due);
            if due <= cx.now {
                probe = self.ask(cx.now);
                next = next.min(self.probe_at(cx.rules).unwrap_or(Instant::NEVER));
            }
        }
        if self.idle() {
            // The delay grows with the idle time: streams that are idle for short moments leave no timers behind.
            next = next.min(cx.now + cx.rules.timeout.max(cx.now.since(self.last_progress)));
        }
        let step = Picos(cx.rules.timeout.0 / CHECKS_PER_TIMEOUT + 1);
        Check::Again { at: next.max(cx.now + step), timed_out, probe }
    }

    /// Makes timed-out packets urgent. Returns them and the time of the next check: at least once per timeout while
    /// packets are in flight, because the timeout may shrink meanwhile. `None`: a packet has timed out too often.
    fn expire(&mut self, cx: &Context<'_>) -> Option<(Vec<u32>, Instant)> {
        let (mut timed_out, mut next) = (Vec::new(), Instant::NEVER);
        let longest = cx.rules.give_up.saturating_mul(MOST_TIMEOUTS.1);
        let waits = self.patience.waits(cx.rules);
        for (seq, slot) in self.window.iter_mut().filter(|(_, slot)| slot.state == State::Sent) {
            let due = slot.sent.after(waits.after(cx.rules, slot.timeouts));
            if due > cx.now {
                next = next.min(due).min(cx.now + cx.rules.timeout);
                continue;
            }
            self.patience.suspect_loss(seq, slot.sent, slot.timeouts);
            slot.timeouts = slot.timeouts.saturating_add(1);
            if slot.timeouts >= MOST_TIMEOUTS.0 && cx.now.since(slot.first_sent) > longest {
                return None;
            }
            slot.state = State::Urgent;
            self.paths.feedback(slot.path, Feedback::Loss);
            self.bursts.note(false);
            self.urgent.push_back(seq);
            timed_out.push(seq);
        }
        Some((timed_out, next))
    }

    /// When the next PROBE is due; `None` if no answer is expected.
    fn probe_at(&self, rules: &Rules) -> Option<Instant> {
        if self.idle() { self.sign_of_life_at(rules) } else { self.pull_missed_at(rules) }
    }

    /// Time of the next sign of life. An idle stream without an answer sends PROBEs as often as one that misses a pull.
    fn sign_of_life_at(&self, rules: &Rules) -> Option<Instant> {
        let unanswered = self.last_probe > self.last_heard;
        let often = if unanswered { LEAST_PROBES } else { SIGNS_OF_LIFE };
        let since = self.last_heard.max(self.last_probe);
        (self.window.next() > 0).then(|| since.after(Picos(rules.give_up.0 / often)))
    }

    /// When an expected pull counts as lost; `None` if no pull is expected.
    fn pull_missed_at(&self, rules: &Rules) -> Option<Instant> {
        let work = !self.again.is_empty() || (self.push == 0 && self.window.next() < self.offered);
        let patience = Picos(rules.timeout.0.max(self.longest_pull_gap.0)).saturating_mul(PATIENCE);
        let patience = if self.patience.answers.crowded() {
            patience.saturating_mul(CROWDED_PATIENCE)
        } else {
            patience
        };
        let since = self.last_heard.max(self.last_pull).max(self.last_probe);
        let wait = patience.saturating_mul(1 << u32::from(self.probes).min(MAX_DOUBLINGS));
        (work && self.credit == 0).then(|| since.after(wait.min(Picos(rules.give_up.0 / LEAST_PROBES))))
    }

    /// Makes the receiver pull again, by a PROBE. A receiver that has never answered may not know the connection, so
    /// that a PROBE would be useless: a returned packet leaves without a pull instead, and may open the connection.
    fn ask(&mut self, now: Instant) -> Option<NdpHeader> {
        self.probes = self.probes.saturating_add(1);
        self.last_probe = now;
        if self.is_answered() {
            return Some(self.probe(now));
        }
        if let Some(seq) = self.again.pop_front() {
            self.window.note(State::Waiting, State::Urgent);
            self.set_state(seq, State::Urgent);
            self.urgent.push_back(seq);
        }
        None
    }

    fn probe(&mut self, now: Instant) -> NdpHeader {
        if self.idle() {
            // The pull in the answer ends no gap: no data waited for it.
            self.last_pull = now;
        }
        let newest = self.window.next().saturating_sub(1);
        NdpHeader::Probe { conn: self.conn, seq: self.again.front().copied().unwrap_or(newest) }
    }
}
