use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pullnet_settings::choice;
use pullnet_units::Instant;

choice! {
    /// Which flow of a host goes first.
    pub enum Policy {
        /// The flow with the fewest packets left (shortest remaining processing time).
        Srpt = "srpt",
        /// The flow with the earliest deadline; flows without one come last, the shortest of them first.
        Edf = "edf",
        /// The tenant that was served least recently; of its flows, the one with the fewest packets left.
        Lru = "lru",
        /// The flow that was served least recently.
        RoundRobin = "round-robin",
    }
}

/// Properties of a flow that policies compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// A higher number goes first under every policy.
    pub priority: u8,
    /// Packets left.
    pub left: u32,
    /// Time by which the last byte should have arrived.
    pub deadline: Option<Instant>,
    /// Tenant that owns the flow.
    pub tenant: u16,
    /// Position among the flows of the host in the order of their opening; the last tie-break.
    pub opened: u64,
}

/// Sort key of a flow: urgency (0 is most urgent), the policy's measure, the tie-break, and its number.
type Key = (u8, u64, u64, u32);

/// Flows that share one order: the flows of a tenant, or all flows.
#[derive(Clone, Default, Debug)]
struct Group {
    tenant: u16,
    /// Latest turn of the host in which this group was served.
    served: u64,
    flows: BTreeSet<Key>,
}

/// The flows of a host that may be served, in the order of a [`Policy`]. A flow is a small number of the owner's choice.
#[derive(Clone, Debug)]
pub struct FlowOrder {
    policy: Policy,
    /// Flows served so far.
    turns: u64,
    groups: Vec<Group>,
    /// By flow: group and key while the flow is in the order.
    places: Vec<Option<(usize, Key)>>,
    /// By flow: the latest turn in which it was served; 0 for never.
    served: Vec<u64>,
}

impl FlowOrder {
    /// An empty order.
    pub fn new(policy: Policy) -> Self {
        Self { policy, turns: 0, groups: Vec::new(), places: Vec::new(), served: Vec::new() }
    }

    /// Whether no flow is in the order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.flows.is_empty())
    }

    /// Adds a flow, or moves it to the position of its new standing.
    pub fn insert(&mut self, flow: u32, standing: &Standing) {
        let slot = flow as usize;
        if slot >= self.places.len() {
            self.places.resize(slot + 1, None);
            self.served.resize(slot + 1, 0);
        }
        let measure = match self.policy {
            Policy::Srpt | Policy::Lru => standing.left.into(),
            Policy::Edf => standing.deadline.map_or(u64::MAX, |at| at.0),
            Policy::RoundRobin => self.served[slot],
        };
        let tie = match self.policy {
            Policy::Edf if standing.deadline.is_none() => standing.left.into(),
            _ => standing.opened,
        };
        let place = (self.group_of(standing.tenant), (u8::MAX - standing.priority, measure, tie, flow));
        if self.places[slot] != Some(place) {
            self.remove(flow);
            self.groups[place.0].flows.insert(place.1);
            self.places[slot] = Some(place);
        }
    }

    fn group_of(&mut self, tenant: u16) -> usize {
        let tenant = if self.policy == Policy::Lru { tenant } else { 0 };
        let known = self.groups.iter().position(|group| group.tenant == tenant);
        known.unwrap_or_else(|| {
            self.groups.push(Group { tenant, ..Group::default() });
            self.groups.len() - 1
        })
    }

    /// Removes a flow; its turns are remembered.
    pub fn remove(&mut self, flow: u32) {
        if let Some((group, key)) = self.places.get_mut(flow as usize).and_then(Option::take) {
            self.groups[group].flows.remove(&key);
        }
    }

    /// Removes a flow that has ended, and forgets its turns.
    pub fn forget(&mut self, flow: u32) {
        self.remove(flow);
        if let Some(served) = self.served.get_mut(flow as usize) {
            *served = 0;
        }
    }

    /// The flow that goes first.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        let first = |group: &Group| group.flows.first().map(|key| (key.0, group.served, key.3));
        self.groups.iter().filter_map(first).min().map(|(_, _, flow)| flow)
    }

    /// The first `count` flows in order; tenant by tenant if the policy distinguishes tenants.
    pub fn leading(&self, count: usize) -> impl Iterator<Item = u32> + '_ {
        self.groups.iter().flat_map(|group| &group.flows).map(|key| key.3).take(count)
    }

    /// Notes that a flow was served. Under a policy that counts turns, the flow moves to the end.
    pub fn note_served(&mut self, flow: u32) {
        self.turns += 1;
        let Some(Some((group, key))) = self.places.get(flow as usize).copied() else { return };
        self.groups[group].served = self.turns;
        self.served[flow as usize] = self.turns;
        if self.policy == Policy::RoundRobin {
            let moved = (key.0, self.turns, key.2, key.3);
            self.groups[group].flows.remove(&key);
            self.groups[group].flows.insert(moved);
            self.places[flow as usize] = Some((group, moved));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(left: u32, deadline: Option<u64>, tenant: u16) -> Standing {
        Standing { priority: 0, left, deadline: deadline.map(Instant), tenant, opened: 0 }
    }

    /// The first flows in turn, `count` of them, where each stays as it is.
    fn turns(policy: Policy, flows: &[Standing], count: usize) -> Vec<u32> {
        let mut order = FlowOrder::new(policy);
        (0..).zip(flows).for_each(|(flow, standing)| order.insert(flow, standing));
        let turn = |_| {
            let first = order.first().unwrap();
            order.note_served(first);
            first
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn each_policy_has_its_order() {
        let flows =
            [standing(9, None, 1), standing(5, Some(70), 1), standing(7, Some(60), 2), standing(8, None, 2)];
        assert_eq!(turns(Policy::Srpt, &flows, 3), [1, 1, 1]);
        assert_eq!(turns(Policy::Edf, &flows, 2), [2, 2]);
        assert_eq!(turns(Policy::RoundRobin, &flows, 6), [0, 1, 2, 3, 0, 1]);
        assert_eq!(turns(Policy::Lru, &flows, 4), [1, 2, 1, 2]);
    }

    #[test]
    fn priority_goes_before_any_policy() {
        let urgent = Standing { priority: 1, ..standing(100, None, 3) };
        for policy in [Policy::Srpt, Policy::Edf, Policy::Lru, Policy::RoundRobin] {
            assert_eq!(turns(policy, &[standing(1, Some(1), 0), urgent], 2), [1, 1], "{policy:?}");
        }
    }

    #[test]
    fn without_deadlines_the_shortest_flow_goes_first() {
        let flows = [standing(9, None, 0), standing(5, None, 0)];
        assert_eq!(turns(Policy::Edf, &flows, 1), [1]);
    }

    #[test]
    fn a_flow_moves_with_its_standing_and_keeps_its_turns() {
        let mut order = FlowOrder::new(Policy::Srpt);
        order.insert(0, &standing(9, None, 0));
        order.insert(1, &standing(5, None, 0));
        order.insert(0, &standing(4, None, 0));
        assert_eq!(order.first(), Some(0));
        assert!(order.leading(5).eq([0, 1]) && order.leading(1).eq([0]));
        order.remove(0);
        order.remove(0);
        assert_eq!(order.first(), Some(1));
        order.forget(1);
        assert!(order.is_empty() && order.first().is_none());

        let mut turns = FlowOrder::new(Policy::RoundRobin);
        (0..2).for_each(|flow| turns.insert(flow, &standing(1, None, 0)));
        turns.note_served(0);
        turns.remove(0);
        turns.insert(0, &standing(1, None, 0));
        assert_eq!(turns.first(), Some(1), "it was served, the other was not");
        turns.note_served(1);
        turns.forget(1);
        turns.insert(1, &standing(1, None, 0));
        assert_eq!(turns.first(), Some(1), "a new flow was never served");
    }
}
