use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::fifo::Fifo;
use crate::telemetry::Telemetry;
use crate::{Capacity, Context, DropReason, Item, Limit, MarkWhen, QueueSettings, StepMark};

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
        mark_at: MarkWhen = "enqueue",
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

/// The rule of a drop-tail port.
#[derive(Clone, Debug, Default)]
pub struct DropTailRule(Fifo, Telemetry);

/// One port of a drop-tail switch.
pub type DropTail<P> = Classes<DropTailRule, P, 1>;

impl ClassRule<1> for DropTailRule {
    type Config = DropTailConfig;
    type Rules = DropTailRules;
    type Shared = ();

    fn rules(config: &DropTailConfig) -> DropTailRules {
        let mark = config.mark_above.map_or(StepMark::NEVER, |above| StepMark::new(above, config.mark_at));
        DropTailRules { limit: config.queue.into(), mark, telemetry: config.telemetry }
    }

    fn shared(_: &DropTailRules, _: usize) {}

    fn new(_: &DropTailRules) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn admit<P: Item>(
        &mut self,
        rules: &DropTailRules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, 1>,
        _: &mut impl Context<P>,
    ) -> Verdict {
        let (packets, bytes) = (self.0.packets(), self.0.bytes());
        if !rules.limit.admits(packets, bytes, size) {
            return Verdict::Drop(drop_reason(packet));
        }
        self.0.add(packet, size);
        if rules.mark.at_enqueue(packets, bytes) && packet.ect() {
            Verdict::Mark(0)
        } else {
            Verdict::Take(0)
        }
    }

    #[inline(always)]
    fn serve<P: Item>(
        &mut self,
        rules: &DropTailRules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.0.serve(packet, size);
        let (packets, bytes) = self.0.behind();
        rules.mark.at_dequeue(packets, bytes) && packet.ect()
    }

    #[inline(always)]
    fn write<P: Item>(
        &mut self,
        rules: &DropTailRules,
        _: &mut (),
        (packet, size): (&mut P, u32),
        cx: &mut impl Context<P>,
    ) {
        if rules.telemetry {
            let (_, waiting) = self.0.behind();
            self.1.write(packet, size, waiting, &mut cx.apart());
        }
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &DropTailRules, _: &mut (), _: &mut impl Context<P>) {
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

/// Reason of a drop: the kind of packet that had no room.
pub(crate) fn drop_reason(packet: &impl Item) -> DropReason {
    if packet.is_control() { DropReason::ControlQueueFull } else { DropReason::DataQueueFull }
}
