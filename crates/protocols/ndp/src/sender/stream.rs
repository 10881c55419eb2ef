//! A sender whose data becomes known piece by piece.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use pullnet_transport::FlowSpec;

use super::{Context, Sender};
use crate::config::Rules;

/// The payload bytes of a stream's packets, from the first that is not acknowledged to the last that was offered.
#[derive(Clone, Default, Debug)]
pub(super) struct Payloads {
    first: u32,
    bytes: VecDeque<u16>,
}

impl Payloads {
    /// Those of packet `seq`; 0 if it is not among them.
    pub fn of(&self, seq: u32) -> u32 {
        let index = seq.checked_sub(self.first);
        index.and_then(|index| self.bytes.get(index as usize)).copied().unwrap_or(0).into()
    }
}

impl Sender {
    /// A connection without packets yet. Rule 1 holds for the first window, whenever its packets become known.
    pub fn open_stream(cx: &mut Context<'_>, flow: &FlowSpec) -> Self {
        let payloads = Some(Box::default());
        let push = cx.rules.initial_window;
        let endless = Self::open(cx, &FlowSpec { size: None, ..*flow });
        Self { offered: 0, push, first_unheard: 0, payloads, ..endless }
    }

    /// The application has another packet. False if it cannot be numbered.
    pub fn offer(&mut self, cx: &Context<'_>, payload: u16, last: bool) -> bool {
        let idle = self.idle();
        let Some(payloads) = self.payloads.as_mut().filter(|_| !self.ended) else { return true };
        if self.offered == u32::MAX - 1 {
            return false;
        }
        if idle {
            // Until now nobody had to pull.
            (self.last_pull, self.probes) = (cx.now, 0);
        }
        payloads.bytes.push_back(payload);
        self.first_unheard += u16::from(self.offered < cx.rules.initial_window);
        self.offered += 1;
        self.ended = last;
        true
    }

    /// Forgets payloads that are acknowledged.
    pub(super) fn forget_payloads(&mut self) {
        let Some(payloads) = self.payloads.as_mut() else { return };
        let gone = self.window.first() - payloads.first;
        payloads.bytes.drain(..gone as usize);
        payloads.first += gone;
    }

    /// Credit that is kept at most. An idle stream keeps a first window, for its next data is pushed again; of a flow,
    /// more than the packets that may still have to leave is of no use.
    pub(super) fn useful_credit(&self, rules: &Rules) -> u32 {
        match self.payloads {
            Some(_) => rules.initial_window - self.push,
            None => (self.offered - self.window.next()).saturating_add(self.window.len()),
        }
    }
}
