use alloc::vec;
use alloc::vec::Vec;

use pullnet_settings::settings;
use pullnet_transport::{Hop, MOST_RATE, RATE_UNIT, RateUnits, Reliance, Turn, TurnAsk};
use pullnet_units::{BitsPerSec, Instant, Picos, QueueSize};

use crate::classes::Classes;
use crate::fifo::Fifo;
use crate::hop_fifo::{Answers, HopFifo};
use crate::limit::Limit;
use crate::queue_settings::{Capacity, QueueSettings};

settings! {
    /// PDQ (Hong, Caesar and Godfrey, SIGCOMM 2012): one first-in-first-out queue for all packets. The port lets the flows with
    /// the earliest deadlines send, then those with the least left, and pauses the others.
    pub struct PdqConfig {
        /// Capacity for packets of any kind, including the one in service. Packets or bytes. Source: none; as drop-tail.
        queue: QueueSize = "200 packets" in "1 packets" => "1000000 packets",
        /// Interval at which the capacity follows the queue; on a link that carries fewer than 16 packets of 1500 B in it, the
        /// time for these. Source: PDQ section 3 as we know it, two round trips; the value is ours.
        interval: Picos = "200 us" in "1 us" => "1 s",
        /// Flows that have fewer round trips left than this, in hundredths and together, do not keep the next flow waiting (K,
        /// Early Start); 0: none. Source: PDQ section 3 as we know it, 2.
        early_start: u32 = 200 in 0 => 10000,
        /// Part of a round trip, in hundredths, by which a paused flow probes less often for each flow ahead of it (X,
        /// Suppressed Probing); 0: every paused flow probes once per round trip. Source: PDQ section 3 as we know it, 0.2.
        probing: u32 = 20 in 0 => 1000,
        /// Time after a paused flow was let in, for which no other paused flow is (Dampening); 0: none. Source: PDQ names it
        /// without a value that we know.
        dampening: Picos = "0 s" in "0 s" => "1 s",
        /// Smallest rate that is worth sending at, in thousandths of the link's rate: a flow that could have less is paused.
        /// Source: none.
        least_share: u32 = 50 in 0 => 1000,
        /// A port lists twice as many flows as send, but at least this number. Source: PDQ section 3 as we know it, twice; the
        /// bound is ours.
        least_flows: u32 = 16 in 1 => 100000,
        /// The largest number of flows that a port lists: its memory. Source: none.
        most_flows: u32 = 1024 in 1 => 100000,
        /// Most packets of flows beyond the list in an interval: if there are more, these flows are told to probe less often.
        /// Source: none.
        turned_away: u32 = 16 in 1 => 100000,
        /// A sending flow that is silent for this long is forgotten. Must be longer than a round trip. Source: none.
        forget_sending: Picos = "5 ms" in "10 us" => "100 s",
        /// The same for a paused flow. Must be longer than the hosts' `most_probing`. Source: none.
        forget_paused: Picos = "50 ms" in "10 us" => "100 s",
    }
}

impl QueueSettings for PdqConfig {
    fn capacities(&self) -> Vec<Capacity> {
        vec![Capacity { key: "queue", room: self.queue, of_data: true }]
    }

    fn supports(&self, reliance: Reliance) -> bool {
        reliance == Reliance::Turns
    }

    fn forgets_after(&self) -> Option<(&'static str, Picos)> {
        Some(("forget_paused", self.forget_paused))
    }
}

/// [`PdqConfig`] in the form in which ports use it.
#[derive(Clone, Copy, Debug)]
pub struct PdqRules {
    limit: Limit,
    interval: u64,
    early_start: u32,
    probing: u32,
    dampening: Picos,
    least_share: u64,
    flows: (usize, usize),
    turned_away: u32,
    forget_sending: Picos,
    forget_paused: Picos,
}

/// A flow in the list of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Listed {
    deadline: u64,
    work: u32,
    flow: u64,
    rounds: u16,
    /// Rate that is set aside for it; 0: it is paused here.
    rate: RateUnits,
    heard: Instant,
    /// When it last sent as fast as this port lets it.
    full_at: Instant,
}

impl Listed {
    /// Order of flows, most critical first: earliest deadline, then least work, then the flow's number.
    fn criticality(&self) -> (u64, u32, u64) {
        (self.deadline, self.work, self.flow)
    }

    /// Whether this flow sends, and one with `work` left and the same deadline would be ahead of it by less than half a round
    /// trip. Such a flow does not take its turn: until both knew, this flow would be ahead again, and so on.
    fn keeps_its_turn(&self, deadline: u64, work: u32) -> bool {
        let ahead = u64::from(self.work.saturating_sub(work));
        self.rate > 0
            && self.deadline == deadline
            && ahead * u64::from(self.rounds) < u64::from(self.work) * 50
    }
}

/// Picoseconds that a byte takes at one unit of rate.
const PER_BYTE: u64 = 8 * 1_000_000_000_000 / RATE_UNIT;
/// Bytes that a link carries in an interval at least: a queue of a few packets is no excess on a slow one.
const LEAST_CARRIED: u64 = 16 * 1500;

/// The state of one port, in integers: the most critical flows, and the capacity that they divide.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Rate of the link; 0 before the first packet.
    link: u64,
    /// Rate that flows divide (C).
    capacity: u64,
    /// The most critical flows, in order.
    list: Vec<Listed>,
    /// Interval at which the capacity follows the queue. Picoseconds.
    period: u64,
    /// The paused flow that was let in last, and until when no other one is.
    admitted: (u64, Instant),
    interval: u64,
    /// Packets of flows beyond the list in this interval, and the interval at which they are told to probe.
    turned_away: u32,
    crowded: u32,
    /// When to look for flows to forget.
    sweep_at: Instant,
}

impl Scheduler {
    /// Number of flows in the list at `now`, and the sum of the rates set aside for them.
    pub fn flows(&mut self, rules: &PdqRules, now: Instant) -> (usize, u64) {
        self.forget(rules, now);
        (self.list.len(), self.list.iter().map(|listed| u64::from(listed.rate)).sum())
    }

    /// The rate that flows divide.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// C <- link - q/T at the end of every interval T, for q bytes that wait behind the packet in service.
    fn note(&mut self, rules: &PdqRules, (rate, now): (BitsPerSec, Instant), waiting: u64) {
        if self.link == 0 {
            self.link = (rate.get() / RATE_UNIT).clamp(1, MOST_RATE.into());
            self.period = rules.interval.max(LEAST_CARRIED * PER_BYTE / self.link);
            (self.capacity, self.interval) = (self.link, now.0 / self.period);
        }
        let ended = (now.0 / self.period).saturating_sub(self.interval);
        if ended == 0 {
            return;
        }
        self.interval += ended;
        let queue = u128::from(waiting) * u128::from(PER_BYTE) / u128::from(self.period);
        self.capacity = self.link.saturating_sub(queue.min(self.link.into()) as u64);
        self.crowded = match self.turned_away {
            many if many > rules.turned_away => (self.crowded * 2).clamp(100, u16::MAX.into()),
            few if few < rules.turned_away / 4 => self.crowded / 2,
            _ => self.crowded,
        };
        self.turned_away = 0;
    }

    fn forget(&mut self, rules: &PdqRules, now: Instant) {
        self.list.retain(|listed| {
            let patience = if listed.rate > 0 { rules.forget_sending } else { rules.forget_paused };
            listed.heard.after(patience) > now
        });
        self.sweep_at = now.after(Picos(rules.forget_sending.min(rules.forget_paused).0 / 8));
    }

    /// Most flows in the list: twice the number of those that send.
    fn room(&self, rules: &PdqRules) -> usize {
        let sending = self.list.iter().filter(|listed| listed.rate > 0).count();
        (2 * sending).max(rules.flows.0).min(rules.flows.1)
    }

    /// Capacity left for the flow at `position` by more critical flows and, if it `begins`, by flows that keep their turn. Early
    /// Start: flows that are about to end do not count.
    fn left_for(&self, rules: &PdqRules, position: usize, begins: bool) -> u64 {
        let (mut rounds, mut taken) = (0, 0);
        let Listed { deadline, work, .. } = self.list[position];
        let behind = self.list[position + 1..].iter();
        let keeping = behind.filter(|listed| begins && listed.keeps_its_turn(deadline, work));
        for listed in self.list[..position].iter().chain(keeping) {
            if rounds < rules.early_start && u32::from(listed.rounds) < rules.early_start {
                rounds += u32::from(listed.rounds);
            } else {
                taken += u64::from(listed.rate);
            }
        }
        self.capacity.saturating_sub(taken)
    }

    /// Enters the flow into the list, or moves it to its new place there. `None`: the list is full of more critical flows.
    fn place(&mut self, rules: &PdqRules, now: Instant, ask: &TurnAsk) -> Option<usize> {
        let TurnAsk { flow, deadline, work, rounds, .. } = *ask;
        let known = self.list.iter().position(|listed| listed.flow == flow);
        let (rate, full_at) = known.map_or((0, now), |position| {
            let before = self.list.remove(position);
            (before.rate, before.full_at)
        });
        let listed = Listed { deadline, work, flow, rounds, rate, heard: now, full_at };
        let place = self.list.partition_point(|other| other.criticality() < listed.criticality());
        let room = self.room(rules);
        if known.is_none() && place >= room {
            return None;
        }
        self.list.insert(place, listed);
        self.list.truncate(room.max(place + 1));
        Some(place)
    }

    /// Answers a flow that asks at `now`.
    pub fn take_turn(&mut self, rules: &PdqRules, now: Instant, ask: TurnAsk) -> Turn {
        if now >= self.sweep_at {
            self.forget(rules, now);
        }
        if ask.leaves {
            self.list.retain(|listed| listed.flow != ask.flow);
            return Turn::default();
        }
        let Some(place) = self.place(rules, now, &ask) else {
            self.turned_away = self.turned_away.saturating_add(1);
            let behind = rules.probing.saturating_mul(self.list.len() as u32);
            return Turn { rate: 0, probe_after: hundredths(behind.max(self.crowded)) };
        };
        let rate = self.rate_of(rules, now, &ask, place);
        let listed = &mut self.list[place];
        if ask.sending == 0 || ask.sending >= rate {
            listed.full_at = now;
        }
        // What is granted is set aside, also while the flow does not know of it yet. If it does not send as fast after two round
        // trips, another port limits it.
        let limited = now.since(listed.full_at).0 >= self.period;
        listed.rate = if limited { ask.sending } else { rate };
        if rate > 0 {
            return Turn { rate, probe_after: 0 };
        }
        Turn { rate, probe_after: hundredths(rules.probing.saturating_mul(place as u32)) }
    }

    fn rate_of(&mut self, rules: &PdqRules, now: Instant, ask: &TurnAsk, place: usize) -> RateUnits {
        let begins = ask.sending == 0;
        let left = self.left_for(rules, place, begins);
        let worth_it = left > 0 && left >= self.link * rules.least_share / 1000;
        let dampened = begins && ask.flow != self.admitted.0 && now < self.admitted.1;
        if !worth_it || dampened {
            return 0;
        }
        if begins {
            self.admitted = (ask.flow, now.after(rules.dampening));
        }
        left.min(ask.offered.into()) as RateUnits
    }
}

fn hundredths(value: u32) -> u16 {
    value.min(u16::MAX.into()) as u16
}

/// One port as a header sees it that leaves now.
struct Leaving<'a> {
    scheduler: &'a mut Scheduler,
    rules: PdqRules,
    now: Instant,
}

impl Hop for Leaving<'_> {
    fn take_turn(&mut self, ask: TurnAsk) -> Option<Turn> {
        Some(self.scheduler.take_turn(&self.rules, self.now, ask))
    }
}

impl Answers for Scheduler {
    type Config = PdqConfig;
    type Rules = PdqRules;

    fn rules(config: &PdqConfig) -> PdqRules {
        PdqRules {
            limit: config.queue.into(),
            interval: config.interval.0,
            early_start: config.early_start,
            probing: config.probing,
            dampening: config.dampening,
            least_share: config.least_share.into(),
            flows: (config.least_flows as usize, config.most_flows as usize),
            turned_away: config.turned_away,
            forget_sending: config.forget_sending,
            forget_paused: config.forget_paused,
        }
    }

    fn limit(rules: &PdqRules) -> Limit {
        rules.limit
    }

    #[inline(always)]
    fn note_arrival(&mut self, rules: &PdqRules, link: (BitsPerSec, Instant), _: u32, held: &Fifo) {
        self.note(rules, link, held.behind().1);
    }

    #[inline]
    fn hop(&mut self, rules: &PdqRules, now: Instant) -> impl Hop {
        Leaving { scheduler: self, rules: *rules, now }
    }
}

/// The rule of a PDQ port.
pub type PdqRule = HopFifo<Scheduler>;

/// One port of a PDQ switch.
pub type Pdq<P> = Classes<PdqRule, P, 1>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000_000;
    const NEVER: u64 = u64::MAX;

    fn rules() -> PdqRules {
        Scheduler::rules(&PdqConfig::default())
    }

    /// A port of 1 Gb/s: 10 000 units.
    fn port() -> Scheduler {
        let mut port = Scheduler::default();
        port.note(&rules(), (BitsPerSec::gbps(1), Instant(0)), 0);
        port
    }

    /// A flow that has not sent yet, with `work` in round trips.
    fn ask(flow: u64, deadline: u64, work: u32) -> TurnAsk {
        TurnAsk {
            flow,
            deadline,
            work: work * 10_000,
            rounds: work as u16 * 100,
            offered: 10_000,
            ..TurnAsk::default()
        }
    }

    fn sends(ask: TurnAsk) -> TurnAsk {
        TurnAsk { sending: 10_000, ..ask }
    }

    #[test]
    fn the_earliest_deadline_has_the_link_and_ties_go_to_the_shorter_flow() {
        let (mut port, rules, now) = (port(), rules(), Instant(US));
        let mut rate = |ask| port.take_turn(&rules, now, ask).rate;
        assert_eq!(rate(ask(1, NEVER, 10)), 10_000, "alone");
        assert_eq!(rate(ask(2, NEVER, 20)), 0, "longer");
        assert_eq!(rate(ask(3, 500, 30)), 10_000, "with a deadline");
        assert_eq!(rate(sends(ask(1, NEVER, 9))), 0, "it has none");
        assert_eq!(rate(ask(4, 500, 29)), 10_000, "as early and shorter");
        assert_eq!(rate(sends(ask(3, 500, 30))), 0);
    }

    #[test]
    fn the_next_flow_has_what_the_more_critical_one_leaves() {
        let (mut port, rules, now) = (port(), rules(), Instant(US));
        let limited = TurnAsk { offered: 6_000, ..ask(1, NEVER, 10) };
        assert_eq!(port.take_turn(&rules, now, limited).rate, 6_000);
        assert_eq!(port.take_turn(&rules, now, ask(2, NEVER, 20)).rate, 4_000);
        assert_eq!(port.take_turn(&rules, now, ask(3, NEVER, 30)), Turn { rate: 0, probe_after: 40 });
    }

    #[test]
    fn what_a_flow_does_not_use_for_two_round_trips_goes_to_the_next_one() {
        let (mut port, rules) = (port(), rules());
        let at = |micros| Instant(micros * US);
        let limited = |sending| TurnAsk { sending, ..ask(1, NEVER, 10) };
        assert_eq!(port.take_turn(&rules, at(1), limited(0)).rate, 10_000);
        assert_eq!(port.take_turn(&rules, at(2), limited(6_000)).rate, 10_000);
        assert_eq!(
            port.take_turn(&rules, at(2), ask(2, NEVER, 20)).rate,
            0,
            "it may not know of its rate yet"
        );
        assert_eq!(port.take_turn(&rules, at(201), limited(6_000)).rate, 10_000);
        assert_eq!(port.take_turn(&rules, at(201), ask(2, NEVER, 20)).rate, 4_000);
        // It finds out that it may send faster.
        assert_eq!(port.take_turn(&rules, at(202), limited(10_000)).rate, 10_000);
        assert_eq!(port.take_turn(&rules, at(202), sends(ask(2, NEVER, 20))).rate, 0);
        // The rate left is not worth sending at.
        assert_eq!(port.take_turn(&rules, at(500), limited(9_800)).rate, 10_000);
        assert_eq!(port.take_turn(&rules, at(500), ask(2, NEVER, 20)).rate, 0);
    }

    #[test]
    fn a_flow_that_is_about_to_end_does_not_keep_the_next_one_waiting() {
        let (mut port, rules, now) = (port(), rules(), Instant(US));
        port.take_turn(&rules, now, ask(1, NEVER, 10));
        assert_eq!(port.take_turn(&rules, now, ask(2, NEVER, 20)).rate, 0);
        assert_eq!(port.take_turn(&rules, now, sends(ask(1, NEVER, 1))).rate, 10_000);
        assert_eq!(port.take_turn(&rules, now, ask(2, NEVER, 20)).rate, 10_000, "one round trip is left");
        let without = PdqRules { early_start: 0, ..rules };
        assert_eq!(port.take_turn(&without, now, ask(2, NEVER, 20)).rate, 0);
        // Together they may not have more than two round trips left.
        port.take_turn(&rules, now, sends(ask(3, NEVER, 1)));
        port.take_turn(&rules, now, sends(ask(4, NEVER, 1)));
        assert_eq!(port.take_turn(&rules, now, ask(2, NEVER, 20)).rate, 0);
    }

    #[test]
    fn a_flow_that_sends_keeps_its_turn_within_half_a_round_trip() {
        let (mut port, rules, now) = (port(), rules(), Instant(US));
        let mut rate = |ask| port.take_turn(&rules, now, ask).rate;
        assert_eq!(rate(ask(2, 500, 10)), 10_000);
        assert_eq!(rate(ask(1, 500, 10)), 0, "as urgent and as long, with a lower number");
        assert_eq!(
            rate(TurnAsk { work: 95_001, ..ask(3, 500, 10) }),
            0,
            "shorter by less than half a round trip"
        );
        assert_eq!(rate(sends(ask(2, 500, 10))), 10_000, "it goes on");
        assert_eq!(rate(TurnAsk { work: 95_000, ..ask(4, 500, 10) }), 10_000, "shorter by half a round trip");
    }

    #[test]
    fn a_few_packets_are_no_excess_on_a_slow_link() {
        let (mut port, rules, rate) = (Scheduler::default(), rules(), BitsPerSec::new(2_000_000).unwrap());
        port.note(&rules, (rate, Instant(0)), 0);
        // It carries 16 packets of 1500 B in 96 ms.
        port.note(&rules, (rate, Instant(95_999 * US)), 3_000);
        assert_eq!(port.capacity(), 20);
        port.note(&rules, (rate, Instant(96_000 * US)), 3_000);
        assert_eq!(port.capacity(), 20 - 2);
    }

    #[test]
    fn a_flow_that_leaves_makes_room_at_once() {
        let (mut port, rules, now) = (port(), rules(), Instant(US));
        port.take_turn(&rules, now, ask(1, NEVER, 10));
        let leaves = TurnAsk { leaves: true, ..ask(1, NEVER, 10) };
        assert_eq!(port.take_turn(&rules, now, leaves), Turn::default());
        assert_eq!(port.flows(&rules, now), (0, 0));
        assert_eq!(port.take_turn(&rules, now, ask(2, NEVER, 20)).rate, 10_000);
    }

    #[test]
    fn silent_flows_are_forgotten_paused_ones_later() {
        let (mut port, rules) = (port(), rules());
        port.take_turn(&rules, Instant(US), ask(1, NEVER, 10));
        port.take_turn(&rules, Instant(US), ask(2, NEVER, 20));
        assert_eq!(port.flows(&rules, Instant(5_000 * US)), (2, 10_000));
        assert_eq!(port.flows(&rules, Instant(5_001 * US)), (1, 0));
        assert_eq!(port.flows(&rules, Instant(50_001 * US)), (0, 0));
    }

    #[test]
    fn after_a_flow_was_let_in_others_wait_for_the_dampening() {
        let (mut port, rules) = (port(), PdqRules { dampening: Picos(100 * US), ..rules() });
        assert_eq!(port.take_turn(&rules, Instant(US), ask(1, NEVER, 10)).rate, 10_000);
        assert_eq!(port.take_turn(&rules, Instant(2 * US), ask(2, NEVER, 5)).rate, 0);
        assert_eq!(port.take_turn(&rules, Instant(3 * US), sends(ask(1, NEVER, 9))).rate, 10_000);
        assert_eq!(port.take_turn(&rules, Instant(101 * US), ask(2, NEVER, 5)).rate, 10_000);
    }

    #[test]
    fn the_queue_is_drained_within_an_interval() {
        let (mut port, rules, rate) = (port(), rules(), BitsPerSec::gbps(1));
        // 1 Gb/s carries 25 kB in an interval of 200 us.
        for (interval, waiting, capacity) in [(1, 5_000, 8_000), (2, 100_000, 0), (3, 0, 10_000)] {
            port.note(&rules, (rate, Instant(interval * 200 * US)), waiting);
            assert_eq!(port.capacity(), capacity);
        }
    }

    #[test]
    fn beyond_the_list_flows_probe_less_often_the_more_they_are() {
        let rules = PdqRules { flows: (2, 8), turned_away: 4, ..rules() };
        let mut port = port();
        let mut longest = 0;
        for interval in 1..6u64 {
            let now = Instant(interval * 200 * US);
            port.note(&rules, (BitsPerSec::gbps(1), now), 0);
            for flow in 0..10 {
                let turn = port.take_turn(&rules, now, ask(flow, NEVER, flow as u32 + 10));
                longest = longest.max(turn.probe_after);
            }
            assert_eq!(port.flows(&rules, now).0, 2);
        }
        assert_eq!(longest, 800, "it doubles in every interval in which more than 4 are turned away");
        for interval in 7..10 {
            port.note(&rules, (BitsPerSec::gbps(1), Instant(interval * 200 * US)), 0);
        }
        let turn = port.take_turn(&rules, Instant(1_800 * US), ask(9, NEVER, 19));
        assert_eq!(
            turn.probe_after, 400,
            "it doubled once more, and was halved in two intervals without them"
        );
    }

    proptest! {
        /// Random flows begin, send, are limited elsewhere, leave or vanish.
        #[test]
        fn rates_fit_into_the_capacity_and_the_list_into_its_bound(
            steps in prop::collection::vec((0..40u64, 0..20u32, 0..6u8, 0..1_000 * US), 1..300)
        ) {
            let (mut port, rules) = (port(), PdqRules { early_start: 0, flows: (4, 12), ..rules() });
            let mut sending = [0; 40];
            let mut now = Instant(0);
            for (flow, work, what, wait) in steps {
                now = now.after(Picos(wait));
                let deadline = if flow % 3 == 0 { NEVER } else { flow };
                let rate = &mut sending[flow as usize];
                let offered = if what == 4 { 3_000 } else { 10_000 };
                let asks = TurnAsk { sending: *rate, offered, leaves: what < 2, ..ask(flow, deadline, work) };
                let turn = port.take_turn(&rules, now, asks);
                prop_assert!(turn.rate <= offered);
                *rate = turn.rate;
                // Flows before this one and itself never have more than the capacity together.
                if let Some(place) = port.list.iter().position(|listed| listed.flow == flow) {
                    let sum: u64 = port.list[..=place].iter().map(|listed| u64::from(listed.rate)).sum();
                    prop_assert!(turn.rate == 0 || sum <= port.capacity(), "{sum}");
                }
                prop_assert!(port.list.is_sorted_by_key(Listed::criticality));
                prop_assert!(port.list.len() <= 12);
            }
            prop_assert_eq!(port.flows(&rules, now.after(Picos(50_000 * US))), (0, 0));
        }
    }
}
