//! The arbiter: the rules A1 to A6 of the README in its order. It knows no network: requests come in, schedules go out.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use hashbrown::HashMap;
use pullnet_connections::Connections;
use pullnet_pull::{FlowOrder, Standing};
use pullnet_transport::{ConnId, Deadline, HostAddr, TimerKind};
use pullnet_units::Instant;
use rustc_hash::FxBuildHasher;

use crate::colouring::{Edge, colour};
use crate::config::{Matching, Parameters};
use crate::header::{Allocation, Demand, FastpassHeader, MOST_PATHS, MOST_SLOTS};
use crate::matching::{Matcher, Wish};

/// A flow as the arbiter knows it.
#[derive(Clone, Debug)]
struct Flow {
    source: HostAddr,
    /// Paths to the source.
    ways: u16,
    handle: u32,
    round: u32,
    demand: Demand,
    /// Requested slots that are not allocated yet.
    left: u32,
    /// Ports of the matching.
    ports: (u32, u32),
    opened: u64,
    last_heard: Instant,
    /// The arbiter's timer entry for this flow.
    armed: Instant,
}

impl Flow {
    fn standing(&self) -> Standing {
        let Demand { priority, deadline, .. } = self.demand;
        Standing { priority, left: self.left, deadline, tenant: 0, opened: self.opened }
    }
}

/// The timeslots of an epoch, by place.
pub(crate) type Slots = [Option<Allocation>; MOST_SLOTS];

/// Timeslots of one source in an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    pub source: HostAddr,
    /// Paths to the source.
    pub ways: u16,
    pub slots: Slots,
}

/// The arbiter of a network. Flows are found by their source and its handle.
pub(crate) struct Arbiter {
    flows: Connections<Flow>,
    /// Flows with slots to be given, in the order of the policy.
    wanting: FlowOrder,
    matcher: Matcher,
    /// Ports of the matching by address, so that their numbers are small.
    ports: HashMap<HostAddr, u32, FxBuildHasher>,
    opened: u64,
    /// The first epoch that was not arbitrated yet.
    next_epoch: u64,
    /// When the next epoch is arbitrated; [`Instant::NEVER`] while no flow wants a slot.
    epoch_due: Instant,
    idle: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Arbiter {
    pub fn new(matching: Matching) -> Self {
        Self {
            flows: Connections::default(),
            wanting: FlowOrder::new(matching.policy()),
            matcher: Matcher::default(),
            ports: HashMap::default(),
            opened: 0,
            next_epoch: 0,
            epoch_due: Instant::NEVER,
            idle: BinaryHeap::new(),
        }
    }

    fn port(&mut self, addr: HostAddr) -> u32 {
        let next = self.ports.len() as u32;
        *self.ports.entry(addr).or_insert(next)
    }

    /// Rule A1: a request of a higher round replaces what is left of the flow; one that is known is answered with what is left.
    pub fn on_request(
        &mut self,
        now: Instant,
        rules: &Parameters,
        (source, ways): (HostAddr, u16),
        (handle, round): (u32, u32),
        demand: Demand,
    ) -> Option<FastpassHeader> {
        let found = self.flows.find(source, ConnId::new(handle));
        if let Some(flow) = found.and_then(|slot| self.flows.get_mut(slot)) {
            flow.last_heard = now;
            // Rounds are counted modulo 2^32: one is higher if it lies less than half the numbers ahead.
            if (round.wrapping_sub(flow.round) as i32) <= 0 {
                return Some(FastpassHeader::Status { handle, round: flow.round, left: flow.left });
            }
        }
        let ports = (self.port(source), self.port(demand.to));
        let slot = found.unwrap_or_else(|| self.open(now, rules, source, handle, demand));
        if let Some(flow) = self.flows.get_mut(slot) {
            (flow.round, flow.demand, flow.left) = (round, demand, demand.packets);
            (flow.ports, flow.ways) = (ports, ways);
        }
        self.line_up(slot);
        self.set_epoch(now, rules);
        None
    }

    fn open(
        &mut self,
        now: Instant,
        rules: &Parameters,
        source: HostAddr,
        handle: u32,
        demand: Demand,
    ) -> u32 {
        self.opened += 1;
        let armed = now.after(rules.limits.silence());
        let flow = Flow {
            source,
            ways: 1,
            handle,
            round: 0,
            demand,
            left: 0,
            ports: (0, 0),
            opened: self.opened,
            last_heard: now,
            armed,
        };
        let slot = self.flows.insert(source, ConnId::new(handle), flow);
        self.idle.push(Reverse((armed, slot)));
        slot
    }

    fn line_up(&mut self, slot: u32) {
        match self.flows.get_mut(slot).filter(|flow| flow.left > 0) {
            Some(flow) => self.wanting.insert(slot, &flow.standing()),
            None => self.wanting.remove(slot),
        }
    }

    /// Epochs are arbitrated when they begin, and only while some flow wants slots.
    fn set_epoch(&mut self, now: Instant, rules: &Parameters) {
        if self.wanting.is_empty() {
            self.epoch_due = Instant::NEVER;
            return;
        }
        let length = rules.epoch().0;
        self.next_epoch = self.next_epoch.max(now.0.div_ceil(length));
        self.epoch_due = Instant(self.next_epoch.saturating_mul(length));
    }

    /// Rule A5: the flow has ended.
    pub fn on_end(&mut self, now: Instant, rules: &Parameters, source: HostAddr, handle: u32) {
        if let Some(slot) = self.flows.find(source, ConnId::new(handle)) {
            self.wanting.forget(slot);
            self.flows.remove(source, ConnId::new(handle));
            self.set_epoch(now, rules);
        }
    }

    /// The next deadline.
    pub fn due(&self) -> Deadline {
        let epoch = TimerKind::of_protocol(&"the arbiter's next epoch");
        let first = Deadline { at: self.epoch_due, timer: epoch };
        match self.idle.peek() {
            Some(Reverse((at, _))) => {
                first.min_at(*at, TimerKind::of_protocol(&"silent sources of the arbiter"))
            }
            None => first,
        }
    }

    /// Does what is due. Returns the epoch that was arbitrated, if any, and the slots of each source.
    pub fn on_timeout(&mut self, now: Instant, rules: &Parameters) -> Option<(u32, Vec<Schedule>)> {
        self.forget_silent(now, rules);
        if now < self.epoch_due {
            return None;
        }
        let epoch = self.next_epoch;
        let schedules = self.arbitrate(rules);
        self.next_epoch = epoch + 1;
        self.set_epoch(now, rules);
        Some((epoch as u32, schedules))
    }

    /// Rule A6: forgets a flow whose source is silent for long. A live source requests its slots again.
    fn forget_silent(&mut self, now: Instant, rules: &Parameters) {
        let patience = rules.limits.silence();
        while let Some(Reverse((at, slot))) = self.idle.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.idle.pop();
            let Some(flow) = self.flows.get_mut(slot).filter(|flow| flow.armed == at) else { continue };
            let until = flow.last_heard.after(patience);
            if until > now {
                flow.armed = until;
                self.idle.push(Reverse((until, slot)));
            } else {
                let (source, handle) = (flow.source, flow.handle);
                self.on_end(now, rules, source, handle);
            }
        }
    }

    /// Rule A2: for each slot of the epoch a matching, one packet per pair.
    fn arbitrate(&mut self, rules: &Parameters) -> Vec<Schedule> {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        let mut schedules: Vec<Schedule> = Vec::new();
        for place in 0..rules.slots as usize {
            if self.wanting.is_empty() {
                break;
            }
            let granted = self.match_slot();
            let paths = self.paths(rules, place, &granted);
            for (wish, path) in granted.iter().zip(paths) {
                let Some(flow) = self.flows.get_mut(wish.id) else { continue };
                flow.left -= 1;
                let at = *places.entry(wish.src).or_insert_with(|| {
                    let (source, ways) = (flow.source, flow.ways);
                    schedules.push(Schedule { source, ways, slots: [None; MOST_SLOTS] });
                    schedules.len() - 1
                });
                schedules[at].slots[place] = Some(Allocation { handle: flow.handle, path });
                self.wanting.note_served(wish.id);
                self.line_up(wish.id);
            }
        }
        if rules.by_address {
            schedules.sort_unstable_by_key(|schedule| schedule.source);
        }
        schedules
    }

    /// Rule A3: flows in the order of the policy, each source and each destination once.
    fn match_slot(&mut self) -> Vec<Wish> {
        let Self { flows, wanting, matcher, .. } = self;
        let wish = |slot: u32| {
            let flow = flows.get_mut(slot)?;
            Some(Wish { id: slot, src: flow.ports.0, dst: flow.ports.1 })
        };
        matcher.greedy(wanting.leading(usize::MAX).filter_map(wish))
    }

    /// Rule A4: paths by edge colouring. Colours are folded onto as many paths as there are, and begin with another path in every
    /// slot. Which one follows no rhythm, so that a packet that is alone in its slots does not meet the same failed path each time.
    fn paths(&mut self, rules: &Parameters, place: usize, granted: &[Wish]) -> Vec<Option<u8>> {
        let mut paths = alloc::vec![None; granted.len()];
        if rules.rack == 0 {
            return paths;
        }
        let (mut edges, mut members) = (Vec::new(), Vec::new());
        for (member, wish) in granted.iter().enumerate() {
            let Some(flow) = self.flows.get_mut(wish.id).filter(|flow| flow.demand.paths > 1) else {
                continue;
            };
            let rack = |addr: HostAddr| addr.0 / rules.rack;
            edges.push(Edge { from: rack(flow.source), to: rack(flow.demand.to) });
            members.push((member, flow.demand.paths.min(MOST_PATHS)));
        }
        let turn = self.next_epoch.wrapping_mul(rules.slots.into()).wrapping_add(place as u64);
        for ((member, choices), colour) in members.into_iter().zip(colour(&edges).0) {
            let path = scattered(turn).wrapping_add(colour.into()) % u64::from(choices);
            paths[member] = Some(path as u8);
        }
        paths
    }
}

/// The turn as a number without a pattern: the output function of SplitMix64.
fn scattered(turn: u64) -> u64 {
    let mixed = (turn ^ turn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dispatch, FastpassConfig};
    use proptest::prelude::*;
    use pullnet_units::{BitsPerSec, Picos};

    fn rules(config: &FastpassConfig) -> Parameters {
        Parameters::new(config, BitsPerSec::gbps(10))
    }

    fn demand(to: u32, packets: u32) -> Demand {
        Demand { to: HostAddr(to), packets, paths: 4, priority: 0, deadline: None }
    }

    /// Handles by slot that the source `of` was given.
    fn handles(schedules: &[Schedule], of: u32) -> Vec<Option<u32>> {
        let found = schedules.iter().find(|schedule| schedule.source == HostAddr(of));
        let slots = found.map_or([None; MOST_SLOTS], |schedule| schedule.slots);
        slots.iter().map(|slot| slot.map(|slot| slot.handle)).collect()
    }

    fn run(arbiter: &mut Arbiter, rules: &Parameters, now: Instant) -> Vec<Schedule> {
        assert_eq!(arbiter.due().at, now);
        arbiter.on_timeout(now, rules).expect("an epoch").1
    }

    #[test]
    fn the_shortest_flow_has_the_first_slots() {
        let rules = rules(&FastpassConfig::default());
        let mut arbiter = Arbiter::new(Matching::Srpt);
        assert_eq!(arbiter.on_request(Instant(1), &rules, (HostAddr(1), 1), (10, 1), demand(9, 20)), None);
        assert_eq!(arbiter.on_request(Instant(2), &rules, (HostAddr(2), 1), (20, 1), demand(9, 3)), None);
        let first = run(&mut arbiter, &rules, Instant::ZERO.after(rules.epoch()));
        assert_eq!(handles(&first, 2), [Some(20), Some(20), Some(20), None, None, None, None, None]);
        assert_eq!(handles(&first, 1)[..4], [None, None, None, Some(10)]);
        let status = arbiter.on_request(Instant(3), &rules, (HostAddr(1), 1), (10, 1), demand(9, 20));
        assert_eq!(status, Some(FastpassHeader::Status { handle: 10, round: 1, left: 15 }));
        arbiter.on_end(Instant(4), &rules, HostAddr(1), 10);
        assert_eq!(arbiter.epoch_due, Instant::NEVER);
    }

    #[test]
    fn schedules_leave_by_slot_or_by_address() {
        for (dispatch, expected) in [(Dispatch::Slots, [2, 1, 3]), (Dispatch::Address, [1, 2, 3])] {
            let rules = rules(&FastpassConfig { dispatch, ..FastpassConfig::default() });
            let mut arbiter = Arbiter::new(Matching::Srpt);
            for (source, packets) in [(3, 30), (1, 20), (2, 3)] {
                let demand = demand(10 + source, packets);
                arbiter.on_request(Instant(1), &rules, (HostAddr(source), 1), (1, 1), demand);
            }
            let first = run(&mut arbiter, &rules, Instant::ZERO.after(rules.epoch()));
            let sources: Vec<_> = first.iter().map(|schedule| schedule.source.0).collect();
            assert_eq!(sources, expected, "{dispatch:?}");
        }
    }

    #[test]
    fn a_packet_that_is_alone_every_other_epoch_comes_to_all_paths() {
        let rules = rules(&FastpassConfig { rack: Some(8), ..FastpassConfig::default() });
        let mut arbiter = Arbiter::new(Matching::Srpt);
        let mut used = [0; 4];
        for round in 1..=64 {
            let now = Instant::ZERO.after(rules.epoch().saturating_mul(2 * u64::from(round)));
            arbiter.on_request(now, &rules, (HostAddr(1), 4), (10, round), demand(9, 1));
            let due = arbiter.due().at;
            let schedules = run(&mut arbiter, &rules, due);
            used[usize::from(schedules[0].slots[0].unwrap().path.unwrap())] += 1;
        }
        // Sixteen each in the mean.
        assert!(used.iter().all(|times| *times >= 5), "{used:?}");
    }

    #[test]
    fn max_min_takes_turns() {
        let rules = rules(&FastpassConfig::default());
        let mut arbiter = Arbiter::new(Matching::MaxMin);
        for source in 1..=3 {
            arbiter.on_request(Instant(1), &rules, (HostAddr(source), 1), (source, 1), demand(9, 100));
        }
        let first = run(&mut arbiter, &rules, Instant::ZERO.after(rules.epoch()));
        let counts: Vec<_> = (1..=3).map(|of| handles(&first, of).iter().flatten().count()).collect();
        assert_eq!(counts, [3, 3, 2]);
        assert_eq!(handles(&first, 2)[..5], [None, Some(2), None, None, Some(2)]);
    }

    #[test]
    fn a_silent_source_is_forgotten() {
        let config = FastpassConfig { give_up: Picos::from_millis(1), ..FastpassConfig::default() };
        let rules = rules(&config);
        let mut arbiter = Arbiter::new(Matching::Srpt);
        arbiter.on_request(Instant::ZERO, &rules, (HostAddr(1), 1), (1, 1), demand(9, 1));
        while arbiter.due().at < Instant::NEVER {
            let due = arbiter.due().at;
            assert!(due <= Instant::ZERO.after(Picos::from_millis(2)));
            arbiter.on_timeout(due, &rules);
        }
        assert!(arbiter.flows.iter().next().is_none());
    }

    proptest! {
        #[test]
        fn every_slot_is_a_matching_whose_paths_do_not_meet(
            requests in prop::collection::vec((0u32..32, 0u32..32, 1u32..30), 1..80),
            max_min: bool,
        ) {
            let config = FastpassConfig { rack: Some(8), ..FastpassConfig::default() };
            let rules = rules(&config);
            let mut arbiter = Arbiter::new(if max_min { Matching::MaxMin } else { Matching::Srpt });
            let mut wanted = BTreeMap::new();
            for (handle, (source, to, packets)) in (0..).zip(&requests) {
                let paths = if source / 8 == to / 8 { 1 } else { 8 };
                let demand = Demand { paths, ..demand(*to, *packets) };
                arbiter.on_request(Instant(1), &rules, (HostAddr(*source), 1), (handle, 1), demand);
                wanted.insert(handle, *packets);
            }
            while arbiter.epoch_due < Instant::NEVER {
                let due = arbiter.epoch_due;
                let (_, schedules) = arbiter.on_timeout(due, &rules).expect("an epoch");
                for place in 0..MOST_SLOTS {
                    let mut seen = alloc::collections::BTreeSet::new();
                    for Schedule { source, slots, .. } in &schedules {
                        let Some(slot) = slots[place] else { continue };
                        let (from, to, _) = requests[slot.handle as usize];
                        prop_assert_eq!(HostAddr(from), *source);
                        *wanted.get_mut(&slot.handle).unwrap() -= 1;
                        prop_assert!(seen.insert((0, to, 0)), "two packets for one destination");
                        prop_assert_eq!(slot.path.is_none(), from / 8 == to / 8);
                        if let Some(path) = slot.path {
                            // Eight paths, eight hosts per rack: each packet has an uplink and a downlink of its own.
                            prop_assert!(path < 8);
                            prop_assert!(seen.insert((1, from / 8, path.into())), "one uplink twice");
                            prop_assert!(seen.insert((2, to / 8, path.into())), "one downlink twice");
                        }
                    }
                }
            }
            prop_assert!(wanted.values().all(|left| *left == 0));
        }
    }
}
