use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::{choice, settings};
use pullnet_units::{Bytes, QueueSize};

use crate::classes::{Classes, Verdict};
use crate::context::Context;
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::one_queue::{OneQueue, QueueRule};
use crate::queue_settings::{Capacity, QueueSettings};

choice! {
    /// Which packets count towards the threshold of a Cut Payload port.
    pub enum Occupancy {
        /// All packets, headers included: a flood of headers keeps data out (public NDP code).
        All = "all",
        /// Data packets only.
        Data = "data",
    }
}

settings! {
    /// Cut Payload (CP): one first-in-first-out queue per port; above a threshold an arriving packet loses its payload, and
    /// its header waits in the same queue (Cheng et al., NSDI 2014; NDP, SIGCOMM 2017, section 2).
    pub struct CutPayloadConfig {
        /// A data packet that would make the port hold more than this loses its payload; the packet in service counts.
        /// Packets or bytes. Source: public NDP code, half of `queue`; 72 kB are the 8 packets of 9 kB of NDP section 3.1.
        threshold: QueueSize = "72 kB" in "1 packets" => "1000000 packets",
        /// Which packets count towards `threshold`. Source: public NDP code.
        occupancy: Occupancy = "all",
        /// Room for packets of any kind, the one in service included; a packet without room is dropped. Packets or bytes.
        queue: QueueSize = "144 kB" in "1 packets" => "1000000 packets",
        /// Bytes on the wire that a trim leaves. Source: NDP section 3.2.4, 64 B.
        trim_to: Bytes = "64 B" in "8 B" => "256 B",
    }
}

impl QueueSettings for CutPayloadConfig {
    fn capacities(&self) -> Vec<Capacity> {
        let threshold = Capacity { key: "threshold", room: self.threshold, of_data: true };
        vec![threshold, Capacity { key: "queue", room: self.queue, of_data: true }]
    }

    fn trim_to(&self) -> Option<Bytes> {
        Some(self.trim_to)
    }
}

/// [`CutPayloadConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct CutPayloadRules {
    threshold: Limit,
    occupancy: Occupancy,
    queue: Limit,
    trim_to: u32,
}

/// The rule of a Cut Payload port beside its queue.
#[derive(Clone, Debug, Default)]
pub struct CutPayloadQueue {
    /// Data packets among the packets held.
    data: Fifo,
}

/// The rule of a Cut Payload port.
pub type CutPayloadRule = OneQueue<CutPayloadQueue>;

/// One port of a Cut Payload switch.
pub type CutPayload<P> = Classes<CutPayloadRule, P, 1>;

impl CutPayloadQueue {
    /// Whether a data packet of `size` bytes keeps its payload.
    fn keeps_payload(&self, rules: &CutPayloadRules, size: u32, all: &Fifo) -> bool {
        let counted = match rules.occupancy {
            Occupancy::All => all,
            Occupancy::Data => &self.data,
        };
        rules.threshold.has_room(counted, size) && rules.queue.has_room(all, size)
    }
}

impl QueueRule for CutPayloadQueue {
    type Config = CutPayloadConfig;
    type Rules = CutPayloadRules;

    fn rules(config: &CutPayloadConfig) -> CutPayloadRules {
        CutPayloadRules {
            threshold: config.threshold.into(),
            occupancy: config.occupancy,
            queue: config.queue.into(),
            trim_to: config.trim_to.0 as u32,
        }
    }

    fn new(_: &CutPayloadRules) -> Self {
        Self::default()
    }

    fn trimmed_size(rules: &CutPayloadRules) -> Option<u32> {
        Some(rules.trim_to)
    }

    /// If a packet's payload has no room, the rule decides again about its header, also where `queue` and not
    /// `threshold` is the limit.
    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &CutPayloadRules,
        (packet, size): (&P, u32),
        held: &Fifo,
        _: &mut impl Context<P>,
    ) -> Verdict {
        if packet.is_control() {
            if !rules.queue.has_room(held, size) {
                return Verdict::Drop(drop_reason(packet));
            }
        } else if self.keeps_payload(rules, size, held) {
            self.data.add(packet, size);
        } else {
            return Verdict::TrimArriving;
        }
        Verdict::Take(0)
    }

    #[inline(always)]
    fn serve<P: Item>(&mut self, _: &CutPayloadRules, (packet, size): (&P, u32), _: &Fifo) -> bool {
        if !packet.is_control() {
            self.data.serve(packet, size);
        }
        false
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &CutPayloadRules, _: &Fifo, _: &mut impl Context<P>) {
        self.data.complete();
    }

    /// No header is ever sent back.
    #[inline]
    fn control_room(&self, _: &CutPayloadRules) -> u32 {
        u32::MAX
    }
}
