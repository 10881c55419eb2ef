use pullnet_transport::{FailureReason, SendCounts};
use pullnet_units::{FlowId, Instant};

/// An event of a flow that affects the rest of the run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// Time.
    pub at: Instant,
    /// The flow.
    pub flow: FlowId,
    /// Event.
    pub news: News,
}

/// Content of a [`Report`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum News {
    /// The application of the sender starts the flow by itself, at this time.
    Begins(Instant),
    /// The receiver has all data.
    Received {
        /// Payload bytes.
        delivered: u64,
        /// Payload bytes within the measurement window.
        in_window: u64,
    },
    /// The sender knows that the receiver has all data.
    Acknowledged(SendCounts),
    /// The sender gave up.
    Failed(FailureReason, SendCounts),
    /// The receiver forgot the flow, or the run ended.
    Unfinished {
        /// Payload bytes.
        delivered: u64,
        /// Payload bytes within the measurement window.
        in_window: u64,
    },
}

impl Report {
    /// Sort key among all reports: two reports of one flow at the same time come from two hosts, and so perhaps from two
    /// threads. The receiver's comes first, since it decides how the sender's is interpreted.
    pub(crate) fn place(&self) -> (Instant, u32, u8) {
        let rank = match self.news {
            News::Begins(_) => 0,
            News::Received { .. } => 1,
            News::Unfinished { .. } => 2,
            News::Acknowledged(_) => 3,
            News::Failed(..) => 4,
        };
        (self.at, self.flow.get(), rank)
    }
}
