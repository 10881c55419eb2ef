//! Groups of receivers, and the trees along which switches copy packets for them.
//!
//! A packet for a group carries the group's address and, as its label, the number of a tree, which the sender chooses. The
//! sending end of each link looks up by which ports the switch at the other end sends copies, as it does for the one port of
//! other packets. Runs without groups know nothing of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use pullnet_scenario::Scenario;
use pullnet_topology::{Distances, LinkRef, MulticastTree};
use pullnet_transport::HostAddr;
use pullnet_units::{FlowId, HostId, Id, Instant, NodeId, PathLabel, PortId};
use pullnet_workload::{FlowStart, Join};

/// Groups that are kept together in memory.
const CHUNK: usize = 1024;
/// Most groups of a run: as many as there are addresses.
pub const MOST: u32 = HostAddr::GROUPS;

/// Places that are filled on first use.
type Cells<T> = Box<[OnceLock<T>]>;
/// Trees of one group, by their number.
type Trees = Cells<MulticastTree>;

fn cells<T>(count: usize) -> Cells<T> {
    (0..count).map(|_| OnceLock::new()).collect()
}

/// One sender and its receivers.
#[derive(Debug)]
pub struct Group {
    /// Number of the flow to the first receiver; the others follow.
    pub first: FlowId,
    source: HostId,
    /// The receivers, in the order of their flows.
    pub receivers: Box<[HostId]>,
    /// How many trees there are.
    pub trees: u16,
    /// Trees by epoch.
    epochs: Cells<Trees>,
}

/// All groups of a run. They are added in the order of their flows, between two windows, and never taken away: late packets
/// may be on their way for long.
#[derive(Debug)]
pub struct Groups {
    chunks: Cells<Cells<Group>>,
    count: AtomicU32,
    /// Receivers so far of the session whose parts are being given out.
    coming: Mutex<Vec<HostId>>,
    /// When links fail or recover: between two of these times trees stay as they are.
    changes: Vec<Instant>,
    /// Distances from the switch of each host, by epoch and host.
    distances: Box<[Cells<Distances>]>,
}

impl Groups {
    /// No groups yet. `None` if the scenario never has any.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        if !scenario.workload.multicasts() {
            return None;
        }
        let ups = |schedule: &pullnet_topology::LinkSchedule| {
            let mut up = true;
            let mut times = Vec::new();
            for (at, state) in schedule.changes() {
                if core::mem::replace(&mut up, state.up) != state.up {
                    times.push(*at);
                }
            }
            times
        };
        let mut changes: Vec<_> = scenario.faults.iter().flat_map(|(_, schedule)| ups(schedule)).collect();
        changes.sort_unstable();
        changes.dedup();
        let hosts = scenario.topology.hosts.len();
        Some(Self {
            chunks: cells(MOST as usize / CHUNK),
            count: AtomicU32::new(0),
            coming: Mutex::default(),
            distances: (0..=changes.len()).map(|_| cells(hosts)).collect(),
            changes,
        })
    }

    /// Takes note of a part of a session that starts. Parts come one after the other.
    pub fn note(&self, scenario: &Scenario, start: &FlowStart) {
        let Some(part) = start.part.filter(|part| part.join == Join::Multicast) else { return };
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        coming.push(start.dst);
        if part.index + 1 < part.of {
            return;
        }
        let (receivers, number) = (core::mem::take(&mut *coming), self.count.load(Ordering::Acquire));
        let Some(chunk) = self.chunks.get(number as usize / CHUNK) else { return };
        let trees = scenario.topology.multicast_trees(start.src, &receivers);
        let group = Group {
            first: start.session,
            source: start.src,
            receivers: receivers.into(),
            trees,
            epochs: cells(self.changes.len() + 1),
        };
        let added = chunk.get_or_init(|| cells(CHUNK))[number as usize % CHUNK].set(group);
        debug_assert!(added.is_ok(), "group {number} is there already");
        self.count.store(number + 1, Ordering::Release);
    }

    fn get(&self, number: u32) -> Option<&Group> {
        self.chunks.get(number as usize / CHUNK)?.get()?[number as usize % CHUNK].get()
    }

    /// The group with the address `addr`.
    pub fn at(&self, addr: HostAddr) -> Option<&Group> {
        self.get(addr.group_number()?)
    }

    /// The group to whose receivers flow `flow` and its followers go, and its address.
    pub fn of_flow(&self, flow: FlowId) -> Option<(HostAddr, &Group)> {
        let number = self.until(flow).checked_sub(1)?;
        let group = self.get(number).filter(|group| group.first == flow)?;
        Some((HostAddr::group(number)?, group))
    }

    /// The group that flow `flow` goes to a receiver of.
    pub fn around(&self, flow: FlowId) -> Option<&Group> {
        let group = self.get(self.until(flow).checked_sub(1)?)?;
        (flow.behind(group.first) < group.receivers.len() as u32).then_some(group)
    }

    /// How many groups begin with flow `flow` or one before it.
    fn until(&self, flow: FlowId) -> u32 {
        let (mut low, mut high) = (0, self.count.load(Ordering::Acquire));
        while low < high {
            let middle = low + (high - low) / 2;
            let before = self.get(middle).is_some_and(|group| group.first <= flow);
            (low, high) = if before { (middle + 1, high) } else { (low, middle) };
        }
        low
    }

    /// Number of the flow to `host` among those of the session that begins with `flow`; `flow` itself if that is no group's.
    pub fn row(&self, flow: FlowId, host: HostId) -> FlowId {
        let index = |group: &Group| group.receivers.iter().position(|receiver| *receiver == host);
        flow.plus(self.of_flow(flow).and_then(|(_, group)| index(group)).unwrap_or(0) as u32)
    }

    /// Tree number `number` of `group` as it is at `at`: over links that work then.
    pub fn tree<'a>(
        &'a self,
        scenario: &Scenario,
        group: &'a Group,
        number: u16,
        at: Instant,
    ) -> &'a MulticastTree {
        let epoch = self.changes.partition_point(|change| change.0 <= at.0);
        let trees = group.epochs[epoch].get_or_init(|| cells(group.trees.into()));
        trees[usize::from(number % group.trees)].get_or_init(|| {
            let at = epoch.checked_sub(1).map_or(Instant::ZERO, |last| self.changes[last]);
            let works = |link: LinkRef| scenario.faults.get(link).is_none_or(|schedule| schedule.at(at).up);
            let distances = self.distances[epoch][group.source.index()]
                .get_or_init(|| scenario.topology.distances(group.source, &works));
            scenario.topology.multicast_tree(distances, &group.receivers, number, &works)
        })
    }

    /// The ports by which switch `node` sends copies of a packet for `to` with the label `label` at `at`.
    pub fn branches(
        &self,
        scenario: &Scenario,
        (to, label): (HostAddr, PathLabel),
        node: NodeId,
        at: Instant,
    ) -> impl Iterator<Item = PortId> + '_ {
        let tree = self.at(to).map(|group| self.tree(scenario, group, label.get(), at));
        tree.into_iter().flat_map(move |tree| tree.branches(node))
    }
}
