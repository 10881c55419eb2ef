//! The application of a host, which starts flows by itself in the instant in which other flows end there.
//!
//! A pattern prepares such a flow when the flow before it starts, and the director hands it to its sender. Simulated hosts and
//! those of the testbed ask their application when something happens to a flow that could be waited for.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_transport::HostAddr;
use pullnet_units::{FlowId, Instant};
use pullnet_workload::{Cue, FlowStart, Prepared};

/// A flow that passes on what arrives in another.
#[derive(Clone, Copy, Debug)]
struct Relay {
    flow: FlowId,
    /// Payload bytes that have arrived to be passed on.
    bytes: u64,
    /// Number of its transport and the address of its receiver, once it has begun.
    way: Option<(u8, HostAddr)>,
}

/// Data that a flow may pass on, for its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supply {
    /// Number of the transport.
    pub transport: u8,
    /// The receiver.
    pub to: HostAddr,
    /// The flow that passes data on.
    pub flow: FlowId,
    /// Payload bytes of it that are here.
    pub bytes: u64,
}

/// The application of one host.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// Flows that it will start, by what they wait for.
    prepared: BTreeMap<(FlowId, Cue), Prepared>,
    /// The key in `prepared` of each of these flows.
    awaits: BTreeMap<FlowId, (FlowId, Cue)>,
    /// Open flows of this host for which such a flow is prepared.
    followed: BTreeSet<FlowId>,
    /// Flows of this host that were over before the flow after them was known here: a transport gave up at once.
    over: BTreeMap<FlowId, Instant>,
    /// Flows that pass on what arrives here, by the flow in which it arrives.
    relays: BTreeMap<FlowId, Relay>,
}

impl Application {
    /// Takes a prepared flow. Returns the flow if it starts without waiting, now at the earliest.
    pub fn prepare(&mut self, prepared: Prepared, now: Instant) -> Option<FlowStart> {
        let after = prepared.after;
        if after.cue == Cue::SenderDone
            && let Some(at) = self.over.remove(&after.flow)
        {
            return starting(&prepared, at).map(|start| FlowStart { at: start.at.max(now), ..start });
        }
        let event = (after.flow, after.cue);
        let twice = self.awaits.insert(prepared.start.flow, event);
        debug_assert!(twice.is_none(), "one flow waits for two events: {twice:?} and {event:?}");
        let before = self.prepared.insert(event, prepared);
        debug_assert!(before.is_none(), "two flows wait for one event: {before:?}");
        None
    }

    /// Takes the prepared flow `flow` out, so that it starts at `at`; `None` if it has started.
    pub fn release(&mut self, flow: FlowId, at: Instant) -> Option<FlowStart> {
        let event = self.awaits.remove(&flow)?;
        self.prepared.remove(&event).map(|prepared| prepared.starting(at))
    }

    /// A flow of this host begins.
    pub fn begin(&mut self, start: &FlowStart) {
        if start.followed {
            self.followed.insert(start.flow);
        }
    }

    /// A flow of this host begins, to the address `to`. Returns the bytes of it that are here, if it passes on what arrives here.
    pub fn passes_on(&mut self, start: &FlowStart, to: HostAddr) -> Option<u64> {
        let relay = self.relays.values_mut().find(|relay| relay.flow == start.flow)?;
        relay.way = Some((start.labels.transport, to));
        Some(relay.bytes)
    }

    /// `bytes` more of `flow` have arrived. Returns what this means for the flow that passes them on, if one has begun.
    pub fn arrived(&mut self, flow: FlowId, bytes: u64) -> Option<Supply> {
        let relay = self.relays.get_mut(&flow)?;
        relay.bytes += bytes;
        relay.way.map(|(transport, to)| Supply { transport, to, flow: relay.flow, bytes: relay.bytes })
    }

    /// Something happens to `flow` at this host. Returns the flow that starts because of it.
    pub fn on(&mut self, flow: FlowId, cue: Cue, at: Instant) -> Option<FlowStart> {
        let awaited = cue == Cue::SenderDone && self.followed.remove(&flow);
        if cue == Cue::SenderDone {
            self.relays.retain(|_, relay| relay.flow != flow);
        }
        match self.prepared.remove(&(flow, cue)) {
            Some(prepared) => {
                self.awaits.remove(&prepared.start.flow);
                let start = starting(&prepared, at);
                if let Some(start) = start.filter(|_| cue == Cue::FirstPacket) {
                    self.relays.insert(flow, Relay { flow: start.flow, bytes: 0, way: None });
                }
                start
            }
            None => {
                if awaited {
                    self.over.insert(flow, at);
                }
                None
            }
        }
    }
}

/// The flow as it starts because of an event at `at`; `None` if that is too late.
fn starting(prepared: &Prepared, at: Instant) -> Option<FlowStart> {
    let at = at.after(prepared.after.pause);
    (at <= prepared.after.latest && at < Instant::NEVER).then(|| prepared.starting(at))
}
