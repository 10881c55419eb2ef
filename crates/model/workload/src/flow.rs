use pullnet_transport::Side;
use pullnet_units::{Bytes, FlowId, HostId, Instant};

use crate::{Join, Part, Watch};

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
    /// 0 is ordinary; a higher number goes first.
    pub priority: u8,
    /// Index into [`crate::Workload::tags`].
    pub tag: u16,
    /// Number of the transport that carries it.
    pub transport: u8,
    /// Time by which all of its data should have arrived.
    pub deadline: Option<Instant>,
    /// Index into [`crate::Workload::tenants`]; 0: no tenant's.
    pub tenant: u16,
    /// Number of the coflow that it is part of, from 0 in order of their first flows.
    pub coflow: Option<u32>,
    /// Number of the first flow of its session: its own if it is the whole session.
    pub session: FlowId,
    /// Its place in a session of several flows, whose starts are given out one after the other.
    pub part: Option<Part>,
    /// Ends of it that may affect other flows: a driver reports these without delay, and failures of such flows too.
    pub watch: Watch,
}

impl FlowStart {
    /// Whether it is a further sender of a flow that was given out before.
    pub fn is_further_sender(&self) -> bool {
        self.part.is_some_and(|part| part.join == Join::Sources && part.index > 0)
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
