//! The application of a host, which starts flows by itself in the instant in which other flows end there.
//!
//! A pattern prepares such a flow when the flow before it starts, and the director hands it to its sender. Simulated hosts and
//! those of the testbed ask their application when something happens to a flow that could be waited for.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_units::{FlowId, Instant};
use pullnet_workload::{Cue, FlowStart, Prepared};

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

    /// Something happens to `flow` at this host. Returns the flow that starts because of it.
    pub fn on(&mut self, flow: FlowId, cue: Cue, at: Instant) -> Option<FlowStart> {
        let awaited = cue == Cue::SenderDone && self.followed.remove(&flow);
        match self.prepared.remove(&(flow, cue)) {
            Some(prepared) => {
                self.awaits.remove(&prepared.start.flow);
                starting(&prepared, at)
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
