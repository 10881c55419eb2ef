use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_units::{Bytes, Instant, QueueSize};

use crate::classes::{Classes, Verdict};
use crate::context::{Context, DropReason};
use crate::drop_tail::drop_reason;
use crate::fifo::Fifo;
use crate::item::Item;
use crate::limit::Limit;
use crate::one_queue::{OneQueue, QueueRule};
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// Random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993) on one first-in-first-out
    /// queue. With `weight = 1.0` the queue itself counts and not its average, as in DCQCN's switches.
    pub struct RedConfig {
        /// Room for packets of any kind, the one in service included. Packets or bytes.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// Average up to which nothing is marked or dropped early. Packets or bytes, in the unit of `high`.
        low: QueueSize = "5 packets" in "0 packets" => "1000000 packets",
        /// Average from which every packet is marked or dropped early. Packets or bytes.
        high: QueueSize = "15 packets" in "1 packets" => "1000000 packets",
        /// Probability of a mark just below `high`. Source: Floyd and Jacobson, section 5, 1/50.
        probability: f64 = 0.02 in 0.0 => 1.0,
        /// Weight of a new sample in the average. Source: Floyd and Jacobson, section 4, 0.002.
        weight: f64 = 0.002 in 0.000001 => 1.0,
        /// Whether packets of ECN-capable transports are marked; all others are dropped.
        ecn: bool = true,
        /// Whether marks are spread evenly: the probability grows with the packets since the last mark. Source: Floyd and
        /// Jacobson, section 7.
        even: bool = true,
    }
}

impl QueueSettings for RedConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }

    fn thresholds(&self) -> Option<[(&'static str, QueueSize); 2]> {
        Some([("low", self.low), ("high", self.high)])
    }
}

/// [`RedConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct RedRules {
    limit: Limit,
    low: f64,
    high: f64,
    in_bytes: bool,
    probability: f64,
    weight: f64,
    ecn: bool,
    even: bool,
}

/// Packet length for converting idle time to packets. Bytes on the wire.
const TYPICAL_PACKET: u64 = 1500;

/// The rule of a port with random early detection beside its queue.
#[derive(Clone, Debug)]
pub struct RedQueue {
    average: f64,
    /// Packets since the last mark; -1 while the average is low.
    since_mark: i64,
    /// Since when the port has been empty, as far as the average does not know it yet. Without meaning while it holds
    /// packets.
    idle_since: Instant,
}

/// The rule of a port with random early detection.
pub type RedRule = OneQueue<RedQueue>;

/// One port with random early detection.
pub type Red<P> = Classes<RedRule, P, 1>;

impl RedQueue {
    /// Updates the average queue for an arriving packet. A port that drops the packet stays idle: the time until the next
    /// one counts, too. Otherwise a port whose average is high would refuse all packets although it is empty.
    fn sample<P>(&mut self, rules: &RedRules, held: &Fifo, cx: &impl Context<P>) {
        if held.packets() == 0 {
            // Idle time counts as so many small packets that found the queue empty.
            let packet = cx.rate().serialization(Bytes(TYPICAL_PACKET)).0.max(1);
            let missed = cx.now().since(self.idle_since).0 / packet;
            self.average *= libm::pow(1.0 - rules.weight, missed as f64);
            self.idle_since = cx.now();
        }
        let held = if rules.in_bytes { held.bytes() as f64 } else { f64::from(held.packets()) };
        self.average += rules.weight * (held - self.average);
    }

    /// Whether the arriving packet is chosen for a mark or drop.
    fn chosen<P>(&mut self, rules: &RedRules, cx: &mut impl Context<P>) -> bool {
        if self.average <= rules.low {
            self.since_mark = -1;
            return false;
        }
        if self.average >= rules.high {
            self.since_mark = 0;
            return true;
        }
        self.since_mark += 1;
        let base = rules.probability * (self.average - rules.low) / (rules.high - rules.low);
        let left = 1.0 - self.since_mark as f64 * base;
        let probability = if !rules.even {
            base
        } else if left > 0.0 {
            base / left
        } else {
            1.0
        };
        let chosen = cx.unit() < probability;
        if chosen {
            self.since_mark = 0;
        }
        chosen
    }
}

impl QueueRule for RedQueue {
    type Config = RedConfig;
    type Rules = RedRules;

    fn rules(config: &RedConfig) -> RedRules {
        let count = |size: QueueSize| match size {
            QueueSize::Packets(packets) => f64::from(packets.0),
            QueueSize::Bytes(bytes) => bytes.0 as f64,
        };
        RedRules {
            limit: config.queue.into(),
            low: count(config.low),
            high: count(config.high),
            in_bytes: matches!(config.high, QueueSize::Bytes(_)),
            probability: config.probability,
            weight: config.weight,
            ecn: config.ecn,
            even: config.even,
        }
    }

    fn new(_: &RedRules) -> Self {
        Self { average: 0.0, since_mark: -1, idle_since: Instant::ZERO }
    }

    fn admit<P: Item>(
        &mut self,
        rules: &RedRules,
        (packet, size): (&P, u32),
        held: &Fifo,
        cx: &mut impl Context<P>,
    ) -> Verdict {
        self.sample(rules, held, cx);
        let chosen = self.chosen(rules, cx);
        let mark = chosen && rules.ecn && packet.ect();
        if chosen && !mark {
            return Verdict::Drop(DropReason::Early);
        }
        if !rules.limit.has_room(held, size) {
            return Verdict::Drop(drop_reason(packet));
        }
        if mark { Verdict::Mark(0) } else { Verdict::Take(0) }
    }

    fn complete<P: Item>(&mut self, _: &RedRules, held: &Fifo, cx: &mut impl Context<P>) {
        if held.packets() == 0 {
            self.idle_since = cx.now();
        }
    }
}
