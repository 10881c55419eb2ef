//! The sender of a stream, whose data is offered piece by piece.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use pullnet_transport::FlowSpec;

use super::{Context, Sender};
use crate::config::Rules;

/// Payload bytes of a stream's packets, from the first unacknowledged one to the last offered one.
#[derive(Clone, Default, Debug)]
pub(super) struct Payloads {
    first: u32,
    bytes: VecDeque<u16>,
}

impl Payloads {
    /// Payload bytes of packet `seq`; 0 if it is not stored.
    pub fn of(&self, seq: u32) -> u32 {
        let index = seq.checked_sub(self.first);
        index.and_then(|index| self.bytes.get(index as usize)).copied().unwrap_or(0).into()
    }
}

impl Sender {
    /// A connection without packets yet. Rule 1 applies to the first window, no matter when its packets are offered.
    pub fn open_stream(cx: &mut Context<'_>, flow: &FlowSpec) -> Self {
        let payloads = Some(Box::default());
        let push = cx.rules.initial_window;
        let endless = Self::open(cx, &FlowSpec { size: None, ..*flow });
        Self { offered: 0, push, first_unheard: 0, payloads, ..endless }
    }

    /// The application offers another packet. False if the packet numbers have run out.
    pub fn offer(&mut self, cx: &Context<'_>, payload: u16, last: bool) -> bool {
        let idle = self.idle();
        let Some(payloads) = self.payloads.as_mut().filter(|_| self.last.is_none()) else { return true };
        if self.offered == u32::MAX - 1 {
            return false;
        }
        payloads.bytes.push_back(payload);
        if idle {
            // Until now the receiver had no reason to pull.
            (self.last_pull, self.probes) = (cx.now, 0);
        }
        self.first_unheard += u16::from(self.offered < cx.rules.initial_window);
        if last {
            self.last = Some(self.offered);
        }
        self.offered += 1;
        true
    }

    /// Whether packet `seq` may open the connection. In a stream, no packet may once the first one is acknowledged: a
    /// receiver that has forgotten the stream must not take its middle for its beginning.
    pub(super) fn is_syn(&self, rules: &Rules, seq: u32) -> bool {
        let open = self.payloads.is_some() && self.window.first() > 0;
        seq < rules.initial_window && !open
    }

    /// Forgets the payloads of acknowledged packets.
    pub(super) fn forget_payloads(&mut self) {
        let Some(payloads) = self.payloads.as_mut() else { return };
        let gone = self.window.first() - payloads.first;
        payloads.bytes.drain(..gone as usize);
        payloads.first += gone;
    }

    /// Whether a packet may leave on a pull. A stream may last for days, and lost or duplicated packets may earn too
    /// many pulls: the packets in flight still never exceed a first window.
    #[inline]
    pub(super) fn has_room(&self, rules: &Rules) -> bool {
        self.payloads.is_none() || self.window.in_flight() + self.push < rules.initial_window
    }

    /// Largest credit that is kept. An idle stream keeps a first window, because its next data is pushed again. A flow
    /// keeps no more than the packets that may still have to leave.
    pub(super) fn useful_credit(&self, rules: &Rules) -> u32 {
        match self.payloads {
            Some(_) => rules.initial_window - self.push,
            None => (self.total() - self.window.next()).saturating_add(self.window.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pullnet_rng::Seed;
    use pullnet_transport::{ConnId, HostAddr};
    use pullnet_units::{BitsPerSec, Instant};

    use super::*;
    use crate::config::NdpConfig;

    #[test]
    fn the_last_number_is_the_largest_but_one() {
        let rules = Rules::new(&NdpConfig::default(), BitsPerSec::gbps(10));
        let mut chance = Seed(1).stream("test", 0);
        let mut cx = Context { now: Instant::ZERO, rules: &rules, chance: &mut chance };
        let flow = FlowSpec { conn: ConnId::new(1), to: HostAddr(2), paths: 1, ..FlowSpec::default() };
        let mut sender = Sender::open_stream(&mut cx, &flow);
        sender.offered = u32::MAX - 2;
        assert!(sender.offer(&cx, 1, false));
        assert!(!sender.offer(&cx, 1, true));
    }
}
