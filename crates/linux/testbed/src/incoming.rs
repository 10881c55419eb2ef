use pullnet_session::{News, Report};
use pullnet_units::{FlowId, Instant};

/// A flow being received by a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Number of the flow.
    pub flow: FlowId,
    /// Payload bytes received so far.
    pub delivered: u64,
    /// Payload bytes received within the measurement window.
    pub in_window: u64,
    /// Whether the flow is complete.
    pub over: bool,
}

impl Incoming {
    /// Report of the incomplete flow at the end of the run.
    pub fn unfinished(&self, now: Instant) -> Report {
        let Self { flow, delivered, in_window, .. } = *self;
        Report { at: now, flow, news: News::Unfinished { delivered, in_window } }
    }
}

/// The flows received by a host, indexed by the receiver's slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncomingFlows(Vec<Incoming>);

impl IncomingFlows {
    /// Starts a flow in `slot`. Returns the slot's previous flow if it has not ended.
    pub fn open(&mut self, slot: u32, flow: FlowId) -> Option<Incoming> {
        let (slot, none) = (slot as usize, Incoming { flow, delivered: 0, in_window: 0, over: true });
        if slot >= self.0.len() {
            self.0.resize(slot + 1, none);
        }
        let before = std::mem::replace(&mut self.0[slot], Incoming { over: false, ..none });
        (!before.over).then_some(before)
    }

    /// Records new payload. Returns how many of its bytes count for the measurement `window`.
    pub fn deliver(&mut self, now: Instant, slot: u32, bytes: u64, window: (Instant, Instant)) -> u64 {
        let Some(incoming) = self.0.get_mut(slot as usize) else { return 0 };
        let counts = if window.0 <= now && now < window.1 { bytes } else { 0 };
        incoming.delivered += bytes;
        incoming.in_window += counts;
        counts
    }

    /// Number of the flow in `slot`.
    pub fn flow(&self, slot: u32) -> Option<FlowId> {
        self.0.get(slot as usize).map(|incoming| incoming.flow)
    }

    /// Marks a flow as complete.
    pub fn end(&mut self, slot: u32) -> Option<Incoming> {
        let incoming = self.0.get_mut(slot as usize)?;
        incoming.over = true;
        Some(*incoming)
    }

    /// The incomplete flows.
    pub fn unfinished(&self) -> impl Iterator<Item = &Incoming> {
        self.0.iter().filter(|incoming| !incoming.over && incoming.delivered > 0)
    }
}
