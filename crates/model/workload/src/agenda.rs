use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pullnet_transport::Side;
use pullnet_units::{Bytes, FlowId, HostId, Instant, Picos};

/// Ends of a flow that are reported to its pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Watch {
    /// None: the flow runs on its own.
    #[default]
    Nothing,
    /// All data arrived.
    Received,
    /// All data was acknowledged.
    Acknowledged,
    /// Both, each on its own.
    Both,
    /// Only that it failed. Hosts go on by themselves if it does not ([`Planner::follow`]).
    Failure,
}

impl Watch {
    /// Whether the end at `side` is reported.
    pub fn wants(self, side: Side) -> bool {
        match self {
            Self::Nothing | Self::Failure => false,
            Self::Received => side == Side::Receiver,
            Self::Acknowledged => side == Side::Sender,
            Self::Both => true,
        }
    }

    /// The ends still watched after `side` was reported.
    pub(crate) fn without(self, side: Side) -> Self {
        match (self, side) {
            (Self::Both, Side::Receiver) => Self::Acknowledged,
            (Self::Both, Side::Sender) => Self::Received,
            (Self::Failure, Side::Sender) => Self::Nothing,
            (watch, side) if watch.wants(side) => Self::Nothing,
            (watch, _) => watch,
        }
    }
}

/// Relation between the flows of a session with several senders or receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// Each is a flow of its own; only results combine them.
    Apart,
    /// One sender offers the same data to several receivers: a packet is sent once, and switches copy it. A flow for each
    /// receiver.
    Multicast,
    /// Several senders hold the same data, and any of their packets serves the one receiver. A planned flow for each sender;
    /// results show them as one flow.
    Sources,
}

/// Place of a flow in a session with several senders or receivers. The flows of a session are planned for the same time on
/// neighbouring lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Their relation.
    pub join: Join,
    /// Number of this flow, from 0.
    pub index: u16,
    /// Number of flows of the session.
    pub of: u16,
}

/// Kinds of sessions of a block that not every transport can carry.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Joins {
    /// [`Join::Multicast`].
    pub multicast: bool,
    /// [`Join::Sources`].
    pub sources: bool,
}

impl Joins {
    /// The kinds of a block whose sessions are `join`.
    pub fn of(join: Join) -> Self {
        Self { multicast: join == Join::Multicast, sources: join == Join::Sources }
    }
}

/// A planned flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// Payload bytes; `None` never ends.
    pub size: Option<Bytes>,
    /// Priority of its own; `None` takes that of the traffic block.
    pub priority: Option<u8>,
    /// Tag of its own, from [`crate::Scene::tag`]; `None` takes that of the traffic block.
    pub tag: Option<u16>,
    /// Deadline of its own, counted from its start; `None` takes that of the traffic block.
    pub deadline: Option<Picos>,
    /// Tenant of its own, from [`crate::Scene::tenant`]; `None` takes that of the traffic block.
    pub tenant: Option<u16>,
    /// Flows of a block with the same number here are a coflow; `None`: the setting `coflow` of the block decides.
    pub coflow: Option<u32>,
    /// Its place in a session of several flows; `None`: it is the whole session.
    pub part: Option<Part>,
    /// Ends of the flow that are reported to its pattern.
    pub watch: Watch,
    /// Whether the sender will start another flow by itself at the end of this one ([`Planner::follow`]).
    pub followed: bool,
}

impl Flow {
    /// A flow whose end its pattern does not watch, with the block's priority, tag, deadline, tenant and coflow.
    pub const fn new(src: HostId, dst: HostId, size: Option<Bytes>) -> Self {
        Self {
            src,
            dst,
            size,
            priority: None,
            tag: None,
            deadline: None,
            tenant: None,
            coflow: None,
            part: None,
            watch: Watch::Nothing,
            followed: false,
        }
    }

    /// The same flow as a part of a session.
    pub const fn joined(self, part: Part) -> Self {
        Self { part: Some(part), ..self }
    }

    /// The same flow, with `watch`.
    pub const fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }
}

/// The end of a watched flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The lane that the flow was planned on.
    pub lane: u64,
    /// Time of the end.
    pub at: Instant,
    /// The end.
    pub side: Side,
    /// Whether it failed; the other end is not reported then.
    pub failed: bool,
}

/// A planned flow. The order is that of starts: time, traffic block, lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub at: Instant,
    pub block: u32,
    pub lane: u64,
    pub flow: Flow,
}

impl Planned {
    fn key(&self) -> (Instant, u32, u64) {
        (self.at, self.block, self.lane)
    }
}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// All known starts, earliest first.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Planned>>,
}

impl Agenda {
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(planned)| planned.at)
    }

    pub fn pop_before(&mut self, before: Instant) -> Option<Planned> {
        if self.next()? >= before {
            return None;
        }
        self.heap.pop().map(|Reverse(planned)| planned)
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

/// An event of a flow at one of its hosts, which lets that host start another flow at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cue {
    /// Its first packet arrives: the flow that starts then passes its data on.
    FirstPacket,
    /// All of its data has arrived.
    Received,
    /// Its sender knows that all has arrived, or gives up.
    SenderDone,
}

/// Event that a prepared flow waits for, at the host that sends the prepared flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct After {
    /// The flow that the host waits for.
    pub flow: FlowId,
    /// The event of that flow.
    pub cue: Cue,
    /// Time between the event and the start.
    pub pause: Picos,
    /// The flow does not start later than this.
    pub latest: Instant,
}

/// A flow that a host will start by itself, with its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Follower {
    pub number: FlowId,
    pub after: After,
    pub lane: u64,
    pub flow: Flow,
}

/// Collects the flows that a pattern plans.
pub struct Planner<'a> {
    pub(crate) agenda: &'a mut Agenda,
    pub(crate) block: u32,
    /// Earliest start of a flow.
    pub(crate) earliest: Instant,
    /// The flow that starts now; in [`crate::Traffic::begin`] and [`crate::Traffic::ended`] no flow does.
    pub(crate) current: FlowId,
    pub(crate) next_flow: &'a mut u32,
    /// Flows that hosts start by themselves.
    pub(crate) followers: &'a mut Vec<Follower>,
    /// Followers whose event will not happen, with the time at which they start all the same; `None` if they do not.
    pub(crate) revoked: &'a mut Vec<(FlowId, Option<Instant>)>,
}

impl Planner<'_> {
    /// Plans `flow` for `at`, or for the earliest start if that is later.
    ///
    /// Of flows that start at the same time, that on the lower `lane` goes first: a pattern numbers its connections
    /// and never has two flows for the same time on one lane. A flow planned for [`Instant::NEVER`] is forgotten.
    pub fn plan(&mut self, at: Instant, lane: u64, flow: Flow) {
        let at = at.max(self.earliest);
        if at < Instant::NEVER {
            self.agenda.heap.push(Reverse(Planned { at, block: self.block, lane, flow }));
        }
    }

    /// Lets the sender of `flow` start it by itself, as `after` says, and in the same instant if there is no pause. `after.flow`
    /// is the flow that starts now ([`Planner::current`]) or one that follows it: its event has not happened yet, since
    /// packets need time. The sender of `flow` is the host of that event.
    ///
    /// Returns the number of the flow. [`crate::Traffic::started`] is called when it has started.
    pub fn follow(&mut self, after: After, lane: u64, flow: Flow) -> FlowId {
        let number = FlowId::new(*self.next_flow);
        *self.next_flow = self.next_flow.saturating_add(1);
        self.followers.push(Follower { number, after, lane, flow });
        number
    }

    /// The flow that starts now.
    pub fn current(&self) -> FlowId {
        self.current
    }

    /// What `follower` waits for will not happen: the flow failed. If it happens all the same, the flow starts, and its pattern
    /// hears nothing of it.
    pub fn forget(&mut self, follower: FlowId) {
        self.revoked.push((follower, None));
    }

    /// Lets `follower` start at `at`, or as soon as possible, although what it waits for will not happen. Nothing changes if it
    /// has started.
    pub fn release(&mut self, follower: FlowId, at: Instant) {
        self.revoked.push((follower, Some(at.max(self.earliest))));
    }

    /// The earliest time at which a flow can start in reply to an event now.
    pub fn earliest(&self) -> Instant {
        self.earliest
    }
}
