use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::classes::{Classes, Verdict};
use crate::context::Context;
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::one_queue::{OneQueue, QueueRule};
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// stencil-name: one first-in-first-out queue for all packets.
    pub struct StencilNameConfig {
        /// Capacity for packets of any kind, the one in service included. Packets or bytes.
        queue: QueueSize = "100 packets" in "1 packets" => "1000000 packets",
    }
}

impl QueueSettings for StencilNameConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }
}

/// The rule of a stencil-name port beside its queue.
#[derive(Clone, Debug, Default)]
pub struct StencilNameQueue;

/// The rule of a stencil-name port.
pub type StencilNameRule = OneQueue<StencilNameQueue>;

/// One port of a stencil-name switch.
pub type StencilName<P> = Classes<StencilNameRule, P, 1>;

impl QueueRule for StencilNameQueue {
    type Config = StencilNameConfig;
    type Rules = Limit;

    fn rules(config: &StencilNameConfig) -> Limit {
        config.queue.into()
    }

    fn new(_: &Limit) -> Self {
        Self
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        limit: &Limit,
        (packet, size): (&P, u32),
        held: &Fifo,
        _: &mut impl Context<P>,
    ) -> Verdict {
        if limit.has_room(held, size) { Verdict::Take(0) } else { Verdict::Drop(drop_reason(packet)) }
    }
}
