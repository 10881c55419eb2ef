use std::collections::BTreeMap;
use std::fmt;

use pullnet_rng::Seed;
use pullnet_units::{FlowId, HostId, Instant, Labels, Picos};

use crate::agenda::{Agenda, Ended, Flow, Follower, Join, Joins, Part, Planned, Planner, Watch};
use crate::blocks::{Block, blocks};
use crate::common::Coflow;
use crate::error::WorkloadError;
use crate::flow::{Completion, FlowStart, Instruction, Prepared};
use crate::host_layout::HostLayout;
use crate::pattern::{Late, Traffic};
use crate::spec::WorkloadSpec;

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

/// A prepared flow that has not started, as far as is known.
struct Expected {
    block: u32,
    lane: u64,
    /// The coflow that its pattern states.
    stated: Option<u32>,
    /// The coflow of the session that it is a further part of.
    coflow: Option<u32>,
    src: HostId,
    watch: Watch,
    /// Its deadline: an instant, or the time from its start.
    deadline: (Option<Instant>, Option<Picos>),
    /// Whether it starts however late its event is.
    is_certain: bool,
    /// Whether its pattern has given it up.
    forgotten: bool,
}

/// What is known of a prepared flow only when it has started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Began {
    /// Number of its coflow.
    pub coflow: Option<u32>,
    /// Time by which all of its data should have arrived.
    pub deadline: Option<Instant>,
    /// Ends of it that are reported to its pattern.
    pub watch: Watch,
    /// Whether it would have started however late its event was.
    pub is_certain: bool,
}

/// The latest session.
#[derive(Clone, Copy)]
struct Session {
    /// Its first flow.
    flow: FlowId,
    at: Instant,
    coflow: Option<u32>,
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
    pub fn new(spec: &WorkloadSpec, network: &HostLayout, seed: Seed) -> Result<Self, Vec<WorkloadError>> {
        let (blocks, names) = blocks(spec, network, seed)?;
        Ok(Self { blocks, tags: names.tags.names, tenants: names.tenants.names })
    }

    /// Names of all tags that flows can have.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// Names of all tenants that flows can have; the first name is empty and stands for flows without a tenant.
    pub fn tenants(&self) -> &[String] {
        &self.tenants
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

    /// The flows of block `number` with a stated time of start that is not before `end`.
    pub fn late(&self, number: usize, end: Instant) -> Option<Late> {
        self.blocks.get(number)?.traffic.late(end)
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
            expected: BTreeMap::new(),
            instructions: Vec::new(),
            released: Vec::new(),
            tags: self.tags.clone(),
            tenants: self.tenants.clone(),
            coflows: Coflows::default(),
            signal,
            next_flow: 0,
            session: Session { flow: FlowId::default(), at: Instant::ZERO, coflow: None },
            horizon: Instant::ZERO,
        };
        for number in 0..workload.blocks.len() as u32 {
            workload
                .tell(number, Instant::ZERO, FlowId::default(), |traffic, planner| traffic.begin(planner));
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
    expected: BTreeMap<FlowId, Expected>,
    /// Instructions about prepared flows.
    instructions: Vec<Instruction>,
    /// Flows that were watched and are not any more.
    released: Vec<FlowId>,
    tags: Vec<String>,
    tenants: Vec<String>,
    coflows: Coflows,
    signal: Picos,
    next_flow: u32,
    session: Session,
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
            let Planned { at, block, lane, .. } = planned;
            let start = self.start(&planned);
            out.push(start);
            self.tell(block, at, start.flow, |traffic, planner| traffic.started(lane, at, planner));
            if self.next_flow == u32::MAX {
                self.agenda.clear(); // flow numbers are used up: nothing can start any more
            }
        }
        self.horizon = self.horizon.max(before);
    }

    /// Tells the pattern of a block something and carries out what it plans.
    fn tell(
        &mut self,
        block: u32,
        earliest: Instant,
        current: FlowId,
        say: impl FnOnce(&mut dyn Traffic, &mut Planner<'_>),
    ) {
        let (mut followers, mut revoked) = (Vec::new(), Vec::new());
        let mut planner = Planner {
            agenda: &mut self.agenda,
            block,
            earliest,
            current,
            next_flow: &mut self.next_flow,
            followers: &mut followers,
            revoked: &mut revoked,
        };
        say(&mut *self.blocks[block as usize].traffic, &mut planner);
        for (flow, at) in revoked {
            let Some(expected) = self.expected.get_mut(&flow) else { continue };
            match at {
                Some(at) => self.instructions.push(Instruction::Release { flow, src: expected.src, at }),
                None => expected.forgotten = true,
            }
        }
        followers.into_iter().for_each(|follower| self.prepare(block, &follower));
    }

    /// Prepares a flow that a host starts by itself.
    fn prepare(&mut self, block: u32, follower: &Follower) {
        let Follower { number, after, lane, flow } = *follower;
        let Flow { src, watch, part, .. } = flow;
        let further = part.is_some_and(|part| part.index > 0);
        let drawn = self.blocks[block as usize].deadlines.next(further);
        let deadline = flow.deadline.or(drawn);
        let mut start = self.flow_start(number, Instant::NEVER, block, &flow);
        if further {
            // Deadlines of a session count from its start, at which nothing but the first part of it is planned.
            start.labels.deadline = deadline.map(|deadline| self.session.at.after(deadline));
            start.labels.coflow = self.session.coflow;
        } else {
            start.session = number;
        }
        let (stated, coflow) = (flow.coflow, start.labels.coflow);
        let is_certain = after.latest == Instant::NEVER;
        let times = (start.labels.deadline, deadline);
        let expected = Expected {
            block,
            lane,
            stated,
            coflow,
            src,
            watch,
            deadline: times,
            is_certain,
            forgotten: false,
        };
        self.expected.insert(number, expected);
        self.instructions.push(Instruction::Prepare(Prepared { start, after, deadline }));
    }

    /// A host has started a prepared flow by itself, or will do so at `at`. Calls come in order of reports. `None` if it was not
    /// prepared.
    pub fn began(&mut self, flow: FlowId, at: Instant) -> Option<Began> {
        let expected = self.expected.remove(&flow)?;
        let Expected { block, lane, watch, deadline, is_certain, .. } = expected;
        let rule = self.blocks[block as usize].coflow;
        let coflow = expected.coflow.or_else(|| self.coflows.number(block, rule, at, expected.stated));
        let deadline = deadline.0.or(deadline.1.map(|deadline| at.after(deadline)));
        let watch = if expected.forgotten { Watch::Nothing } else { watch };
        if watch != Watch::Nothing {
            self.open.insert(flow, Open { block, lane, watch });
        }
        if !expected.forgotten {
            let earliest = at.after(self.signal).max(self.horizon);
            self.tell(block, earliest, flow, |traffic, planner| traffic.started(lane, at, planner));
        }
        Some(Began { coflow, deadline, watch, is_certain })
    }

    /// Takes what applications of hosts have to be told about prepared flows.
    pub fn instructions(&mut self) -> impl Iterator<Item = Instruction> {
        self.instructions.drain(..)
    }

    fn start(&mut self, planned: &Planned) -> FlowStart {
        let Planned { at, block, lane, flow } = *planned;
        let number = self.number(flow.part);
        if flow.watch != Watch::Nothing {
            self.open.insert(FlowId::new(number.get()), Open { block, lane, watch: flow.watch });
        }
        let drawn = self.blocks[block as usize].deadlines.next(flow.part.is_some_and(|part| part.index > 0));
        let coflow = self.coflows.number(block, self.blocks[block as usize].coflow, at, flow.coflow);
        let deadline = flow.deadline.or(drawn).map(|deadline| at.after(deadline));
        if self.session.flow == number {
            (self.session.at, self.session.coflow) = (at, coflow);
        }
        let start = self.flow_start(number, at, block, &flow);
        FlowStart { labels: Labels { deadline, coflow, ..start.labels }, ..start }
    }

    /// Flow `flow` of a block, without deadline and coflow.
    fn flow_start(&self, number: FlowId, at: Instant, block: u32, flow: &Flow) -> FlowStart {
        let common = &self.blocks[block as usize];
        let labels = Labels {
            priority: flow.priority.unwrap_or(common.priority),
            tag: flow.tag.unwrap_or(common.tag),
            transport: common.transport,
            deadline: None,
            tenant: flow.tenant.unwrap_or(common.tenant),
            coflow: None,
        };
        FlowStart {
            flow: number,
            at,
            src: flow.src,
            dst: flow.dst,
            size: flow.size,
            labels,
            session: self.session.flow,
            part: flow.part,
            watch: flow.watch,
            followed: flow.followed,
        }
    }

    /// Number of the flow that starts now. The parts of a session follow each other: they were planned for one time and on
    /// neighbouring lanes.
    fn number(&mut self, part: Option<Part>) -> FlowId {
        match part {
            Some(Part { join: Join::Sources, index, .. }) if index > 0 => return self.session.flow,
            Some(Part { index, .. }) if index > 0 => {
                debug_assert_eq!(
                    self.session.flow.plus(index.into()).get(),
                    self.next_flow,
                    "a part of another session"
                );
            }
            _ => self.session.flow = FlowId::new(self.next_flow),
        }
        self.next_flow += 1;
        FlowId::new(self.next_flow - 1)
    }

    /// Reports that one end of a flow is done. Completions come in order of time and flow; one of a flow that is not
    /// watched, or that was reported before, changes nothing.
    pub fn completed(&mut self, done: Completion) {
        let Some(open) = self.open.get_mut(&done.flow) else { return };
        let expected = open.watch.wants(done.side);
        open.watch = if done.failed { Watch::Nothing } else { open.watch.without(done.side) };
        let (number, lane, watch) = (open.block, open.lane, open.watch);
        if watch == Watch::Nothing {
            self.open.remove(&done.flow);
            self.released.push(done.flow);
        }
        if !done.failed && !expected {
            return;
        }
        let earliest = done.at.after(self.signal).max(self.horizon);
        let ended = Ended { lane, at: done.at, side: done.side, failed: done.failed };
        self.tell(number, earliest, FlowId::default(), |traffic, planner| traffic.ended(&ended, planner));
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
