//! Collective operations, as training jobs and MPI programs run them.

mod schedule;

use std::collections::BTreeMap;

use pullnet_settings::{Setting, choice, settings};
use pullnet_transport::Side;
use pullnet_units::{Bytes, HostId, Instant, Picos};

use super::plan::{MOST, WaitFor, shuffle};
use crate::agenda::{Ended, Flow, Planner, Watch};
use crate::error::Problem;
use crate::pattern::{Ends, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use schedule::Schedule;

choice! {
    /// Effect of a collective operation on the buffers of its hosts.
    pub enum Operation {
        /// Every host ends with the sum of all buffers.
        AllReduce = "all-reduce",
        /// Every host ends with its piece of the sum.
        ReduceScatter = "reduce-scatter",
        /// Every host starts with a piece and ends with all of them.
        AllGather = "all-gather",
        /// The first host's buffer goes to all.
        Broadcast = "broadcast",
        /// Every host sends a piece of its own to each of the others.
        AllToAll = "all-to-all",
    }
}

choice! {
    /// In which steps hosts exchange pieces.
    pub enum Algorithm {
        /// Each host sends to the next: as many steps as there are other hosts, twice that for an all-reduce. A broadcast is
        /// passed on piece by piece.
        Ring = "ring",
        /// Pairs at distances that halve or double, with messages that halve or double: base-two logarithm of the number of
        /// hosts, which has to be a power of two.
        HalvingDoubling = "halving-doubling",
        /// Whole buffers over a tree: a binary one for an all-reduce, up and down again, and a binomial one for a broadcast.
        Tree = "tree",
        /// Every host sends to all others at once, in one step, or two for an all-reduce.
        Direct = "direct",
        /// All-to-all in steps, each host to the one at a distance that grows by one.
        Pairwise = "pairwise",
    }
}

choice! {
    /// Order of the hosts of a collective operation.
    pub enum Order {
        /// As `hosts` lists them.
        Stated = "stated",
        /// Random, drawn once: neighbours of a ring need not share a rack.
        Random = "random",
    }
}

settings! {
    /// A collective operation. Hosts exchange pieces of a buffer in steps; each message is a flow. A host begins a step as soon as the
    /// messages of its previous step have arrived, received and sent. Each operation of a group is a coflow: its duration is the
    /// coflow completion time. If a flow fails, its group stops.
    pub struct Collective {
        /// The operation.
        operation: Operation = "all-reduce",
        /// How it is carried out.
        algorithm: Algorithm = "ring",
        /// Buffer of a host. All-gather and broadcast leave this at every host; in an all-to-all it includes the piece that a host
        /// keeps.
        size: Bytes = "64 MB" in "1 B" => "1000 TB"; required,
        /// Hosts of a group, neighbours in the order of the hosts; by default all hosts of the block are one group.
        group: Option<u32> = "" in 2 => 16777216,
        /// Order in which hosts form groups and, within a group, rings and trees.
        order: Order = "stated",
        /// Time from the last message of a step at a host to the host's next step: software and the reduction. Values below the
        /// least time of a packet on any link, rounded down to a power of two of picoseconds, act like that: 1.048576 us where
        /// links have 10 Gb/s and 1 us, so there the default does, too.
        reaction: Picos = "1 us",
        /// Which end of its own messages a host waits for in a step.
        wait_for: WaitFor = "received",
        /// Number of operations, one after the other.
        repeat: u32 = 1 in 1 => 2000000000,
        /// Pause after the end of an operation at all hosts of a group, in which they compute.
        pause: Picos = "0 ps",
    }
}

impl Pattern for Collective {
    fn name(&self) -> &'static str {
        "collective"
    }

    fn summary(&self) -> &'static str {
        "all-reduce, all-gather, all-to-all and others in the steps of their algorithms"
    }

    fn ends(&self) -> Ends {
        Ends::ByItself
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let mut hosts = scene.hosts().to_vec();
        if self.order == Order::Random {
            shuffle(&mut hosts, &mut scene.stream(0));
        }
        let of = self.group.unwrap_or(hosts.len() as u32);
        let schedule = scene.noted(self.schedule(hosts.len(), of))?;
        let group = |hosts: &[HostId]| Group::new(hosts, schedule);
        Ok(Box::new(Jobs {
            groups: hosts.chunks(of as usize).map(group).collect(),
            start: scene.start(),
            settings: self.clone(),
        }))
    }
}

impl Collective {
    /// The steps for groups of `of` hosts among `hosts`.
    fn schedule(&self, hosts: usize, of: u32) -> Result<Schedule, Problem> {
        if hosts < 2 {
            return Err(Problem::here("hosts", hosts.to_string(), "host is too few; select at least 2"));
        }
        if !hosts.is_multiple_of(of as usize) {
            let reason = format!("does not divide the {hosts} hosts of the block; use a divisor of {hosts}");
            return Err(Problem::here("group", of.to_string(), reason));
        }
        let possible = schedule::algorithms(self.operation);
        if !possible.contains(&self.algorithm) {
            let possible: Vec<_> = possible.iter().map(Setting::write).collect();
            let reason = format!("cannot carry out {}; use {}", self.operation.write(), possible.join(", "));
            return Err(Problem::new("algorithm", self.algorithm.write(), reason));
        }
        if self.algorithm == Algorithm::HalvingDoubling && !of.is_power_of_two() {
            let reason =
                format!("needs a power of two of hosts, and a group has {of}; use 2, 4, 8, ... or ring");
            return Err(Problem::here("algorithm", self.algorithm.write(), reason));
        }
        if self.algorithm != Algorithm::Tree && self.size.0 < of.into() {
            let reason = format!("is less than a byte for each of {of} hosts; use more bytes");
            return Err(Problem::here("size", self.size.to_string(), reason));
        }
        let schedule =
            Schedule { operation: self.operation, algorithm: self.algorithm, hosts: of, size: self.size.0 };
        // Messages at the same time.
        let most = MOST / hosts as u64;
        if u64::from(schedule.most_sends()) > most {
            let reason = format!(
                "sends to {} hosts at once from each of {hosts}; use groups of at most {most}",
                of - 1
            );
            return Err(Problem::here("algorithm", self.algorithm.write(), reason));
        }
        let operations = (hosts / of as usize) as u64 * u64::from(self.repeat);
        if operations > u64::from(u32::MAX) {
            let reason = "makes more than 4294967295 operations of all groups; use fewer, or larger groups";
            return Err(Problem::here("repeat", self.repeat.to_string(), reason));
        }
        Ok(schedule)
    }
}

/// How far a host has come in an operation.
#[derive(Clone, Default)]
struct Member {
    step: u32,
    /// Messages received in this step and, ahead of it, in later ones.
    received: BTreeMap<u32, u32>,
    /// Own messages of this step whose end, as `wait_for` has it, has not come.
    open: u32,
}

/// Hosts that carry out an operation together.
#[derive(Clone)]
struct Group {
    hosts: Vec<HostId>,
    schedule: Schedule,
    members: Vec<Member>,
    /// Members that have not finished this operation.
    busy: usize,
    round: u32,
    failed: bool,
}

impl Group {
    fn new(hosts: &[HostId], schedule: Schedule) -> Self {
        Self {
            hosts: hosts.to_vec(),
            schedule,
            members: vec![Member::default(); hosts.len()],
            busy: hosts.len(),
            round: 0,
            failed: false,
        }
    }
}

/// Collective operations at work. Lane: operation, group, step, sender, and message of the sender in this step.
#[derive(Clone)]
struct Jobs {
    settings: Collective,
    groups: Vec<Group>,
    start: Instant,
}

/// Position of a message in its operation.
#[derive(Clone, Copy)]
struct Position {
    round: u32,
    group: usize,
    step: u32,
    sender: u32,
    index: u32,
}

impl Jobs {
    fn schedule(&self) -> Schedule {
        self.groups[0].schedule
    }

    fn lane(&self, position: Position) -> u64 {
        let schedule = self.schedule();
        let operation = u64::from(position.round) * self.groups.len() as u64 + position.group as u64;
        let step = operation * u64::from(schedule.steps()) + u64::from(position.step);
        (step * u64::from(schedule.hosts) + u64::from(position.sender)) * u64::from(schedule.most_sends())
            + u64::from(position.index)
    }

    fn position(&self, lane: u64) -> Position {
        let schedule = self.schedule();
        let split = |value: u64, by: u32| (value / u64::from(by), (value % u64::from(by)) as u32);
        let (rest, index) = split(lane, schedule.most_sends());
        let (rest, sender) = split(rest, schedule.hosts);
        let (operation, step) = split(rest, schedule.steps());
        let groups = self.groups.len() as u64;
        Position {
            round: (operation / groups) as u32,
            group: (operation % groups) as usize,
            step,
            sender,
            index,
        }
    }

    /// Begins an operation of `group`.
    fn begin_round(&mut self, at: Instant, group: usize, planner: &mut Planner<'_>) {
        let members = self.groups[group].members.len();
        self.groups[group].busy = members;
        for member in 0..members as u32 {
            self.groups[group].members[member as usize] = Member::default();
            self.send(at, group, member, planner);
        }
        // Hosts that neither send nor receive anything in their first steps go on at once.
        (0..members as u32).for_each(|member| self.go_on(at, group, member, planner));
    }

    /// Plans the messages of the step that `member` is in.
    fn send(&mut self, at: Instant, group: usize, member: u32, planner: &mut Planner<'_>) {
        let Group { hosts, schedule, members, round, .. } = &self.groups[group];
        let (round, step) = (*round, members[member as usize].step);
        let watch = match self.settings.wait_for {
            WaitFor::Received => Watch::Received,
            WaitFor::Acknowledged => Watch::Both,
        };
        let coflow = round * self.groups.len() as u32 + group as u32;
        let sends = schedule.sends(step, member);
        let count = sends.len() as u32;
        for (index, message) in (0..).zip(sends) {
            let (to, size) = (hosts[message.to as usize], Bytes(schedule.bytes(message)));
            let flow = Flow::new(hosts[member as usize], to, Some(size));
            let lane = self.lane(Position { round, group, step, sender: member, index });
            planner.plan(at, lane, Flow { coflow: Some(coflow), ..flow.watched(watch) });
        }
        self.groups[group].members[member as usize].open = count;
    }

    /// Takes `member` through every step that is over at `now`.
    fn go_on(&mut self, now: Instant, group: usize, member: u32, planner: &mut Planner<'_>) {
        loop {
            let Group { schedule, members, .. } = &mut self.groups[group];
            let (schedule, state) = (*schedule, &mut members[member as usize]);
            if state.step == schedule.steps() {
                return;
            }
            let wanted = schedule.receives(state.step, member);
            let received = state.received.get(&state.step).copied().unwrap_or(0);
            if received < wanted || state.open > 0 {
                return;
            }
            state.received.remove(&state.step);
            state.step += 1;
            if state.step == schedule.steps() {
                return self.finish(now, group, planner);
            }
            // A host that had nothing to wait for takes no time either.
            let pause = if wanted > 0 { self.settings.reaction } else { Picos(0) };
            self.send(now.after(pause), group, member, planner);
        }
    }

    /// A member of `group` has finished the operation; the last one begins the next.
    fn finish(&mut self, now: Instant, group: usize, planner: &mut Planner<'_>) {
        let of = &mut self.groups[group];
        of.busy -= 1;
        if of.busy == 0 && of.round + 1 < self.settings.repeat {
            of.round += 1;
            self.begin_round(now.after(self.settings.pause), group, planner);
        }
    }
}

impl Traffic for Jobs {
    fn begin(&mut self, planner: &mut Planner<'_>) {
        (0..self.groups.len()).for_each(|group| self.begin_round(self.start, group, planner));
    }

    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        let Position { group, step, sender, index, .. } = self.position(ended.lane);
        let of = &mut self.groups[group];
        of.failed |= ended.failed;
        if of.failed {
            return;
        }
        let is_receiver = ended.side == Side::Receiver;
        if is_receiver {
            let to = of.schedule.sends(step, sender)[index as usize].to;
            *of.members[to as usize].received.entry(step).or_insert(0) += 1;
            self.go_on(ended.at, group, to, planner);
        }
        if is_receiver == (self.settings.wait_for == WaitFor::Received) {
            self.groups[group].members[sender as usize].open -= 1;
            self.go_on(ended.at, group, sender, planner);
        }
    }
}
