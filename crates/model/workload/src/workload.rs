use std::collections::BTreeMap;
use std::fmt;

use pullnet_rng::Seed;
use pullnet_units::{FlowId, Instant, Picos};

use crate::agenda::{Agenda, Ended, Join, Joins, Part, Planned, Planner, Watch};
use crate::blocks::{Block, blocks};
use crate::common::Coflow;
use crate::network::Network;
use crate::spec::WorkloadSpec;
use crate::{Completion, FlowStart, WorkloadError};

/// The property that flows of one block share if they are one coflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    /// The block itself.
    Block,
    /// When they start.
    Start,
    /// A number that the pattern gave them.
    Stated(u32),
}

/// Numbers of coflows.
#[derive(Default)]
struct Coflows {
    next: u32,
    /// Number of the coflow by block and bond; coflows bound by their start have the start of the latest.
    open: BTreeMap<(u32, Bond), (Instant, u32)>,
}

impl Coflows {
    /// Number of the coflow of a flow of `block` that starts at `at`. Flows come in order of time, so that a coflow of flows
    /// that start together is over when another time comes.
    fn number(&mut self, block: u32, rule: Coflow, at: Instant, stated: Option<u32>) -> Option<u32> {
        let bond = match (stated, rule) {
            (Some(number), _) => Bond::Stated(number),
            (None, Coflow::Block) => Bond::Block,
            (None, Coflow::Start) => Bond::Start,
            (None, Coflow::None) => return None,
        };
        let next = &mut self.next;
        let mut new = || {
            *next += 1;
            (at, *next - 1)
        };
        let open = self.open.entry((block, bond)).or_insert_with(&mut new);
        if bond == Bond::Start && open.0 != at {
            *open = new();
        }
        Some(open.1)
    }
}

/// A watched flow that has not ended.
struct Open {
    block: u32,
    lane: u64,
    watch: Watch,
}

/// A workload that was checked against its network. Every run starts from a copy of it, so that nothing is read or built
/// twice and no start can fail.
pub struct CheckedWorkload {
    blocks: Vec<Block>,
    tags: Vec<String>,
    tenants: Vec<String>,
}

impl fmt::Debug for CheckedWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks, tags, .. } = self;
        f.debug_struct("CheckedWorkload").field("blocks", &blocks.len()).field("tags", tags).finish()
    }
}

impl CheckedWorkload {
    /// The workload of `spec` on `network`, or everything that is wrong with it.
    pub fn new(spec: &WorkloadSpec, network: &Network, seed: Seed) -> Result<Self, Vec<WorkloadError>> {
        let (blocks, names) = blocks(spec, network, seed)?;
        Ok(Self { blocks, tags: names.tags.names, tenants: names.tenants.names })
    }

    /// Number of traffic blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Which kinds of sessions block `number` has that not every transport can carry.
    pub fn joins(&self, number: usize) -> Joins {
        self.blocks.get(number).map_or_else(Joins::default, |block| block.traffic.joins())
    }

    /// Whether any block has packets for several receivers.
    pub fn multicasts(&self) -> bool {
        self.blocks.iter().any(|block| block.traffic.joins().multicast)
    }

    /// Whether any block has sessions of several receivers or several senders that share packets.
    pub fn has_joint_sessions(&self) -> bool {
        self.blocks.iter().any(|block| {
            let joins = block.traffic.joins();
            joins.multicast || joins.sources
        })
    }

    /// About how many flows start before `end`, of the patterns whose number of flows does not depend on how long flows take.
    pub fn expected(&self, end: Instant) -> f64 {
        let counts = self.blocks.iter().map(|block| block.traffic.expected(end));
        counts.filter(|expected| expected.is_finite()).sum()
    }

    /// The workload at the beginning of a run. The end of a flow causes the start of another no earlier than `signal`
    /// after it.
    pub fn start(&self, signal: Picos) -> Workload {
        let mut workload = Workload {
            agenda: Agenda::default(),
            blocks: self.blocks.clone(),
            open: BTreeMap::new(),
            released: Vec::new(),
            tags: self.tags.clone(),
            tenants: self.tenants.clone(),
            coflows: Coflows::default(),
            signal,
            next_flow: 0,
            session: FlowId::default(),
            horizon: Instant::ZERO,
        };
        for (number, block) in (0u32..).zip(&mut workload.blocks) {
            let mut planner =
                Planner { agenda: &mut workload.agenda, block: number, earliest: Instant::ZERO };
            block.traffic.begin(&mut planner);
        }
        workload
    }
}

/// Decides which flow starts when. See the crate's description.
///
/// The caller must have handed over every completion up to `t` before it fetches starts after `t` plus the signal delay; the
/// effects of a completion then always lie ahead.
pub struct Workload {
    agenda: Agenda,
    blocks: Vec<Block>,
    open: BTreeMap<FlowId, Open>,
    /// Flows that were watched and are not any more.
    released: Vec<FlowId>,
    tags: Vec<String>,
    tenants: Vec<String>,
    coflows: Coflows,
    signal: Picos,
    next_flow: u32,
    /// The first flow of the latest session.
    session: FlowId,
    /// Everything before this has been given out.
    horizon: Instant,
}

impl Workload {
    /// The earliest start already known.
    pub fn next_start(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Appends every start before `before`, in order of time, traffic block and connection, and numbers the flows.
    /// How the caller slices time makes no difference.
    pub fn starts_before(&mut self, before: Instant, out: &mut Vec<FlowStart>) {
        while let Some(planned) = self.agenda.pop_before(before) {
            out.push(self.start(&planned));
            let mut planner =
                Planner { agenda: &mut self.agenda, block: planned.block, earliest: planned.at };
            let block = &mut self.blocks[planned.block as usize];
            block.traffic.started(planned.lane, planned.at, &mut planner);
            if self.next_flow == u32::MAX {
                self.agenda.clear(); // flow numbers are used up: nothing can start any more
            }
        }
        self.horizon = self.horizon.max(before);
    }

    fn start(&mut self, planned: &Planned) -> FlowStart {
        let Planned { at, block, lane, flow } = *planned;
        let number = self.number(flow.part);
        if flow.watch != Watch::Nothing {
            self.open.insert(FlowId::new(number.get()), Open { block, lane, watch: flow.watch });
        }
        let common = &mut self.blocks[block as usize];
        let drawn = common.deadlines.next(flow.part.is_some_and(|part| part.index > 0));
        FlowStart {
            flow: number,
            at,
            src: flow.src,
            dst: flow.dst,
            size: flow.size,
            priority: flow.priority.unwrap_or(common.priority),
            tag: flow.tag.unwrap_or(common.tag),
            transport: common.transport,
            deadline: flow.deadline.or(drawn).map(|deadline| at.after(deadline)),
            tenant: flow.tenant.unwrap_or(common.tenant),
            coflow: self.coflows.number(block, common.coflow, at, flow.coflow),
            session: self.session,
            part: flow.part,
            watch: flow.watch,
        }
    }

    /// Number of the flow that starts now. The parts of a session follow each other: they were planned for one time and on
    /// neighbouring lanes.
    fn number(&mut self, part: Option<Part>) -> FlowId {
        match part {
            Some(Part { join: Join::Sources, index, .. }) if index > 0 => return self.session,
            Some(Part { index, .. }) if index > 0 => {
                debug_assert_eq!(
                    self.session.plus(index.into()).get(),
                    self.next_flow,
                    "a part of another session"
                );
            }
            _ => self.session = FlowId::new(self.next_flow),
        }
        self.next_flow += 1;
        FlowId::new(self.next_flow - 1)
    }

    /// Reports that one end of a flow is done. Completions come in order of time and flow; one of a flow that is not
    /// watched, or that was reported before, changes nothing.
    pub fn completed(&mut self, done: Completion) {
        let Some(open) = self.open.get_mut(&done.flow) else { return };
        if !done.failed && !open.watch.wants(done.side) {
            return;
        }
        open.watch = if done.failed { Watch::Nothing } else { open.watch.without(done.side) };
        let (number, lane) = (open.block, open.lane);
        if open.watch == Watch::Nothing {
            self.open.remove(&done.flow);
            self.released.push(done.flow);
        }
        let earliest = done.at.after(self.signal).max(self.horizon);
        let mut planner = Planner { agenda: &mut self.agenda, block: number, earliest };
        let ended = Ended { lane, at: done.at, side: done.side, failed: done.failed };
        self.blocks[number as usize].traffic.ended(&ended, &mut planner);
    }

    /// Takes the flows whose ends mattered ([`FlowStart::watch`]) and do not any more.
    pub fn released(&mut self) -> impl Iterator<Item = FlowId> {
        self.released.drain(..)
    }

    /// Whether no start is known, and none can come unless an open flow completes.
    pub fn exhausted(&self) -> bool {
        self.agenda.is_empty()
    }

    /// Names behind [`FlowStart::tenant`]; that of number 0, which is no tenant's, is empty.
    pub fn tenants(&self) -> &[String] {
        &self.tenants
    }

    /// Names behind [`FlowStart::tag`].
    pub fn tags(&self) -> &[String] {
        &self.tags
    }
}
