use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::{Bytes, QueueSize};

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::context::Context;
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::marking::{MarkWhen, StepMark};
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// Drop-tail ports that share one pool of memory per switch.
    ///
    /// A packet is admitted while its port holds at most `alpha` times what is free in the pool (dynamic thresholds,
    /// Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
    pub struct SharedBufferConfig {
        /// Memory of the whole switch. Bytes on the wire.
        pool: Bytes = "1 MB" in "1 kB" => "100 GB",
        /// How much of the free memory one port may hold. Factor.
        alpha: f64 = 1.0 in 0.001 => 1000.0,
        /// Packets of ECN-capable transports are marked while their port holds more than this. Packets or bytes; absent:
        /// no packet is marked.
        mark_above: Option<QueueSize> = "",
        /// When that is looked at.
        mark_at: MarkWhen = "enqueue" unused if mark_above == "",
    }
}

impl QueueSettings for SharedBufferConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "pool", room: QueueSize::Bytes(self.pool), of_data: true }]
    }
}

/// [`SharedBufferConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct SharedBufferRules {
    pool: u64,
    alpha: f64,
    mark: StepMark,
}

/// The pool of one switch.
#[derive(Clone, Copy, Debug)]
pub struct SharedPool {
    free: u64,
}

impl SharedPool {
    /// Unused bytes.
    pub fn free(&self) -> u64 {
        self.free
    }
}

/// The rule of a port whose switch has one memory for all ports.
#[derive(Clone, Debug, Default)]
pub struct SharedBufferRule(Fifo);

/// One port of a switch whose ports share memory.
pub type SharedBuffer<P> = Classes<SharedBufferRule, P, 1>;

impl ClassRule<1> for SharedBufferRule {
    const SHARES: bool = true;
    type Config = SharedBufferConfig;
    type Rules = SharedBufferRules;
    type Shared = SharedPool;

    fn rules(config: &SharedBufferConfig) -> SharedBufferRules {
        let mark = config.mark_above.map_or(StepMark::NEVER, |above| StepMark::new(above, config.mark_at));
        SharedBufferRules { pool: config.pool.0, alpha: config.alpha, mark }
    }

    fn shared(rules: &SharedBufferRules, _: usize) -> SharedPool {
        SharedPool { free: rules.pool }
    }

    fn new(_: &SharedBufferRules) -> Self {
        Self::default()
    }

    fn admit<P: Item>(
        &mut self,
        rules: &SharedBufferRules,
        pool: &mut SharedPool,
        (packet, size): (&P, u32),
        _: Waiting<'_, P, 1>,
        _: &mut impl Context<P>,
    ) -> Verdict {
        let threshold = pool.free as f64 * rules.alpha;
        if u64::from(size) > pool.free || self.0.bytes() as f64 > threshold {
            return Verdict::Drop(drop_reason(packet));
        }
        pool.free -= u64::from(size);
        let verdict = rules.mark.take(packet, &self.0);
        self.0.add(packet, size);
        verdict
    }

    fn serve<P: Item>(
        &mut self,
        rules: &SharedBufferRules,
        _: &mut SharedPool,
        (packet, size): (&P, u32),
        _: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.0.serve(packet, size);
        rules.mark.marks_departing(packet, &self.0)
    }

    fn complete<P: Item>(&mut self, _: &SharedBufferRules, pool: &mut SharedPool, _: &mut impl Context<P>) {
        pool.free += u64::from(self.0.complete());
    }

    fn data_held(&self, _: [u32; 1]) -> u32 {
        self.0.data_held()
    }

    fn queued(&self, control: bool, _: [u32; 1]) -> u32 {
        self.0.queued(control)
    }
}
