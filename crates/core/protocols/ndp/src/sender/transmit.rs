//! Departures from a sender: rules 1 and 7.

use pullnet_pull::WINDOW;
use pullnet_rng::RandomStream;
use pullnet_transport::Transmit;
use pullnet_units::WireLen;

use super::{Context, Sender};
use crate::config::Rules;
use crate::header::NdpHeader;
use crate::window::{Slot, State};

/// Kind of packet that a connection could send now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A retransmission.
    Again,
    /// A new packet.
    New,
}

/// Choices made when a packet leaves.
struct Leaving {
    seq: u32,
    path: u16,
    pulled: bool,
}

impl Sender {
    /// Returns the kind of packet that could leave now; `None` if none could.
    #[inline]
    pub fn ready(&mut self, rules: &Rules) -> Option<Ready> {
        let pulled = self.credit > 0 && self.has_room(rules);
        if self.may_send_again(pulled) {
            return Some(Ready::Again);
        }
        let may_send_new = (self.push > 0 || pulled) && self.window.len() < WINDOW;
        (may_send_new && self.window.next() < self.offered).then_some(Ready::New)
    }

    /// Whether a retransmission could leave; `pulled` says whether a packet may leave on a pull.
    #[inline]
    fn may_send_again(&mut self, pulled: bool) -> bool {
        if self.urgent.is_empty() && self.again.is_empty() {
            return false;
        }
        self.forget_answered();
        !self.urgent.is_empty() || (pulled && !self.again.is_empty())
    }

    /// Drops packets from the queues that have been acknowledged since they were queued.
    #[inline(never)]
    fn forget_answered(&mut self) {
        while self.urgent.front().is_some_and(|seq| !self.window.is(*seq, State::Urgent)) {
            self.urgent.pop_front();
        }
        while self.again.front().is_some_and(|seq| !self.window.is(*seq, State::Waiting)) {
            self.again.pop_front();
        }
    }

    /// Returns the next packet: first urgent packets without a pull, then trimmed packets, then new data.
    pub fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit<NdpHeader>> {
        let ready = self.ready(cx.rules)?;
        let leaving = match ready {
            Ready::Again => self.leave_again(cx)?,
            Ready::New => self.leave_new(cx),
        };
        Some(self.packet(cx.rules, leaving, ready == Ready::Again))
    }

    #[inline(never)]
    fn leave_again(&mut self, cx: &mut Context<'_>) -> Option<Leaving> {
        let (seq, pulled) = match self.urgent.pop_front() {
            Some(seq) => (seq, false),
            None => (self.again.pop_front()?, true),
        };
        self.credit -= u32::from(pulled);
        let slot = self.window.get_mut(seq)?;
        let path = self.paths.next_except(slot.path, cx.chance);
        self.counts.sent += 1;
        self.counts.again += 1;
        let before = slot.state;
        *slot = Slot { sent: cx.now, path, state: State::Sent, ..*slot };
        self.window.note(before, State::Sent);
        Some(Leaving { seq, path, pulled })
    }

    fn leave_new(&mut self, cx: &mut Context<'_>) -> Leaving {
        let pulled = self.push == 0;
        self.push -= u32::from(!pulled);
        self.credit -= u32::from(pulled);
        let seq = self.window.next();
        if seq == 0 {
            // Until now the receiver had nothing to answer.
            self.last_heard = cx.now;
        }
        let path = self.path_before(seq).unwrap_or_else(|| self.next_path(cx));
        self.counts.sent += 1;
        self.window.push(cx.now, path);
        Leaving { seq, path, pulled }
    }

    /// The path of the packet before `seq`, if both are of one burst. If it has been acknowledged, the burst ends.
    fn path_before(&mut self, seq: u32) -> Option<u16> {
        if !self.bursts.goes_on() {
            return None;
        }
        self.window.get_mut(seq - 1).map(|slot| slot.path)
    }

    /// The path of the next burst.
    fn next_path(&mut self, cx: &mut Context<'_>) -> u16 {
        self.bursts.begin(cx.rules.burst);
        self.paths.next(cx.chance)
    }

    /// Rule 7, end of data: the last packet is marked LAST. Every packet of the first window may open the connection.
    fn packet(&self, rules: &Rules, leaving: Leaving, again: bool) -> Transmit<NdpHeader> {
        let Leaving { seq, path, pulled } = leaving;
        let (syn, last) = (self.is_syn(rules, seq), self.last == Some(seq));
        let wire = WireLen::of(self.payload(rules, seq) + rules.header);
        let header = NdpHeader::Data { conn: self.conn, seq, syn, last, pulled, priority: self.priority };
        Transmit { again, ..Transmit::data(self.to, path, wire, header) }
    }

    /// A path for a PROBE. It is chosen outside of the rounds, so that data packets still use their paths evenly.
    pub fn probe_path(&self, chance: &mut RandomStream) -> u16 {
        self.paths.any(chance)
    }

    /// Number of retransmissions and of new packets that could leave now.
    pub fn allowed(&mut self, rules: &Rules) -> (u32, u32) {
        self.forget_answered();
        let room = if self.has_room(rules) { self.credit } else { 0 };
        let pulled = room.min(self.again.len() as u32);
        let new = (self.push + room - pulled).min(self.offered - self.window.next());
        (self.urgent.len() as u32 + pulled, new.min(WINDOW - self.window.len().min(WINDOW)))
    }

    /// Payload bytes of an unacknowledged packet.
    pub(super) fn payload(&self, rules: &Rules, seq: u32) -> u32 {
        match &self.payloads {
            Some(payloads) => payloads.of(seq),
            None if self.last == Some(seq) => self.last_payload.into(),
            None => rules.mtu,
        }
    }
}
