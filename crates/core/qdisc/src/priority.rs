use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::{choice, settings};
use pullnet_units::QueueSize;

use crate::classes::{ClassRule, Classes, Verdict, Waiting};
use crate::context::Context;
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::marking::{MarkWhen, StepMark};
use crate::queue_settings::{Capacity, QueueSettings};

/// Number of classes: one per priority of [`Item::priority`].
const CLASSES: usize = 8;

choice! {
    /// Owner of the room of a strict-priority port.
    pub enum Sharing {
        /// All classes share the room of the port.
        Port = "port",
        /// Each class has room of its own.
        Class = "class",
    }
}

settings! {
    /// Strict priority: one first-in-first-out queue for each of eight priorities, the most urgent served first. A packet
    /// without room is dropped, regardless of its priority.
    pub struct PriorityConfig {
        /// Room for packets of any kind, the one in service included. Packets or bytes; of the port or of each class.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// Whether `queue` and `mark_above` count the packets of the whole port, or those of each class.
        sharing: Sharing = "port",
        /// Packets of ECN-capable transports are marked while the port, or their class, holds more than this. Packets or
        /// bytes; absent: no packet is marked.
        mark_above: Option<QueueSize> = "",
        /// When that is looked at.
        mark_at: MarkWhen = "enqueue" unused if mark_above == "",
    }
}

impl QueueSettings for PriorityConfig {
    fn classes(&self) -> u8 {
        CLASSES as u8
    }

    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }
}

/// [`PriorityConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct PriorityRules {
    limit: Limit,
    mark: StepMark,
    sharing: Sharing,
}

/// The rule of a strict-priority port.
#[derive(Clone, Debug, Default)]
pub struct PriorityRule {
    port: Fifo,
    classes: [Fifo; CLASSES],
    /// The class of the packet in service.
    serving: usize,
}

/// One port of a strict-priority switch.
pub type Priority<P> = Classes<PriorityRule, P, CLASSES>;

impl PriorityRule {
    /// The counts that the room and the threshold of `class` apply to.
    #[inline]
    fn counted(&self, rules: &PriorityRules, class: usize) -> &Fifo {
        match rules.sharing {
            Sharing::Port => &self.port,
            Sharing::Class => &self.classes[class],
        }
    }
}

impl ClassRule<CLASSES> for PriorityRule {
    type Config = PriorityConfig;
    type Rules = PriorityRules;
    type Shared = ();

    fn rules(config: &PriorityConfig) -> PriorityRules {
        let mark = config.mark_above.map_or(StepMark::NEVER, |above| StepMark::new(above, config.mark_at));
        PriorityRules { limit: config.queue.into(), mark, sharing: config.sharing }
    }

    fn shared(_: &PriorityRules, _: usize) {}

    fn new(_: &PriorityRules) -> Self {
        Self::default()
    }

    #[inline]
    fn admit<P: Item>(
        &mut self,
        rules: &PriorityRules,
        _: &mut (),
        (packet, size): (&P, u32),
        _: Waiting<'_, P, CLASSES>,
        _: &mut impl Context<P>,
    ) -> Verdict {
        let class = usize::from(packet.priority()) % CLASSES;
        let held = self.counted(rules, class);
        let (packets, bytes) = (held.packets(), held.bytes());
        if !rules.limit.admits(packets, bytes, size) {
            return Verdict::Drop(drop_reason(packet));
        }
        self.port.add(packet, size);
        self.classes[class].add(packet, size);
        if rules.mark.at_enqueue(packets, bytes) && packet.ect() {
            Verdict::Mark(class)
        } else {
            Verdict::Take(class)
        }
    }

    #[inline]
    fn next<P: Item>(
        &mut self,
        _: &PriorityRules,
        waiting: Waiting<'_, P, CLASSES>,
        _: &mut impl Context<P>,
    ) -> Option<usize> {
        (0..CLASSES).rev().find(|class| waiting.len(*class) > 0)
    }

    #[inline]
    fn serve<P: Item>(
        &mut self,
        rules: &PriorityRules,
        _: &mut (),
        (packet, size): (&P, u32),
        class: usize,
        _: &mut impl Context<P>,
    ) -> bool {
        self.port.serve(packet, size);
        self.classes[class].serve(packet, size);
        self.serving = class;
        let (packets, bytes) = self.counted(rules, class).behind();
        rules.mark.at_dequeue(packets, bytes) && packet.ect()
    }

    #[inline]
    fn complete<P: Item>(&mut self, _: &PriorityRules, _: &mut (), _: &mut impl Context<P>) {
        self.port.complete();
        self.classes[self.serving].complete();
    }

    #[inline]
    fn data_held(&self, _: [u32; CLASSES]) -> u32 {
        self.port.data_held()
    }

    #[inline]
    fn queued(&self, control: bool, _: [u32; CLASSES]) -> u32 {
        self.port.queued(control)
    }
}
