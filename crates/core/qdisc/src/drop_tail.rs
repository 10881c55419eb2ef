use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::classes::{Classes, Verdict};
use crate::context::{Context, DropReason};
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::marking::{MarkWhen, StepMark};
use crate::one_queue::{OneQueue, QueueRule};
use crate::queue_settings::{Capacity, QueueSettings};
use crate::telemetry::Telemetry;

settings! {
    /// One first-in-first-out queue for all packets; a packet without room is dropped.
    pub struct DropTailConfig {
        /// Room for packets of any kind, the one in service included. Packets or bytes. Source: NDP section 6.1 gives
        /// DCTCP and MPTCP 200 packets.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// Packets of ECN-capable transports are marked while the port holds more than this. Packets or bytes; absent: no
        /// packet is marked. Source: NDP section 6.1 gives DCTCP 30 packets.
        mark_above: Option<QueueSize> = "",
        /// When that is looked at. Source: RFC 8257 and the DCTCP paper mark on arrival.
        mark_at: MarkWhen = "enqueue" unused if mark_above == "",
        /// Packets that collect the state of ports find it here: time, rate, bytes sent, bytes that wait (in-band network telemetry,
        /// as HPCC needs).
        telemetry: bool = false,
    }
}

impl QueueSettings for DropTailConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }
}

/// [`DropTailConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct DropTailRules {
    limit: Limit,
    mark: StepMark,
    telemetry: bool,
}

/// The rule of a drop-tail port beside its queue.
#[derive(Clone, Debug, Default)]
pub struct DropTailQueue(Telemetry);

/// The rule of a drop-tail port.
pub type DropTailRule = OneQueue<DropTailQueue>;

/// One port of a drop-tail switch.
pub type DropTail<P> = Classes<DropTailRule, P, 1>;

impl QueueRule for DropTailQueue {
    type Config = DropTailConfig;
    type Rules = DropTailRules;

    fn rules(config: &DropTailConfig) -> DropTailRules {
        let mark = config.mark_above.map_or(StepMark::NEVER, |above| StepMark::new(above, config.mark_at));
        DropTailRules { limit: config.queue.into(), mark, telemetry: config.telemetry }
    }

    fn new(_: &DropTailRules) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &DropTailRules,
        (packet, size): (&P, u32),
        held: &Fifo,
        _: &mut impl Context<P>,
    ) -> Verdict {
        if !rules.limit.has_room(held, size) {
            return Verdict::Drop(drop_reason(packet));
        }
        rules.mark.take(packet, held)
    }

    #[inline(always)]
    fn serve<P: Item>(&mut self, rules: &DropTailRules, (packet, _): (&P, u32), held: &Fifo) -> bool {
        rules.mark.marks_departing(packet, held)
    }

    #[inline(always)]
    fn write<P: Item>(
        &mut self,
        rules: &DropTailRules,
        (packet, size): (&mut P, u32),
        held: &Fifo,
        cx: &mut impl Context<P>,
    ) {
        if rules.telemetry {
            self.0.write(packet, size, held.behind().1, &mut cx.apart());
        }
    }
}

/// Reason of a drop: the kind of packet that had no room.
pub(crate) fn drop_reason(packet: &impl Item) -> DropReason {
    if packet.is_control() { DropReason::ControlQueueFull } else { DropReason::DataQueueFull }
}
