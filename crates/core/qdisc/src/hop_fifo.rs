use core::fmt;

use pullnet_settings::Settings;
use pullnet_transport::Hop;
use pullnet_units::{BitsPerSec, Instant};

use crate::classes::{ClassRule, Verdict, Waiting};
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::{Context, Item, Limit};

/// State and arithmetic of a port that answers the headers of departing packets.
pub trait Answers: Clone + Default + fmt::Debug {
    /// Settings as a scenario states them.
    type Config: Settings + Clone;
    /// The settings in the form in which ports use them.
    type Rules: Clone + Send + Sync;

    /// The settings, ready for use.
    fn rules(config: &Self::Config) -> Self::Rules;
    /// Capacity of the queue.
    fn limit(rules: &Self::Rules) -> Limit;
    /// A packet of `bytes` bytes arrives at a port over a link of `rate`; the queue holds `held`.
    fn note_arrival(&mut self, rules: &Self::Rules, link: (BitsPerSec, Instant), bytes: u32, held: &Fifo);
    /// The port as the header of a packet sees it that leaves now.
    fn hop(&mut self, rules: &Self::Rules, now: Instant) -> impl Hop;
}

/// The rule of a port with one first-in-first-out queue that answers the headers of departing packets.
#[derive(Clone, Debug, Default)]
pub struct HopFifo<A> {
    held: Fifo,
    /// State of the answers.
    pub answers: A,
}

impl<A: Answers> ClassRule<1> for HopFifo<A> {
    type Config = A::Config;
    type Rules = A::Rules;
    type Shared = ();

    fn rules(config: &A::Config) -> A::Rules {
        A::rules(config)
    }

    fn shared(_: &A::Rules, _: usize) {}

    fn new(_: &A::Rules) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &A::Rules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, 1>,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        self.answers.note_arrival(rules, (cx.rate(), cx.now()), size, &self.held);
        if !A::limit(rules).admits(self.held.packets(), self.held.bytes(), size) {
            return Verdict::Drop(drop_reason(packet));
        }
        self.held.add(packet, size);
        Verdict::Take(0)
    }

    #[inline(always)]
    fn next<P: Item>(
        &mut self,
        _: &A::Rules,
        _: Waiting<'_, P, 1>,
        _: &mut impl Context<P>,
    ) -> Option<usize> {
        Some(0)
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        _: &A::Rules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.held.serve(packet, size);
        false
    }

    /// A dropped packet is never shown, so nothing is granted to it.
    #[inline]
    fn write<P: Item>(
        &mut self,
        rules: &A::Rules,
        _: &mut (),
        (packet, _): (&mut P, u32),
        cx: &mut impl Context<P>,
    ) {
        let now = cx.now();
        cx.show(packet, &mut self.answers.hop(rules, now));
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &A::Rules, _: &mut (), _: &mut impl Context<P>) {
        self.held.complete();
    }

    #[inline]
    fn data_held(&self, _: [u32; 1]) -> u32 {
        self.held.data_held()
    }

    #[inline]
    fn queued(&self, control: bool, _: [u32; 1]) -> u32 {
        self.held.queued(control)
    }
}
