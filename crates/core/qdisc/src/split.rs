use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::{Bytes, Picos, QueueSize};

use crate::context::Context;
use crate::discipline::{Discipline, Lookahead};
use crate::drop_tail::{DropTail, DropTailConfig, DropTailRules};
use crate::item::Item;
use crate::marking::MarkWhen;
use crate::queue_settings::{Capacity, QueueSettings};
use crate::trim::{Trim, TrimConfig, TrimRules};

settings! {
    /// Two classes on every port: class 0 is an NDP switch, class 1 one drop-tail queue. Packets of priority 0 belong to class
    /// 0, all others to class 1. While both have packets, they divide the link by weighted fair service.
    pub struct SplitConfig {
        /// Class 0's share of the link while both classes have packets.
        trim_share: f64 = 0.5 in 0.01 => 0.99,
        /// Class 0: room for data packets, the one in service included. Packets or bytes. Source: NDP section 3.1, 8 packets.
        data_queue: QueueSize = "8 packets" in "1 packets" => "60000 packets",
        /// Class 0: room for control packets and headers, the one in service excluded. Source: NDP section 3.2.4: the memory
        /// of 8 packets of 9 kB.
        control_queue: QueueSize = "72 kB" in "1 packets" => "100000000 packets",
        /// Class 0: bytes on the wire that a trim leaves. Source: NDP section 3.2.4, 64 B.
        trim_to: Bytes = "64 B" in "8 B" => "256 B",
        /// Class 0: whether a header without room goes back to its sender instead of being dropped. Source: NDP section 3.2.4.
        return_to_sender: bool = true,
        /// Class 1: room for packets of any kind, the one in service included. Packets or bytes. Source: NDP section 6.1 gives
        /// DCTCP and MPTCP 200 packets.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// Class 1: packets of ECN-capable transports are marked while the class holds more than this. Packets or bytes;
        /// absent: no packet is marked. Source: NDP section 6.1 gives DCTCP 30 packets.
        mark_above: Option<QueueSize> = "",
        /// Class 1: when that is looked at. Source: RFC 8257 and the DCTCP paper mark on arrival.
        mark_at: MarkWhen = "enqueue" unused if mark_above == "",
        /// Class 1: packets that collect the state of ports find it here: time, rate of the link, and bytes that the class has sent and
        /// holds (in-band network telemetry, as HPCC needs).
        telemetry: bool = false,
    }
}

impl SplitConfig {
    fn trim(&self) -> TrimConfig {
        let Self { data_queue, control_queue, trim_to, return_to_sender, .. } = *self;
        TrimConfig { data_queue, control_queue, trim_to, return_to_sender, ..TrimConfig::default() }
    }

    fn tail(&self) -> DropTailConfig {
        let Self { queue, mark_above, mark_at, telemetry, .. } = *self;
        DropTailConfig { queue, mark_above, mark_at, telemetry }
    }
}

impl QueueSettings for SplitConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![
            Capacity { key: "data_queue", room: self.data_queue, of_data: true },
            Capacity { key: "control_queue", room: self.control_queue, of_data: false },
            Capacity { key: "queue", room: self.queue, of_data: true },
        ]
    }

    fn trim_to(&self) -> Option<Bytes> {
        Some(self.trim_to)
    }

    fn classes(&self) -> u8 {
        2
    }
}

/// Sum of the weights of both classes.
const WEIGHTS: f64 = 1000.0;

/// [`SplitConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct SplitRules {
    trim: TrimRules,
    tail: DropTailRules,
    /// By class.
    weights: [i64; 2],
}

/// One port of a switch with an NDP class and a drop-tail class.
#[derive(Clone, Debug)]
pub struct Split<P> {
    trim: Trim<P>,
    tail: DropTail<P>,
    /// Service by which class 0 is ahead of class 1 since both have packets: bytes times the weight of the other class.
    ahead: i64,
    /// Whether the packet in service is of class 1.
    serving_tail: bool,
}

/// Whether a packet belongs to class 1.
fn is_tail(packet: &impl Item) -> bool {
    packet.priority() > 0
}

impl<P: Item> Lookahead for Split<P> {
    type Rules = SplitRules;

    fn shortest_next(&self, rules: &SplitRules) -> Option<u32> {
        let next = [self.trim.shortest_next(&rules.trim), self.tail.shortest_next(&rules.tail)];
        next.into_iter().flatten().min()
    }
}

impl<P: Item> Discipline<P> for Split<P> {
    const SHARES: bool = false;
    type Config = SplitConfig;
    type Shared = ();

    fn rules(config: &SplitConfig) -> SplitRules {
        let trim = libm::round(config.trim_share * WEIGHTS);
        SplitRules {
            trim: Trim::<P>::rules(&config.trim()),
            tail: DropTail::<P>::rules(&config.tail()),
            weights: [trim as i64, (WEIGHTS - trim) as i64],
        }
    }

    fn shared(_: &SplitRules, _: usize) {}

    fn new(rules: &SplitRules) -> Self {
        let (trim, tail) = (Trim::new(&rules.trim), DropTail::new(&rules.tail));
        Self { trim, tail, ahead: 0, serving_tail: false }
    }

    fn trimmed_size(rules: &SplitRules) -> Option<u32> {
        Trim::<P>::trimmed_size(&rules.trim)
    }

    fn return_latency(rules: &SplitRules) -> Option<Picos> {
        Trim::<P>::return_latency(&rules.trim)
    }

    fn enqueue(&mut self, rules: &SplitRules, shared: &mut (), packet: P, cx: &mut impl Context<P>) {
        if is_tail(&packet) {
            self.tail.enqueue(&rules.tail, shared, packet, cx);
        } else {
            self.trim.enqueue(&rules.trim, shared, packet, cx);
        }
    }

    /// Serves the class that is behind. A class without packets saves up no service.
    fn dequeue(&mut self, rules: &SplitRules, shared: &mut (), cx: &mut impl Context<P>) -> Option<P> {
        let both = !self.trim.is_empty() && !self.tail.is_empty();
        if !both {
            self.ahead = 0;
        }
        self.serving_tail = if both { self.ahead > 0 } else { self.trim.is_empty() };
        let packet = if self.serving_tail {
            self.tail.dequeue(&rules.tail, shared, cx)?
        } else {
            self.trim.dequeue(&rules.trim, shared, cx)?
        };
        if both {
            let size = i64::from(packet.wire(Self::trimmed_size(rules).unwrap_or(0)));
            let [trim, tail] = rules.weights;
            self.ahead += if self.serving_tail { -size * trim } else { size * tail };
        }
        Some(packet)
    }

    fn complete(&mut self, rules: &SplitRules, shared: &mut (), cx: &mut impl Context<P>) {
        if self.serving_tail {
            self.tail.complete(&rules.tail, shared, cx);
        } else {
            self.trim.complete(&rules.trim, shared, cx);
        }
    }

    fn prefetch_targets(&self) -> [*const P; 2] {
        [self.trim.prefetch_targets()[0], self.tail.prefetch_targets()[0]]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&P)) {
        self.trim.waiting(visit);
        self.tail.waiting(visit);
    }

    fn is_empty(&self) -> bool {
        self.trim.is_empty() && self.tail.is_empty()
    }

    fn data_held(&self) -> u32 {
        self.trim.data_held() + self.tail.data_held()
    }

    fn queued(&self, control: bool) -> u32 {
        self.trim.queued(control) + self.tail.queued(control)
    }
}
