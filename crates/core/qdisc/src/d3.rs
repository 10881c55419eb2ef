use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_transport::{Grant, Hop, MOST_RATE, RATE_UNIT, RateAsk, RateUnits, Reliance};
use pullnet_units::{BitsPerSec, Instant, Picos, QueueSize};

use crate::classes::Classes;
use crate::fifo::Fifo;
use crate::hop_fifo::{Answers, HopFifo};
use crate::limit::Limit;
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// D3 (Wilson et al., SIGCOMM 2011): one first-in-first-out queue for all packets, and rates that the port allocates to
    /// flows that request them. With flows that desire nothing it is RCP.
    pub struct D3Config {
        /// Room for packets of any kind, the one in service included. Packets or bytes. Source: none; as drop-tail.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// How often the capacity is estimated. Source: none stated; a few round trips.
        interval: Picos = "500 us" in "1 us" => "1 s",
        /// Part of the unused rate that is added to the capacity, in thousandths. Source: none stated; XCP's 0.4.
        spare_gain: u32 = 400 in 0 => 1000,
        /// Part of the bytes that never stopped waiting in an interval for which the capacity leaves room in the next one, in
        /// thousandths. Source: none stated; XCP's 0.226.
        queue_gain: u32 = 226 in 0 => 4000,
        /// Target of the capacity, in thousandths of the link's rate: the rest keeps the queue short where packets of several
        /// flows meet. Source: none stated.
        target: u32 = 980 in 100 => 1000,
        /// The largest capacity, in thousandths of the link's rate: more than 1000 allocates again what flows were granted and do
        /// not use. Source: none stated.
        most_capacity: u32 = 4000 in 100 => 4000,
        /// Grants that were not renewed for this long are forgotten, and for twice as long at the latest. Must be longer than
        /// the hosts' `lease` and the way of a packet together. Source: none; the paper forgets nothing.
        epoch: Picos = "10 ms" in "10 us" => "100 s",
    }
}

impl QueueSettings for D3Config {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }

    fn supports(&self, reliance: Reliance) -> bool {
        reliance == Reliance::Rates
    }

    fn forgets_after(&self) -> Option<(&'static str, Picos)> {
        Some(("epoch", self.epoch))
    }
}

/// [`D3Config`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct D3Rules {
    limit: Limit,
    interval: u64,
    spare_gain: i64,
    queue_gain: i64,
    target: i64,
    most_capacity: i64,
    epoch: u64,
}

/// Requests and grants, summed over flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Flows (N).
    pub flows: u32,
    /// Desired rates (D).
    pub desired: u64,
    /// Granted rates (A).
    pub granted: u64,
}

impl Sums {
    fn add(&mut self, desired: RateUnits, granted: RateUnits) {
        self.flows = self.flows.saturating_add(1);
        self.desired += u64::from(desired);
        self.granted += u64::from(granted);
    }

    fn remove(&mut self, desired: RateUnits, granted: RateUnits) {
        self.flows = self.flows.saturating_sub(1);
        self.desired = self.desired.saturating_sub(u64::from(desired));
        self.granted = self.granted.saturating_sub(u64::from(granted));
    }
}

/// Tags of epochs are 1 to this; 0 says that nothing was granted.
const TAGS: u64 = 255;
/// Intervals without a packet after which the capacity no longer changes, regardless of the gain.
const IDLE_INTERVALS: u64 = 64;

/// The arithmetic of one port. Integers only, and no state of any flow.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    /// Rate of the link; 0 before the first packet.
    link: i64,
    /// Capacity (C).
    capacity: i64,
    /// Everything that is granted.
    all: Sums,
    /// The part of it that flows requested in this epoch.
    renewed: Sums,
    epoch: u64,
    /// Bytes that have arrived in this interval, and the fewest that waited.
    arrived: u64,
    least: u64,
    interval: u64,
}

impl Allocator {
    /// Sums over flows at `now`, without requests that were not renewed.
    pub fn sums(&mut self, rules: &D3Rules, now: Instant) -> Sums {
        self.forget(rules, now.0 / rules.epoch);
        self.all
    }

    /// The capacity, in units of rates.
    pub fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    fn start(&mut self, rules: &D3Rules, rate: BitsPerSec, now: Instant) {
        if self.link == 0 {
            self.link = (rate.get() / RATE_UNIT).clamp(1, u64::from(MOST_RATE)) as i64;
            self.capacity = (self.link * rules.target / 1000).max(1);
            (self.interval, self.epoch) = (now.0 / rules.interval, now.0 / rules.epoch);
        }
    }

    /// `bytes` arrive while `waiting` wait.
    fn note(&mut self, rules: &D3Rules, (rate, now): (BitsPerSec, Instant), bytes: u32, waiting: u64) {
        self.start(rules, rate, now);
        self.estimate(rules, now, waiting);
        self.arrived += u64::from(bytes);
        self.least = self.least.min(waiting);
    }

    /// Ends an epoch: its requests count in the next epoch. Capacity that made up for grants that are forgotten ends with them.
    fn forget(&mut self, rules: &D3Rules, epoch: u64) {
        let before = self.all.granted;
        match epoch.saturating_sub(self.epoch) {
            0 => return,
            1 => self.all = self.renewed,
            _ => self.all = Sums::default(),
        }
        let forgotten = before.saturating_sub(self.all.granted) as i64;
        let target = self.target(rules);
        self.capacity = self.capacity.min(target.max(self.capacity - forgotten));
        (self.renewed, self.epoch) = (Sums::default(), epoch);
    }

    /// C <- C + alpha (target - y/T) - beta q/T at the end of every interval T, in which y bytes arrived and at least q waited. Of a
    /// queue that is empty now and then nothing is to be drained: it is packets of several flows that meet.
    fn estimate(&mut self, rules: &D3Rules, now: Instant, waiting: u64) {
        let ended = (now.0 / rules.interval).saturating_sub(self.interval);
        if ended == 0 {
            return;
        }
        self.interval += ended;
        self.forget(rules, now.0 / rules.epoch);
        let (arrived, least) =
            (core::mem::take(&mut self.arrived), core::mem::replace(&mut self.least, waiting));
        self.adapt(rules, per_interval(arrived, rules.interval), per_interval(least, rules.interval));
        for _ in 1..ended.min(IDLE_INTERVALS) {
            self.adapt(rules, 0, 0);
        }
    }

    fn target(&self, rules: &D3Rules) -> i64 {
        self.link * rules.target / 1000
    }

    /// Grants that are not used may be granted again: a lost request leaves such grants behind.
    fn adapt(&mut self, rules: &D3Rules, used: i64, waiting: i64) {
        let target = self.target(rules);
        let step = (rules.spare_gain * (target - used) - rules.queue_gain * waiting) / 1000;
        let unused = (self.all.granted as i64 - used).max(0);
        let most = (target + unused).min(self.link * rules.most_capacity.max(rules.target) / 1000).max(1);
        self.capacity = (self.capacity + step).clamp((self.link / 8).max(1).min(most), most);
    }

    /// Grant of a flow that requests at `now`.
    pub fn allocate(&mut self, rules: &D3Rules, now: Instant, ask: RateAsk) -> Grant {
        let epoch = now.0 / rules.epoch;
        self.forget(rules, epoch);
        let tag = |epoch: u64| (epoch % TAGS + 1) as u8;
        let renews = ask.granted.epoch == tag(epoch);
        if renews {
            self.renewed.remove(ask.before, ask.granted.rate);
        }
        if renews || epoch > 0 && ask.granted.epoch == tag(epoch - 1) {
            self.all.remove(ask.before, ask.granted.rate);
        }
        if ask.ends {
            return Grant::default();
        }
        let left = self.capacity().saturating_sub(self.all.granted);
        let demand = self.all.desired + u64::from(ask.desired);
        let fair = self.capacity().saturating_sub(demand) / (u64::from(self.all.flows) + 1);
        let usable = left.min(self.link as u64).min(MOST_RATE.into());
        let rate = (u64::from(ask.desired) + fair).min(usable) as RateUnits;
        self.all.add(ask.desired, rate);
        self.renewed.add(ask.desired, rate);
        Grant { rate, epoch: tag(epoch) }
    }
}

/// Bytes in an interval of `interval` ps, as a rate.
fn per_interval(bytes: u64, interval: u64) -> i64 {
    const PER_BYTE: u64 = 8 * 1_000_000_000_000 / RATE_UNIT;
    (u128::from(bytes) * u128::from(PER_BYTE) / u128::from(interval)).min(i64::MAX as u128 >> 16) as i64
}

/// One port as a header sees it that leaves now.
struct Leaving<'a> {
    allocator: &'a mut Allocator,
    rules: D3Rules,
    now: Instant,
}

impl Hop for Leaving<'_> {
    fn allocate(&mut self, ask: RateAsk) -> Option<Grant> {
        Some(self.allocator.allocate(&self.rules, self.now, ask))
    }
}

impl Answers for Allocator {
    type Config = D3Config;
    type Rules = D3Rules;

    fn rules(config: &D3Config) -> D3Rules {
        D3Rules {
            limit: config.queue.into(),
            interval: config.interval.0,
            spare_gain: config.spare_gain.into(),
            queue_gain: config.queue_gain.into(),
            target: config.target.into(),
            most_capacity: config.most_capacity.into(),
            epoch: config.epoch.0,
        }
    }

    fn limit(rules: &D3Rules) -> Limit {
        rules.limit
    }

    #[inline(always)]
    fn note_arrival(&mut self, rules: &D3Rules, (rate, now): (BitsPerSec, Instant), bytes: u32, held: &Fifo) {
        self.note(rules, (rate, now), bytes, held.bytes());
    }

    #[inline]
    fn hop(&mut self, rules: &D3Rules, now: Instant) -> impl Hop {
        Leaving { allocator: self, rules: *rules, now }
    }
}

/// The rule of a D3 port.
pub type D3Rule = HopFifo<Allocator>;

/// One port of a D3 switch.
pub type D3<P> = Classes<D3Rule, P, 1>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000_000;

    fn rules() -> D3Rules {
        Allocator::rules(&D3Config { target: 1000, ..D3Config::default() })
    }

    /// A port that allocates all of its 1 Gb/s.
    fn allocator() -> Allocator {
        let mut allocator = Allocator::default();
        allocator.start(&rules(), BitsPerSec::gbps(1), Instant(0));
        allocator
    }

    fn ask(desired: RateUnits, before: RateUnits, granted: Grant) -> RateAsk {
        RateAsk { desired, before, granted, ends: false }
    }

    #[test]
    fn first_come_first_served_and_what_is_left_is_shared() {
        let (mut port, now) = (allocator(), Instant(0));
        let mut grant = |desired| port.allocate(&rules(), now, ask(desired, 0, Grant::default()));
        let first = grant(6_000);
        assert_eq!(first.rate, 10_000, "what it desires and all that is left");
        assert_eq!(grant(3_000).rate, 0, "nothing is left until the first one asks again");
        let first = port.allocate(&rules(), now, ask(6_000, 6_000, first));
        assert_eq!(first.rate, 6_500, "half of the 1000 that no flow desires");
        let third = port.allocate(&rules(), now, ask(5_000, 0, Grant::default()));
        assert_eq!(third.rate, 3_500, "too late: what is left");
    }

    #[test]
    fn flows_that_desire_nothing_share_equally_after_a_round() {
        let (mut port, now) = (allocator(), Instant(0));
        let mut grants = [Grant::default(); 5];
        for _ in 0..3 {
            for grant in &mut grants {
                *grant = port.allocate(&rules(), now, ask(0, 0, *grant));
            }
        }
        assert_eq!(grants.map(|grant| grant.rate), [2_000; 5]);
        for granted in grants {
            port.allocate(&rules(), now, RateAsk { ends: true, granted, ..RateAsk::default() });
        }
        assert_eq!(port.sums(&rules(), now), Sums::default());
    }

    #[test]
    fn a_flow_that_vanishes_holds_its_rate_for_two_epochs_at_most() {
        let mut port = allocator();
        let lost = port.allocate(&rules(), Instant(MS), ask(9_000, 0, Grant::default()));
        assert_eq!(lost.rate, 10_000);
        assert_eq!(port.sums(&rules(), Instant(19 * MS)).granted, 10_000, "its epoch and the next one");
        let other = port.allocate(&rules(), Instant(20 * MS), ask(9_000, 0, Grant::default()));
        assert_eq!(other.rate, 10_000);
        // The lost flow requests again: its claimed rate no longer counts, and the other flow keeps its own.
        let back = port.allocate(&rules(), Instant(21 * MS), ask(9_000, 9_000, lost));
        assert_eq!(back.rate, 0);
        assert_eq!(
            port.sums(&rules(), Instant(21 * MS)),
            Sums { flows: 2, desired: 18_000, granted: 10_000 }
        );
    }

    #[test]
    fn the_capacity_drains_queues_and_recovers() {
        let (mut port, rules) = (allocator(), rules());
        let rate = BitsPerSec::gbps(1);
        // 62.5 kB is what 1 Gb/s carries in an interval of 500 us.
        port.note(&rules, (rate, Instant(0)), 62_500, 0);
        port.note(&rules, (rate, Instant(MS / 2)), 62_500, 31_250);
        assert_eq!(port.capacity(), 10_000, "the queue was empty once");
        port.note(&rules, (rate, Instant(MS)), 62_500, 37_500);
        assert_eq!(port.capacity(), 10_000 - 226 * 5_000 / 1000, "half an interval's worth never left");
        port.note(&rules, (rate, Instant(3 * MS / 2)), 0, 0);
        assert_eq!(port.capacity(), 8_870 - 226 * 6_000 / 1000, "and more");
        port.note(&rules, (rate, Instant(500 * MS)), 0, 0);
        assert_eq!(port.capacity(), 10_000, "idle");
    }

    #[test]
    fn what_a_vanished_flow_was_granted_is_granted_again_until_it_is_forgotten() {
        let (mut port, rules, rate) = (allocator(), rules(), BitsPerSec::gbps(1));
        assert_eq!(port.allocate(&rules, Instant(0), ask(0, 0, Grant::default())).rate, 10_000);
        let mut capacities = Vec::new();
        for interval in 1..=5 {
            port.note(&rules, (rate, Instant(interval * MS / 2)), 0, 0);
            capacities.push(port.capacity());
        }
        assert_eq!(
            capacities,
            [14_000, 18_000, 20_000, 20_000, 20_000],
            "0.4 of the link's rate per interval"
        );
        let other = port.allocate(&rules, Instant(3 * MS), ask(10_000, 0, Grant::default()));
        assert_eq!(other.rate, 10_000);
        // It sends at that rate.
        port.note(&rules, (rate, Instant(3 * MS)), 62_500, 0);
        port.note(&rules, (rate, Instant(7 * MS / 2)), 62_500, 0);
        assert_eq!(port.capacity(), 20_000);
        // It asks again after 11 ms, in the next epoch, and so stays when the vanished flow is forgotten after 20 ms.
        let other = port.allocate(&rules, Instant(11 * MS), ask(10_000, 10_000, other));
        assert_eq!((other.rate, port.sums(&rules, Instant(11 * MS)).granted), (10_000, 20_000));
        assert_eq!((port.sums(&rules, Instant(20 * MS)).granted, port.capacity()), (10_000, 10_000));
    }

    /// A flow of a property test: its last request, and the last grant that reached it.
    type Flow = Option<(RateUnits, Grant)>;

    proptest! {
        /// Random flows that request, miss the answer, request again, end, or vanish; the capacity changes under them.
        #[test]
        fn grants_never_exceed_the_capacity_and_everything_returns_to_zero(
            steps in proptest::collection::vec((0..8usize, 0..12_000u32, 0..6u8, 0..3 * MS), 1..300)
        ) {
            let (mut port, rules) = (allocator(), rules());
            let mut flows: [Flow; 8] = Default::default();
            let mut now = 0;
            for (number, desired, what, wait) in steps {
                now += wait;
                let at = Instant(now);
                let flow = &mut flows[number];
                let (before, granted) = flow.unwrap_or_default();
                match what {
                    0 => {
                        port.allocate(&rules, at, RateAsk { desired: 0, before, granted, ends: true });
                        *flow = None;
                    }
                    1 => *flow = None,
                    2 => port.note(&rules, (BitsPerSec::gbps(1), at), desired, u64::from(desired) * 3),
                    what => {
                        let held = port.sums(&rules, at).granted;
                        let grant = port.allocate(&rules, at, ask(desired, before, granted));
                        let all = port.sums(&rules, at).granted;
                        prop_assert!(all <= port.capacity().max(held), "{all} of {}", port.capacity());
                        prop_assert!(grant.rate == 0 || all <= port.capacity(), "a grant above the capacity");
                        // The answer is lost: the next ask says nothing of what went before.
                        *flow = (what > 3).then_some((desired, grant));
                    }
                }
                let known: u64 = flows.iter().flatten().filter(|(_, grant)| {
                    let tag = |epoch: u64| (epoch % TAGS + 1) as u8;
                    let epoch = now / rules.epoch;
                    grant.epoch == tag(epoch) || epoch > 0 && grant.epoch == tag(epoch - 1)
                }).map(|(_, grant)| u64::from(grant.rate)).sum();
                prop_assert!(known <= port.sums(&rules, at).granted, "{known} is granted and not counted");
            }
            prop_assert_eq!(port.sums(&rules, Instant(now + 2 * rules.epoch)), Sums::default());
        }
    }
}
