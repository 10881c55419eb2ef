use pullnet_settings::settings;
use pullnet_units::Bytes;

use crate::drop_tail::drop_reason;
use crate::{Discipline, DropTail, Item, Outcome};

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
    }
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

/// One port of a switch whose ports share memory.
#[derive(Clone, Debug)]
pub struct SharedBuffer<P>(DropTail<P>);

impl<P: Item> Discipline<P> for SharedBuffer<P> {
    const SHARES: bool = true;
    type Config = SharedBufferConfig;
    type Rules = SharedBufferConfig;
    type Shared = SharedPool;

    fn rules(config: &SharedBufferConfig) -> SharedBufferConfig {
        config.clone()
    }

    fn shared(rules: &SharedBufferConfig, _: usize) -> SharedPool {
        SharedPool { free: rules.pool.0 }
    }

    fn new(_: &SharedBufferConfig) -> Self {
        Self(DropTail::empty())
    }

    fn enqueue(
        &mut self,
        rules: &SharedBufferConfig,
        pool: &mut SharedPool,
        packet: P,
        _: impl FnOnce() -> bool,
    ) -> Outcome<P> {
        let size = u64::from(packet.wire());
        let threshold = pool.free as f64 * rules.alpha;
        if size <= pool.free && self.0.held_bytes() as f64 <= threshold {
            pool.free -= size;
            self.0.push(packet);
            Outcome::Queued
        } else {
            Outcome::Dropped { packet, why: drop_reason(&packet), trimmed: false }
        }
    }

    fn dequeue(&mut self, _: &SharedBufferConfig, _: &mut SharedPool) -> Option<P> {
        self.0.pop()
    }

    fn complete(&mut self, _: &SharedBufferConfig, pool: &mut SharedPool) {
        pool.free += u64::from(self.0.finish());
    }

    fn places(&self) -> [*const P; 2] {
        [self.0.first(), self.0.first()]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        self.0.each(visit);
    }

    fn is_empty(&self) -> bool {
        self.0.next_size().is_none()
    }

    fn data_held(&self) -> u32 {
        self.0.data()
    }

    fn queued(&self, control: bool) -> u32 {
        self.0.queued(control)
    }

    fn data_room(&self, _: &SharedBufferConfig, _: u32) -> u32 {
        u32::MAX
    }

    fn control_room(&self, _: &SharedBufferConfig) -> u32 {
        u32::MAX
    }

    fn shortest_next(&self) -> Option<u32> {
        self.0.next_size()
    }

    fn trimmed_size(_: &SharedBufferConfig) -> Option<u32> {
        None
    }
}
