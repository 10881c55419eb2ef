use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::{Capacity, Context, Item, Limit, QueueSettings};

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

/// The rule of a stencil-name port.
#[derive(Clone, Debug, Default)]
pub struct StencilNameRule(Fifo);

/// One port of a stencil-name switch.
pub type StencilName<P> = Classes<StencilNameRule, P, 1>;

impl ClassRule<1> for StencilNameRule {
    type Config = StencilNameConfig;
    type Rules = Limit;
    type Shared = ();

    fn rules(config: &StencilNameConfig) -> Limit {
        config.queue.into()
    }

    fn shared(_: &Limit, _: usize) {}

    fn new(_: &Limit) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        limit: &Limit,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, 1>,
        _: &mut impl Context<P>,
    ) -> Verdict {
        if !limit.admits(self.0.packets(), self.0.bytes(), size) {
            return Verdict::Drop(drop_reason(packet));
        }
        self.0.add(packet, size);
        Verdict::Take(0)
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        _: &Limit,
        _: &mut (),
        (packet, size): (&P, u32),
        _: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.0.serve(packet, size);
        false
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &Limit, _: &mut (), _: &mut impl Context<P>) {
        self.0.complete();
    }

    #[inline]
    fn data_held(&self, _: [u32; 1]) -> u32 {
        self.0.data_held()
    }

    #[inline]
    fn queued(&self, control: bool, _: [u32; 1]) -> u32 {
        self.0.queued(control)
    }
}
