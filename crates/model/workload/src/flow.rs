use pullnet_transport::Side;
use pullnet_units::{Bytes, FlowId, HostId, Instant, Labels, Picos};

use crate::agenda::{After, Join, Part, Watch};

/// A flow that starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowStart {
    /// Dense number, from 0, in the order in which starts are given out; the senders of one session ([`Join::Sources`]) have
    /// the same.
    pub flow: FlowId,
    /// Time at which the application offers the data.
    pub at: Instant,
    /// The sender.
    pub src: HostId,
    /// The receiver, never the sender.
    pub dst: HostId,
    /// Payload bytes, at least 1; `None` never ends.
    pub size: Option<Bytes>,
    /// Priority, deadline and the like. Names are indexes into [`crate::Workload::tags`] and [`crate::Workload::tenants`].
    pub labels: Labels,
    /// Number of the first flow of its session: its own if it is the whole session.
    pub session: FlowId,
    /// Its place in a session of several flows, whose starts are given out one after the other.
    pub part: Option<Part>,
    /// Ends of it that may affect other flows: a driver reports these without delay, and failures of such flows too.
    pub watch: Watch,
    /// Whether a flow is or will be prepared that its sender starts when it is done with this one.
    pub followed: bool,
}

impl FlowStart {
    /// Whether it is a further sender of a flow that was given out before.
    pub fn is_further_sender(&self) -> bool {
        self.part.is_some_and(|part| part.join == Join::Sources && part.index > 0)
    }
}

/// A flow that its sender starts by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prepared {
    /// The flow. Its start is [`Instant::NEVER`] until it is known, and so is its coflow.
    pub start: FlowStart,
    /// What it waits for.
    pub after: After,
    /// Its deadline, counted from its start, unless `start` has one.
    pub deadline: Option<Picos>,
}

impl Prepared {
    /// The flow as it starts at `at`.
    pub fn starting(&self, at: Instant) -> FlowStart {
        let deadline = self.start.labels.deadline.or(self.deadline.map(|deadline| at.after(deadline)));
        FlowStart { at, labels: Labels { deadline, ..self.start.labels }, ..self.start }
    }
}

/// What the application of a host is told to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// Starts a flow at its time.
    Start(FlowStart),
    /// Starts a flow by itself when the time has come.
    Prepare(Prepared),
    /// Starts a prepared flow at this time at the latest, unless it has started.
    Release {
        /// The flow.
        flow: FlowId,
        /// Its sender.
        src: HostId,
        /// The time.
        at: Instant,
    },
}

impl Instruction {
    /// The host that it is for.
    pub fn host(&self) -> HostId {
        match self {
            Self::Start(start) => start.src,
            Self::Prepare(prepared) => prepared.start.src,
            Self::Release { src, .. } => *src,
        }
    }
}

/// A completed end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Number from [`FlowStart::flow`].
    pub flow: FlowId,
    /// Time of the report.
    pub at: Instant,
    /// [`Side::Receiver`]: all data arrived. [`Side::Sender`]: all of it was acknowledged, or the sender gave up.
    pub side: Side,
    /// Whether the flow failed; nothing more is reported of it then.
    pub failed: bool,
}
