use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_transport::Reliance;
use pullnet_units::QueueSize;

use crate::context::{Context, Outcome, Rank};
use crate::discipline::{Discipline, Lookahead};
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// pFabric (Alizadeh et al., SIGCOMM 2013): serves the earliest packet of the flow with the smallest rank, and evicts
    /// the packets with the largest rank where room is missing. Packets of transports that state no rank are served first
    /// in, first out.
    pub struct PfabricConfig {
        /// Room for packets of any kind, the one in service included. Packets or bytes. Source: pFabric section 5.3, two
        /// bandwidth-delay products, 36 kB at 10 Gb/s.
        queue: QueueSize = "36864 B" in "1 packets" => "1000000 packets",
    }
}

impl QueueSettings for PfabricConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }

    fn supports(&self, reliance: Reliance) -> bool {
        reliance == Reliance::Ranks
    }
}

/// Sort key of a waiting packet, stored apart from the packets so that a search reads little memory.
#[derive(Clone, Copy, Debug)]
struct SortKey {
    rank: Rank,
    /// Place in the order of arrival.
    arrival: u64,
    /// Bytes on the wire.
    size: u32,
}

/// One port of a pFabric switch. Queues are short (24 full packets by default), so a linear search costs less than a
/// sorted queue.
#[derive(Clone, Debug)]
pub struct Pfabric<P> {
    held: Fifo,
    arrivals: u64,
    /// Sort keys in the order of `packets`; that order has no meaning.
    keys: Vec<SortKey>,
    packets: Vec<P>,
}

impl<P: Item> Pfabric<P> {
    fn take(&mut self, position: usize) -> (P, u32) {
        let key = self.keys.swap_remove(position);
        (self.packets.swap_remove(position), key.size)
    }

    /// The packet with the largest rank; the newest one on a tie.
    fn least_urgent(&self) -> Option<usize> {
        let key = |position: &usize| {
            let key = &self.keys[*position];
            (key.rank.rank, key.arrival)
        };
        (0..self.keys.len()).max_by_key(key)
    }

    /// The packet to serve: the earliest packet of the flow whose packet has the smallest rank. On a tie, the earliest
    /// such packet decides.
    fn most_urgent(&self) -> Option<usize> {
        let first = self.keys.iter().min_by_key(|key| (key.rank.rank, key.arrival))?;
        let flow = first.rank.flow;
        let of_flow = (0..self.keys.len()).filter(|position| self.keys[*position].rank.flow == flow);
        of_flow.min_by_key(|position| self.keys[*position].arrival)
    }
}

impl<P: Item> Lookahead for Pfabric<P> {
    type Rules = Limit;

    fn data_room(&self, _: &Limit, _: u32) -> u32 {
        u32::MAX
    }

    fn control_room(&self, _: &Limit) -> u32 {
        u32::MAX
    }

    fn shortest_next(&self, _: &Limit) -> Option<u32> {
        self.keys.iter().map(|key| key.size).min()
    }
}

impl<P: Item> Discipline<P> for Pfabric<P> {
    const SHARES: bool = false;
    type Config = PfabricConfig;
    type Shared = ();

    fn rules(config: &PfabricConfig) -> Limit {
        config.queue.into()
    }

    fn shared(_: &Limit, _: usize) {}

    fn new(_: &Limit) -> Self {
        Self { held: Fifo::default(), arrivals: 0, keys: Vec::new(), packets: Vec::new() }
    }

    fn trimmed_size(_: &Limit) -> Option<u32> {
        None
    }

    fn enqueue(&mut self, limit: &Limit, _: &mut (), packet: P, cx: &mut impl Context<P>) {
        let size = packet.wire(0);
        self.held.add(&packet, size);
        self.keys.push(SortKey { rank: cx.rank(&packet), arrival: self.arrivals, size });
        self.packets.push(packet);
        self.arrivals += 1;
        while !limit.holds(self.held.packets(), self.held.bytes()) {
            let Some(position) = self.least_urgent() else { return };
            let (packet, size) = self.take(position);
            self.held.remove(&packet, size);
            cx.outcome(Outcome::Dropped { packet, why: drop_reason(&packet), trimmed: false });
        }
    }

    fn dequeue(&mut self, _: &Limit, _: &mut (), _: &mut impl Context<P>) -> Option<P> {
        let (packet, size) = self.take(self.most_urgent()?);
        self.held.serve(&packet, size);
        Some(packet)
    }

    fn complete(&mut self, _: &Limit, _: &mut (), _: &mut impl Context<P>) {
        self.held.complete();
    }

    fn prefetch_targets(&self) -> [*const P; 2] {
        [self.packets.as_ptr(); 2]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        self.packets.iter().for_each(visit);
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn data_held(&self) -> u32 {
        self.held.data_held()
    }

    fn queued(&self, control: bool) -> u32 {
        self.held.queued(control)
    }
}
