use core::fmt;

use pullnet_settings::Settings;
use pullnet_transport::Hop;
use pullnet_units::{BitsPerSec, Instant};

use crate::classes::Verdict;
use crate::context::Context;
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::one_queue::{OneQueue, QueueRule};

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

/// The answers of a port with one queue to the headers of departing packets.
#[derive(Clone, Debug, Default)]
pub struct Answering<A>(pub A);

/// The rule of a port with one first-in-first-out queue that answers the headers of departing packets.
pub type HopFifo<A> = OneQueue<Answering<A>>;

impl<A: Answers> QueueRule for Answering<A> {
    type Config = A::Config;
    type Rules = A::Rules;

    fn rules(config: &A::Config) -> A::Rules {
        A::rules(config)
    }

    fn new(_: &A::Rules) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &A::Rules,
        (packet, size): (&P, u32),
        held: &Fifo,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        self.0.note_arrival(rules, (cx.rate(), cx.now()), size, held);
        if A::limit(rules).has_room(held, size) {
            Verdict::Take(0)
        } else {
            Verdict::Drop(drop_reason(packet))
        }
    }

    /// A dropped packet is never shown, so nothing is granted to it.
    #[inline]
    fn write<P: Item>(
        &mut self,
        rules: &A::Rules,
        (packet, _): (&mut P, u32),
        _: &Fifo,
        cx: &mut impl Context<P>,
    ) {
        let now = cx.now();
        cx.show(packet, &mut self.0.hop(rules, now));
    }
}
